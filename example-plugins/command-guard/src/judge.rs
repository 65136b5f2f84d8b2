//! From one tool call to a verdict.
//!
//! Separate from the plugin glue so that everything is tested natively. Invariant: what was cut, cannot be parsed or is too large is asked about.

use serde_json::Value;

use crate::bounds;
use crate::paths::Place;
use crate::rules::{config, interpreters};
use crate::settings::Settings;
use crate::shell::env::Env;
use crate::shell::simple::Call;
use crate::shell::walk::Walker;
use crate::shell::{Arg, Feed, REMOTE, UNKNOWN};
use crate::tools::{self, Item};
use crate::verdict::{Level, Verdict};

/// What the host says beside the tool call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context<'a> {
    /// The agent's directory.
    pub cwd: &'a str,
    /// The work tree's root.
    pub workspace: &'a str,
    /// JSON pointers of fields that were cut.
    pub reduced: &'a [String],
    /// JSON pointers of fields with secrets taken out.
    pub redacted: &'a [String],
}

/// The start of the mark that the host leaves where it cut a text.
const CUT: &str = "…[truncated:";

/// Judges one tool call.
#[must_use]
pub fn judge(tool_name: &str, arguments: &Value, context: &Context<'_>, settings: &Settings) -> Verdict {
    let place = Place::new(context.cwd, context.workspace, settings);
    let mut walker = Walker::new(&place, settings);
    if context.reduced.iter().any(|pointer| tools::matters(pointer, tool_name, arguments)) {
        walker.find(Level::Ask, tool_name, "has arguments that were cut before this guard saw them", "make the call in smaller parts");
    }
    let base = if context.cwd.is_empty() { context.workspace } else { context.cwd };
    for item in tools::items(tool_name, arguments) {
        judge_item(&mut walker, item, base);
    }
    Verdict::of(&walker.findings, settings.ask_instead_of_block)
}

fn judge_item(walker: &mut Walker<'_>, item: Item, base: &str) {
    match item {
        Item::Command { text, cwd, windows } => {
            let mut env = env_in(walker, base, &cwd);
            let text = readable(walker, &text);
            if windows {
                interpreters::windows_text(walker, &text);
            } else {
                walker.text(&text, &mut env, &Feed::None);
            }
        }
        Item::Argv(words, cwd) => {
            let mut env = env_in(walker, base, &cwd);
            argv(walker, &words, &mut env);
        }
        Item::Code(text) => {
            let mut env = env_in(walker, base, "");
            let text = readable(walker, &text);
            if let Some(call) = Call::new(&[Arg::new("python"), Arg::new("-c"), Arg::new(text)], &Feed::None) {
                walker.call(&call, &mut env);
            }
        }
        Item::Path(path) => {
            let env = env_in(walker, base, "");
            if let Some(label) = config::protected(walker, &path, &env) {
                walker.find(Level::Ask, &path, format!("is {label}, and this tool may change it"), config::INSTEAD);
            }
        }
        Item::Patch(text) => {
            let env = env_in(walker, base, "");
            let text = readable(walker, &text);
            config::judge_patch(walker, &text, &env);
        }
    }
}

/// An argument list is run as it is; when all of it was meant for a shell, its last word is the text.
fn argv(walker: &mut Walker<'_>, words: &[String], env: &mut Env) {
    if words.iter().map(String::len).fold(0_usize, usize::saturating_add) > bounds::MAX_LENGTH {
        walker.find(Level::Ask, "this command", "is longer than this guard parses", "run it in smaller parts");
        return;
    }
    let args: Vec<Arg> = words.iter().map(|w| Arg { text: readable(walker, w), quoted: true }).collect();
    if let [one] = args.as_slice() {
        walker.text(&one.text.clone(), env, &Feed::None);
    } else if let Some(call) = Call::new(&args, &Feed::None) {
        walker.call(&call, env);
    }
}

fn env_in(walker: &Walker<'_>, base: &str, own: &str) -> Env {
    let mut env = Env::new(base);
    if !own.is_empty() {
        env.change_dir(own, walker.place);
    }
    env
}

/// Asks about cut text, and makes placeholders and this guard's own marks unknown.
fn readable(walker: &mut Walker<'_>, text: &str) -> String {
    if text.contains(CUT) {
        walker.find(Level::Ask, text, "was cut before this guard saw it", "make the call in smaller parts");
    }
    let mut out = text.replace(REMOTE, &UNKNOWN.to_string());
    while let Some(start) = out.find("[REDACTED") {
        let Some(end) = out.get(start..).and_then(|rest| rest.find(']')) else { break };
        out.replace_range(start..start.saturating_add(end).saturating_add(1), &UNKNOWN.to_string());
    }
    out
}
