//! Any JSON in, bounded JSON out, for every hook. Input: a registry case's JSON.
#![no_main]

use hook_contract::{Hook, bound, canonical, validate};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(object) => 1 + object.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fuzz_target!(|text: &[u8]| {
    let Ok(case) = serde_json::from_slice::<Value>(text) else { return };
    let Value::Object(payload) = &case["payload"] else { return };
    let hook = case["hook"].as_str().and_then(Hook::from_name).unwrap_or(Hook::PreToolUse);
    let bounded = bound(payload);
    assert!(canonical::object_size(&bounded.payload) <= bound::MAX_PAYLOAD_BYTES);
    assert!(depth(&Value::Object(bounded.payload.clone())) <= bound::MAX_DEPTH + 1);
    assert!(validate(hook, payload).is_err() || validate(hook, &bounded.payload).is_ok());
});
