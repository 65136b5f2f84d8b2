//! What holds for any input.

use super::*;
use hook_contract::hook::FieldType;
use hook_contract::{bound, canonical};
use proptest::prelude::*;

pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |number| serde_json::Number::from_f64(number).map(Value::Number)),
        "\\PC{0,40}".prop_map(Value::from),
        "-?[1-9][0-9]{0,1100}(e[0-9]{1,4})?".prop_map(|text| serde_json::from_str(&text).unwrap()),
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

/// Returns the most entries of any list or object.
fn widest(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(widest).max().unwrap_or(0).max(items.len()),
        Value::Object(object) => object.values().map(widest).max().unwrap_or(0).max(object.len()),
        _ => 0,
    }
}

/// A payload of a hook that fits its schema more often than not.
fn any_payload() -> impl Strategy<Value = (Hook, Object)> {
    let hooks = prop::sample::select(Hook::all().collect::<Vec<_>>());
    (hooks, prop::collection::vec(any_json(), 14), any::<u16>()).prop_map(|(hook, values, mask)| {
        let mut payload = minimal(hook);
        for (index, (field, value)) in hook.spec().fields.iter().zip(values).enumerate() {
            let replaced = match (field.field_type, value) {
                (FieldType::String, Value::String(text)) => Value::String(text),
                (FieldType::Object, Value::Object(object)) => Value::Object(object),
                (FieldType::Number | FieldType::Integer, Value::Number(number)) => Value::Number(number),
                (FieldType::Strings, Value::Array(items)) => items.iter().map(Value::to_string).collect(),
                (FieldType::Evidence, Value::Array(items)) => {
                    let evidence =
                        |item: &Value| json!({"kind": "legacy", "schema_id": "s", "authority": "a", "reference": item.to_string()});
                    items.iter().take(32).map(evidence).collect()
                }
                (_, value) if mask == 0 => value,
                _ => continue,
            };
            if mask & (1 << index) == 0 {
                payload.insert(field.name.to_owned(), replaced);
            }
        }
        (hook, payload)
    })
}

fn any_decision() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(Action::ALL.map(Action::word).to_vec());
    let updates =
        prop::collection::vec((prop::sample::select(vec!["arguments", "tool_name", "user_input", "keep_recent", "x"]), any_json()), 0..3);
    (word, "\\PC{0,20}", updates, any::<bool>(), prop::collection::vec(any_json(), 0..3)).prop_map(|(action, text, updates, with, list)| {
        let mut decision =
            json!({"action": action, "reason": text, "instruction": text, "additional_misses": list, "evidence_refs": ["r"]});
        if with {
            decision["updates"] = Value::Object(updates.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
        }
        decision
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_in_bounded_json_out((hook, payload) in any_payload()) {
        let valid = hook_contract::validate(hook, &payload).is_ok();
        let bounded = bound(&payload);
        prop_assert!(canonical::object_size(&bounded.payload) <= bound::MAX_PAYLOAD_BYTES);
        prop_assert!(depth(&Value::Object(bounded.payload.clone())) <= bound::MAX_DEPTH + 1);
        // 64 of its own, and the two marks.
        prop_assert!(widest(&Value::Object(bounded.payload.clone())) <= bound::MAX_ITEMS + 2);
        prop_assert!(!valid || hook_contract::validate(hook, &bounded.payload).is_ok());
    }

    /// Nothing panics, and what comes out depends on what goes in alone.
    #[test]
    fn a_chain_is_total_and_a_function_of_its_input(
        (hook, payload) in any_payload(), answers in prop::collection::vec((any_decision(), any::<bool>()), 0..5)
    ) {
        let run = || {
            let scope = Scope { version: Version::V2, correlation: Correlation::default(), policy: ChainPolicy::default() };
            let mut chain = Chain::new(scope, Payload::new(hook, payload.clone()).ok()?);
            for (decision, closed) in &answers {
                let mode = if *closed { FailureMode::Closed } else { FailureMode::Open };
                if answer(&mut chain, "p", decision, mode) == Ok(Flow::Stop) {
                    break;
                }
            }
            Some(chain.into_outcome())
        };
        let outcome = run();
        prop_assert_eq!(outcome.as_ref().map(hook_contract::Outcome::to_json), run().as_ref().map(hook_contract::Outcome::to_json));
        if let Some(outcome) = outcome {
            prop_assert_eq!(outcome.decisions.len(), outcome.sources.len());
            prop_assert!(hook_contract::validate(hook, &outcome.payload.view().payload).is_ok());
            prop_assert!(outcome.decisions.iter().all(|decision| hook.spec().actions.contains(&decision.action)));
        }
    }
}
