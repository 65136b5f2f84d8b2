//! The one engine of a host, and the thread that drives its epoch.
//!
//! Separate because every setting that widens or narrows the sandbox stands here. Invariant: fuel and epoch are both on, and every proposal
//! is named, so that an upgrade cannot widen the set unseen.

use crate::limits::{MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_MEMORY, MAX_TABLE_ELEMENTS, MAX_TABLES};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, RegallocAlgorithm, WasmBacktraceDetails,
};

/// How far apart the ticks of the epoch are: the precision of deadlines.
pub(crate) const TICK: Duration = Duration::from_millis(5);
/// How long the ticker goes on after the last call before it sleeps.
const IDLE: Duration = Duration::from_secs(1);
/// The memory of a slot that is reset in place, not given back to the kernel.
const KEEP_RESIDENT: usize = 2 * 1024 * 1024;
/// The stack of guest code; JavaScript engines need this much.
const WASM_STACK: usize = 512 * 1024;
/// The stack of an asynchronous call: guest code, and host functions below it.
const ASYNC_STACK: usize = 2 * 1024 * 1024;

/// Where instances get their memory from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// A pool whose slots are reset by page scan: Linux 6.7 and later.
    PoolWithPageScan,
    /// A pool whose slots are given back to the kernel.
    Pool,
    /// Mapped for each call.
    OnDemand,
}

/// The engine and its ticker.
#[derive(Debug)]
pub(crate) struct Sandbox {
    pub(crate) engine: Engine,
    pub(crate) allocator: Allocator,
    ticker: Ticker,
}

impl Sandbox {
    /// Makes the engine with the best allocator that this machine has.
    pub(crate) fn new(max_instances: u32) -> wasmtime::Result<Self> {
        let attempts = [Allocator::PoolWithPageScan, Allocator::Pool, Allocator::OnDemand];
        let mut last = None;
        for allocator in attempts {
            match Engine::new(&config(allocator, max_instances)) {
                Ok(engine) => {
                    let ticker = Ticker::start(engine.clone())?;
                    return Ok(Self { engine, allocator, ticker });
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| wasmtime::Error::msg("no allocator")))
    }

    /// Says that a call begins, and until the guard is dropped, is under way: so long the epoch moves.
    pub(crate) fn wake(&self) -> UnderWay<'_> {
        self.ticker.wake()
    }
}

/// Returns every setting of the engine.
fn config(allocator: Allocator, max_instances: u32) -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .concurrency_support(false)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(ASYNC_STACK)
        .cranelift_opt_level(OptLevel::Speed)
        .cranelift_regalloc_algorithm(RegallocAlgorithm::Backtracking)
        .cranelift_nan_canonicalization(true)
        .native_unwind_info(false)
        .debug_info(false)
        // Names of a guest are never shown, and a deep backtrace costs time.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .wasm_backtrace_max_frames(NonZeroUsize::new(8));
    proposals(&mut config);
    config.allocation_strategy(match allocator {
        Allocator::OnDemand => InstanceAllocationStrategy::OnDemand,
        Allocator::Pool | Allocator::PoolWithPageScan => InstanceAllocationStrategy::Pooling(pool(allocator, max_instances)),
    });
    config
}

/// Switches every proposal on or off by name.
fn proposals(config: &mut Config) {
    config
        .wasm_component_model(true)
        .wasm_simd(true)
        .wasm_bulk_memory(true)
        .wasm_multi_value(true)
        .wasm_reference_types(true)
        // Off, it makes the compiler panic on components whose parts pass strings to each other.
        .wasm_multi_memory(true)
        .wasm_threads(false)
        .shared_memory(false)
        .wasm_gc(false)
        .wasm_exceptions(false)
        .wasm_function_references(false)
        .wasm_memory64(false)
        .wasm_tail_call(false)
        .wasm_relaxed_simd(false)
        .wasm_custom_page_sizes(false)
        .wasm_wide_arithmetic(false)
        .wasm_stack_switching(false)
        .wasm_shared_everything_threads(false);
}

