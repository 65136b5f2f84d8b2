//! The rules of decisions and chains (spec 1.4 and 1.5) that no conformance case pins.

use super::*;
use hook_contract::feedback::{Route, route};

fn secret() -> String {
    format!("sk-{}", "A".repeat(24))
}

#[test]
fn texts_of_a_decision_are_redacted_neutralised_and_cut() {
    let long = |max: usize| format!("{} \u{1b}[31m\u{202e}{}", secret(), "é".repeat(max));
    let mut chain = begin(Hook::PreVerify, json!({"termination_reason": "r", "rounds": 1, "tool_call_count": 0, "candidate_summary": "c"}));
    let evidence = json!({"kind": "legacy", "schema_id": long(512), "authority": "a", "reference": long(512)});
    let decision = json!({"action": "strengthen", "reason": long(1024), "instruction": long(4096),
        "additional_misses": vec![long(128); 40], "evidence_refs": vec![evidence; 40]});
    answer(&mut chain, "p", &decision, FailureMode::Open).unwrap();
    let decision = &chain.into_outcome().decisions[0];
    let evidence = &decision.evidence_refs[0];
    for (text, max) in [
        (&decision.reason, 1024),
        (&decision.instruction, 4096),
        (&decision.additional_misses[0], 128),
        (&evidence.schema_id, 512),
        (&evidence.reference, 512),
    ] {
        assert!(text.starts_with("[REDACTED] \\u{1b}[31m\\u{202e}é"), "{text}");
        assert_eq!(text.chars().count(), max, "cut without a marker");
    }
    assert_eq!((decision.additional_misses.len(), decision.evidence_refs.len()), (32, 32));
}

#[test]
fn the_thirty_third_evidence_is_never_looked_at() {
    let good = json!({"kind": "legacy", "schema_id": "s", "authority": "a", "reference": "r"});
    let mut all = vec![good; 32];
    all.push(json!(7));
    let mut chain = begin(Hook::SessionEnd, json!({"reason": "r", "status": "s"}));
    assert_eq!(answer(&mut chain, "p", &json!({"action": "continue", "evidence_refs": all}), FailureMode::Open), Ok(Flow::Next));
}

/// Action, updates, instruction, misses, keep_recent, evidence.
#[test]
fn where_several_rules_are_broken_the_first_is_named() {
    let compact = json!({"model": "m", "provider": "p", "message_count": 2, "keep_recent": 1, "trigger": "t", "hard": false});
    let verify = json!({"termination_reason": "r", "rounds": 1, "tool_call_count": 0, "candidate_summary": "c"});
    let post = json!({"passed": true, "mode": "m", "score": 1, "rubric_misses": [], "termination_reason": "r", "rounds": 1,
        "tool_call_count": 0, "candidate_summary": "c"});
    let bad_evidence = json!([{"kind": "nonsense"}]);
    let cases = [
        (Hook::PostVerify, &post, json!({"action": "block", "updates": {"a": 1}, "evidence_refs": bad_evidence}), "block is not allowed"),
        (Hook::PostVerify, &post, json!({"action": "revise", "updates": {"a": 1}, "evidence_refs": bad_evidence}), "updates are only"),
        (
            Hook::PostVerify,
            &post,
            json!({"action": "revise", "instruction": " ", "evidence_refs": bad_evidence}),
            "requires an instruction",
        ),
        (Hook::PreVerify, &verify, json!({"action": "strengthen", "evidence_refs": bad_evidence}), "additional miss"),
        (Hook::PreCompact, &compact, json!({"action": "rewrite", "updates": {"model": "x"}, "evidence_refs": bad_evidence}), "keep_recent"),
        (Hook::PreCompact, &compact, json!({"action": "defer", "evidence_refs": bad_evidence}), "evidence reference"),
    ];
    for (hook, payload, decision, expected) in cases {
        let mut chain = begin(hook, payload.clone());
        assert!(answer(&mut chain, "p", &decision, FailureMode::Open).is_err());
        let outcome = chain.into_outcome();
        assert!(outcome.errors[0].text.contains(expected), "{hook} {decision}: {}", outcome.errors[0].text);
        assert!(outcome.decisions.is_empty() && json!(outcome.payload.effective()) == *payload, "nothing of it is applied");
    }
}

