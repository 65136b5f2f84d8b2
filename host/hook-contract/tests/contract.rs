//! Rules of the contract that no conformance case pins, properties of its functions, and a JSON Schema validator beside our own. No I/O.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use hook_contract::decision::RawDecision;
use hook_contract::hook::{Action, Object};
use hook_contract::{
    Chain, ChainPolicy, Correlation, Failure, FailureKind, FailureMode, Flow, Hook, Reply, Scope, Terms, Version, apply::Payload, check,
    schema,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn terms(version: Version) -> Terms<'static> {
    Terms { actions: &Action::ALL, full_payload: false, version }
}

#[test]
fn our_validator_agrees_with_a_json_schema_validator() {
    for hook in Hook::all() {
        let document = schema(hook, Version::V2);
        let validator = jsonschema::validator_for(&document["properties"]["payload"]).unwrap();
        let base = minimal(hook);
        let values =
            [json!(null), json!(true), json!(3), json!(3.0), json!(3.5), json!("x"), json!([]), json!(["a"]), json!([1]), json!({})];
        for field in hook.spec().fields.iter().map(|field| field.name).chain(["_redacted_fields", "unknown"]) {
            for value in values.iter().map(Some).chain([None]) {
                let mut payload = base.clone();
                match value {
                    Some(value) => drop(payload.insert(field.to_owned(), value.clone())),
                    None => drop(payload.shift_remove(field)),
                }
                let ours = hook_contract::validate(hook, &payload).is_ok();
                assert_eq!(ours, validator.is_valid(&Value::Object(payload)), "{hook} {field} {value:?}");
            }
        }
    }
}

/// Returns the smallest payload of a hook.
fn minimal(hook: Hook) -> Object {
    use hook_contract::hook::FieldType as T;
    let value = |field_type| match field_type {
        T::String => json!("s"),
        T::Object => json!({}),
        T::Boolean => json!(true),
        T::Integer => json!(1),
        T::Number => json!(1.5),
        T::Strings | T::Evidence => json!([]),
    };
    hook.spec().fields.iter().filter(|field| field.required).map(|field| (field.name.to_owned(), value(field.field_type))).collect()
}

#[test]
fn the_action_matrix_is_the_tables() {
    for hook in Hook::PUBLIC {
        for action in Action::ALL {
            let updates = (action == Action::Rewrite)
                .then(|| minimal(hook).into_iter().filter(|(key, _)| hook != Hook::PreCompact || key == "keep_recent").collect());
            let raw = RawDecision { updates, instruction: "i".into(), additional_misses: vec!["m".into()], ..RawDecision::new(action, "") };
            let payload = Payload::new(hook, minimal(hook)).unwrap();
            let reply = Reply { decision: Some(raw), ..Reply::default() };
            let result = check(&payload, reply, terms(Version::V2));
            assert_eq!(result.is_ok(), hook.spec().actions.contains(&action), "{hook} {action}: {result:?}");
        }
    }
}

#[test]
fn every_failure_kind_has_its_own_code_and_a_hint() {
    let codes: std::collections::HashSet<_> = FailureKind::ALL.iter().map(|kind| kind.code()).collect();
    assert_eq!(codes.len(), FailureKind::ALL.len());
    for kind in FailureKind::ALL {
        assert_eq!(FailureKind::from_code(kind.code()), Some(*kind));
        assert!(!kind.hint("p").is_empty() && !kind.summary().is_empty());
    }
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

mod properties {
    use super::*;
    use hook_contract::{bound, canonical};
    use proptest::prelude::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter_map("finite", |number| serde_json::Number::from_f64(number).map(Value::Number)),
            "\\PC{0,40}".prop_map(Value::from),
            (0_usize..6000).prop_map(|length| Value::from("é".repeat(length))),
        ];
        leaf.prop_recursive(10, 300, 70, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..70).prop_map(Value::from),
                prop::collection::vec(("[a-z_~/]{0,12}|token|é{120,140}", inner), 0..70)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(object) => 1 + object.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_json_in_bounded_json_out(arguments in any_json(), name in "\\PC{0,20}") {
            let payload = json!({"tool_name": name, "arguments": arguments}).as_object().unwrap().clone();
            let valid = hook_contract::validate(Hook::PreToolUse, &payload).is_ok();
            let bounded = bound(&payload);
            prop_assert!(canonical::object_size(&bounded.payload) <= bound::MAX_PAYLOAD_BYTES);
            prop_assert!(depth(&Value::Object(bounded.payload.clone())) <= bound::MAX_DEPTH + 1);
            prop_assert!(!valid || hook_contract::validate(Hook::PreToolUse, &bounded.payload).is_ok());
        }
    }
}
