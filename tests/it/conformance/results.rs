//! The other areas of the second system: results, times, defaults, questions, feedback, refusals, matchers, the registry of handlers.

use super::chain::{result_from, result_json};
use super::{Area, aimon};
use crate::support::{World, payload};
use hook_runtime::contract::aimon::{CONTINUE_NEVER_STOP, Flow, HookResult, Verdict, resolve_questions, timeout_for};
use hook_runtime::contract::feedback::Route;
use hook_runtime::contract::matcher::Matcher;
use hook_runtime::{Action, ChainMode, ChainPolicy, FailureMode, Handler, Hook, Invocation, Invoked, Limits};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Runs an area: `run` takes what is given and returns what a case expects.
fn area(name: &'static str, heading: &'static str, run: impl Fn(&Value) -> Value) {
    let mut area = Area::new(heading);
    for case in aimon(name) {
        let mut expect = case["expect"].clone();
        // What the fixtures recommend stands first.
        let recommended: Vec<_> =
            expect.as_object().unwrap().keys().filter_map(|key| key.strip_suffix("_recommended").map(str::to_owned)).collect();
        for key in recommended {
            expect[&key] = expect.as_object_mut().unwrap().remove(&format!("{key}_recommended")).unwrap();
        }
        area.compare(name, case["id"].as_str().unwrap(), &expect, &run(&case["given"]));
    }
    area.finish();
}

/// Returns our hook of an event of the second system.
fn hook_of(event: &str) -> Hook {
    match event.split(':').next().unwrap() {
        "pre_tool" => Hook::PreToolUse,
        "post_tool" => Hook::PostToolUse,
        "permission_request" => Hook::PermissionRequest,
        "permission_denied" => Hook::PermissionDenied,
        "on_start" => Hook::UserPromptSubmit,
        "on_stop" => Hook::TurnEnd,
        "on_session_start" => Hook::SessionStart,
        "on_session_end" => Hook::SessionEnd,
        "subagent_start" => Hook::SubagentStart,
        "subagent_stop" => Hook::SubagentStop,
        "pre_compact" => Hook::PreCompact,
        "post_compact" => Hook::PostCompact,
        "on_config_reload" => Hook::ConfigReload,
        other => panic!("{other}"),
    }
}

/// Has one native handler for each result answer on a hook.
fn chain(event: &str, results: &Value) -> Invoked {
    let hook = hook_of(event);
    let world = World::new();
    let host = world.builder().without_store().chain_policy(CONTINUE_NEVER_STOP).build().unwrap();
    for (number, result) in results.as_array().unwrap().iter().enumerate() {
        let result = result_from(result);
        host.register(hook, Handler::new(format!("h{number}"), move |call| Ok(result.clone().into_reply(call.hook)))).unwrap();
    }
    let mut payload = payload(hook);
    if hook == Hook::PreCompact {
        // Nobody can put off a compaction that a person asked for.
        payload.insert("hard".into(), event.ends_with(":manual").into());
    }
    host.invoke_blocking(Invocation::new(hook, payload)).unwrap()
}

#[test]
fn factories() {
    area("result.factory", "aimon result.factory", |given| {
        let text = given["arg"].as_str().unwrap_or_default();
        let result = match given["call"].as_str().unwrap() {
            "success" | "allow" => HookResult::allow(),
            "with_feedback" => HookResult::with_feedback(text),
            "block" | "deny" => HookResult::deny(text),
            "ask" => HookResult::ask(text),
            "builder" => result_from(given),
            other => panic!("{other}"),
        };
        let status = ["SUCCESS", "ASK", "BLOCKED"][result.decision as usize];
        json!({"result": result_json(&result), "status": status, "blocked": result.blocked()})
    });
}

#[test]
fn merging() {
    area("result.merge", "aimon result.merge", |given| {
        let results = given["results"].as_array().unwrap().iter().filter(|result| !result.is_null()).map(result_from);
        json!({"result": result_json(&HookResult::merge(results))})
    });
}

