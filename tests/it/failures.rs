//! Every way in which a plugin can fail: its own code, a message that says what to do, and the next plugin still runs.

use crate::support::{World, ask, component, rows, scripted, scripted_wasi, summary};
use hook_runtime::{Hook, Invocation, InvokeError, Limits, PluginState};
use serde_json::json;
use std::time::Duration;

/// What a plugin does in a call -> the code of its failure.
const IN_A_CALL: [(&str, &str); 8] = [
    ("loop", "hook::invoke::out_of_fuel"),
    ("memory", "hook::invoke::out_of_memory"),
    ("stack", "hook::invoke::stack_overflow"),
    ("shadow-stack", "hook::invoke::trap"),
    ("panic", "hook::invoke::trap"),
    ("no-verdict", "hook::invoke::no_verdict"),
    ("failed", "hook::invoke::plugin_failed"),
    ("state", "hook::invoke::plugin_failed"),
];

#[test]
fn a_failing_call_is_recorded_and_the_next_plugin_runs() {
    for (act, code) in IN_A_CALL {
        let world = World::new();
        world.scripted("bad", json!({"act": act}), "priority: 1");
        world.scripted("good", json!({"decide": "block", "text": "policy"}), "priority: 2");
        let host = world.host();
        let invoked = ask(&host, Hook::PreToolUse);
        assert_eq!(summary(&invoked), (vec!["good=block".into()], vec![format!("bad={code}")]), "{act}");
        host.flush().unwrap();
        let expected = [
            ("bad".to_owned(), "error".to_owned(), code.to_owned(), String::new(), false),
            ("good".to_owned(), "block".to_owned(), String::new(), "block".to_owned(), true),
        ];
        assert_eq!(rows(&world), expected, "{act}");
        assert!(invoked.calls[0].hint.is_some());
    }
}

#[test]
fn a_closed_plugin_answers_the_strictest_way_of_each_hook() {
    let answers = [
        (Hook::UserPromptSubmit, "block"),
        (Hook::PreToolUse, "block"),
        (Hook::PermissionRequest, "deny"),
        (Hook::PostToolUse, "block"),
        (Hook::PreCompact, "defer"),
        (Hook::PreVerify, "strengthen"),
        (Hook::PostVerify, "escalate"),
        (Hook::Stop, "continue"),
    ];
    let world = World::new();
    world.scripted("gate", json!({"act": "panic"}), "on_failure: closed");
    let host = world.host();
    for hook in Hook::all() {
        let invoked = ask(&host, hook);
        let expected = answers.iter().find(|(answering, _)| *answering == hook).map(|(_, action)| format!("gate={action}"));
        assert_eq!(summary(&invoked), (Vec::from_iter(expected), vec!["gate=hook::invoke::trap".into()]), "{hook}");
    }
    let stop = ask(&host, Hook::Stop).outcome;
    assert_eq!(stop.decisions[0].instruction, "hook_failed:gate");
    assert!(stop.decisions[0].reason.starts_with("hook_failed:hook::invoke::trap"));
    let verify = ask(&host, Hook::PreVerify).outcome;
    assert_eq!(verify.decisions[0].additional_misses, ["hook_failed:gate"]);
}

#[test]
fn an_endless_loop_ends_at_its_deadline_too() {
    let world = World::new();
    world.scripted("slow", json!({"act": "loop"}), "limits: {deadline: 50ms}");
    let host = world.builder().limits(Limits::default().with_fuel(u64::MAX)).build().unwrap();
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)).1, ["slow=hook::invoke::deadline"]);
}

/// Longer than the ticker goes on after a call's begin.
#[test]
fn deadlines_and_cancelling_hold_for_long_calls_too() {
    let world = World::new();
    world.scripted("slow", json!({"act": "loop"}), "hooks: [PreToolUse]\nlimits: {deadline: 1500ms}");
    let host = world.builder().limits(Limits::default().with_fuel(u64::MAX).with_deadline(Duration::from_secs(60))).build().unwrap();
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)).1, ["slow=hook::invoke::deadline"]);
    world.scripted("slow", json!({"act": "loop"}), "hooks: [PreToolUse]");
    host.reload().unwrap();
    let flag = hook_runtime::CancelFlag::default();
    let stop = flag.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        stop.cancel();
    });
    let invocation = Invocation::new(Hook::PreToolUse, crate::support::payload(Hook::PreToolUse)).cancel(flag);
    assert!(matches!(host.invoke_blocking(invocation), Err(hook_runtime::InvokeError::Cancelled)));
    canceller.join().unwrap();
}

