//! `inspect`: what a file is, without running it.

use super::read_file;
use crate::args::{Cli, InspectArgs};
use crate::exit::{Exit, Fail};
use crate::render;
use hook_runtime::{Hook, Inspection, MAX_COMPONENT_BYTES};
use serde_json::json;

pub(crate) fn run(cli: &Cli, args: &InspectArgs) -> Result<Exit, Fail> {
    let bytes = read_file(&args.file, MAX_COMPONENT_BYTES)?;
    let name = args.file.file_stem().unwrap_or_default().to_string_lossy();
    let inspection = Inspection::read(&bytes).map_err(|failure| Fail::not_a_plugin(&failure, &name))?;
    let hooks = inspection.hooks();
    if render::wants_json(cli) {
        let hooks: Vec<_> = hooks.iter().map(|hook| json!({"hook": hook.name(), "actions": actions(*hook)})).collect();
        render::document(&json!({
            "bytes": inspection.bytes,
            "digest": inspection.digest,
            "hooks": hooks,
            "exports": inspection.exports,
            "imports": inspection.imports,
            "lacking": inspection.lacking(),
            "core_modules": inspection.core_modules,
            "producers": inspection.producers,
        }));
    } else {
        show(&inspection, &hooks);
    }
    Ok(Exit::Ok)
}

fn actions(hook: Hook) -> Vec<&'static str> {
    hook.spec().actions.iter().map(|action| action.word()).collect()
}

fn show(inspection: &Inspection, hooks: &[Hook]) {
    render::line(&format!("size       {} ({} core modules)", render::bytes(inspection.bytes as u64), inspection.core_modules));
    render::line(&format!("digest     {}", inspection.digest));
    let or_none = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    render::line(&format!("made with  {}", or_none(&inspection.producers)));
    render::line(&format!("exports    {}", or_none(&inspection.exports)));
    render::line(&format!("imports    {}", or_none(&inspection.imports)));
    for hook in hooks {
        render::line(&format!("could do   {hook}: {}", actions(*hook).join(", ")));
    }
    if hooks.is_empty() {
        render::line("it exports no hook of geode:hooks@2.0.0, so it would not load [hook::bind::wrong_world]");
    }
    for name in inspection.lacking() {
        render::line(&format!("lacks      {name}: this host does not give it, so it would not load [hook::bind::unknown_import]"));
    }
}
