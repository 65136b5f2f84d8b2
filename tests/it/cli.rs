//! The binary as people type it: real processes, exit codes, and what they print.

use crate::support::{World, drop_plugin, example, refuse_rows, repository, scripted};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// Builds the binary with the profile of the tests, and returns its path.
fn binary() -> &'static PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let status = Command::new(env!("CARGO"))
            .current_dir(repository())
            .args(["build", "--release", "--locked", "-p", "hook-cli"])
            .status()
            .unwrap();
        assert!(status.success());
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from);
        target.join("release/geode-hooks")
    })
}

fn run_with(world: &World, args: &[&str], input: &str) -> Output {
    let mut command = Command::new(binary());
    command.current_dir(world.project()).args(args).env("GEODE_HOME", world.path("home")).env("HOME", world.path(""));
    for (name, folder) in
        [("XDG_CONFIG_HOME", "xdg-config"), ("XDG_DATA_HOME", "xdg-data"), ("XDG_STATE_HOME", "xdg-state"), ("XDG_CACHE_HOME", "xdg-cache")]
    {
        command.env(name, world.path(folder));
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that reads no input may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn run(world: &World, args: &[&str]) -> Output {
    run_with(world, args, "")
}

fn stdout(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn bash(command: &str) -> String {
    json!({"tool_name": "Bash", "arguments": {"command": command}}).to_string()
}

#[test]
fn the_guard_blocks_lets_pass_and_answers_closed_when_it_changed() {
    let world = World::new();
    let manifest = std::fs::read_to_string(repository().join("example-plugins/command-guard/hook.yaml")).unwrap();
    world.drop_plugin("command-guard", &example("command-guard"), &manifest);
    let invoke = |command: &str| run_with(&world, &["invoke", "PreToolUse"], &bash(command));

    let waiting = invoke("git push origin +main");
    assert_eq!((waiting.status.code(), &stdout(&waiting)["decisions"], &stdout(&waiting)["blocked"]), (Some(0), &json!([]), &json!(false)));
    assert_eq!(stdout(&waiting)["waiting"][0]["plugin"], "command-guard");
    assert!(stderr(&waiting).contains("geode-hooks trust command-guard"));

    assert_eq!(run(&world, &["trust", "--yes"]).status.code(), Some(0));
    let blocked = invoke("git push origin +main");
    let document = stdout(&blocked);
    assert_eq!((blocked.status.code(), &document["blocked"], &document["sources"]), (Some(0), &json!(true), &json!(["command-guard"])));
    assert!(!document["decisions"][0]["reason"].as_str().unwrap().is_empty());
    let with_code = run_with(&world, &["invoke", "PreToolUse", "--exit-code"], &bash("git push origin +main"));
    assert_eq!(with_code.status.code(), Some(2));

    let passed = stdout(&invoke("git push --force-with-lease"));
    assert_eq!((&passed["decisions"], &passed["errors"]), (&json!([]), &json!([])));

    let path = world.hooks().join("command-guard/plugin.wasm");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let changed = stdout(&invoke("ls"));
    let reason = changed["decisions"][0]["reason"].as_str().unwrap();
    assert_eq!((&changed["blocked"], &changed["failures"][0]["code"]), (&json!(true), &json!("hook::load::changed")));
    assert!(reason.contains("changed since it was trusted") && reason.contains("geode-hooks trust command-guard"), "{reason}");
    assert_eq!(changed["calls"][0]["fuel"], Value::Null, "nothing of it ran");
}

#[test]
fn the_outcome_document_has_the_fixtures_form() {
    let world = World::new();
    std::fs::write(world.path("home/hooks/p.wasm"), scripted()).unwrap();
    let document = stdout(&run_with(&world, &["invoke", "UserPromptSubmit"], r#"{"user_input":"hello"}"#));
    let keys: Vec<_> = document.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys[..6], ["envelope", "payload", "decisions", "sources", "errors", "blocked"]);
    assert_eq!(document["payload"], json!({"user_input": "hello"}));
}

/// Arguments, standard input -> exit code, a word of the error.
#[test]
fn errors_have_codes_and_say_what_to_do() {
    let world = World::new();
    std::fs::write(world.path("text.wasm"), "no").unwrap();
    std::fs::write(world.path("core.wasm"), crate::support::component("(module)")).unwrap();
    let text = world.path("text.wasm");
    let core = world.path("core.wasm");
    let guest = world.path("guest.wasm");
    std::fs::write(&guest, scripted()).unwrap();
    let [text, core, guest] = [&text, &core, &guest].map(|path| path.to_str().unwrap());
    let cases: [(&[&str], &str, i32, &str); 22] = [
        (&[], "", 64, "Usage"),
        (&["frobnicate"], "", 64, "unrecognized"),
        (&["--help"], "", 0, ""),
        (&["--version"], "", 0, ""),
        (&["invoke"], "", 64, "HOOK"),
        (&["invoke", "PreTool"], "", 64, "geode-hooks schema"),
        (&["invoke", "PreToolUse"], "{", 65, "hook::payload::not_json"),
        (&["invoke", "PreToolUse"], "[]", 65, "no JSON object"),
        (&["invoke", "PreToolUse"], "{}", 65, "`tool_name` is required"),
        (&["invoke", "PreToolUse"], r#"{"tool_name":"t","arguments":{"n":NaN}}"#, 65, "hook::payload::not_json"),
        (&["invoke", "PreToolUse", "--payload", "absent.json"], "", 66, "cannot be read"),
        (&["invoke", "PreToolUse", "--cwd", "absent"], "{}", 66, "cannot be read"),
        (&["invoke", "PreToolUse", "--db", "/dev/null/x.db"], &bash("ls"), 73, "--db"),
        (&["trust", "absent"], "", 64, "geode-hooks list"),
        (&["enable", "absent"], "", 64, "geode-hooks list"),
        (&["untrust", "absent"], "", 1, "absent"),
        (&["schema", "Nope"], "", 64, "geode-hooks schema"),
        (&["inspect", text], "", 65, "hook::load::not_wasm"),
        (&["inspect", core], "", 65, "geode-hooks componentize"),
        (&["componentize", text, "-o", "out.wasm"], "", 65, "hook::load::not_wasm"),
        (&["componentize", guest, "-o", "out.wasm"], "", 65, "a component already"),
        (&["componentize", core, "-o", "out.wasm"], "", 0, ""),
    ];
    for (args, input, code, word) in cases {
        let output = run_with(&world, args, input);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(word), "{args:?}: {}", stderr(&output));
        assert!(!stderr(&output).contains("panicked"), "{args:?}");
    }
}

#[test]
fn trust_shows_asks_and_needs_somebody_to_ask() {
    let world = World::new();
    world.drop_plugin("guard", scripted(), "grants: {actions: [allow, block]}\n");
    let refused = run(&world, &["trust"]);
    assert_eq!(refused.status.code(), Some(1));
    let shown = stderr(&refused);
    assert!(shown.contains("ALLOW tool calls in your place") && shown.contains("geode-hooks trust guard --yes"), "{shown}");
    let listed = stdout(&run(&world, &["list"]));
    assert_eq!(
        (&listed["plugins"][0]["state"], &listed["plugins"][0]["next"]),
        (&json!("new"), &json!("review it and run `geode-hooks trust guard`"))
    );
    assert_eq!(run(&world, &["list", "--exit-code"]).status.code(), Some(3));
    assert_eq!(stdout(&run(&world, &["trust", "guard", "--yes", "--json"]))["trusted"][0]["name"], "guard");
    assert_eq!(run(&world, &["list", "--exit-code"]).status.code(), Some(0));
    assert_eq!(run(&world, &["disable", "guard"]).status.code(), Some(0));
    assert_eq!(stdout(&run(&world, &["list"]))["plugins"][0]["state"], "disabled");
    assert_eq!(run(&world, &["enable", "guard"]).status.code(), Some(0));
    assert_eq!(run(&world, &["untrust", "guard"]).status.code(), Some(0));
    assert_eq!(stdout(&run(&world, &["list"]))["plugins"][0]["state"], "new");
}

#[test]
fn schema_prints_the_fixtures_byte_for_byte() {
    let world = World::new();
    for hook in hook_runtime::Hook::PUBLIC {
        for (version, args) in [("v1", vec!["schema", hook.name(), "--v1"]), ("v2", vec!["schema", hook.name()])] {
            let expected = std::fs::read(repository().join(format!("tests/fixtures/schemas/{version}/{hook}.json"))).unwrap();
            assert!(run(&world, &args).stdout == expected, "{version}/{hook}");
        }
    }
    assert_eq!(stdout(&run(&world, &["schema"])).as_array().unwrap().len(), 16);
}

#[test]
fn the_log_answers_why_something_was_blocked() {
    let world = World::new();
    world.drop_plugin("guard", scripted(), "settings: {decide: block, text: SECRET-REASON}\n");
    run(&world, &["trust", "--yes"]);
    let correlation = world.path("correlation.json");
    std::fs::write(&correlation, r#"{"session_id":"s1","tool_call_id":"tc1"}"#).unwrap();
    run_with(&world, &["invoke", "PreToolUse", "--correlation", correlation.to_str().unwrap()], &bash("ls"));
    let rows = stdout(&run(&world, &["log", "--last-block"]));
    let row = &rows[0];
    let seen = (&row["plugin"], &row["status"], &row["session_id"], &row["tool_call_id"], rows.as_array().unwrap().len());
    assert_eq!(seen, (&json!("guard"), &json!("block"), &json!("s1"), &json!("tc1"), 1));
    assert!(!rows.to_string().contains("SECRET-REASON"));
}

#[test]
fn inspect_says_what_a_component_could_do_and_lacks() {
    let world = World::new();
    let path = world.path("p.wasm");
    std::fs::write(&path, scripted()).unwrap();
    let document = stdout(&run(&world, &["inspect", path.to_str().unwrap()]));
    assert_eq!((document["hooks"].as_array().unwrap().len(), &document["lacking"]), (16, &json!([])));
    std::fs::write(&path, crate::support::component(r#"(component (import "evil:net/sockets@1.0.0" (instance)))"#)).unwrap();
    let document = stdout(&run(&world, &["inspect", path.to_str().unwrap()]));
    assert_eq!((&document["hooks"], &document["lacking"]), (&json!([]), &json!(["evil:net/sockets@1.0.0"])));
}

#[test]
fn completions_name_every_command() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = String::from_utf8(run(&world, &["completions", shell]).stdout).unwrap();
        assert!(text.contains("invoke") && text.contains("componentize"), "{shell}");
    }
}

#[test]
fn text_of_a_plugin_cannot_move_the_terminal() {
    let world = World::new();
    world.drop_plugin("guard", scripted(), "settings: {act: panic}\non_failure: closed\ndescription: \"a\\e[2Jb\"\n");
    run(&world, &["trust", "--yes"]);
    let manifest = r#"{priority: 1, settings: {decide: block, text: "\u009b2J\u202e"}}"#;
    world.drop_plugin("other", scripted(), manifest);
    run(&world, &["trust", "--yes"]);
    for args in [&["invoke", "PreToolUse"][..], &["invoke", "PreToolUse", "--text"], &["list"], &["log"]] {
        let output = run_with(&world, args, &bash("ls"));
        let all: Vec<_> = output.stdout.iter().chain(&output.stderr).copied().collect();
        let shown = String::from_utf8_lossy(&all);
        assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{args:?}: {shown}");
        assert!(args[0] != "invoke" || shown.contains("9b"), "{args:?}: {shown}");
    }
}

#[test]
fn monitor_mode_is_shown_wherever_a_plugin_is() {
    let world = World::new();
    world.drop_plugin("guard", scripted(), "settings: {decide: block}\n");
    assert_eq!(run(&world, &["trust", "guard", "--yes", "--mode", "monitor"]).status.code(), Some(0));
    assert_eq!(stdout(&run(&world, &["list"]))["plugins"][0]["mode"], "monitor");
    let invoked = stdout(&run_with(&world, &["invoke", "PreToolUse"], &bash("ls")));
    assert_eq!(
        (&invoked["blocked"], &invoked["calls"][0]["decision"], &invoked["calls"][0]["applied"]),
        (&json!(false), &json!("block"), &json!(false))
    );
    for (args, expected) in [(vec!["list", "--text"], "active, monitor"), (vec!["log", "--text"], "would block")] {
        let output = run(&world, &args);
        assert!(String::from_utf8_lossy(&output.stdout).contains(expected), "{args:?}");
    }
}

#[test]
fn a_wrong_operator_configuration_says_where() {
    let world = World::new();
    std::fs::create_dir_all(world.path("xdg-config/geode-hooks")).unwrap();
    std::fs::write(world.path("xdg-config/geode-hooks/config.yaml"), "plugins: {a: {mode: watch}}").unwrap();
    let output = run(&world, &["list"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(65), "{error}");
    assert!(error.contains("plugins.a.mode") && error.contains("enforce or monitor") && error.contains("host::config"), "{error}");
}

#[test]
fn disable_reaches_the_plugin_that_is_meant() {
    let world = World::new();
    drop_plugin(&world.user_hooks(), "g", scripted(), "settings: {decide: block}\non_failure: closed\n");
    run(&world, &["trust", "g", "--yes"]);
    drop_plugin(&world.user_hooks(), "g", scripted(), "nonsense: 1\n");
    assert_eq!(stdout(&run_with(&world, &["invoke", "PreToolUse"], &bash("ls")))["blocked"], true);
    assert_eq!(run(&world, &["disable", "g"]).status.code(), Some(0));
    assert_eq!(stdout(&run_with(&world, &["invoke", "PreToolUse"], &bash("ls")))["blocked"], false, "a broken one can be switched off");
    // Where both folders have one, the project's is meant.
    world.drop_plugin("both", scripted(), "settings: {decide: block}\n");
    drop_plugin(&world.user_hooks(), "both", scripted(), "settings: {decide: continue}\n");
    run(&world, &["disable", "both"]);
    let plugins = stdout(&run(&world, &["list"]))["plugins"].clone();
    let states: Vec<_> = plugins.as_array().unwrap().iter().filter(|one| one["name"] == "both").map(|one| one["state"].clone()).collect();
    assert_eq!(states, ["active", "disabled"]);
}

#[test]
fn a_store_that_refuses_takes_no_decision_away() {
    let world = World::new();
    world.drop_plugin("guard", scripted(), "settings: {decide: block}\n");
    run(&world, &["trust", "--yes"]);
    run_with(&world, &["invoke", "PreToolUse"], &bash("ls"));
    refuse_rows(&world.path("xdg-state/geode-hooks/activity.db"));
    let output = run_with(&world, &["invoke", "PreToolUse", "--exit-code", "--json"], &bash("ls"));
    assert_eq!((output.status.code(), &stdout(&output)["blocked"]), (Some(2), &json!(true)));
    assert!(stderr(&output).contains("not recorded"), "{}", stderr(&output));
    let output = run_with(&world, &["invoke", "PreToolUse", "--json"], &bash("ls"));
    assert_eq!((output.status.code(), &stdout(&output)["blocked"]), (Some(73), &json!(true)), "the outcome is printed all the same");
}
