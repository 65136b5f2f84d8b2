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
    Chain, ChainPolicy, Correlation, FailureKind, FailureMode, Flow, Hook, Reply, Scope, Terms, Version, apply::Payload, check, schema,
};
use serde_json::{Value, json};

mod activity;
mod bounds;
mod properties;
mod rules;

fn terms(version: Version) -> Terms<'static> {
    Terms { actions: &Action::ALL, full_payload: false, version }
}

fn object(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

fn begin(hook: Hook, payload: Value) -> Chain {
    let scope = Scope { version: Version::V2, correlation: Correlation::default(), policy: ChainPolicy::default() };
    Chain::new(scope, Payload::new(hook, object(payload)).unwrap())
}

/// Answers with a decision document; on failure the plugin is closed or open.
fn answer(chain: &mut Chain, name: &str, decision: &Value, mode: FailureMode) -> Result<Flow, FailureKind> {
    let raw = RawDecision::from_json(decision).map(|decision| Reply { decision: Some(decision), ..Reply::default() });
    match raw.and_then(|reply| check(chain.payload(), reply, terms(Version::V2))) {
        Ok(checked) => Ok(chain.apply(name, checked)),
        Err(failure) => {
            let _ = chain.fail(name, &failure, mode);
            Err(failure.kind)
        }
    }
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
