//! Any matcher on any command; and a command that is there on a line of its own is always found.
#![no_main]

use hook_contract::matcher::Matcher;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|input: (&str, &str)| {
    let (pattern, command) = input;
    let arguments = json!({"command": command});
    if let Ok(matcher) = Matcher::parse(pattern) {
        matcher.matches("Bash", arguments.as_object());
    }
    let alone = Matcher::parse("Bash(rm *)").is_ok_and(|matcher| matcher.matches("Bash", json!({"command": format!("rm x;{command}")}).as_object()));
    assert!(alone, "what stands first runs, whatever follows");
});
