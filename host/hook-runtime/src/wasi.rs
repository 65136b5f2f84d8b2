//! WASI 0.2 for guests whose language runtime insists on it: empty, with a virtual clock and seeded randomness.
//!
//! Separate because most plugins do without. Invariant: no folder, no environment, no argument, no socket; time moves only when it is read or
//! slept, so the same input gives the same call.

use crate::guest::{GuestState, LogLevel};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWrite;
use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::p2::{DynPollable, OutputStream, Pollable, StreamError, StreamResult, subscribe};
use wasmtime_wasi::{Deterministic, HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// Where the clock starts: 2026-01-01T00:00:00Z, in nanoseconds since the Unix epoch.
const EPOCH: u64 = 1_767_225_600_000_000_000;
/// How far one reading moves the clock, in nanoseconds.
const READING: u64 = 1_000;
/// The most bytes of one reading of randomness, and of randomness before it repeats.
const MAX_RANDOM: u64 = 64 * 1024;
const RANDOM_BYTES: usize = 4 * 1024;
/// The most bytes that standard output and error keep of a call.
const MAX_OUTPUT: usize = 16 * 1024;
const MAX_RESOURCES: usize = 256;

/// The WASI side of one call.
pub(crate) struct WasiState {
    ctx: WasiCtx,
    table: ResourceTable,
    clock: VirtualClock,
    stdout: Output,
    stderr: Output,
}

impl WasiState {
    /// Returns the state of a call; `seed` is made of its input.
    pub(crate) fn new(seed: &[u8]) -> Self {
        let clock = VirtualClock(Arc::new(AtomicU64::new(0)));
        let (stdout, stderr) = (Output::default(), Output::default());
        let mut bytes = vec![0; RANDOM_BYTES];
        blake3::Hasher::new().update(seed).finalize_xof().fill(&mut bytes);
        let ctx = WasiCtxBuilder::new()
            .wall_clock(clock.clone())
            .monotonic_clock(clock.clone())
            .secure_random(Deterministic::new(bytes.clone()))
            .insecure_random(Deterministic::new(bytes))
            .insecure_random_seed(u128::from_le_bytes(first_16(seed)))
            .max_random_size(MAX_RANDOM)
            .allow_tcp(false)
            .allow_udp(false)
            .stdout(stdout.clone())
            .stderr(stderr.clone())
            .build();
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        Self { ctx, table, clock, stdout, stderr }
    }
}

fn first_16(seed: &[u8]) -> [u8; 16] {
    let mut out = [0; 16];
    out.iter_mut().zip(seed).for_each(|(to, from)| *to = *from);
    out
}

impl GuestState {
    /// Turns what the guest wrote to its standard streams into log lines.
    pub(crate) fn collect_output(&mut self) {
        let Some(wasi) = &self.wasi else { return };
        let (stdout, stderr) = (wasi.stdout.take(), wasi.stderr.take());
        for (level, bytes) in [(LogLevel::Info, stdout), (LogLevel::Error, stderr)] {
            for line in String::from_utf8_lossy(&bytes).lines().filter(|line| !line.trim().is_empty()) {
                self.add_line(level, line);
            }
        }
    }

    /// Only guests that import WASI are linked with it, and their store always has it.
    #[expect(clippy::expect_used, reason = "the store of a plugin that imports WASI is made with it, and no other linker reaches this")]
    fn wasi_mut(&mut self) -> &mut WasiState {
        self.wasi.as_mut().expect("a store made for WASI")
    }
}

impl WasiView for GuestState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let wasi = self.wasi_mut();
        WasiCtxView { ctx: &mut wasi.ctx, table: &mut wasi.table }
    }
}

/// Links WASI, with the sleeping part of its clock replaced by ours: its own would wait on a real timer.
pub(crate) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    monotonic_clock::add_to_linker::<GuestState, VirtualTime>(linker, |state| {
        let wasi = state.wasi_mut();
        VirtualTimeView { clock: &wasi.clock, table: &mut wasi.table }
    })?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Names [`VirtualTimeView`] for the linker.
struct VirtualTime;

impl HasData for VirtualTime {
    type Data<'a> = VirtualTimeView<'a>;
}

struct VirtualTimeView<'a> {
    clock: &'a VirtualClock,
    table: &'a mut ResourceTable,
}

impl monotonic_clock::Host for VirtualTimeView<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(self.clock.read())
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(READING)
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.clock.0.fetch_max(when, Ordering::Relaxed);
        self.ready()
    }

    fn subscribe_duration(&mut self, duration: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let _ = self.clock.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| Some(now.saturating_add(duration)));
        self.ready()
    }
}

impl VirtualTimeView<'_> {
    fn ready(&mut self) -> wasmtime::Result<Resource<DynPollable>> {
        let ready = self.table.push(AlwaysReady)?;
        subscribe(self.table, ready)
    }
}

/// A wait that is over.
struct AlwaysReady;

#[wasmtime_wasi::async_trait]
impl Pollable for AlwaysReady {
    async fn ready(&mut self) {}
}

/// Nanoseconds since the call began; every reading moves it.
#[derive(Clone, Debug)]
struct VirtualClock(Arc<AtomicU64>);

impl VirtualClock {
    fn read(&self) -> u64 {
        self.0.fetch_add(READING, Ordering::Relaxed)
    }
}

impl HostMonotonicClock for VirtualClock {
    fn resolution(&self) -> u64 {
        READING
    }

    fn now(&self) -> u64 {
        self.read()
    }
}

impl HostWallClock for VirtualClock {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(READING)
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(EPOCH.saturating_add(self.read()))
    }
}

/// A standard stream that keeps its first bytes and drops the rest.
#[derive(Clone, Debug, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    fn take(&self) -> Vec<u8> {
        self.0.lock().map(|mut bytes| std::mem::take(&mut *bytes)).unwrap_or_default()
    }

    fn keep(&self, bytes: &[u8]) {
        if let Ok(mut kept) = self.0.lock() {
            let room = MAX_OUTPUT.saturating_sub(kept.len());
            kept.extend(bytes.iter().take(room));
        }
    }
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    /// Only WASI 0.3 asks for this, and it is not linked.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(MemoryOutputPipe::new(0))
    }
}

impl OutputStream for Output {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.keep(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> Result<usize, StreamError> {
        Ok(MAX_OUTPUT)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}
