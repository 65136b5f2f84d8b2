//! Native handlers: their place in the chain, and what becomes of one that goes wrong.

use crate::support::{World, ask, payload, rows, scripted, summary};
use hook_runtime::contract::Reply;
use hook_runtime::contract::decision::RawDecision;
use hook_runtime::{
    Action, CancelFlag, ChainPolicy, Failure, FailureKind, FailureMode, Handler, Hook, Host, Invocation, InvokeError, RegisterError,
};
use serde_json::json;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

fn decides(name: &str, action: Action) -> Handler {
    Handler::new(name, move |_| Ok(Reply { decision: Some(RawDecision::new(action, "because")), ..Reply::default() }))
}

fn fails(name: &str) -> Handler {
    Handler::new(name, |_| Err(Failure::new(FailureKind::PluginFailed, "went wrong")))
}

/// Never ends by itself.
fn hangs(name: &str) -> Handler {
    Handler::new(name, |_| {
        std::thread::sleep(Duration::from_secs(600));
        Ok(Reply::default())
    })
}

fn host() -> (World, Host) {
    let world = World::new();
    let host = world.host();
    (world, host)
}

#[test]
fn handlers_and_plugins_share_one_order() {
    let world = World::new();
    world.scripted("plugin", json!({"decide": "continue"}), "");
    let host = world.host();
    for (name, priority) in [("after", 100), ("last", 101), ("first", -1)] {
        host.register(Hook::PreToolUse, decides(name, Action::Continue).priority(priority)).unwrap();
    }
    let order = ["first=continue", "plugin=continue", "after=continue", "last=continue"];
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)).0, order);
    host.reload().unwrap();
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)).0, order, "handlers stay over a reload");
    assert!(host.unregister(Hook::PreToolUse, "first") && !host.unregister(Hook::PreToolUse, "first"));
    assert!(!host.unregister(Hook::PreToolUse, "plugin"), "a plugin is no handler");
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)).0, order[1..]);
}

#[test]
fn a_name_serves_a_hook_once() {
    let world = World::new();
    world.scripted("plugin", json!({}), "hooks: [PreToolUse]");
    let host = world.host();
    host.register(Hook::PreToolUse, fails("mine")).unwrap();
    host.register(Hook::Stop, fails("mine")).unwrap();
    for name in ["plugin", "mine"] {
        assert!(matches!(host.register(Hook::PreToolUse, fails(name)), Err(RegisterError::DuplicateName { .. })), "{name}");
    }
    assert!(matches!(host.register(Hook::PreToolUse, fails("a b\u{1b}")), Err(RegisterError::BadName(_))));
    // A plugin that comes later finds the name taken.
    world.scripted("mine", json!({}), "");
    let plugins = host.reload().unwrap();
    assert_eq!(plugins[0].failure.as_ref().unwrap().kind, FailureKind::DuplicateName);
}

#[test]
fn what_a_handler_returns_is_checked_and_audited() {
    let (world, host) = host();
    host.register(Hook::PreToolUse, decides("wrong", Action::Allow).priority(1)).unwrap();
    host.register(Hook::PreToolUse, fails("failing").priority(2)).unwrap();
    host.register(Hook::PreToolUse, Handler::new("panics", |_| panic!("boom")).priority(3)).unwrap();
    host.register(Hook::PreToolUse, decides("guard", Action::Block).priority(4).without_timeout()).unwrap();
    let expected = ["wrong=hook::check::action_not_allowed", "failing=hook::invoke::plugin_failed", "panics=hook::invoke::plugin_failed"];
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)), (vec!["guard=block".into()], expected.map(Into::into).to_vec()));
    host.flush().unwrap();
    let stored: Vec<_> = rows(&world).into_iter().map(|(name, status, ..)| format!("{name} {status}")).collect();
    assert_eq!(stored, ["wrong error", "failing error", "panics error", "guard block"]);
}

#[tokio::test]
async fn a_handler_that_hangs_fails_alone() {
    let (_world, host) = host();
    host.register(Hook::PreToolUse, hangs("open").timeout(Duration::from_millis(20)).priority(1)).unwrap();
    host.register(Hook::PreToolUse, hangs("closed").timeout(Duration::from_millis(20)).on_failure(FailureMode::Closed)).unwrap();
    let expected = (vec!["closed=block".to_owned()], ["open", "closed"].map(|name| format!("{name}=hook::invoke::deadline")).to_vec());
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)), expected);
    let invoked = host.invoke(Invocation::new(Hook::PreToolUse, payload(Hook::PreToolUse))).await.unwrap();
    assert_eq!(summary(&invoked), expected);
}

