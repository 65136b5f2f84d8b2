//! The plugin as the host calls it, with the SDK's stand-in for the host. No I/O.

use command_guard::CommandGuard;
use geode_hook_sdk::{prelude::*, testing};
use serde_json::{Value, json};

fn call(command: &str, settings: &Value) -> Result<pre_tool_use::Reply, Failure> {
    testing::reset();
    testing::settings(settings);
    CommandGuard::pre_tool_use(&testing::context(), &pre_tool_use::Payload::new("Bash", &json!({ "command": command })))
}

#[test]
fn answers() {
    let action = |command: &str| call(command, &json!({})).map(|reply| reply.action);
    assert_eq!(action("ls"), Ok(None));
    assert_eq!(action("rm -rf /"), Ok(Some(pre_tool_use::Action::Block)));
    assert_eq!(action("git stash drop"), Ok(Some(pre_tool_use::Action::RequestPermission)));
}

#[test]
fn wrong_settings_are_a_failure() {
    assert!(matches!(call("ls", &json!({ "allow": [] })), Err(Failure::Failed(why)) if why.contains("allow_paths")));
}

#[test]
fn arguments_that_are_not_json_are_a_failure() {
    let payload = pre_tool_use::Payload { tool_name: "Bash".to_owned(), arguments: "{".to_owned() };
    testing::reset();
    assert!(CommandGuard::pre_tool_use(&testing::context(), &payload).is_err());
}

#[test]
fn a_cut_command_is_asked_about() {
    testing::reset();
    let ctx = Context { reduced: vec!["/arguments/command".to_owned()], ..testing::context() };
    let reply = CommandGuard::pre_tool_use(&ctx, &pre_tool_use::Payload::new("Bash", &json!({ "command": "ls" })));
    assert_eq!(reply.map(|r| r.action), Ok(Some(pre_tool_use::Action::RequestPermission)));
}