/// A plugin's answer to the arguments that it saw, and what runs; `None` where the plugin fails.
#[test]
fn a_rewrite_changes_what_the_plugin_saw_and_nothing_else() {
    let (secret, long) = (secret(), "x".repeat(5000));
    let cases = [
        ("a secret key stays", json!({"a": 1, "token": "t"}), json!({"a": 2}), Some(json!({"a": 2, "token": "t"}))),
        (
            "a nested one too",
            json!({"o": {"a": 1, "password": "p"}}),
            json!({"o": {"a": 2}}),
            Some(json!({"o": {"a": 2, "password": "p"}})),
        ),
        ("a key is removed", json!({"a": 1, "b": 2, "token": "t"}), json!({"a": 1}), Some(json!({"a": 1, "token": "t"}))),
        ("a key is added", json!({"a": 1}), json!({"a": 1, "b": {"c": []}}), Some(json!({"a": 1, "b": {"c": []}}))),
        ("a cut string stays", json!({"a": 1, "s": long}), json!({"a": 2, "s": "SEEN"}), Some(json!({"a": 2, "s": long}))),
        ("a cut string is changed", json!({"s": long}), json!({"s": "short"}), None),
        ("a masked string is replaced", json!({"s": format!("use {secret}")}), json!({"s": "use it"}), Some(json!({"s": "use it"}))),
        ("a masked string is edited", json!({"s": format!("use {secret}")}), json!({"s": "do not use [REDACTED]"}), None),
        (
            "an item is changed",
            json!({"l": [{"a": 1, "token": "t"}, 2]}),
            json!({"l": [{"a": 9}, 2]}),
            Some(json!({"l": [{"a": 9, "token": "t"}, 2]})),
        ),
        ("a list that was seen whole", json!({"l": [1, 2]}), json!({"l": [3]}), Some(json!({"l": [3]}))),
        ("a list with a secret in it grows", json!({"l": [{"token": "t"}]}), json!({"l": [{}, 1]}), None),
        ("a cut list is changed", json!({"l": vec![1; 70]}), json!({"l": [1]}), None),
        ("a type is changed", json!({"a": [1]}), json!({"a": {"b": 1}}), Some(json!({"a": {"b": 1}}))),
        ("a hidden key is set", json!({"token": "t"}), json!({"token": "mine"}), Some(json!({"token": "t"}))),
    ];
    for (what, arguments, answered, expected) in cases {
        let mut chain = begin(Hook::PreToolUse, json!({"tool_name": "t", "arguments": arguments}));
        let seen = chain.payload().view().payload["arguments"].clone();
        let mut answered = answered;
        if answered["s"] == "SEEN" {
            answered["s"] = seen["s"].clone();
        }
        let result = answer(&mut chain, "p", &json!({"action": "rewrite", "updates": {"arguments": answered}}), FailureMode::Open);
        let runs = json!(chain.payload().effective()["arguments"]);
        match expected {
            Some(expected) => assert_eq!((result, runs), (Ok(Flow::Next), expected), "{what}"),
            None => assert_eq!((result, runs), (Err(FailureKind::BlindRewrite), arguments), "{what}"),
        }
    }
}

#[test]
fn each_rewrite_is_bounded_anew_and_feeds_the_next() {
    let mut chain = begin(Hook::UserPromptSubmit, json!({"user_input": "a"}));
    let rewrite = |text: &str| json!({"action": "rewrite", "updates": {"user_input": text}});
    answer(&mut chain, "first", &rewrite(&"y".repeat(5000)), FailureMode::Open).unwrap();
    assert!(chain.payload().view().payload["user_input"].as_str().unwrap().ends_with("…[truncated:904]"));
    assert_eq!(chain.payload().effective()["user_input"].as_str().unwrap().len(), 5000, "what runs is whole");
    let wrong = json!({"action": "rewrite", "updates": {"user_input": 7}});
    assert_eq!(answer(&mut chain, "second", &wrong, FailureMode::Open), Err(FailureKind::BadRewrite));
    answer(&mut chain, "third", &rewrite("last"), FailureMode::Open).unwrap();
    let outcome = chain.into_outcome();
    assert_eq!(
        (&outcome.payload.effective()["user_input"], &outcome.sources[..]),
        (&json!("last"), &["first".to_owned(), "third".to_owned()][..])
    );
}

#[test]
fn texts_for_models_and_people_name_their_plugin() {
    let mut chain =
        begin(Hook::PostToolUse, json!({"tool_name": "t", "arguments": {}, "result": {}, "has_error": false, "executed": true}));
    answer(&mut chain, "adviser", &json!({"action": "add_context", "instruction": "mind the gap"}), FailureMode::Open).unwrap();
    answer(&mut chain, "guard", &json!({"action": "block", "reason": "no"}), FailureMode::Open).unwrap();
    let outcome = chain.into_outcome();
    assert_eq!(outcome.instructions().iter().map(ToString::to_string).collect::<Vec<_>>(), ["adviser: mind the gap"]);
    assert_eq!(outcome.refusals().iter().map(ToString::to_string).collect::<Vec<_>>(), ["guard: no"]);
}

#[test]
fn a_closed_answer_says_nothing_that_the_plugin_said() {
    let mut chain = begin(Hook::PreToolUse, json!({"tool_name": "t", "arguments": {}}));
    let failure = hook_contract::Failure::new(FailureKind::PluginFailed, "the rule is PRIVATE");
    let _ = chain.fail("guard", &failure, FailureMode::Closed);
    let outcome = chain.into_outcome();
    let reason = &outcome.blocking().unwrap().0.reason;
    assert!(reason.starts_with("hook_failed:hook::invoke::plugin_failed") && !reason.contains("PRIVATE"), "{reason}");
    assert_eq!(outcome.errors[0].text, "the rule is PRIVATE", "a person can read it");
}

/// Hook, feedback -> the route that it takes; without one it is reported as ignored.
#[test]
fn feedback_has_a_route_or_is_reported() {
    for hook in Hook::all() {
        let payload = Payload::new(hook, minimal(hook)).unwrap();
        let reply = Reply { feedback: Some("a\u{7}b".into()), ..Reply::default() };
        let checked = check(&payload, reply, terms(Version::V2)).unwrap();
        let expected = (route(hook).map(|_| "a\\u{7}b".to_owned()), if route(hook).is_some() { vec![] } else { vec!["feedback"] });
        assert_eq!((checked.feedback, checked.ignored), expected, "{hook}");
    }
    assert_eq!(route(Hook::SessionStart), Some(Route::SessionMessage));
    assert_eq!(route(Hook::PreCompact), Some(Route::SummaryInstructions));
}