#[test]
fn a_panic_message_reaches_the_log_escaped_and_redacted() {
    let world = World::new();
    world.scripted("bad", json!({"act": "panic"}), "");
    let invoked = ask(&world.host(), Hook::PreToolUse);
    let line = invoked.calls[0].log.iter().find(|line| line.text.contains("boom")).unwrap();
    assert!(line.text.contains("\\u{1b}[31m") && line.text.contains("[REDACTED]"), "{}", line.text);
    let error = &invoked.outcome.errors[0].text;
    assert!(error.contains("boom") && !error.contains('\u{1b}'), "{error}");
}

#[test]
fn log_lines_are_counted_and_cut() {
    let world = World::new();
    world.scripted("loud", json!({"act": "log"}), "");
    let log = &ask(&world.host(), Hook::PreToolUse).calls[0].log;
    assert_eq!(log.len(), 64);
    assert!(log.iter().all(|line| line.text.chars().count() <= 1025 && line.text.contains("\\u{202e}")));
}

/// A file that is no plugin -> the code of its failure.
fn broken_files() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let mut truncated = scripted().to_vec();
    truncated.truncate(truncated.len() / 2);
    let wrong_type = r#"(component
        (core module $m (func (export "f")))
        (core instance $i (instantiate $m))
        (func $f (canon lift (core func $i "f")))
        (instance $n (export "handle" (func $f)))
        (export "geode:hooks/pre-tool-use@2.0.0" (instance $n)))"#;
    let unknown_import = r#"(component (import "evil:net/sockets@1.0.0" (instance (export "open" (func)))))"#;
    vec![
        ("text", b"#!/bin/sh\necho hello\n".to_vec(), "hook::load::not_wasm"),
        ("empty", Vec::new(), "hook::load::not_wasm"),
        ("core", component("(module)"), "hook::load::core_module"),
        ("truncated", truncated, "hook::load::malformed"),
        ("header", b"\0asm\x0d\x00\x01\x00".iter().chain(&[0xff; 64]).copied().collect(), "hook::load::malformed"),
        ("wrong-world", component("(component)"), "hook::bind::wrong_world"),
        (
            "old-version",
            component(r#"(component (instance $n) (export "geode:hooks/pre-tool-use@1.0.0" (instance $n)))"#),
            "hook::bind::wrong_world",
        ),
        ("wrong-type", component(wrong_type), "hook::bind::wrong_type"),
        ("unknown-import", component(unknown_import), "hook::bind::unknown_import"),
        ("too-large", vec![0; 9 * 1024 * 1024], "hook::load::too_large"),
    ]
}

#[test]
fn a_broken_file_has_its_own_code_and_the_next_plugin_runs() {
    for (name, bytes, code) in broken_files() {
        let world = World::new();
        // The user's folder runs as it lies there: the whole way through compiler and linker.
        std::fs::write(world.user_hooks().join(format!("{name}.wasm")), bytes).unwrap();
        world.scripted("good", json!({"decide": "block", "text": "policy"}), "");
        let host = world.host();
        let plugins = host.plugins();
        let status = plugins.iter().find(|plugin| plugin.name == name).unwrap();
        assert_eq!(status.state, PluginState::Invalid, "{name}");
        assert_eq!(status.failure.as_ref().unwrap().kind.code(), code, "{name}: {:?}", status.failure);
        assert!(status.hint().is_some_and(|hint| !hint.is_empty()), "{name}");
        assert_eq!(summary(&ask(&host, Hook::PreToolUse)), (vec!["good=block".into()], vec![]), "{name}");
    }
}

#[test]
fn links_pipes_and_folders_are_no_plugins() {
    let world = World::new();
    let outside = world.path("outside.wasm");
    std::fs::write(&outside, scripted()).unwrap();
    let hooks = world.user_hooks();
    std::os::unix::fs::symlink(&outside, hooks.join("link.wasm")).unwrap();
    std::os::unix::fs::symlink(world.path("home"), hooks.join("folder-link")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(hooks.join("pipe.wasm")).status().unwrap().success());
    std::fs::create_dir(hooks.join("empty")).unwrap();
    std::fs::create_dir(hooks.join("escape")).unwrap();
    std::os::unix::fs::symlink(&outside, hooks.join("escape/plugin.wasm")).unwrap();
    std::fs::write(hooks.join("escape/hook.yaml"), "{}").unwrap();
    std::fs::write(hooks.join(".hidden.wasm"), scripted()).unwrap();
    std::fs::write(hooks.join("README.md"), "no plugin").unwrap();
    let plugins = world.host().plugins();
    let found: Vec<_> = plugins.iter().map(|plugin| (plugin.name.as_str(), plugin.failure.as_ref().unwrap().kind.code())).collect();
    let unsafe_entry = "hook::discover::unsafe_entry";
    assert_eq!(
        found,
        [
            ("empty", "hook::discover::bad_manifest"),
            ("escape", unsafe_entry),
            ("folder-link", unsafe_entry),
            ("link", unsafe_entry),
            ("pipe", unsafe_entry),
        ]
    );
}