fn pool(allocator: Allocator, max_instances: u32) -> PoolingAllocationConfig {
    let count = |each: usize| u32::try_from(each).unwrap_or(u32::MAX);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(max_instances)
        .total_core_instances(max_instances.saturating_mul(4).max(count(MAX_CORE_INSTANCES)))
        .total_memories(max_instances.saturating_mul(2).max(count(MAX_MEMORIES)))
        .total_tables(max_instances.saturating_mul(3).max(count(MAX_TABLES)))
        .total_stacks(max_instances)
        .max_core_instances_per_component(count(MAX_CORE_INSTANCES))
        .max_memories_per_component(count(MAX_MEMORIES))
        .max_tables_per_component(count(MAX_TABLES))
        .max_memory_size(usize::try_from(MAX_MEMORY).unwrap_or(usize::MAX))
        .table_elements(MAX_TABLE_ELEMENTS)
        // More than the number of plugins, or slots lose their image.
        .max_unused_warm_slots(max_instances.saturating_mul(2));
    match allocator {
        Allocator::PoolWithPageScan => {
            pool.pagemap_scan(Enabled::Yes).linear_memory_keep_resident(KEEP_RESIDENT).table_keep_resident(64 * 1024)
        }
        _ => pool.pagemap_scan(Enabled::No),
    };
    pool
}

/// A thread that moves the epoch while calls are made, and sleeps otherwise.
#[derive(Debug)]
struct Ticker {
    shared: Arc<TickerState>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct TickerState {
    start: Instant,
    /// Milliseconds after `start` of the last call's begin.
    last_call: AtomicU64,
    /// Calls that have begun and not ended: while there is one, the epoch moves.
    under_way: AtomicUsize,
    asleep: AtomicBool,
    stop: AtomicBool,
}

impl TickerState {
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Ticker {
    fn start(engine: Engine) -> std::io::Result<Self> {
        let shared = Arc::new(TickerState {
            start: Instant::now(),
            last_call: AtomicU64::new(0),
            under_way: AtomicUsize::new(0),
            asleep: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        let state = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("geode-epoch".into()).spawn(move || tick(&engine, &state))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    fn wake(&self) -> UnderWay<'_> {
        self.shared.under_way.fetch_add(1, Ordering::Relaxed);
        self.shared.last_call.store(self.shared.now(), Ordering::Relaxed);
        // Ordered after the store, as the ticker's own check is after it says that it sleeps: one of the two sees the other.
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::Relaxed) {
            self.unpark();
        }
        UnderWay(&self.shared)
    }

    fn unpark(&self) {
        if let Ok(thread) = self.thread.lock()
            && let Some(thread) = thread.as_ref()
        {
            thread.thread().unpark();
        }
    }
}

/// A call under way; dropped when it ends.
#[derive(Debug)]
pub(crate) struct UnderWay<'a>(&'a TickerState);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.unpark();
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

fn tick(engine: &Engine, state: &TickerState) {
    let mut last = Instant::now();
    while !state.stop.load(Ordering::Relaxed) {
        std::thread::park_timeout(TICK);
        // A late wake-up moves the epoch by every tick it missed.
        let missed = last.elapsed().as_nanos() / TICK.as_nanos();
        if missed > 0 {
            last = Instant::now();
        }
        (0..missed.min(1000)).for_each(|_| engine.increment_epoch());
        if is_idle(state) {
            sleep_until_called(state);
            last = Instant::now();
        }
    }
}

fn is_idle(state: &TickerState) -> bool {
    let idle = u64::try_from(IDLE.as_millis()).unwrap_or(u64::MAX);
    state.under_way.load(Ordering::Relaxed) == 0 && state.now().saturating_sub(state.last_call.load(Ordering::Relaxed)) > idle
}

fn sleep_until_called(state: &TickerState) {
    state.asleep.store(true, Ordering::Relaxed);
    std::sync::atomic::fence(Ordering::SeqCst);
    while is_idle(state) && !state.stop.load(Ordering::Relaxed) {
        std::thread::park();
    }
    state.asleep.store(false, Ordering::Relaxed);
}
