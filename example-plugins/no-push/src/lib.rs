//! The smallest useful plugin: leaves pushing to people.

use geode_hook_sdk::prelude::*;

/// Blocks every tool call whose arguments mention `git push`.
#[derive(Debug)]
pub struct NoPush;

impl PreToolUse for NoPush {
    fn pre_tool_use(ctx: &Context, call: &pre_tool_use::Payload) -> Result<pre_tool_use::Reply, Failure> {
        ctx.require_whole("/arguments")?;
        let pushes = call.arguments.contains("git push");
        Ok(if pushes { block("pushing is for people: say what should be pushed, and why") } else { pass() })
    }
}

geode_hook_sdk::export!(NoPush: PreToolUse);
