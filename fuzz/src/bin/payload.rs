//! Any JSON in, bounded JSON out, for every hook.
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

fuzz_target!(|input: (u8, &[u8])| {
    let (number, text) = input;
    let Some(hook) = Hook::all().nth(usize::from(number) % 16) else { return };
    let Ok(Value::Object(payload)) = serde_json::from_slice(text) else { return };
    let bounded = bound(&payload);
    assert!(canonical::object_size(&bounded.payload) <= bound::MAX_PAYLOAD_BYTES);
    assert!(depth(&Value::Object(bounded.payload.clone())) <= bound::MAX_DEPTH + 1);
    assert!(validate(hook, &payload).is_err() || validate(hook, &bounded.payload).is_ok());
});
