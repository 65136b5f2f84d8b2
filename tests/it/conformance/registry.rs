//! The 302 cases of the registry under both versions of the contract: as decision documents of native handlers, and through components where
//! one can say what the case asks for.

use super::{Area, fixture};
use crate::support::{World, scripted};
use hook_runtime::contract::decision::{RawDecision, RawEvidence};
use hook_runtime::contract::hook::{Action, Object};
use hook_runtime::contract::{EvidenceKind, Reply};
use hook_runtime::{Correlation, Failure, FailureKind, Handler, HandlerCall, Hook, Host, Invocation, InvokeError, RegisterError, Version};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn documents_v1() {
    as_documents("registry v1, as documents", Version::V1);
}

#[test]
fn documents_v2() {
    as_documents("registry v2, as documents", Version::V2);
}

#[test]
fn components_v1() {
    as_components("registry v1, through components", Version::V1);
}

#[test]
fn components_v2() {
    as_components("registry v2, through components", Version::V2);
}

/// The area's name in differences: a version's own, or that of both.
fn area_of(area: &Area, version: Version, id: &str) -> &'static str {
    let own = if version == Version::V1 { "registry.v1" } else { "registry.v2" };
    if area.differences.contains_key(&format!("{own}/{id}")) { own } else { "registry" }
}

fn expected(version: Version) -> HashMap<String, Value> {
    let file = if version == Version::V1 { "registry/expected.v1.jsonl" } else { "registry/expected.v2.jsonl" };
    let lines = fixture(file);
    let cases = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    cases.map(|case| (case["id"].as_str().unwrap().to_owned(), comparable(&case))).collect()
}

/// Calls `run` for each case with what is expected of it; a line that is no JSON is a case too.
fn each_case(version: Version, mut run: impl FnMut(&str, Option<&Value>, &Value)) {
    let expected = expected(version);
    for line in fixture("registry/cases.jsonl").lines() {
        let case = serde_json::from_str::<Value>(line).ok();
        let id = case.as_ref().map_or("san/nan", |case| case["id"].as_str().unwrap());
        assert!(line.contains(id));
        run(id, case.as_ref(), &expected[id]);
    }
}

/// What is compared: of errors the source and the kind, since their words are ours; of audit rows no decision's reason, which is not stored.
fn comparable(expected: &Value) -> Value {
    let audit = expected["audit"].as_array().unwrap().iter().map(|row| {
        let mut row = row.clone();
        let failed = row["status"] == "error";
        let kind = if failed { kind_of(row["reason"].as_str().unwrap()) } else { "" };
        let row_object = row.as_object_mut().unwrap();
        row_object.retain(|key, _| !matches!(key.as_str(), "reason" | "schema_version" | "surface" | "run_id"));
        row_object.insert("kind".into(), kind.into());
        row
    });
    let mut document = json!({"audit": audit.collect::<Vec<_>>(), "seen": expected["seen"]});
    if let Some(kind) = expected["raised"]["type"].as_str() {
        document["raised"] = kind.into();
        return document;
    }
    for key in ["envelope", "payload", "decisions", "sources", "blocked"] {
        document[key] = expected[key].clone();
    }
    let errors = expected["errors"].as_array().unwrap().iter();
    document["errors"] = errors.map(|error| error.as_str().unwrap().split(':').next().unwrap()).collect();
    document
}

/// The original's exceptions, and our kinds, in one vocabulary.
fn kind_of(name: &str) -> &'static str {
    match name {
        "InvalidHookDecisionError" | "AttributeError" | "hook::check::bad_decision" | "hook::check::action_not_allowed" => "decision",
        "InvalidHookPayloadError" | "hook::check::bad_rewrite" | "hook::check::blind_rewrite" => "payload",
        "RuntimeError" | "hook::invoke::plugin_failed" => "failed",
        "CancelledError" | "hook::invoke::cancelled" => "cancelled",
        "TimeoutError" | "hook::invoke::deadline" => "timeout",
        other => panic!("{other}"),
    }
}

/// A host and the file that its audit rows go to.
struct Bench {
    world: World,
    host: Host,
    version: Version,
    rows: Mutex<i64>,
}

impl Bench {
    fn new(version: Version) -> Self {
        let world = World::new();
        let host = world.builder().contract(version).build().unwrap();
        Self { world, host, version, rows: Mutex::new(0) }
    }

