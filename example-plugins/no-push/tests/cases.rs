//! Payload in, decision out; no I/O.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

use geode_hook_sdk::{prelude::*, testing};
use no_push::NoPush;
use serde_json::json;

#[test]
fn pushing_is_blocked_and_nothing_else() {
    for (command, blocked) in [("git push", true), ("cd x && git push -f", true), ("git pull", false), ("ls", false)] {
        let call = pre_tool_use::Payload::new("Bash", &json!({"command": command}));
        let reply = NoPush::pre_tool_use(&testing::context(), &call).unwrap();
        assert_eq!(reply.action == Some(pre_tool_use::Action::Block), blocked, "{command}");
    }
}
