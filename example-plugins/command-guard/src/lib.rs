//! A `PreToolUse` guard that parses shell commands and stops the destructive ones.
//!
//! Separate from the engine's modules because this file alone knows the plugin interface. Invariant: no pattern is run over raw shell text; rules see
//! the calls that a shell parser found, and a failure is an error, so that `on_failure: closed` answers it.

#![warn(clippy::arithmetic_side_effects)]

pub mod bounds;
pub mod glob;
pub mod judge;
pub mod paths;
pub mod rules;
pub mod settings;
pub mod shell;
pub mod tools;
pub mod verdict;

pub use judge::{Context, judge};
pub use settings::Settings;
pub use verdict::Verdict;

use geode_hook_sdk::prelude::{Failure, PreToolUse, block, failed, pass, pre_tool_use, request_permission};
use serde_json::Value;

/// The plugin.
#[derive(Debug, Clone, Copy)]
pub struct CommandGuard;

impl PreToolUse for CommandGuard {
    fn pre_tool_use(ctx: &geode_hook_sdk::Context, call: &pre_tool_use::Payload) -> Result<pre_tool_use::Reply, Failure> {
        let settings: Value = geode_hook_sdk::settings()?;
        let settings = Settings::from_json(&settings).map_err(failed)?;
        let arguments: Value = call.arguments()?;
        let context = Context { cwd: &ctx.cwd, workspace: &ctx.workspace, reduced: &ctx.reduced, redacted: &ctx.redacted };
        Ok(match judge(&call.tool_name, &arguments, &context, &settings) {
            Verdict::Pass => pass(),
            Verdict::Block(reason) => block(reason),
            Verdict::Ask(reason) => request_permission(reason),
        })
    }
}

geode_hook_sdk::export!(CommandGuard: PreToolUse);