#[test]
fn times() {
    area("policy.timeout_for", "aimon policy.timeout_for", |given| {
        let millis = |value: &Value| value.as_u64().map(Duration::from_millis);
        match timeout_for(millis(&given["policy_timeout_ms"]).unwrap(), millis(&given["declared_ms"])) {
            Err(_) => json!({"error": "policy_timeout_not_positive"}),
            Ok((time, cut)) => {
                let mut got = json!({"effective_ms": u64::try_from(time.as_millis()).unwrap()});
                if given["declared_ms"].as_u64().is_some_and(|declared| declared >= 600_000) {
                    got["warn"] = cut.into();
                }
                got
            }
        }
    });
}

#[test]
fn defaults() {
    area("policy.default", "aimon policy.default", |given| {
        let (hook, policy) = (hook_of(given["event"].as_str().unwrap()), ChainPolicy::default());
        let beside = hook.observes() && policy.mode == ChainMode::SideBySide;
        let open = |mode: FailureMode, word: &'static str| if mode == FailureMode::Open { word } else { "closed" };
        json!({
            "stop_on_blocked": policy.stop_on_blocked && !hook.observes(),
            "timeout_ms": u64::try_from(Limits::default().deadline().as_millis()).unwrap(),
            "timeout_behavior": open(policy.on_timeout, "fail_open"),
            "mode": if beside { "parallel" } else { "sequential" },
            "on_exception": open(policy.on_exception, "success"),
        })
    });
}

#[test]
fn questions() {
    area("ask", "aimon ask", |given| {
        let mut results: Vec<_> = given["results"].as_array().unwrap().iter().map(result_from).collect();
        // Nobody to ask is a no; no variable of the environment changes that.
        let person = if given["handler"] == "allow" { Verdict::Allow } else { Verdict::Deny };
        let event = given["event"].as_str().unwrap();
        resolve_questions(hook_of(event), &mut results, |_| person);
        let mut got = json!({
            "results": results.iter().map(result_json).collect::<Vec<_>>(),
            "blocked": results.iter().any(HookResult::blocked),
        });
        if event == "on_start" {
            got["advisory"] = chain(event, &given["results"]).outcome.feedback.into_iter().map(|message| message.text).collect();
        }
        got
    });
}

#[test]
fn feedback_is_rendered() {
    let cases = aimon("feedback.render");
    area("feedback.render", "aimon feedback.render", |given| {
        let outcome = chain("pre_tool", &given["results"]).outcome;
        let mut got = json!({"block": outcome.feedback_block().map(|(_, block)| block)});
        let expect = &cases.iter().find(|case| case["given"] == *given).unwrap()["expect"];
        if expect.get("advisory").is_some() {
            got["advisory"] = outcome.feedback.into_iter().map(|message| message.text).collect();
        }
        got
    });
}

#[test]
fn feedback_is_routed() {
    area("feedback.route", "aimon feedback.route", |given| {
        let invoked = chain(given["event"].as_str().unwrap(), &json!([given["result"]]));
        let destination = match invoked.outcome.feedback_block().map(|(route, _)| route) {
            Some(Route::ToolResult) => "tool_result",
            Some(Route::UserMessage) => "user_message",
            Some(Route::SummaryInstructions) => "summary",
            Some(Route::SessionMessage) => "session_message",
            None => "dropped",
        };
        json!({"destination": destination})
    });
}

#[test]
fn refusals() {
    area("block.effect", "aimon block.effect", |given| {
        let Invoked { outcome, .. } = chain(given["event"].as_str().unwrap(), &json!([given["result"]]));
        let effect = match (outcome.payload.hook(), outcome.decisions.first().map(|decision| decision.action)) {
            (_, None) => "ignored",
            (Hook::PermissionRequest, Some(Action::Deny)) => "deny_before_dispatch",
            (Hook::UserPromptSubmit, Some(Action::Block)) => "abort_turn",
            (Hook::PostToolUse, Some(Action::Block)) => "withhold_result",
            (Hook::PreCompact, Some(Action::Defer)) if outcome.payload.effective()["hard"] == false => "skip_compaction",
            (Hook::PreCompact, Some(Action::Defer)) => "warn_and_proceed",
            other => panic!("{other:?}"),
        };
        json!({"effect": effect})
    });
}