    /// Sends a case's payload, and returns what came of it.
    fn send(&self, case: &Value, seen: &Mutex<Vec<Value>>) -> Value {
        let Some(hook) = Hook::from_name(case["hook"].as_str().unwrap()) else { return self.raised("ValueError", seen) };
        let payload = case["payload"].as_object().cloned().unwrap_or_default();
        let correlation = case.get("correlation").map(|value| Correlation::from_json(value).unwrap()).unwrap_or_default();
        let invoked = self.host.invoke_blocking(Invocation::new(hook, payload.clone()).correlation(correlation));
        if hook.observes() {
            // Side by side, who begins first is chance; the rows and decisions have an order.
            seen.lock().unwrap().sort_by_key(|one| one["handler"].to_string());
        }
        match invoked {
            Err(InvokeError::InvalidPayload(_)) => self.raised("InvalidHookPayloadError", seen),
            Err(_) => self.raised("CancelledError", seen),
            Ok(invoked) => {
                let rewritten = invoked.outcome.decisions.iter().any(|decision| decision.action == Action::Rewrite);
                assert!(rewritten || *invoked.outcome.payload.effective() == payload, "the real payload stays whole");
                let outcome = invoked.outcome.to_json();
                let errors: Vec<_> =
                    outcome["errors"].as_array().unwrap().iter().map(|error| error.as_str().unwrap().split(':').next()).collect();
                json!({
                    "audit": self.audit(), "seen": *seen.lock().unwrap(), "envelope": outcome["envelope"], "payload": outcome["payload"],
                    "decisions": outcome["decisions"], "sources": outcome["sources"], "blocked": outcome["blocked"], "errors": errors,
                })
            }
        }
    }

    fn raised(&self, kind: &str, seen: &Mutex<Vec<Value>>) -> Value {
        json!({"audit": self.audit(), "seen": *seen.lock().unwrap(), "raised": kind})
    }

    /// Returns the rows of the last call, as the fixtures name their fields.
    fn audit(&self) -> Vec<Value> {
        self.host.flush().unwrap();
        let connection = rusqlite::Connection::open(self.world.store()).unwrap();
        let mut last = self.rows.lock().unwrap();
        let mut statement = connection.prepare("SELECT id, payload_json, failure_code FROM hook_events WHERE id > ?1 ORDER BY id").unwrap();
        let rows = statement.query_map([*last], |row| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))).unwrap();
        let rows: Vec<(i64, String, String)> = rows.map(Result::unwrap).collect();
        *last = rows.last().map_or(*last, |row| row.0);
        let row = |(_, payload, code): &(i64, String, String)| {
            let stored: Value = serde_json::from_str(payload).unwrap();
            let mut row: Object = stored.as_object().unwrap().clone();
            row.retain(|key, _| !key.ends_with("duration_ms") && key != "surface");
            if self.version == Version::V1 {
                row.remove("step_id");
            }
            row.insert("kind".into(), if code.is_empty() { "" } else { kind_of(code) }.into());
            Value::Object(row)
        };
        rows.iter().map(row).collect()
    }
}

fn as_documents(name: &'static str, version: Version) {
    let mut area = Area::new(name);
    let bench = Bench::new(version);
    each_case(version, |id, case, theirs| {
        let got = case.map_or_else(|| json!({"inexpressible": "no JSON"}), |case| run_documents(&bench, case));
        area.compare(area_of(&area, version, id), id, theirs, &got);
    });
    assert_eq!(area.cases, 302);
    area.finish();
}

fn run_documents(bench: &Bench, case: &Value) -> Value {
    let seen = Arc::new(Mutex::new(Vec::new()));
    bench.host.unregister_all();
    for handler in case["handlers"].as_array().unwrap() {
        if handler.get("mutate").is_some() {
            return json!({"inexpressible": "a handler cannot change its payload"});
        }
        let hook = Hook::from_name(case["hook"].as_str().unwrap()).unwrap();
        if let Err(RegisterError::DuplicateName { .. }) = bench.host.register(hook, native(handler.clone(), Arc::clone(&seen))) {
            return bench.raised("DuplicateHookError", &seen);
        }
    }
    bench.send(case, &seen)
}

/// Makes the native handler that a case describes.
fn native(script: Value, seen: Arc<Mutex<Vec<Value>>>) -> Handler {
    let name = script["name"].as_str().unwrap().to_owned();
    let timeout = script["timeout_s"].as_f64();
    let priority = script["priority"].as_i64();
    let source = name.clone();
    let handler = Handler::new(name, move |call: &HandlerCall| {
        seen.lock().unwrap().push(json!({"handler": source, "payload": call.payload}));
        if let Some(message) = script["error"].as_str() {
            return Err(Failure::new(FailureKind::PluginFailed, message));
        }
        if script.get("cancel").is_some() {
            return Err(Failure::new(FailureKind::Cancelled, "cancelled"));
        }
        if let Some(seconds) = script["sleep_s"].as_f64() {
            std::thread::sleep(Duration::from_secs_f64(seconds));
        }
        let document = script.get("returns").or_else(|| script.get("decision")).filter(|document| !document.is_null());
        Ok(Reply { decision: document.map(RawDecision::from_json).transpose()?, ..Reply::default() })
    });
    let handler = priority.map_or(handler.clone(), |priority| handler.priority(priority));
    match timeout {
        Some(seconds) if seconds <= 0.0 => handler.without_timeout(),
        Some(seconds) => handler.timeout(Duration::from_secs_f64(seconds)),
        None => handler,
    }
}

