//! Whole dispatches of small plugins, beside a native closure that does the same checking, and a subprocess hook, in one run.
//!
//! Read the ratios, not the times. Reads and writes a scratch folder; builds the benchmark's guest with cargo.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark fails by panicking"
)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hook_runtime::contract::decision::{RawDecision, Reply};
use hook_runtime::contract::hook::Object;
use hook_runtime::contract::{Chain, ChainPolicy, Correlation, Payload, Scope, Terms, Version, check};
use hook_runtime::{Action, Directories, Hook, Host, Invocation};
use serde_json::{Value, json};
use std::hint::black_box;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant, SystemTime};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

/// Builds the small guest: it blocks where the command is the one it looks for.
fn guest() -> Vec<u8> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(repository().join("example-plugins")).args([
        "build",
        "--release",
        "--locked",
        "--target",
        "wasm32-unknown-unknown",
    ]);
    command.args(["-p", "no-push"]).env("CARGO_TARGET_DIR", target().join("guests"));
    assert!(command.status().unwrap().success());
    let module = std::fs::read(target().join("guests/wasm32-unknown-unknown/release/no_push.wasm")).unwrap();
    wit_component::ComponentEncoder::default().module(&module).unwrap().encode().unwrap()
}

/// Builds the same rule as a native program: what a shell hook at its best is.
fn subprocess_hook(folder: &Path) -> PathBuf {
    let source = folder.join("hook.rs");
    std::fs::write(&source, "fn main() { let text = std::io::read_to_string(std::io::stdin()).unwrap(); if text.contains(\"git push\") { std::process::exit(2) } }").unwrap();
    let program = folder.join("hook");
    assert!(Command::new("rustc").args(["-O", "-o"]).arg(&program).arg(&source).status().unwrap().success());
    program
}

struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new(plugins: usize, distinct: bool) -> Self {
        let root = tempfile::tempdir().unwrap();
        let hooks = root.path().join("home/hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        let guest = guest();
        for number in 0..plugins {
            let mut bytes = guest.clone();
            if distinct {
                // A custom section of its own makes each another component, compiled and cached by itself.
                let text = format!("{number:08}");
                bytes.extend([0, 10, 1, b'n']);
                bytes.extend(text.as_bytes());
            }
            std::fs::write(hooks.join(format!("p{number:03}.wasm")), bytes).unwrap();
        }
        Self { root }
    }

    fn host(&self) -> Host {
        Host::builder().directories(Directories::below(self.root.path())).build().unwrap()
    }
}

/// Returns a PreToolUse payload whose JSON has about that many bytes.
fn payload(bytes: usize) -> Object {
    let filler = "cargo test --workspace ".repeat(bytes / 23 + 1);
    let mut arguments = Object::new();
    let mut left = bytes.saturating_sub(100);
    let mut index = 0;
    while left > 0 {
        let length = left.min(1000);
        arguments.insert(format!("command{index}"), Value::from(filler.get(..length).unwrap()));
        left = left.saturating_sub(length + 20);
        index += 1;
    }
    json!({"tool_name": "Bash", "arguments": arguments}).as_object().unwrap().clone()
}

fn ask(host: &Host, payload: &Object) {
    black_box(host.invoke_blocking(Invocation::new(Hook::PreToolUse, payload.clone())).unwrap());
}

/// What a trusted closure leaves for the audit, of the same size as the host's row.
struct Row {
    _at: SystemTime,
    _took: Duration,
    _correlation: Arc<Correlation>,
    _names: [Arc<str>; 3],
    _numbers: [u64; 6],
}

/// The floor: bound, validate, a native rule, check, apply, audit row enqueued; no sandbox.
fn native(payload: &Object, names: &[Arc<str>; 3], audit: &Sender<Box<Row>>) {
    let start = Instant::now();
    let payload = Payload::new(Hook::PreToolUse, payload.clone()).unwrap();
    let mut chain =
        Chain::new(Scope { version: Version::V2, correlation: Correlation::default(), policy: ChainPolicy::default() }, payload);
    let pushes = chain.payload().view().payload["arguments"].to_string().contains("git push");
    let decision = if pushes { Some(RawDecision::new(Action::Block, "no")) } else { Some(RawDecision::new(Action::Continue, "")) };
    let reply = Reply { decision, ..Reply::default() };
    let terms = Terms { actions: Hook::PreToolUse.spec().actions, full_payload: false, version: Version::V2 };
    let checked = check(chain.payload(), reply, terms).unwrap();
    chain.apply("native", checked);
    let correlation = Arc::new(chain.scope().correlation.clone());
    let row = Row { _at: SystemTime::now(), _took: start.elapsed(), _correlation: correlation, _names: names.clone(), _numbers: [0; 6] };
    audit.send(Box::new(row)).unwrap();
    black_box(chain.into_outcome());
}

fn subprocess(program: &Path, payload: &str) {
    let mut child = Command::new("sh").arg("-c").arg(program).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    black_box(child.wait().unwrap());
}

fn dispatch(criterion: &mut Criterion) {
    let one = World::new(1, false);
    let host = one.host();
    let program = subprocess_hook(one.root.path());
    let names: [Arc<str>; 3] = ["p".into(), "".into(), "d".into()];
    let (audit, rows) = channel();
    // As the host's writer does, rows gather, so that the caller does not wake a thread for each.
    let drain = std::thread::spawn(move || {
        while rows.recv().is_ok() {
            std::thread::sleep(Duration::from_millis(20));
            rows.try_iter().for_each(drop);
        }
    });
    let mut group = criterion.benchmark_group("dispatch");
    // The last stays below the contract's bound of 32 KiB, past which a payload is cut.
    for bytes in [200, 4096, 32_000] {
        let payload = payload(bytes);
        let text = Value::Object(payload.clone()).to_string();
        group.bench_with_input(BenchmarkId::new("plugin", bytes), &payload, |bencher, payload| bencher.iter(|| ask(&host, payload)));
        group.bench_with_input(BenchmarkId::new("native", bytes), &payload, |bencher, payload| {
            bencher.iter(|| native(payload, &names, &audit))
        });
        group.bench_with_input(BenchmarkId::new("sh", bytes), &text, |bencher, text| bencher.iter(|| subprocess(&program, text)));
    }
    let ten = World::new(10, true);
    let host = ten.host();
    let payload = payload(200);
    group.bench_function("chain of ten", |bencher| bencher.iter(|| ask(&host, &payload)));
    group.finish();
    drop(audit);
    drain.join().unwrap();
}

fn start(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("start");
    group.sample_size(10);
    for plugins in [1, 50] {
        let world = World::new(plugins, true);
        drop(world.host());
        group.bench_function(BenchmarkId::new("cached", plugins), |bencher| bencher.iter(|| world.host()));
        group.bench_function(BenchmarkId::new("cold", plugins), |bencher| {
            bencher.iter_batched(
                || std::fs::remove_dir_all(world.root.path().join("cache")),
                |_| world.host(),
                criterion::BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, dispatch, start);
criterion_main!(benches);