#[test]
fn turn_starts() {
    area("on_start", "aimon on_start", |given| {
        let Invoked { outcome, .. } = chain("on_start", &given["results"]);
        let block = outcome.feedback_block();
        if given["kind"] == "code_behavior" {
            return json!({"started": !outcome.blocked(), "feedback_delivered": block.is_some()});
        }
        let messages: Vec<_> = block
            .iter()
            .filter(|(route, _)| *route == Route::UserMessage)
            .map(|(_, text)| json!({"role": "user", "content": text}))
            .collect();
        json!({"turn_started": !outcome.blocked(), "appended_messages": messages})
    });
}

#[test]
fn matchers() {
    area("matcher", "aimon matcher", |given| {
        let mut input = given["input"].clone();
        if let Some(generator) = input.as_object_mut().unwrap().shift_remove("command_generator") {
            let (text, count) = (
                generator["nest"].as_str().or(generator["repeat"].as_str()).unwrap(),
                generator["depth"].as_u64().or(generator["count"].as_u64()),
            );
            input["command"] = text.repeat(usize::try_from(count.unwrap()).unwrap()).into();
        }
        match Matcher::parse(given["expr"].as_str().unwrap()) {
            Ok(matcher) => json!({"match": matcher.matches(given["tool"].as_str().unwrap(), input.as_object())}),
            Err(_) => json!({"error": "parse"}),
        }
    });
}

#[test]
fn registration() {
    area("registry", "aimon registry", |given| {
        let world = World::new();
        let host = world.builder().without_store().build().unwrap();
        let nothing = |name: &str| Handler::new(name, |_| Ok(HookResult::allow().into_reply(Hook::PreToolUse)));
        for name in given["register"].as_array().into_iter().flatten() {
            // A name that is taken is refused.
            let _ = host.register(Hook::PreToolUse, nothing(name.as_str().unwrap()));
        }
        if given["get_then_register"] == true {
            return json!({"snapshot_changed": asked_while_registering() > 1});
        }
        if given["clear_all"] == true {
            host.register(Hook::PreToolUse, nothing("a")).unwrap();
            host.unregister_all();
            return json!({"is_empty": Hook::all().all(|hook| host.handlers(hook).is_empty())});
        }
        let returned = host.unregister(Hook::PreToolUse, given["unregister"].as_str().unwrap());
        if given.get("register").is_none() {
            return json!({"returned": returned});
        }
        json!({"returned": returned, "hooks": host.handlers(Hook::PreToolUse)})
    });
}

/// Registers a handler from inside a call, and returns how many that call asked.
fn asked_while_registering() -> usize {
    let world = World::new();
    let host = world.builder().without_store().build().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, inside) = (Arc::clone(&asked), host.clone());
    let register = move |call: &hook_runtime::HandlerCall| {
        count.fetch_add(1, Ordering::Relaxed);
        let again = Arc::clone(&count);
        let second = Handler::new("second", move |call| {
            again.fetch_add(1, Ordering::Relaxed);
            Ok(HookResult::allow().into_reply(call.hook))
        });
        inside.register(call.hook, second).unwrap();
        Ok(HookResult { flow: Flow::Continue, ..HookResult::allow() }.into_reply(call.hook))
    };
    host.register(Hook::PreToolUse, Handler::new("first", register)).unwrap();
    host.invoke_blocking(Invocation::new(Hook::PreToolUse, payload(Hook::PreToolUse))).unwrap();
    assert_eq!(host.handlers(Hook::PreToolUse), ["first", "second"]);
    asked.load(Ordering::Relaxed)
}
