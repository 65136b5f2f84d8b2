//! A whole guard in ten lines.
use geode_hook_sdk::prelude::*;
struct Guard;
impl PreToolUse for Guard {
    fn pre_tool_use(ctx: &Context, call: &pre_tool_use::Payload) -> Result<pre_tool_use::Reply, Failure> {
        ctx.require_whole("/arguments/command")?;
        let deletes = call.text("/arguments/command")?.contains("rm -rf /");
        Ok(if deletes { block("this deletes the whole disk") } else { pass() })
    }
}
geode_hook_sdk::export!(Guard: PreToolUse);
