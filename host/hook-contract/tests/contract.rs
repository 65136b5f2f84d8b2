//! The contract against its fixtures: schemas byte for byte, 302 cases of the registry, and a JSON Schema validator beside our own.
//!
//! Reads files of `tests/fixtures`; no other I/O.
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

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(fixtures().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn schemas_are_byte_identical_to_the_fixtures() {
    for (version, folder) in [(Version::V1, "v1"), (Version::V2, "v2")] {
        for hook in Hook::PUBLIC {
            let expected = read(&format!("schemas/{folder}/{hook}.json"));
            assert_eq!(schema::schema_text(hook, version), expected.trim_end_matches('\n'), "{folder}/{hook}");
        }
    }
}

#[test]
fn registry_v1() {
    run_registry(Version::V1, "registry/expected.v1.jsonl");
}

#[test]
fn registry_v2() {
    run_registry(Version::V2, "registry/expected.v2.jsonl");
}

/// Cases that a pure chain cannot express (time, cancellation, in-place mutation, bare returns), or where we differ on purpose
/// (`tests/fixtures/DIFFERENCES.md`).
fn skipped(case: &Value) -> bool {
    let differs = ["san/string-5000", "san/rewrite-long", "compose/duplicate-name"];
    let text = case["handlers"].to_string();
    differs.contains(&case["id"].as_str().unwrap())
        || ["\"sleep_s\"", "\"cancel\"", "\"mutate\"", "\"returns\""].iter().any(|word| text.contains(word))
}

fn run_registry(version: Version, expected: &str) {
    let expected: HashMap<String, Value> = read(expected)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .map(|line| (line["id"].as_str().unwrap().to_owned(), line))
        .collect();
    let (mut run, mut left) = (0, 0);
    let mut wrong = Vec::new();
    for line in read("registry/cases.jsonl").lines() {
        let Ok(case) = serde_json::from_str::<Value>(line) else {
            assert!(line.contains("san/nan"), "only the case with bare NaN is no JSON");
            left += 1;
            continue;
        };
        if skipped(&case) {
            left += 1;
            continue;
        }
        run += 1;
        let id = case["id"].as_str().unwrap();
        let got = run_case(&case, version);
        let want = comparable(&expected[id]);
        if got != want {
            wrong.push(format!("{id}\n  got  {got}\n  want {want}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {run} cases differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(run >= 280, "{run} cases run, {left} left out");
}

/// What is compared: error texts are another library's wording, so only their sources count.
fn comparable(expected: &Value) -> Value {
    if !expected["raised"].is_null() {
        return json!("raised");
    }
    let sources: Vec<_> =
        expected["errors"].as_array().unwrap().iter().map(|error| error.as_str().unwrap().split(':').next().unwrap()).collect();
    json!({
        "envelope": expected["envelope"], "payload": expected["payload"], "decisions": expected["decisions"],
        "sources": expected["sources"], "errors": sources, "blocked": expected["blocked"],
    })
}

fn run_case(case: &Value, version: Version) -> Value {
    let Some(hook) = Hook::from_name(case["hook"].as_str().unwrap()) else { return json!("raised") };
    let payload = case["payload"].as_object().cloned().unwrap_or_else(Object::new);
    let Ok(payload) = Payload::new(hook, payload) else { return json!("raised") };
    let correlation = case.get("correlation").map(|value| Correlation::from_json(value).unwrap()).unwrap_or_default();
    let mut chain = Chain::new(Scope { version, correlation, policy: ChainPolicy::default() }, payload);
    let mut handlers = case["handlers"].as_array().unwrap().clone();
    handlers.sort_by_key(|handler| handler["priority"].as_i64().unwrap_or(100));
    for handler in handlers {
        let name = handler["name"].as_str().unwrap();
        let flow = match answer(&handler).and_then(|reply| check(chain.payload(), reply, terms(version))) {
            Ok(checked) => chain.apply(name, checked),
            Err(failure) => chain.fail(name, &failure, FailureMode::Open).0,
        };
        if flow == Flow::Stop {
            break;
        }
    }
    comparable(&{
        let mut outcome = chain.into_outcome().to_json();
        outcome["raised"] = Value::Null;
        outcome
    })
}

fn answer(handler: &Value) -> Result<Reply, Failure> {
    if let Some(error) = handler["error"].as_str() {
        return Err(Failure::new(FailureKind::PluginFailed, error));
    }
    let decision = match &handler["decision"] {
        Value::Null => None,
        document => Some(RawDecision::from_json(document)?),
    };
    Ok(Reply { decision, ..Reply::default() })
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
