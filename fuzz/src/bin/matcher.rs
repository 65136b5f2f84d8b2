//! Any matcher on any command, a line each; and a command that stands first is always found.
#![no_main]

use hook_contract::matcher::Matcher;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|text: &str| {
    let (pattern, command) = text.split_once('\n').unwrap_or(("Bash(rm *)", text));
    let matches = |pattern: &str, command: &str| {
        Matcher::parse(pattern).map(|matcher| matcher.matches("Bash", json!({"command": command}).as_object()))
    };
    let _ = matches(pattern, command);
    assert_eq!(matches("Bash(rm *)", &format!("rm x;{command}")), Ok(true), "what stands first runs, whatever follows");
});
