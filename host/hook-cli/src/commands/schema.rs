//! `schema`: prints the public truth about a hook.

use crate::args::{Cli, SchemaArgs};
use crate::exit::{Exit, Fail};
use crate::render;
use hook_runtime::contract::schema::schema_text;
use hook_runtime::{Hook, Version};
use serde_json::json;

pub(crate) fn run(cli: &Cli, args: &SchemaArgs) -> Result<Exit, Fail> {
    let version = if args.v1 { Version::V1 } else { Version::V2 };
    match &args.hook {
        Some(name) => {
            let hook = Hook::from_name(name).ok_or_else(|| Fail::unknown_hook(name))?;
            render::line(&schema_text(hook, version));
        }
        None => list(render::wants_json(cli)),
    }
    Ok(Exit::Ok)
}

fn list(as_json: bool) {
    let actions = |hook: Hook| hook.spec().actions.iter().map(|action| action.word()).collect::<Vec<_>>();
    if as_json {
        let hooks = Hook::all().map(|hook| json!({"hook": hook.name(), "actions": actions(hook), "when": hook.spec().summary}));
        render::document(&hooks.collect());
        return;
    }
    let rows: Vec<_> =
        Hook::all().map(|hook| vec![hook.name().to_owned(), actions(hook).join(", "), hook.spec().summary.to_owned()]).collect();
    render::table(&["HOOK", "ACTIONS", "WHEN"], &rows);
}