fn as_components(name: &'static str, version: Version) {
    let mut area = Area::new(name);
    let bench = Bench::new(version);
    each_case(version, |id, case, theirs| {
        let Some(got) = case.and_then(|case| run_components(&bench, case)) else { return };
        // What a component saw is shown by `every_payload_arrives_field_by_field`.
        area.compare_without(&["seen"], area_of(&area, version, id), id, theirs, &got);
    });
    assert_eq!(area.cases, 148, "a case that could be said through a component no longer can, or the other way round");
    area.finish();
}

/// Runs a case with the scripted guest in place of each handler; `None` where a component cannot say what a handler of it does.
fn run_components(bench: &Bench, case: &Value) -> Option<Value> {
    let handlers = case["handlers"].as_array().unwrap();
    let hook = Hook::from_name(case["hook"].as_str().unwrap());
    // Plugins of a folder are registered by name, each name once.
    let by_name = |pair: &[Value]| pair[0]["name"].as_str() < pair[1]["name"].as_str() || pair[0]["priority"] != pair[1]["priority"];
    if !handlers.windows(2).all(by_name) || !handlers.iter().all(|handler| hook.is_some_and(|hook| expressible(hook, handler))) {
        return None;
    }
    let _ = std::fs::remove_dir_all(bench.world.hooks());
    std::fs::create_dir_all(bench.world.hooks()).unwrap();
    for handler in handlers {
        let act = if handler.get("error").is_some() { "failed" } else { "" };
        let grants = if handler["decision"]["action"] == "allow" { "grants: {actions: [allow]}" } else { "" };
        let settings = json!({"act": act, "decide": handler.get("decision")});
        let priority = handler["priority"].as_i64().unwrap_or(100);
        let name = handler["name"].as_str().unwrap();
        bench.world.drop_plugin(name, scripted(), &format!("hooks: [{}]\nsettings: {settings}\npriority: {priority}\n{grants}\n", hook?));
        bench.world.trust(name);
    }
    bench.host.reload().unwrap();
    Some(bench.send(case, &Mutex::new(Vec::new())))
}

/// Says whether the WIT of a hook has words for what a handler does: the type of a reply leaves no room for most wrong decisions.
fn expressible(hook: Hook, handler: &Value) -> bool {
    if ["sleep_s", "cancel", "mutate", "returns"].iter().any(|key| handler.get(*key).is_some()) {
        return false;
    }
    let Some(decision) = handler.get("decision").filter(|decision| !decision.is_null()) else { return true };
    let Some(action) = Action::from_word(decision["action"].as_str().unwrap_or("continue")) else { return false };
    let known = |(key, value): (&String, &Value)| match key.as_str() {
        "action" => value.is_string(),
        "reason" => value.is_string(),
        "updates" => action == Action::Rewrite && value.as_object().is_some_and(|updates| typed_updates(hook, updates)),
        "instruction" => value.is_string() && carries_instruction(hook, action),
        "additional_misses" => action == Action::Strengthen && value.as_array().unwrap().iter().all(Value::is_string),
        "evidence_refs" => value.as_array().unwrap().iter().all(typed_evidence),
        _ => false,
    };
    let rewrites = action != Action::Rewrite || decision.get("updates").is_some();
    hook.spec().actions.contains(&action) && rewrites && decision.as_object().unwrap().iter().all(known)
}

fn typed_updates(hook: Hook, updates: &Object) -> bool {
    let has_any = hook == Hook::PreToolUse || !updates.is_empty();
    has_any
        && updates.iter().all(|(key, value)| match (hook, key.as_str()) {
            (Hook::UserPromptSubmit, "user_input") | (Hook::PreToolUse, "tool_name") => value.is_string(),
            (Hook::PreToolUse, "arguments") => !value.is_string(),
            (Hook::PreCompact, "keep_recent") => value.is_i64(),
            _ => false,
        })
}

fn carries_instruction(hook: Hook, action: Action) -> bool {
    matches!(action, Action::AddContext | Action::Strengthen | Action::Revise) || (hook, action) == (Hook::Stop, Action::Continue)
}

fn typed_evidence(value: &Value) -> bool {
    let raw = RawDecision::from_json(&json!({"evidence_refs": [value]})).unwrap();
    match &raw.evidence_refs[..] {
        [RawEvidence::Object { kind, .. }] => {
            EvidenceKind::from_word(kind).is_some()
                && value.as_object().unwrap().values().all(Value::is_string)
                && value.as_object().unwrap().len() == 4
        }
        _ => false,
    }
}
