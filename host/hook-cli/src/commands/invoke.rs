//! `invoke`: one event through the plugins, and what comes out.

use super::{folder, read_bounded, read_file};
use crate::args::{Cli, InvokeArgs};
use crate::exit::{Exit, Fail};
use crate::render;
use hook_runtime::contract::hook::Object;
use hook_runtime::{Correlation, Hook, Host, Invocation, Invoked, Version};
use serde_json::Value;
use std::io::IsTerminal as _;
use std::path::Path;

/// The most bytes of a payload or correlation.
const MAX_INPUT_BYTES: u64 = 8 * 1024 * 1024;

pub(crate) fn run(cli: &Cli, args: &InvokeArgs) -> Result<Exit, Fail> {
    let hook = Hook::from_name(&args.hook).ok_or_else(|| Fail::unknown_hook(&args.hook))?;
    let folder = folder(cli);
    let cwd = std::fs::canonicalize(&folder).map_err(|error| Fail::unreadable(&folder, error))?;
    let correlation = args.correlation.as_deref().map_or_else(|| Ok(Correlation::default()), read_correlation)?;
    let payload = read_payload(hook, args.payload.as_deref())?;
    let mut builder = Host::builder().project(&folder).contract(if args.v1 { Version::V1 } else { Version::V2 });
    if let Some(db) = &args.db {
        builder = builder.store(db);
    }
    let host = builder.build()?;
    let invocation = Invocation::new(hook, payload).correlation(correlation).cwd(cwd.to_string_lossy());
    let invoked = host
        .invoke_blocking(invocation)
        .map_err(|invalid| Fail::new(Exit::BadData, "hook::payload::invalid", invalid).hint(format!("geode-hooks schema {hook}")))?;
    for (plugin, next) in &invoked.waiting {
        render::remark(&format!("`{plugin}` waits and was not asked; next: {next}"));
    }
    if render::wants_json(cli) {
        render::document(&invoked.to_json());
    } else {
        show(hook, &invoked);
    }
    // What was decided counts, whatever becomes of its record.
    let stored = host.flush().map_err(|error| Fail::from(hook_runtime::HostError::from(error)));
    match stored {
        Err(fail) if args.exit_code && invoked.outcome.blocked() => {
            render::remark(&format!("{}; the call is not recorded [{}]", fail.error, fail.code));
            Ok(Exit::Blocked)
        }
        Err(fail) => Err(fail),
        Ok(()) => Ok(if args.exit_code && invoked.outcome.blocked() { Exit::Blocked } else { Exit::Ok }),
    }
}

fn read_payload(hook: Hook, path: Option<&Path>) -> Result<Object, Fail> {
    let bytes = match path {
        Some(path) => read_file(path, MAX_INPUT_BYTES)?,
        None => read_stdin(hook)?,
    };
    match parse(&bytes, "the payload")? {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Object::new()),
        _ => Err(bad_json("the payload is no JSON object").hint(format!("geode-hooks schema {hook}"))),
    }
}

fn read_stdin(hook: Hook) -> Result<Vec<u8>, Fail> {
    if std::io::stdin().is_terminal() {
        render::remark(&format!("reading a {hook} payload as JSON from the terminal; end it with Ctrl-D"));
    }
    let read = read_bounded(std::io::stdin().lock(), MAX_INPUT_BYTES).map_err(|error| Fail::unreadable(Path::new("-"), error))?;
    read.ok_or_else(|| Fail::new(Exit::BadData, "cli::too_large", anyhow::anyhow!("the payload has more than {MAX_INPUT_BYTES} bytes")))
}

fn read_correlation(path: &Path) -> Result<Correlation, Fail> {
    let value = parse(&read_file(path, MAX_INPUT_BYTES)?, "the correlation")?;
    Correlation::from_json(&value).map_err(|invalid| {
        Fail::new(Exit::BadData, "hook::correlation::invalid", anyhow::Error::new(invalid).context("invalid correlation"))
    })
}

fn parse(bytes: &[u8], what: &str) -> Result<Value, Fail> {
    serde_json::from_slice(bytes).map_err(|error| bad_json(&format!("{what} is no JSON: {error}")))
}

fn bad_json(message: &str) -> Fail {
    Fail::new(Exit::BadData, "hook::payload::not_json", anyhow::anyhow!("{message}"))
}

/// Shows an outcome to a person.
fn show(hook: Hook, invoked: &Invoked) {
    let outcome = &invoked.outcome;
    match outcome.blocking() {
        Some((decision, source)) => {
            render::line(&format!("{hook}: {} by {source}", decision.action));
            render::line(&format!("  {}", decision.reason));
        }
        None if outcome.decisions.is_empty() => render::line(&format!("{hook}: no decision")),
        None => render::line(&format!("{hook}: not blocked")),
    }
    for (decision, source) in outcome.decisions.iter().zip(&outcome.sources).filter(|(decision, _)| !decision.action.blocks()) {
        let texts = [decision.reason.as_str(), decision.instruction.as_str()].into_iter().filter(|text| !text.is_empty());
        let said: Vec<_> = std::iter::once(decision.action.word()).chain(texts).collect();
        render::line(&format!("  {source}: {}", said.join(" - ")));
    }
    if !outcome.decisions.is_empty() && outcome.decisions.iter().any(|decision| !decision.updates.is_empty()) {
        render::line(&format!("  what runs: {}", Value::Object(outcome.payload.effective().clone())));
    }
    outcome.feedback.iter().for_each(|text| render::line(&format!("  {} says: {}", text.source, text.text)));
    outcome
        .errors
        .iter()
        .for_each(|text| render::line(&format!("  {} failed: {} [{}]", text.source, text.text, text.code.unwrap_or_default())));
    for call in &invoked.calls {
        let fuel = call.fuel.map_or("?".to_owned(), |fuel| fuel.to_string());
        let used = format!("{} us, {fuel} fuel, {}", call.guest_time.as_micros(), render::bytes(call.memory as u64));
        render::line(&format!("  {} {} ({used})", call.plugin, call.status.word()));
        if let Some(decision) = call.decision.filter(|_| !call.applied) {
            render::line(&format!("    in monitor mode: it would have answered {decision}"));
        }
        call.log.iter().for_each(|line| render::line(&format!("    {}: {}", line.level.word(), line.text)));
        call.hint.iter().for_each(|hint| render::line(&format!("    next: {hint}")));
    }
}
