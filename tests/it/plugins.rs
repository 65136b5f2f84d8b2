//! What plugins see, and what becomes of their answers.

use crate::support::{World, ask, object, payload, summary};
use hook_runtime::{Correlation, Hook, Invocation, Invoked};
use serde_json::{Value, json};

#[test]
fn every_hook_is_found_by_its_export_and_called() {
    let world = World::new();
    world.scripted("watch", json!({}), "");
    let host = world.host();
    for hook in Hook::all() {
        let invoked = ask(&host, hook);
        assert_eq!((invoked.calls.len(), summary(&invoked)), (1, (vec![], vec![])), "{hook}");
    }
}

#[test]
fn a_plugin_sees_a_bounded_redacted_copy_and_is_told_so() {
    let world = World::new();
    world.scripted("p", json!({"act": "echo"}), "");
    let secret = format!("sk-{}", "A".repeat(24));
    let payload = json!({"tool_name": "Bash", "arguments": {"command": secret, "token": "t", "long": "x".repeat(5000)}});
    let invocation = Invocation::new(Hook::PreToolUse, object(payload.clone())).cwd("/somewhere");
    let Invoked { outcome, calls, .. } = world.host().invoke_blocking(invocation).unwrap();
    // A log line is cut at 1,024 characters, so only its beginning tells.
    let shown = &calls[0].log[0].text;
    assert!(shown.contains(r#"tool-name: "Bash", arguments: "{\"command\":\"[REDACTED]\",\"long\":\"xxx"#), "{shown}");
    assert_eq!(outcome.payload.view().reduced, ["/arguments/long"]);
    assert_eq!(outcome.payload.view().redacted, ["/arguments/command", "/arguments/token"]);
    assert_eq!(json!(outcome.payload.effective()), payload, "the real payload stays whole");
}

#[test]
fn full_payload_shows_the_real_one() {
    let world = World::new();
    world.scripted("p", json!({"act": "echo"}), "grants: {full_payload: true}");
    let payload = json!({"tool_name": "Bash", "arguments": {"token": "t1"}});
    let invoked = world.host().invoke_blocking(Invocation::new(Hook::PreToolUse, object(payload)).cwd("/c")).unwrap();
    let expected = format!(r#"arguments: "{{\"token\":\"t1\"}}" }} cwd=/c workspace={} reduced=[] redacted=[]"#, world.project().display());
    assert!(invoked.calls[0].log[0].text.ends_with(&expected), "{:?}", invoked.calls[0].log);
}

/// Every field of every payload, as the guest has it.
#[test]
fn every_payload_arrives_field_by_field() {
    let world = World::new();
    world.scripted("p", json!({"act": "echo"}), "");
    let host = world.host();
    for hook in Hook::all() {
        let shown = ask(&host, hook).calls[0].log[0].text.clone();
        for (field, value) in payload(hook) {
            let value = match value {
                Value::Object(value) => format!("{:?}", Value::Object(value).to_string()),
                Value::Array(items) if items.iter().any(Value::is_object) => {
                    "[EvidenceRef { kind: EvidenceKind::Legacy, schema-id: \"s\"".to_owned()
                }
                Value::String(text) => format!("{text:?}"),
                value => value.to_string(),
            };
            let field = field.replace('_', "-");
            let found = [format!("{field}: {value}"), format!("{field}: Some({value}")].iter().any(|text| shown.contains(text));
            assert!(found, "{hook} {field}: {value} in {shown}");
        }
    }
}

#[test]
fn a_rewrite_feeds_the_next_plugin_and_keeps_what_was_not_seen() {
    let world = World::new();
    world.scripted("first", json!({"decide": {"action": "rewrite", "updates": {"arguments": {"command": "echo safe"}}}}), "priority: 1");
    world.scripted("second", json!({"act": "echo"}), "priority: 2");
    let payload = json!({"tool_name": "Bash", "arguments": {"command": "rm", "token": "t"}});
    let Invoked { outcome, calls, .. } = world.host().invoke_blocking(Invocation::new(Hook::PreToolUse, object(payload))).unwrap();
    assert!(calls[1].log[0].text.contains(r#"\"command\":\"echo safe\""#), "{:?}", calls[1].log);
    assert_eq!(json!(outcome.payload.effective()["arguments"]), json!({"command": "echo safe", "token": "t"}));
}

#[test]
fn a_rewrite_that_is_no_json_object_fails_the_plugin_and_changes_nothing() {
    let world = World::new();
    world.scripted("p", json!({"decide": {"action": "rewrite", "updates": {"arguments": "{"}}}), "");
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
    world.scripted("rm", json!({}), "match: {tool: 'Bash(rm *)'}");
    let host = world.host();
    let called = |tool: &str| {
        let payload = object(json!({"tool_name": tool, "arguments": {"command": "cd x && git push"}}));
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