#[test]
fn a_full_folder_is_read_in_part_and_says_so() {
    let world = World::new();
    for number in 0..300 {
        std::fs::write(world.user_hooks().join(format!("p{number:03}.wasm")), b"no").unwrap();
    }
    let host = world.host();
    assert_eq!((host.plugins().len(), host.unread_entries()), (256, 44));
}

#[test]
fn a_wasi_guest_reaches_nothing_and_can_be_replayed() {
    let world = World::new();
    world.drop_plugin("wasi", scripted_wasi(), "settings: {act: reach}");
    world.trust("wasi");
    let host = world.host();
    let first = ask(&host, Hook::PreToolUse);
    let text = &first.outcome.errors[0].text;
    for part in ["slept=true", "year=2026", "env=0", "args=0", "file_denied=true", "socket_denied=true"] {
        assert!(text.contains(part), "{text}");
    }
    let log: Vec<_> = first.calls[0].log.iter().map(|line| line.text.as_str()).collect();
    assert!(log.contains(&"to standard output") && log.contains(&"to standard error"), "{log:?}");
    assert_eq!(*text, ask(&host, Hook::PreToolUse).outcome.errors[0].text, "the same input gives the same call");
}

#[test]
fn a_trap_in_a_wasi_guest_is_one_too() {
    let world = World::new();
    for (name, act) in [("a", "panic"), ("b", "loop"), ("c", "memory")] {
        world.drop_plugin(name, scripted_wasi(), &format!("settings: {{act: {act}}}"));
        world.trust(name);
    }
    let errors = summary(&ask(&world.host(), Hook::PreToolUse)).1;
    assert_eq!(errors, ["a=hook::invoke::trap", "b=hook::invoke::out_of_fuel", "c=hook::invoke::out_of_memory"]);
}

#[test]
fn a_bad_payload_is_the_callers_error_and_leaves_no_row() {
    let world = World::new();
    world.scripted("good", json!({}), "");
    let host = world.host();
    let payload = json!({"tool_name": 5, "arguments": {}}).as_object().unwrap().clone();
    let error = host.invoke_blocking(Invocation::new(Hook::PreToolUse, payload)).unwrap_err();
    assert_eq!(error.to_string(), "invalid PreToolUse payload: `tool_name`: expected a string, found a number");
    host.flush().unwrap();
    assert!(rows(&world).is_empty());
}

#[test]
fn cancelling_stops_a_blocking_call() {
    let world = World::new();
    world.scripted("slow", json!({"act": "loop"}), "limits: {deadline: 60s}\non_failure: closed");
    let host = world.builder().limits(Limits::default().with_fuel(u64::MAX)).build().unwrap();
    let flag = hook_runtime::CancelFlag::default();
    let stop = flag.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        stop.cancel();
    });
    let invocation = Invocation::new(Hook::PreToolUse, crate::support::payload(Hook::PreToolUse)).cancel(flag);
    let error = host.invoke_blocking(invocation).unwrap_err();
    canceller.join().unwrap();
    assert!(matches!(error, InvokeError::Cancelled), "{error}");
    host.flush().unwrap();
    let row = ("slow".to_owned(), "error".to_owned(), "hook::invoke::cancelled".to_owned(), String::new(), false);
    assert_eq!(rows(&world), [row]);
}

/// What a plugin uses, and the budget that its manifest asks for -> the failure's code.
#[test]
fn what_is_used_is_held_against_the_budget() {
    let cases = [
        (json!({"fuel": 2_000_000}), "limits: {fuel: 100000000}", ""),
        (json!({"fuel": 2_000_000}), "limits: {fuel: 1000000}", "hook::invoke::out_of_fuel"),
        (json!({"memory": 4_000_000}), "limits: {memory: 16MiB}", ""),
        (json!({"memory": 4_000_000}), "limits: {memory: 3MiB}", "hook::invoke::out_of_memory"),
    ];
    for (settings, limits, code) in cases {
        let world = World::new();
        world.scripted("p", settings.clone(), limits);
        let call = ask(&world.host(), Hook::PreToolUse).calls.remove(0);
        assert_eq!(call.code.unwrap_or_default(), code, "{settings} {limits}");
    }
}

#[test]
fn what_a_plugin_says_of_its_failure_is_harmless() {
    let world = World::new();
    world.scripted("p", json!({"act": "escapes"}), "");
    let outcome = ask(&world.host(), Hook::PreToolUse).outcome;
    assert_eq!(outcome.errors[0].text, "\\u{1b}]0;owned\\u{7}\\u{202e}");
}
