//! Any text as a `hook.yaml`.
#![no_main]

use hook_runtime::Manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = Manifest::parse(text, "plugin") {
        assert!(!error.to_string().chars().any(|character| character.is_control()));
    }
});
