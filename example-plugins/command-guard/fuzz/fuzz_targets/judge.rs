//! Feeds arbitrary text to the guard as a command, as an argument list and as program text: it must answer, and must not let a chain pass that ends in
//! a destructive command.
#![no_main]

use command_guard::{Context, Settings, Verdict, judge};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

const CONTEXT: Context<'static> = Context { cwd: "/home/u/project", workspace: "/home/u/project", reduced: &[], redacted: &[] };

fuzz_target!(|text: &str| {
    let settings = Settings::default();
    let _ = judge("Bash", &json!({ "command": text }), &CONTEXT, &settings);
    let _ = judge("exec_python", &json!({ "code": text }), &CONTEXT, &settings);
    let words: Vec<&str> = text.split('\0').collect();
    let _ = judge("shell", &json!({ "command": words }), &CONTEXT, &settings);
    // Text without anything that can swallow what follows: quotes, comments, here-documents, functions, early ends.
    if text.chars().all(|c| c.is_ascii_alphanumeric() || " ;&|\n-./~".contains(c)) {
        let line = format!("{text}\nrm -rf /etc");
        assert_ne!(judge("Bash", &json!({ "command": line }), &CONTEXT, &settings), Verdict::Pass, "{line:?}");
    }
});
