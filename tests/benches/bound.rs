//! What plugins' view of a payload costs: bounding and redacting, beside a clone of the value and one pass of one regex over its texts,
//! interleaved in one run. Read the ratios, not the times.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking and prints"
)]

use hook_runtime::contract::hook::Object;
use hook_runtime::contract::{bound, canonical};
use regex::Regex;
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 2000;
/// Every pattern of the contract in one.
const ONE: &str = r"sk-ant-[A-Za-z0-9\-_]{20,}|sk-proj-[A-Za-z0-9\-_]{20,}|sk-[A-Za-z0-9]{20,}|[0-9a-f]{32}\.[A-Za-z0-9]{16,}|ghp_[A-Za-z0-9]{36,}|gho_[A-Za-z0-9]{36,}|eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+|xoxb-[A-Za-z0-9\-]+|xoxp-[A-Za-z0-9\-]+|xapp-[A-Za-z0-9\-]+";

/// Returns a payload of about that many bytes, in texts of that many characters.
fn payload(filler: &str, chars: usize, bytes: usize) -> Object {
    let text: String = filler.chars().cycle().take(chars).collect();
    let list: Vec<Value> = (0..bytes / (chars + chars / 20 + 6)).map(|index| json!(format!("{index}{text}"))).collect();
    let lists: Object = list.chunks(60).enumerate().map(|(index, chunk)| (format!("l{index}"), json!(chunk))).collect();
    json!({"tool_name": "Write", "arguments": lists}).as_object().unwrap().clone()
}

fn search(regex: &Regex, value: &Value) -> usize {
    match value {
        Value::String(text) => usize::from(regex.is_match(text)),
        Value::Array(items) => items.iter().map(|item| search(regex, item)).sum(),
        Value::Object(object) => object.values().map(|value| search(regex, value)).sum(),
        _ => 0,
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn main() {
    let regex = Regex::new(ONE).unwrap();
    let code = "if let Some(value) = map.get(\"key\") { total += value.len() as u64; } // see docs/a-b_c.md\n";
    let cases = [
        ("code, 3,000 a text", code, 3000, 32_000),
        ("code, 80 a text", code, 80, 32_000),
        ("code, 80, over 32 KiB", code, 80, 40_000),
        ("hex, 3,000 a text", "0123456789abcdef", 3000, 32_000),
        ("words, 200 a text", "the quick brown fox ", 200, 32_000),
    ];
    for (name, filler, chars, bytes) in cases {
        let payload = payload(filler, chars, bytes);
        let value = Value::Object(payload.clone());
        let (mut bounding, mut cloning, mut searching) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let time = |times: &mut Vec<Duration>, work: &mut dyn FnMut()| {
                let start = Instant::now();
                work();
                times.push(start.elapsed());
            };
            time(&mut bounding, &mut || drop(black_box(bound(black_box(&payload)))));
            time(&mut cloning, &mut || drop(black_box(black_box(&value).clone())));
            time(&mut searching, &mut || {
                black_box(search(&regex, black_box(&value)));
            });
        }
        let (bounding, cloning, searching) = (median(bounding), median(cloning), median(searching));
        println!(
            "{name:<22} {:>5} bytes   bound {bounding:7.1} us   clone {cloning:6.1} us   one regex {searching:7.1} us   ratio {:.2}",
            canonical::object_size(&payload),
            bounding / (cloning + searching)
        );
    }
}
