//! The 32 KiB bound in detail (spec 1.6, its last paragraph), and what is named as lost.

use super::*;
use hook_contract::{bound, canonical};

const MAX: usize = 32_768;

fn size(payload: &Object) -> usize {
    canonical::object_size(payload)
}

/// Returns a payload of exactly that many bytes, in fields of at most 4,096 characters.
fn of_size(bytes: usize) -> Object {
    let mut arguments = Object::new();
    let empty = json!({"tool_name": "t", "arguments": {}});
    let mut left = bytes - size(&object(empty));
    let mut index = 0;
    while left > 0 {
        // `"a00":"...",` but for the first comma.
        let frame = 8 + usize::from(index > 0);
        let text = (left - frame).min(4000);
        // What would be left must hold an entry of its own.
        let text = if (1..20).contains(&(left - frame - text)) { text - 100 } else { text };
        arguments.insert(format!("a{index:02}"), "x".repeat(text).into());
        left -= frame + text;
        index += 1;
    }
    let payload = object(json!({"tool_name": "t", "arguments": arguments}));
    assert_eq!(size(&payload), bytes);
    payload
}

#[test]
fn a_payload_of_exactly_the_bound_is_left_alone() {
    let bounded = bound(&of_size(MAX));
    assert_eq!((bounded.payload, bounded.reduced), (of_size(MAX), vec![]));
    assert_eq!(bound(&of_size(MAX + 1)).reduced, ["/arguments"]);
}

#[test]
fn an_object_becomes_its_hash_and_as_many_keys_as_fit() {
    let payload = of_size(MAX + 1);
    let bounded = bound(&payload).payload;
    let reduced = bounded["arguments"].as_object().unwrap();
    assert_eq!(reduced.keys().collect::<Vec<_>>(), ["_truncated", "payload_sha256", "keys"]);
    assert_eq!(reduced["payload_sha256"], canonical::sha256_hex(&payload["arguments"]));
    assert_eq!(reduced["keys"][0], "a00");
    assert_eq!(bounded["tool_name"], "t", "a field within its budget stays");
}

#[test]
fn a_string_keeps_whole_characters_and_numbers_stay() {
    let stop = |summary: &str, misses: Value| {
        object(json!({"passed": true, "mode": "m", "score": 0.5, "rubric_misses": misses, "termination_reason": "r", "rounds": 1,
            "tool_call_count": 2, "candidate_summary": summary, "policy_action": "accept", "evidence_refs": []}))
    };
    // Two fields too long for 32,768 bytes: the budget of ten fields is 3,276 bytes for each.
    let misses: Vec<_> = (0..64).map(|_| "é".repeat(300)).collect();
    let bounded = bound(&stop(&"é".repeat(4096), json!(misses))).payload;
    let summary = bounded["candidate_summary"].as_str().unwrap();
    assert!(summary.ends_with("é…[truncated]") && summary.len() <= 3276, "{}", summary.len());
    let kept = bounded["rubric_misses"].as_array().unwrap();
    assert!(kept.len() == 64 && kept.iter().all(|miss| miss.as_str().unwrap().ends_with("é…[truncated]")), "each is cut to its share");
    assert_eq!((&bounded["score"], &bounded["rounds"]), (&json!(0.5), &json!(1)));
    assert!(size(&bounded) <= MAX);
    hook_contract::validate(Hook::Stop, &bounded).unwrap();
}

#[test]
fn evidence_is_dropped_in_whole_items_so_that_the_schema_still_holds() {
    let evidence = json!({"kind": "legacy", "schema_id": "s".repeat(500), "authority": "a".repeat(500), "reference": "r".repeat(500)});
    let mut payload =
        object(json!({"passed": true, "mode": "m", "score": 0.5, "rubric_misses": [], "termination_reason": "r", "rounds": 1,
        "tool_call_count": 2, "candidate_summary": "c", "policy_action": "accept", "evidence_refs": vec![evidence.clone(); 32]}));
    let bounded = bound(&payload).payload;
    let kept = bounded["evidence_refs"].as_array().unwrap();
    assert!((1..32).contains(&kept.len()) && kept.iter().all(|item| *item == evidence), "{} kept", kept.len());
    hook_contract::validate(Hook::Stop, &bounded).unwrap();
    payload.insert("evidence_refs".into(), json!([evidence]));
    assert_eq!(bound(&payload).payload["evidence_refs"], json!([evidence]), "within the bound nothing is dropped");
}

#[test]
fn a_number_that_nothing_holds_stays_a_number_where_the_schema_wants_one() {
    let text = format!(
        r#"{{"model": "m", "provider": "p", "message_count": {}, "keep_recent": -1e999, "trigger": "t", "hard": true}}"#,
        "9".repeat(2000)
    );
    let payload = object(serde_json::from_str(&text).unwrap());
    let bounded = bound(&payload);
    hook_contract::validate(Hook::PreCompact, &bounded.payload).unwrap();
    assert_eq!(bounded.payload["message_count"].as_f64(), Some(f64::MAX));
    assert_eq!(bounded.payload["keep_recent"].as_f64(), Some(f64::MIN));
    assert_eq!(bounded.reduced, ["/keep_recent", "/message_count"]);
}

/// Every pass starts from the sanitised fields: a marker is never cut by a later pass.
#[test]
fn many_fields_halve_the_budget_until_they_fit() {
    let arguments: Object = (0..60).map(|index| (format!("k{index}"), json!("y".repeat(4000)))).collect();
    let payload = object(json!({"tool_name": "z".repeat(4096), "arguments": arguments, "result": {"text": "w".repeat(4096)},
        "has_error": false, "executed": true}));
    let bounded = bound(&payload);
    assert!(size(&bounded.payload) <= MAX);
    assert_eq!(bounded.payload["tool_name"], "z".repeat(4096), "its own budget is not used up");
    assert_eq!(bounded.reduced, ["/arguments"]);
}

#[test]
fn the_real_prompt_stays_whole_and_what_was_lost_is_named() {
    let secret = format!("sk-{}", "A".repeat(24));
    let text = format!("{secret} {}", "x".repeat(5000));
    let payload = Payload::new(Hook::UserPromptSubmit, json!({"user_input": text}).as_object().unwrap().clone()).unwrap();
    assert_eq!(payload.effective()["user_input"], json!(text));
    assert!(payload.view().payload["user_input"].as_str().unwrap().starts_with("[REDACTED] xxx"));
    assert_eq!(payload.view().reduced, ["/user_input"]);
    assert_eq!(payload.view().redacted, ["/user_input"]);
}