#[test]
fn cancelling_ends_a_call_that_waits_for_a_handler() {
    let (world, host) = host();
    let (cancel, begun) = (CancelFlag::default(), Arc::new(Barrier::new(2)));
    let waits = Arc::clone(&begun);
    let handler = Handler::new("slow", move |_| {
        waits.wait();
        std::thread::sleep(Duration::from_secs(600));
        Ok(Reply::default())
    });
    host.register(Hook::PreToolUse, handler.on_failure(FailureMode::Closed)).unwrap();
    host.register(Hook::PreToolUse, decides("late", Action::Continue)).unwrap();
    let invocation = Invocation::new(Hook::PreToolUse, payload(Hook::PreToolUse)).cancel(cancel.clone());
    std::thread::scope(|scope| {
        let call = scope.spawn(|| host.invoke_blocking(invocation));
        begun.wait();
        cancel.cancel();
        assert!(matches!(call.join().unwrap(), Err(InvokeError::Cancelled)));
    });
    host.flush().unwrap();
    assert_eq!(rows(&world), [("slow".to_owned(), "error".to_owned(), "hook::invoke::cancelled".to_owned(), String::new(), false)]);
}

/// Each waits for the other: one after another, they would never meet.
#[tokio::test]
async fn observers_are_asked_side_by_side_and_answer_in_order() {
    let world = World::new();
    world.scripted("plugin", json!({"decide": "continue"}), "priority: 1");
    let host = world.host();
    let meet = Arc::new(Barrier::new(2));
    for name in ["b", "a"] {
        let meet = Arc::clone(&meet);
        let handler = Handler::new(name, move |_| {
            meet.wait();
            Ok(Reply { decision: Some(RawDecision::new(Action::Continue, "")), ..Reply::default() })
        });
        host.register(Hook::SessionStart, handler).unwrap();
    }
    let order = ["plugin=continue", "b=continue", "a=continue"];
    assert_eq!(summary(&ask(&host, Hook::SessionStart)).0, order);
    let invoked = host.invoke(Invocation::new(Hook::SessionStart, payload(Hook::SessionStart))).await.unwrap();
    assert_eq!(summary(&invoked).0, order);
}

#[test]
fn many_observing_plugins_answer_in_order() {
    let world = World::new();
    let names: Vec<_> = (0..12).map(|number| format!("p{number:02}")).collect();
    for name in &names {
        let act = if name == "p05" { "panic" } else { "" };
        world.drop_plugin(name, scripted(), &format!("settings: {{act: '{act}', decide: continue}}"));
        world.trust(name);
    }
    let invoked = ask(&world.host(), Hook::SessionEnd);
    assert_eq!(invoked.calls.iter().map(|call| &call.plugin).collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
    assert_eq!(invoked.outcome.errors.len(), 1);
}

#[test]
fn a_policy_can_ask_on_after_a_refusal_and_close_what_fails() {
    let world = World::new();
    world.scripted("a-broken", json!({"act": "panic"}), "");
    world.scripted("b-guard", json!({"decide": "block"}), "");
    let asked = |policy: ChainPolicy| summary(&ask(&world.builder().chain_policy(policy).build().unwrap(), Hook::PreToolUse)).0;
    assert_eq!(asked(ChainPolicy::default()), ["b-guard=block"]);
    let strict = ChainPolicy { on_exception: FailureMode::Closed, ..ChainPolicy::default() };
    assert_eq!(asked(strict), ["a-broken=block"]);
    assert_eq!(asked(ChainPolicy { stop_on_blocked: false, ..strict }), ["a-broken=block", "b-guard=block"]);
    let only_timeouts = ChainPolicy { on_timeout: FailureMode::Closed, ..ChainPolicy::default() };
    assert_eq!(asked(only_timeouts), ["b-guard=block"], "a panic is no timeout");
}

#[test]
fn a_reload_is_told_to_those_who_observe_it() {
    let world = World::new();
    let host = world.host();
    let told = Arc::new(Mutex::new(Vec::new()));
    let (notes, inside) = (Arc::clone(&told), host.clone());
    let handler = Handler::new("watch", move |call| {
        let text = |key: &str| call.payload[key].as_str().unwrap().to_owned();
        notes.lock().unwrap().push((call.payload["reload_counter"].as_u64(), call.payload["success"].as_bool(), text("failure_reason")));
        // One from inside is done, and not told again.
        inside.reload().unwrap_or_default();
        Ok(Reply::default())
    });
    host.register(Hook::ConfigReload, handler).unwrap();
    host.reload().unwrap();
    std::fs::create_dir_all(world.directories().config).unwrap();
    std::fs::write(world.directories().config.join("config.yaml"), "plugins: 7").unwrap();
    assert!(host.reload().is_err());
    let told = told.lock().unwrap();
    assert_eq!((told[0].0, told[0].1, told[0].2.as_str()), (Some(1), Some(true), ""));
    assert_eq!((told[1].0, told[1].1, told.len()), (Some(3), Some(false), 2));
    assert!(told[1].2.contains("config.yaml"), "{}", told[1].2);
}
