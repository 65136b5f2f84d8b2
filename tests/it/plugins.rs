//! What plugins see, and what becomes of their answers.

use crate::support::{World, ask, object, payload, summary};
use hook_runtime::{Correlation, Hook, Invocation};
use serde_json::json;

#[test]
fn every_hook_is_found_by_its_export_and_called() {
    let world = World::new();
    world.scripted("watch", json!({}), "");
    let host = world.host();
    for hook in Hook::ALL {
        let invoked = ask(&host, hook);
        assert_eq!((invoked.calls.len(), summary(&invoked)), (1, (vec![], vec![])), "{hook}");
    }
}

/// Hook, what the plugin decides -> the recorded decision's action and instruction.
#[test]
fn every_action_comes_through() {
    let cases = [
        (Hook::UserPromptSubmit, "block", "block", ""),
        (Hook::UserPromptSubmit, "rewrite", "rewrite", ""),
        (Hook::UserPromptSubmit, "continue", "continue", ""),
        (Hook::PreToolUse, "ask", "request_permission", ""),
        (Hook::PermissionRequest, "deny", "deny", ""),
        (Hook::PermissionRequest, "ask", "ask", ""),
        (Hook::PostToolUse, "context", "add_context", "text"),
        (Hook::PostToolUse, "block", "block", ""),
        (Hook::PreCompact, "defer", "defer", ""),
        (Hook::PreCompact, "rewrite", "rewrite", ""),
        (Hook::SessionStart, "continue", "continue", ""),
        (Hook::PreVerify, "strengthen", "strengthen", "text"),
        (Hook::PostVerify, "accept", "accept", ""),
        (Hook::PostVerify, "revise", "revise", "text"),
        (Hook::PostVerify, "escalate", "escalate", ""),
        (Hook::Stop, "finalize", "finalize", ""),
        (Hook::Stop, "continue", "continue", "text (1 refs)"),
    ];
    for (hook, decide, action, instruction) in cases {
        let world = World::new();
        world.scripted("p", json!({"decide": decide, "text": "text"}), "");
        let outcome = ask(&world.host(), hook).outcome;
        assert!(outcome.errors.is_empty(), "{hook} {decide}: {:?}", outcome.errors);
        assert_eq!(
            (outcome.decisions[0].action.word(), outcome.decisions[0].instruction.as_str()),
            (action, instruction),
            "{hook} {decide}"
        );
    }
}

