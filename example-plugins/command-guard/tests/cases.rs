//! Command lines with their expected answers: the shared corpus, this crate's table, other tools and other dialects. Reads two files.

#![expect(clippy::unwrap_used, reason = "a test may stop where its data is wrong")]

use command_guard::{Context, Settings, Verdict, judge};
use serde_json::{Value, json};

const PROJECT: &str = "/home/u/project";

fn ask_guard(tool: &str, arguments: &Value, settings: &Settings) -> Verdict {
    let context = Context { cwd: PROJECT, workspace: PROJECT, ..Context::default() };
    judge(tool, arguments, &context, settings)
}

fn shell(command: &str) -> Verdict {
    ask_guard("Bash", &json!({ "command": command }), &Settings::default())
}

fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Ask(_) => "ask",
        Verdict::Block(_) => "block",
    }
}

fn read(path: &str) -> Value {
    let full = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(full).unwrap()).unwrap()
}

fn lines(corpus: &Value, key: &str) -> Vec<String> {
    corpus[key].as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

#[test]
fn corpus() {
    let corpus = read("../../tests/fixtures/agents/commands.json");
    let passed: Vec<_> = lines(&corpus, "must_block").into_iter().filter(|c| shell(c) == Verdict::Pass).collect();
    assert!(passed.is_empty(), "passed: {passed:#?}");
    let stopped: Vec<_> = lines(&corpus, "must_allow").into_iter().map(|c| (shell(&c), c)).filter(|(v, _)| *v != Verdict::Pass).collect();
    assert!(stopped.is_empty(), "stopped: {stopped:#?}");
}

#[test]
fn table() {
    let table = read("tests/cases.json");
    let mut wrong = Vec::new();
    let mut count = 0;
    for (group, rows) in table.as_object().unwrap().iter().filter(|(_, rows)| rows.is_array()) {
        for row in rows.as_array().unwrap() {
            let (expected, command) = (row[0].as_str().unwrap(), row[1].as_str().unwrap());
            let verdict = shell(command);
            count += 1;
            if name(&verdict) != expected {
                wrong.push(format!("{group}: {command:?}: expected {expected}, found {verdict:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_reason_names_the_part() {
    let verdict = shell("echo ok && git push origin +main");
    let names = |reason: &str| reason.contains("git push origin +main") && reason.contains("--force-with-lease");
    assert!(matches!(&verdict, Verdict::Block(reason) if names(reason)), "{verdict:?}");
}

#[test]
fn tools_of_other_agents() {
    let rm = "rm -rf /etc";
    let cases = [
        ("block", "run_command", json!({ "CommandLine": rm, "Cwd": "/home/u" })),
        ("block", "run_shell_command", json!({ "command": "rm -rf x", "directory": "/etc" })),
        ("block", "shell", json!({ "command": ["bash", "-lc", rm] })),
        ("block", "shell", json!({ "command": ["rm", "-rf", "/etc"] })),
        ("block", "local_shell", json!({ "cmd": rm })),
        ("block", "write_stdin", json!({ "session_id": 1, "chars": "rm -rf /etc\n" })),
        ("block", "mcp__x__anything", json!({ "script": rm })),
        ("block", "MCP:t", json!({ "tool_input": "{\"command\":\"rm -rf /etc\"}" })),
        ("block", "call_mcp_tool", json!({ "ServerName": "x", "ToolName": "y", "Arguments": { "command": rm } })),
        ("block", "terminal", json!({ "command": "rm", "args": ["-rf", "/etc"] })),
        ("block", "batch", json!({ "tool_calls": [{ "tool": "bash", "parameters": { "command": rm } }] })),
        ("ask", "exec_python", json!({ "code": "import shutil\nshutil.rmtree('/etc')" })),
        ("ask", "PowerShell", json!({ "command": "Remove-Item -Recurse -Force C:\\x" })),
        ("ask", "PowerShell", json!({ "command": "git reset --hard" })),
        ("pass", "PowerShell", json!({ "command": "Get-ChildItem | Select-Object Name" })),
        ("ask", "Write", json!({ "file_path": "/home/u/project/.claude/settings.json", "content": "{}" })),
        ("ask", "Edit", json!({ "file_path": ".git/hooks/pre-commit", "old_string": "a", "new_string": "b" })),
        ("ask", "MultiEdit", json!({ "file_path": "/home/u/.geode/hooks/x.wasm", "edits": [] })),
        ("ask", "write_file", json!({ "path": ".mcp.json", "content": "" })),
        ("ask", "replace", json!({ "file_path": ".gemini/settings.json" })),
        ("ask", "editFiles", json!({ "files": ["src/a.rs", ".github/hooks/x.json"] })),
        ("ask", "write_to_file", json!({ "TargetFile": "/home/u/project/.geode/x" })),
        ("ask", "create", json!({ "path": "/home/u/.copilot/hooks/x.json" })),
        ("ask", "str_replace_based_edit_tool", json!({ "command": "create", "path": ".husky/pre-commit" })),
        ("pass", "str_replace_based_edit_tool", json!({ "command": "view", "path": ".husky/pre-commit" })),
        ("ask", "NotebookEdit", json!({ "notebook_path": ".claude/hooks/x.ipynb" })),
        ("ask", "move_file", json!({ "source": "a", "destination": ".kiro/hooks/a" })),
        ("ask", "apply_patch", json!({ "input": "*** Begin Patch\n*** Update File: .codex/config.toml\n@@\n*** End Patch" })),
        ("ask", "apply_patch", json!("*** Begin Patch\n*** Add File: .claude/hooks/x.sh\n+x\n*** End Patch")),
        ("pass", "apply_patch", json!({ "input": "*** Begin Patch\n*** Update File: src/a.rs\n@@\n+rm -rf /\n*** End Patch" })),
        ("pass", "Write", json!({ "file_path": "docs/a.md", "content": "rm -rf /" })),
        ("pass", "Edit", json!({ "file_path": "a.sh", "old_string": "rm -rf /", "new_string": "" })),
        ("pass", "Read", json!({ "file_path": ".claude/settings.json" })),
        ("pass", "Grep", json!({ "pattern": "rm -rf /", "path": ".git/hooks" })),
        ("pass", "WebSearch", json!({ "query": "rm -rf /" })),
        ("pass", "Bash", json!({ "command": "ls", "description": "rm -rf /" })),
    ];
    for (expected, tool, arguments) in cases {
        let verdict = ask_guard(tool, &arguments, &Settings::default());
        assert_eq!(name(&verdict), expected, "{tool} {arguments}: {verdict:?}");
    }
}

#[test]
fn cut_and_redacted_arguments() {
    let reduced = ["/arguments/command".to_owned()];
    let context = Context { cwd: PROJECT, workspace: PROJECT, reduced: &reduced, redacted: &[] };
    assert_eq!(name(&judge("Bash", &json!({ "command": "ls" }), &context, &Settings::default())), "ask");
    let reduced = ["/arguments/content".to_owned()];
    let context = Context { reduced: &reduced, ..context };
    assert_eq!(name(&judge("Write", &json!({ "file_path": "a", "content": "x" }), &context, &Settings::default())), "pass");
    assert_eq!(name(&shell("ls …[truncated:200]")), "ask");
    assert_eq!(name(&shell("curl -H 'Authorization: [REDACTED]' https://x.example")), "pass");
    assert_eq!(name(&shell("TOKEN=[REDACTED] rm -rf /etc")), "block");
    assert_eq!(name(&shell("rm -rf [REDACTED]")), "ask");
}

#[test]
fn settings() {
    let read = |value: Value| Settings::from_json(&value);
    assert!(read(json!({ "allow_path": [] })).is_err() && read(json!([])).is_err() && read(json!({ "protect": "x" })).is_err());
    let judge = |command: &str, settings: Value| name(&ask_guard("Bash", &json!({ "command": command }), &read(settings).unwrap()));
    assert_eq!(judge("rm -rf /srv/cache/x", json!({ "allow_paths": ["/srv/cache"] })), "pass");
    assert_eq!(judge("rm -rf ~/.cache/x", json!({ "allow_paths": ["~/.cache"] })), "pass");
    assert_eq!(judge("rm -rf /srv/cache/../x", json!({ "allow_paths": ["/srv/cache"] })), "block");
    assert_eq!(judge("rm -rf /etc", json!({ "ask_instead_of_block": true })), "ask");
    assert_eq!(judge("echo x > deploy/prod.yaml", json!({ "protect": ["deploy/*"] })), "ask");
    assert_eq!(judge("rm -rf build", Value::Null), "pass");
}

#[test]
fn without_a_known_directory_only_temp_is_free() {
    let judge = |command: &str| name(&judge("Bash", &json!({ "command": command }), &Context::default(), &Settings::default()));
    assert_eq!((judge("rm -rf build"), judge("rm -rf /tmp/x"), judge("rm -rf /etc")), ("ask", "pass", "block"));
}

/// Text that a parser could be slow or deep on.
#[test]
fn hostile_text_is_asked_about() {
    let deep = |open: &str, close: &str, n: usize| format!("{}ls{}", open.repeat(n), close.repeat(n));
    let cases = [
        "x".repeat(40_000),
        deep("(", ")", 1000),
        deep("$(", ")", 1000),
        deep("((", "))", 500),
        deep("{ ", "; }", 1000),
        deep("${x:-", "}", 1000),
        deep("if ", "; then :; fi", 1000),
        format!("echo {}", "$(ls) ".repeat(5000)),
        format!("echo {}", "`ls` ".repeat(5000)),
        "! ".repeat(5000) + "ls",
        "a\0b".to_owned(),
    ];
    for case in cases {
        let verdict = shell(&case);
        assert_eq!(name(&verdict), "ask", "{}", command_guard::verdict::shorten(&case));
    }
}
