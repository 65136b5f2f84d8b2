//! `componentize`: makes a component of a core module, so that an author needs no other tool.

use super::read_file;
use crate::args::{Cli, ComponentizeArgs};
use crate::exit::{Exit, Fail};
use crate::render;
use hook_runtime::{FailureKind, Inspection};
use serde_json::json;

/// The most bytes of a core module.
const MAX_MODULE_BYTES: u64 = 64 * 1024 * 1024;

pub(crate) fn run(cli: &Cli, args: &ComponentizeArgs) -> Result<Exit, Fail> {
    let module = read_file(&args.file, MAX_MODULE_BYTES)?;
    let component = encode(&module)?;
    let inspection = Inspection::read(&component).map_err(|failure| Fail::not_a_plugin(&failure, "it"))?;
    std::fs::write(&args.output, &component).map_err(|error| {
        let error = anyhow::Error::new(error).context(format!("`{}` cannot be written", args.output.display()));
        Fail::new(Exit::CannotWrite, "cli::cannot_write", error)
    })?;
    let hooks: Vec<_> = inspection.hooks().into_iter().map(hook_runtime::Hook::name).collect();
    if cli.json {
        render::document(&json!({"bytes": component.len(), "digest": inspection.digest, "hooks": hooks}));
    } else {
        let hooks = if hooks.is_empty() { "no hook: it would not load".to_owned() } else { hooks.join(", ") };
        render::line(&format!("{}: {}, {hooks}", args.output.display(), render::bytes(component.len() as u64)));
    }
    Ok(Exit::Ok)
}

fn encode(module: &[u8]) -> Result<Vec<u8>, Fail> {
    match Inspection::read(module) {
        Ok(_) => {
            return Err(Fail::new(Exit::BadData, "cli::is_component", anyhow::anyhow!("the file is a component already: use it as it is")));
        }
        Err(failure) if failure.kind != FailureKind::CoreModule => return Err(Fail::not_a_plugin(&failure, "it")),
        Err(_) => {}
    }
    let encoded = wit_component::ComponentEncoder::default().validate(true).module(module).and_then(|mut encoder| encoder.encode());
    encoded.map_err(|error| {
        let error = error.context("the file is no core module that was built with the guest SDK");
        Fail::new(Exit::BadData, "cli::not_encodable", error).hint("cargo build --release --target wasm32-unknown-unknown")
    })
}
