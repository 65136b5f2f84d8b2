//! Keeps secret files and secrets away from an agent.
//!
//! Before a tool runs, its paths and commands are checked for secret files; before a prompt is used and after a tool ran, their text is
//! checked for secrets. It guards against accidents and plain requests, not against somebody who hides a path on purpose.

mod arguments;
mod files;
mod glob;
mod programs;
mod secrets;
mod settings;
mod shell;

use geode_hook_sdk::prelude::*;
use serde_json::Value;

use crate::{
    arguments::is_text_field,
    files::Policy,
    secrets::Kind,
    settings::{OnPrompt, Settings},
};

/// The plugin.
#[derive(Debug)]
pub struct SecretGuard;

geode_hook_sdk::export!(SecretGuard: UserPromptSubmit, PreToolUse, PostToolUse);

impl UserPromptSubmit for SecretGuard {
    fn user_prompt_submit(ctx: &Context, prompt: &user_prompt_submit::Payload) -> Result<user_prompt_submit::Reply, Failure> {
        let settings: Settings = settings()?;
        let seen = secrets::find(&prompt.user_input).or(ctx.is_redacted("/user_input").then_some(Kind::Masked));
        if seen.is_none() && ctx.is_reduced("/user_input") {
            // Blocking every long prompt would only teach people to switch the guard off.
            log::warn("the prompt was cut: only its first part was checked for secrets");
        }
        Ok(match (seen, settings.on_prompt) {
            (None, _) => pass(),
            (Some(kind), OnPrompt::Block) => block(format!(
                "The prompt holds {kind}. Take it out and name a file or an environment variable instead; if it was sent before, replace it."
            )),
            (Some(kind), OnPrompt::Warn) => pass().feedback(format!("The prompt holds {kind}. Do not repeat, store or send it.")),
        })
    }
}

impl PreToolUse for SecretGuard {
    fn pre_tool_use(ctx: &Context, call: &pre_tool_use::Payload) -> Result<pre_tool_use::Reply, Failure> {
        let policy = Policy::new(&settings()?);
        let arguments: Value = call.arguments()?;
        if let Some(found) = arguments::secret_file(&arguments, &policy) {
            return Ok(block(format!(
                "`{}` is {}. Work without it, or ask the user to allow it in the settings of secret-guard.",
                shown(&found.path),
                found.kind
            )));
        }
        match ctx.reduced.iter().find(|pointer| is_part_of_arguments(pointer) && !is_text_field(pointer)) {
            Some(pointer) => Err(no_verdict(format!("`{pointer}` was cut, so it may name a secret file"))),
            None => Ok(pass()),
        }
    }
}

impl PostToolUse for SecretGuard {
    fn post_tool_use(ctx: &Context, call: &post_tool_use::Payload) -> Result<post_tool_use::Reply, Failure> {
        let _checked: Settings = settings()?;
        let result: Value = call.result()?;
        let seen = secrets::worst(&result).or(ctx.is_redacted("/result").then_some(Kind::Masked));
        Ok(match seen {
            None => pass(),
            Some(kind) if kind.is_severe() => block(format!("The result holds {kind} and is withheld.")),
            Some(kind) => add_context(format!("The result above holds {kind}. Do not repeat, store or send it.")),
        })
    }
}

fn is_part_of_arguments(pointer: &str) -> bool {
    geode_hook_sdk::covers(pointer, "/arguments")
}

/// A path for a reason: its first 120 characters, so that a long one does not push out the advice.
fn shown(path: &str) -> String {
    path.chars().filter(|character| !character.is_control()).take(120).collect()
}
