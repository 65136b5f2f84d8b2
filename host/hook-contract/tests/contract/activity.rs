//! What is stored of an event (spec 7.19, the rows `st/*` that need no database), and what never is.

use super::*;
use hook_contract::activity::{MAX_ROW_BYTES, RowStatus, activity, bound_row, cut};
use hook_contract::canonical::object_size;
use hook_contract::event::{EVENTS, event};

fn bounded(value: Value) -> Value {
    Value::Object(bound_row(&object(value)))
}

fn stored(name: &str, data: Value) -> hook_contract::activity::Activity {
    let correlation = Correlation { session_id: "S".into(), tool_call_id: "TC".into(), ..Correlation::default() };
    activity(event(name).unwrap(), &object(data), &correlation).unwrap()
}

#[test]
fn rows_are_bounded() {
    let nested = json!({"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}});
    let big: Object = (0..30).map(|index| (format!("k{index}"), json!("x".repeat(500)))).collect();
    let forty: Object = (0..40).map(|index| (format!("k{index}"), json!(index))).collect();
    let mut thirty_two: Object = (0..32).map(|index| (format!("k{index}"), json!(index))).collect();
    thirty_two.insert("_truncated_items".into(), json!(8));
    let mut items: Vec<_> = (0..32).map(Value::from).collect();
    items.push(json!({"_truncated_items": 8}));
    let cases = [
        ("st/string-512", json!({"ok": "x".repeat(600)}), json!({"ok": format!("{}…[truncated:88]", "x".repeat(512))})),
        ("st/list-40", json!({"l": (0..40).collect::<Vec<_>>()}), json!({"l": items})),
        ("st/object-40", Value::Object(forty), Value::Object(thirty_two)),
        ("st/depth-6", json!({"nested": nested}), json!({"nested": {"a": {"b": {"c": {"d": {"e": {"_truncated": "max_depth"}}}}}}})),
        ("st/key", json!({"k".repeat(200): 1}), json!({format!("{}…[truncated:72]", "k".repeat(128)): 1})),
        ("st/forbidden-keys", json!({"prompt": "p", "Token": "t", "ok": 1}), json!({"ok": 1, "_redacted_fields": ["Token", "prompt"]})),
        (
            "st/8k",
            Value::Object(big.clone()),
            json!({"_truncated": true, "original_bytes": 15_261, "keys": big.keys().collect::<Vec<_>>()}),
        ),
    ];
    for (id, payload, expected) in cases {
        assert_eq!(bounded(payload), expected, "{id}");
    }
    let id = cut(&"s".repeat(300), 256);
    assert!(id.ends_with("s…[truncated:44]") && id.chars().count() == 271, "st/id-cap");
}

#[test]
fn the_five_compatible_events_are_never_stored() {
    let names: Vec<_> = EVENTS.iter().filter(|spec| activity(spec, &Object::new(), &Correlation::default()).is_none()).collect();
    assert_eq!(names.len(), 5, "st/compat-not-stored");
}

#[test]
fn a_row_keeps_typed_details_and_identifiers_alone() {
    let row =
        stored("tool_exec_ended", json!({"duration_ms": 1.5, "has_error": false, "tool_name": "run", "result": "PRIVATE", "x": "PRIVATE"}));
    assert_eq!((row.entity_id.as_str(), row.actor_id.as_str(), row.status), ("TC", "S", RowStatus::Ok));
    assert_eq!(Value::Object(row.payload), json!({"duration_ms": 1.5, "success": true, "session_id": "S", "tool_call_id": "TC"}));
    let row = stored("user_input_received", json!({"user_input": "PRIVATE", "session_id": "s"}));
    assert_eq!(Value::Object(row.payload), json!({"session_id": "S", "input_len": 7, "tool_call_id": "TC"}));
    let row = stored("trigger_fired", json!({"trigger_id": 7, "type": "cron"}));
    assert_eq!((row.entity_id.as_str(), &row.payload["type"]), ("trigger_fired", &json!("cron")), "a detail of another type is left out");
    assert_eq!(stored("subagent_failed", json!({})).status, RowStatus::Failed);
    assert_eq!(stored("turn_completed", json!({"error": "x"})).status, RowStatus::Failed);
    assert_eq!(stored("subagent_started", json!({"task_id": "t1"})).payload["identifier"], "t1");
}

/// Whatever stands in an event's data under whatever key: of free text only what the table types as a detail is kept, and no key that may
/// bear private text.
#[test]
fn no_private_text_is_ever_kept() {
    let private = "PRIVATE-TEXT";
    for spec in &EVENTS {
        let mut data: Object = ["prompt", "message", "error", "reason", "detail", "comment", "subject", "user_input", "result", "anything"]
            .map(|key| (key.to_owned(), json!(private)))
            .into_iter()
            .collect();
        data.insert("nested".into(), json!({"deep": [private]}));
        if let Some(row) = activity(spec, &data, &Correlation::default()) {
            let text = format!("{row:?}").replace(&format!("{spec:?}"), "");
            assert!(!text.contains(private), "{}: {text}", spec.name);
        }
    }
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_payload_becomes_a_bounded_row(value in crate::properties::any_json()) {
            let row = bound_row(&object(json!({"value": value})));
            prop_assert!(object_size(&row) <= MAX_ROW_BYTES);
        }
    }
}
