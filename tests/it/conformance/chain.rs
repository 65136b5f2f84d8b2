//! The chain cases of the second system, on native handlers in the one pipeline.

use super::{Area, aimon};
use crate::support::World;
use hook_runtime::contract::aimon::{
    CONTINUE_NEVER_STOP, CONTINUE_STOP_ON_BLOCKED, FAIL_CLOSED_STOP_ON_BLOCKED, Flow, HookResult, Verdict, final_input, results,
    timeout_for,
};
use hook_runtime::{
    CancelFlag, ChainMode, ChainPolicy, Failure, FailureKind, FailureMode, Handler, HandlerCall, Hook, Invocation, InvokeError, Invoked,
};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Times of the cases are stretched, so that a busy machine does not turn a quick handler into a late one.
const STRETCH: u64 = 10;

#[test]
fn chains() {
    let mut area = Area::new("aimon chain");
    let cases = aimon("chain");
    // Cases with a timeout in them wait for it: side by side.
    let got: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = cases.iter().map(|case| scope.spawn(|| run(&case["given"], &case["expect"]))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (case, got) in cases.iter().zip(got) {
        area.compare("chain", case["id"].as_str().unwrap(), &comparable(&case["expect"]), &got);
    }
    area.finish();
}

/// Reads a result of the fixtures.
pub(super) fn result_from(value: &Value) -> HookResult {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    HookResult {
        decision: match value["decision"].as_str() {
            Some("deny") => Verdict::Deny,
            Some("ask") => Verdict::Ask,
            _ => Verdict::Allow,
        },
        flow: if value["flow"] == "block" { Flow::Block } else { Flow::Continue },
        feedback: text("feedback"),
        updated_input: value["updated_input"].as_object().cloned(),
        updated_output: value.get("updated_output").cloned(),
        rewakes: value["rewakes"].as_array().into_iter().flatten().map(|spec| spec.as_str().unwrap().to_owned()).collect(),
    }
}

/// Prints a result as the fixtures do.
pub(super) fn result_json(result: &HookResult) -> Value {
    let decision = ["allow", "ask", "deny"][result.decision as usize];
    let flow = ["continue", "block"][result.flow as usize];
    let mut object = Map::from_iter([("decision".to_owned(), json!(decision)), ("flow".to_owned(), json!(flow))]);
    let members = [
        ("feedback", result.feedback.as_ref().map(|text| json!(our_words(text)))),
        ("updated_input", result.updated_input.as_ref().map(|input| json!(input))),
        ("updated_output", result.updated_output.clone()),
        ("rewakes", (!result.rewakes.is_empty()).then(|| json!(result.rewakes))),
    ];
    object.extend(members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    Value::Object(object)
}

/// Of a closed answer's words only the code counts.
fn our_words(text: &str) -> &str {
    text.strip_prefix("hook_failed:").map_or(text, |rest| rest.split(": ").next().unwrap())
}

/// What a placeholder of the fixtures stands for with us.
fn placeholder(text: &str) -> Option<&'static str> {
    let kinds = [
        ("{mapped_exception", FailureKind::PluginFailed),
        ("{threw", FailureKind::PluginFailed),
        ("{rejected", FailureKind::HostBusy),
        ("timeout", FailureKind::Deadline),
    ];
    kinds.iter().find(|(word, _)| text.contains(word)).map(|(_, kind)| kind.code())
}

/// An expected value with placeholders filled in, and a pattern for a text as that text.
fn comparable(expect: &Value) -> Value {
    match expect {
        Value::Array(items) => items.iter().map(comparable).collect(),
        Value::Object(object) => {
            let pair = |(key, value): (&String, &Value)| match (key.as_str(), value.as_str()) {
                ("feedback_regex", Some(text)) => ("feedback".to_owned(), json!(placeholder(text).unwrap())),
                ("feedback", Some(text)) => (key.clone(), json!(placeholder(text).unwrap_or(text))),
                _ => (key.clone(), comparable(value)),
            };
            Value::Object(object.iter().map(pair).collect())
        }
        other => other.clone(),
    }
}

fn policy(given: &Value) -> ChainPolicy {
    let mut policy = match given["preset"].as_str().unwrap() {
        "continue_never_stop" => CONTINUE_NEVER_STOP,
        "continue_stop_on_blocked" => CONTINUE_STOP_ON_BLOCKED,
        "fail_closed_stop_on_blocked" => FAIL_CLOSED_STOP_ON_BLOCKED,
        other => panic!("{other}"),
    };
    if given["mode"] == "parallel" {
        policy.mode = ChainMode::SideBySide;
    }
    if given["timeout_behavior"] == "fail_closed" {
        policy.on_timeout = FailureMode::Closed;
    }
    policy
}

/// What the handlers of a case did.
#[derive(Default)]
struct Trace {
    ran: Vec<Value>,
    seen: Map<String, Value>,
}

fn run(given: &Value, expect: &Value) -> Value {
    let hook = if given["event"] == "post_tool" { Hook::PostToolUse } else { Hook::PreToolUse };
    let world = World::new();
    let host = world.builder().without_store().chain_policy(policy(&given["policy"])).build().unwrap();
    let trace = Arc::new(Mutex::new(Trace::default()));
    for script in given["hooks"].as_array().unwrap() {
        host.register(hook, handler(given, script, &trace)).unwrap();
    }
    let payload = match hook {
        Hook::PreToolUse => json!({"tool_name": "Bash", "arguments": given["input"]}),
        _ => json!({"tool_name": "Bash", "arguments": {}, "result": {"content": given["output"]}, "has_error": false, "executed": true}),
    };
    let cancel = CancelFlag::default();
    let invocation = Invocation::new(hook, payload.as_object().unwrap().clone()).cancel(cancel.clone());
    let invoked = host.invoke_blocking(invocation);
    let trace = trace.lock().unwrap();
    report(expect, &trace, invoked, cancel.is_cancelled())
}

/// Returns the members that a case looks at.
fn report(expect: &Value, trace: &Trace, invoked: Result<Invoked, InvokeError>, interrupted: bool) -> Value {
    let (results, blocked, reasons) = match &invoked {
        // A hook that decides counts as blocked.
        Err(_) => (vec![HookResult::deny("{interrupted}")], true, Vec::new()),
        Ok(invoked) => {
            let asked: Vec<_> = invoked.calls.iter().map(|call| call.plugin.as_str()).collect();
            let reasons = invoked.outcome.refusals().into_iter().map(|refusal| refusal.text).collect();
            (results(&invoked.outcome, &asked), invoked.outcome.blocked(), reasons)
        }
    };
    let printed: Vec<_> = results.iter().map(result_json).collect();
    let input = |input: Option<&Map<String, Value>>| input.map_or(Value::Null, |input| json!(input));
    let member = |key: &str| match key {
        "results" => json!(printed),
        "results_match" => {
            // Only the members that the pattern names.
            let named = |(result, pattern): (&Value, &Value)| {
                let keys = comparable(pattern);
                result
                    .as_object()
                    .unwrap()
                    .iter()
                    .filter(|(key, _)| keys.get(*key).is_some())
                    .map(|(k, v)| (k.clone(), v.clone()))
                    .collect()
            };
            Value::Array(printed.iter().zip(expect[key].as_array().unwrap()).map(named).map(Value::Object).collect())
        }
        "ran" | "ran_max" | "ran_set" => json!(trace.ran),
        "seen" => {
            Value::Object(trace.seen.iter().filter(|(id, _)| expect[key].get(*id).is_some()).map(|(k, v)| (k.clone(), v.clone())).collect())
        }
        "final_input" => input(final_input(&results)),
        "merged_input" => input(HookResult::merge(results.iter().cloned()).updated_input.as_ref()),
        "blocked" => json!(blocked),
        "reasons" => json!(reasons),
        "caller_still_interrupted" => json!(interrupted),
        // Not served: no replaced outputs, no rewakes.
        _ => Value::Null,
    };
    Value::Object(expect.as_object().unwrap().keys().map(|key| (key.clone(), member(key))).collect())
}

fn handler(given: &Value, script: &Value, trace: &Arc<Mutex<Trace>>) -> Handler {
    let stretched = |value: &Value| value.as_u64().map(|millis| Duration::from_millis(millis * STRETCH));
    let policy_time = stretched(&given["policy"]["timeout_ms"]).unwrap_or(Duration::from_secs(30));
    let time = timeout_for(policy_time, stretched(&script["budget_ms"])).unwrap().0;
    let sleep = stretched(&script["sleep_ms"]).unwrap_or_default();
    let interrupted = given["caller_interrupted"] == true;
    // One that is to be late never ends by itself; one that is not, need not be slow.
    let late = sleep > time || (interrupted && sleep >= Duration::from_secs(10));
    let (script, trace) = (script.clone(), Arc::clone(trace));
    let id = script["id"].as_str().unwrap().to_owned();
    let (declared, key) = (script["declares"].clone(), script["key"].as_str().unwrap_or_default().to_owned());
    let handler = Handler::new(id.clone(), move |call: &HandlerCall| {
        if script["rejected"] == true {
            return Err(Failure::new(FailureKind::HostBusy, "the host could not start a thread"));
        }
        {
            let mut trace = trace.lock().unwrap();
            trace.ran.push(json!(id));
            trace.seen.insert(id.clone(), json!({"current": shown(call)}));
        }
        if interrupted {
            call.cancel.cancel();
        }
        if late {
            std::thread::sleep(Duration::from_secs(60));
        }
        match script["throws"].as_str() {
            Some("RuntimeException") => Err(Failure::new(FailureKind::PluginFailed, script["message"].as_str().unwrap_or_default())),
            Some(other) => panic!("{other}"),
            None => Ok(result_from(&script["ret"]).into_reply(call.hook)),
        }
    });
    let mode = if declared == "fail_closed" { FailureMode::Closed } else { FailureMode::Open };
    handler.timeout(time).on_failure(mode).dedup_key(key)
}

fn shown(call: &HandlerCall) -> Value {
    match call.hook {
        Hook::PreToolUse => call.payload["arguments"].clone(),
        _ => call.payload["result"]["content"].clone(),
    }
}
