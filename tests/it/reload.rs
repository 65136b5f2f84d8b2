//! Loading again: calls under way keep their set, a bad file displaces nothing, and nothing is compiled twice.

use crate::support::{World, ask, drop_plugin, scripted, summary};
use hook_runtime::{Hook, Host, PluginState};
use serde_json::json;

#[test]
fn a_new_plugin_is_there_after_a_reload() {
    let world = World::new();
    let host = world.host();
    world.scripted("p", json!({"decide": "block"}), "");
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)).0, [""; 0]);
    host.reload().unwrap();
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)).0, ["p=block"]);
}

#[test]
fn a_bad_new_file_leaves_the_old_one_active_and_says_so() {
    for of_user in [false, true] {
        let world = World::new();
        let hooks = if of_user { world.user_hooks() } else { world.hooks() };
        drop_plugin(&hooks, "p", scripted(), "settings: {decide: block}\n");
        if !of_user {
            world.trust("p");
        }
        let host = world.host();
        std::fs::write(hooks.join("p/plugin.wasm"), b"broken").unwrap();
        let statuses = host.reload().unwrap();
        assert!(statuses[0].kept && statuses[0].failure.is_some());
        assert_eq!(summary(&ask(&host, Hook::PreToolUse)).0, ["p=block"]);
    }
}

#[test]
fn what_is_no_longer_trusted_does_not_stay() {
    let world = World::new();
    world.scripted("p", json!({"decide": "block"}), "");
    let host = world.host();
    hook_runtime::untrust(&world.directories(), Some(&world.project()), "p").unwrap();
    assert_eq!(host.reload().unwrap()[0].state, PluginState::New);
    assert!(ask(&host, Hook::PreToolUse).calls.is_empty());
}

#[test]
fn a_reload_during_calls_disturbs_none() {
    let world = World::new();
    world.scripted("p", json!({"decide": "block"}), "");
    let host = world.host();
    std::thread::scope(|scope| {
        let calls = scope.spawn(|| (0..200).all(|_| summary(&ask(&host, Hook::PreToolUse)).0 == ["p=block"]));
        (0..20).for_each(|_| drop(host.reload().unwrap()));
        assert!(calls.join().unwrap());
    });
}

fn cached(world: &World) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(world.path("cache/compiled")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn nothing_is_compiled_twice() {
    let world = World::new();
    world.scripted("a", json!({}), "");
    world.scripted("b", json!({}), "");
    drop(world.host());
    let files = cached(&world);
    let written = |path: &std::path::Path| std::fs::metadata(path).unwrap().modified().unwrap();
    let before = written(&files[0]);
    drop(world.host());
    assert_eq!((cached(&world).len(), written(&cached(&world)[0])), (1, before));
}

#[test]
fn a_damaged_or_foreign_cache_costs_time_and_nothing_else() {
    type Harm = fn(&[std::path::PathBuf]);
    let cases: [Harm; 4] = [
        |files| std::fs::write(&files[0], b"short").unwrap(),
        |files| {
            let mut bytes = std::fs::read(&files[0]).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&files[0], bytes).unwrap();
        },
        |files| std::fs::remove_file(&files[0]).unwrap(),
        |files| {
            std::fs::remove_file(&files[0]).unwrap();
            std::fs::create_dir(&files[0]).unwrap();
        },
    ];
    for harm in cases {
        let world = World::new();
        world.scripted("p", json!({"decide": "block"}), "");
        drop(world.host());
        harm(&cached(&world));
        assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)).0, ["p=block"]);
    }
}

#[test]
fn without_a_cache_key_the_host_still_runs() {
    let world = World::new();
    world.scripted("p", json!({"decide": "block"}), "");
    std::fs::write(world.path("data/cache.key"), b"short").unwrap();
    std::fs::write(world.path("cache"), b"a file where a folder should be").unwrap();
    assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)).0, ["p=block"]);
}

#[test]
fn the_api_is_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<Host>();
}

/// Where a new file is bad the old plugin stays, with no more than the record gives now.
#[test]
fn what_is_kept_has_no_right_that_was_taken_back() {
    let world = World::new();
    let allows = "settings: {decide: allow}\ngrants: {actions: [allow]}\n";
    drop_plugin(&world.user_hooks(), "own", scripted(), allows);
    world.trust("own");
    let host = world.host();
    assert_eq!(summary(&ask(&host, Hook::PermissionRequest)).0, ["own=allow"]);
    hook_runtime::untrust(&world.directories(), None, "own").unwrap();
    drop_plugin(&world.user_hooks(), "own", scripted(), "nonsense: 1\n");
    assert!(!host.reload().unwrap()[0].kept);
    assert_eq!(summary(&ask(&host, Hook::PermissionRequest)).0, [""; 0]);
}

#[test]
fn the_operators_word_counts_for_what_is_kept() {
    let world = World::new();
    world.scripted("p", json!({"decide": "block"}), "");
    let host = world.host();
    world.drop_plugin("p", scripted(), "nonsense: 1\n");
    std::fs::create_dir_all(world.directories().config).unwrap();
    std::fs::write(world.directories().config.join("config.yaml"), "plugins: {p: {mode: monitor}, gone: {mode: monitor}}").unwrap();
    assert!(host.reload().unwrap()[0].kept);
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)).0, [""; 0]);
    assert_eq!(host.unmatched_overrides(), ["gone"]);
}