#[test]
fn a_plugin_sees_a_bounded_redacted_copy_and_is_told_so() {
    let world = World::new();
    world.scripted("p", json!({"decide": "echo"}), "");
    let secret = format!("sk-{}", "A".repeat(24));
    let payload = json!({"tool_name": "Bash", "arguments": {"command": secret, "token": "t", "long": "x".repeat(5000)}});
    let invocation = Invocation::new(Hook::PreToolUse, object(payload.clone())).cwd("/somewhere");
    let outcome = world.host().invoke_blocking(invocation).unwrap().outcome;
    let decision = outcome.blocking().unwrap().0;
    // The reason is cut at 1,024 characters, so only its beginning tells.
    assert!(decision.reason.starts_with(r#"tool=Bash arguments={"command":"[REDACTED]","long":"xxx"#), "{}", decision.reason);
    assert_eq!(outcome.payload.view().reduced, ["/arguments/long"]);
    assert_eq!(outcome.payload.view().redacted, ["/arguments/command", "/arguments/token"]);
    assert_eq!(json!(outcome.payload.effective()), payload, "the real payload stays whole");
}

#[test]
fn full_payload_shows_the_real_one() {
    let world = World::new();
    world.scripted("p", json!({"decide": "echo"}), "grants: {full_payload: true}");
    let payload = json!({"tool_name": "Bash", "arguments": {"token": "t1"}});
    let outcome = world.host().invoke_blocking(Invocation::new(Hook::PreToolUse, object(payload)).cwd("/c")).unwrap().outcome;
    let reason = &outcome.blocking().unwrap().0.reason;
    let expected = format!(r#"tool=Bash arguments={{"token":"t1"}} cwd=/c workspace={} reduced=[] redacted=[]"#, world.project().display());
    assert_eq!(*reason, expected);
}

#[test]
fn a_rewrite_feeds_the_next_plugin_and_keeps_what_was_not_seen() {
    let world = World::new();
    world.scripted("first", json!({"decide": "rewrite", "arguments": {"command": "echo safe"}}), "priority: 1");
    world.scripted("second", json!({"decide": "echo"}), "priority: 2");
    let payload = json!({"tool_name": "Bash", "arguments": {"command": "rm", "token": "t"}});
    let outcome = world.host().invoke_blocking(Invocation::new(Hook::PreToolUse, object(payload))).unwrap().outcome;
    assert!(outcome.decisions[1].reason.contains(r#""command":"echo safe""#), "{}", outcome.decisions[1].reason);
    assert_eq!(json!(outcome.payload.effective()["arguments"]), json!({"command": "echo safe", "token": "t"}));
}

#[test]
fn a_rewrite_that_is_no_json_object_fails_the_plugin_and_changes_nothing() {
    let world = World::new();
    world.scripted("p", json!({"decide": "bad-json"}), "");
    let invoked = ask(&world.host(), Hook::PreToolUse);
    assert_eq!(summary(&invoked), (vec![], vec!["p=hook::check::bad_rewrite".into()]));
    assert_eq!(*invoked.outcome.payload.effective(), payload(Hook::PreToolUse));
}

#[test]
fn priority_orders_and_a_block_ends_the_chain() {
    let world = World::new();
    world.scripted("c-late", json!({"decide": "continue"}), "priority: 200");
    world.scripted("b-block", json!({"decide": "block"}), "priority: 50");
    world.scripted("a-early", json!({"decide": "continue"}), "priority: -5");
    assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)).0, ["a-early=continue", "b-block=block"]);
}

#[test]
fn a_matcher_decides_who_is_woken() {
    let world = World::new();
    world.scripted("bash", json!({}), "match: {tool: 'Bash(git *)|Write'}");
    let host = world.host();
    let called = |tool: &str| {
        let payload = object(json!({"tool_name": tool, "arguments": {}}));
        host.invoke_blocking(Invocation::new(Hook::PreToolUse, payload)).unwrap().calls.len()
    };
    assert_eq!([called("Bash"), called("Write"), called("Read")], [1, 1, 0]);
}

#[test]
fn feedback_is_routed_or_reported() {
    let world = World::new();
    world.scripted("p", json!({"feedback": "be careful"}), "");
    let host = world.host();
    assert_eq!(ask(&host, Hook::PreToolUse).outcome.feedback[0].text, "be careful");
    assert!(ask(&host, Hook::SessionEnd).outcome.feedback.is_empty());
    host.flush().unwrap();
    let connection = rusqlite::Connection::open(world.store()).unwrap();
    let ignored: String = connection.query_row("SELECT ignored FROM hook_events ORDER BY id DESC LIMIT 1", [], |row| row.get(0)).unwrap();
    assert_eq!(ignored, "feedback");
}

#[test]
fn no_state_of_a_guest_outlives_its_call() {
    let world = World::new();
    world.scripted("p", json!({"decide": "continue"}), "");
    let host = world.host();
    let fuel: Vec<_> = (0..5).map(|_| ask(&host, Hook::PreToolUse).calls[0].fuel).collect();
    assert!(fuel[0].is_some() && fuel.iter().all(|used| *used == fuel[0]), "{fuel:?}");
}

#[test]
fn correlation_reaches_the_outcome() {
    let world = World::new();
    let correlation = Correlation::from_json(&json!({"session_id": "s", "step_id": "st", "session_generation": 2})).unwrap();
    let invocation = Invocation::new(Hook::SessionEnd, payload(Hook::SessionEnd)).correlation(correlation);
    let document = world.host().invoke_blocking(invocation).unwrap().to_json();
    assert_eq!(document["envelope"]["correlation"]["step_id"], "st");
}
