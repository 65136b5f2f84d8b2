//! The asynchronous API: the same answers, and a dropped future stops the guest.

use crate::support::{World, ask, payload, rows, summary};
use hook_runtime::{Hook, Invocation, Limits};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn both_apis_answer_alike() {
    let world = World::new();
    world.scripted("a", json!({"act": "panic"}), "priority: 1");
    world.scripted("b", json!({"decide": "block", "text": "no"}), "priority: 2");
    let host = world.host();
    for hook in Hook::all() {
        let invoked = host.invoke(Invocation::new(hook, payload(hook))).await.unwrap();
        assert_eq!(invoked.outcome.to_json(), ask(&host, hook).outcome.to_json(), "{hook}");
    }
}

#[tokio::test]
async fn a_dropped_future_stops_the_guest_and_leaves_a_row() {
    let world = World::new();
    world.scripted("slow", json!({"act": "loop"}), "limits: {deadline: 60s}");
    let host = world.builder().limits(Limits::default().with_fuel(u64::MAX)).build().unwrap();
    let call = host.invoke(Invocation::new(Hook::PreToolUse, payload(Hook::PreToolUse)));
    // The guest yields at every tick, or this would never fire.
    assert!(tokio::time::timeout(Duration::from_millis(50), call).await.is_err());
    host.flush().unwrap();
    assert_eq!(rows(&world), [("slow".to_owned(), "error".to_owned(), "hook::invoke::cancelled".to_owned(), String::new(), false)]);
}

#[test]
fn calls_run_side_by_side_on_threads() {
    let world = World::new();
    world.scripted("p", json!({"decide": "continue"}), "");
    let host = world.host();
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| (0..50).all(|_| summary(&ask(&host, Hook::PreToolUse)).0 == ["p=continue"]))).collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    });
}
