//! Calls a plugin: a fresh store, fuel, epoch and memory limits, one typed call.
//!
//! Separate because it is the only place where guest code runs. Invariant: fuel, deadline and limiter are set before instantiation, the store
//! is dropped after the call whatever happened, and the decision is not looked at.

use crate::engine::Sandbox;
use crate::guest::{GuestState, LogLine};
use crate::limits::{HOSTCALL_FUEL, HOSTCALL_FUEL_FULL_PAYLOAD, MAX_HANDLES};
use crate::plugin::Plugin;
use crate::wasi::WasiState;
use crate::wit::{self, Context, Fields, Frame, HookError, Interface, for_hook};
use hook_contract::hook::{Hook, Object};
use hook_contract::{Failure, FailureKind, Reply};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Wake, Waker};
use std::time::{Duration, Instant};
use wasmtime::component::{ComponentExportIndex, Instance, TypedFunc};
use wasmtime::{Store, Trap, UpdateDeadline};

/// Stops a call that is under way: for callers of the blocking API on another thread.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Stops the call within a tick of the epoch.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Says whether the call was stopped.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What goes into a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a> {
    pub(crate) hook: Hook,
    pub(crate) payload: &'a Object,
    pub(crate) frame: Frame<'a>,
    pub(crate) cancel: &'a CancelFlag,
}

/// What comes out of a call.
#[derive(Debug)]
pub(crate) struct RawReply {
    pub(crate) reply: Result<Reply, Failure>,
    pub(crate) log: Vec<LogLine>,
    /// Fuel that was used; `None` where the guest was interrupted, since it is not exact then.
    pub(crate) fuel: Option<u64>,
    pub(crate) guest_time: Duration,
    /// The most bytes of memory it held.
    pub(crate) memory: usize,
}

impl RawReply {
    /// Returns what comes of a call that did not take place.
    pub(crate) fn failed(failure: Failure) -> Self {
        Self { reply: Err(failure), log: Vec::new(), fuel: None, guest_time: Duration::ZERO, memory: 0 }
    }
}

/// Calls a plugin on this thread.
pub(crate) fn call(sandbox: &Sandbox, plugin: &Plugin, input: Input<'_>) -> RawReply {
    if plugin.wasi {
        return block_on(run::<true>(sandbox, plugin, input, false));
    }
    block_on(run::<false>(sandbox, plugin, input, false))
}

/// Calls a plugin as a future that yields at every tick; dropping it stops the guest.
pub(crate) async fn call_async(sandbox: &Sandbox, plugin: &Plugin, input: Input<'_>) -> RawReply {
    run::<true>(sandbox, plugin, input, true).await
}

/// With `FIBER` the guest runs on a stack of its own and may yield; without, nothing in here waits.
async fn run<const FIBER: bool>(sandbox: &Sandbox, plugin: &Plugin, input: Input<'_>, yields: bool) -> RawReply {
    let span = tracing::debug_span!("invoke", hook = input.hook.name());
    for_hook!(input.hook, I => tracing::Instrument::instrument(run_typed::<I, FIBER>(sandbox, plugin, input, yields), span).await)
}

async fn run_typed<I: Interface, const FIBER: bool>(sandbox: &Sandbox, plugin: &Plugin, input: Input<'_>, yields: bool) -> RawReply {
    let Some(export) = plugin.export(input.hook) else { return not_served(input.hook) };
    let mut fields = Fields::new(input.payload);
    let payload = I::payload(&mut fields);
    let context = wit::context(&input.frame, fields);
    let mut store = match new_store(sandbox, plugin, &input, yields) {
        Ok(store) => store,
        Err(error) => return refused(&error),
    };
    let _under_way = sandbox.wake();
    let start = Instant::now();
    let result = answer::<I, FIBER>(&mut store, plugin, export, &context, &payload).await;
    let guest_time = start.elapsed();
    finish::<I>(store, result, guest_time, plugin, input.cancel)
}

fn new_store(sandbox: &Sandbox, plugin: &Plugin, input: &Input<'_>, yields: bool) -> wasmtime::Result<Store<GuestState>> {
    let limits = &plugin.limits;
    let wasi = plugin.wasi.then(|| Box::new(WasiState::new(seed(input).as_bytes())));
    let mut store = Store::new(&sandbox.engine, GuestState::new(limits, Arc::clone(&plugin.settings), wasi));
    store.limiter(|state| &mut state.limiter);
    store.set_fuel(limits.fuel())?;
    store.set_hostcall_fuel(if plugin.full_payload { HOSTCALL_FUEL_FULL_PAYLOAD } else { HOSTCALL_FUEL });
    store.set_max_component_handles(MAX_HANDLES);
    let deadline = Instant::now() + limits.deadline();
    let cancel = input.cancel.clone();
    // The epoch only says when to look at the clock: ticks drift where the machine is busy.
    store.epoch_deadline_callback(move |_| {
        let over = cancel.is_cancelled() || Instant::now() >= deadline;
        Ok(if over {
            UpdateDeadline::Interrupt
        } else if yields {
            UpdateDeadline::Yield(1)
        } else {
            UpdateDeadline::Continue(1)
        })
    });
    store.set_epoch_deadline(1);
    Ok(store)
}

/// Randomness depends on the input alone, so that a call can be replayed.
fn seed(input: &Input<'_>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(input.hook.name().as_bytes());
    for (key, value) in input.payload {
        hasher.update(key.as_bytes()).update(value.to_string().as_bytes());
    }
    hasher.finalize()
}

type Answer<R> = (Result<R, HookError>,);

async fn answer<I: Interface, const FIBER: bool>(
    store: &mut Store<GuestState>,
    plugin: &Plugin,
    export: &ComponentExportIndex,
    context: &Context,
    payload: &I::Payload,
) -> wasmtime::Result<Result<I::Reply, HookError>> {
    if FIBER {
        let instance = plugin.pre.instantiate_async(&mut *store).await?;
        let handle = handle::<I>(store, &instance, export)?;
        return Ok(handle.call_async(&mut *store, (context, payload)).await?.0);
    }
    let instance = plugin.pre.instantiate(&mut *store)?;
    let handle = handle::<I>(store, &instance, export)?;
    Ok(handle.call(&mut *store, (context, payload))?.0)
}

type Handle<'a, I> = TypedFunc<(&'a Context, &'a <I as Interface>::Payload), Answer<<I as Interface>::Reply>>;

/// Returns the function to call, without checking its type again: that costs a thirtieth of a small call.
#[expect(unsafe_code, reason = "`bind` checked the type of this export of this component against this interface; the export cannot change")]
fn handle<'a, I: Interface>(
    store: &mut Store<GuestState>,
    instance: &Instance,
    export: &ComponentExportIndex,
) -> wasmtime::Result<Handle<'a, I>> {
    let func = instance.get_func(store, export).ok_or_else(|| wasmtime::Error::msg("an export is gone"))?;
    // SAFETY: `Plugin::exports` holds only exports whose type `bind::fits` found to be that of `Handle<I>`, for the same hook and interface.
    Ok(unsafe { TypedFunc::new_unchecked(func) })
}

fn finish<I: Interface>(
    mut store: Store<GuestState>,
    result: wasmtime::Result<Result<I::Reply, HookError>>,
    guest_time: Duration,
    plugin: &Plugin,
    cancel: &CancelFlag,
) -> RawReply {
    let left = store.get_fuel().unwrap_or_default();
    let used = plugin.limits.fuel().saturating_sub(left);
    store.data_mut().collect_output();
    let state = store.into_data();
    let (reply, fuel) = match result {
        Ok(Ok(reply)) => (Ok(I::reply(reply)), Some(used)),
        Ok(Err(error)) => (Err(wit::failure(error)), Some(used)),
        Err(error) => {
            let failure = classify(&error, &state, plugin, cancel);
            let exact = failure.kind == FailureKind::OutOfFuel;
            (Err(failure), exact.then_some(plugin.limits.fuel()))
        }
    };
    RawReply { reply, log: state.log, fuel, guest_time, memory: state.limiter.memory() }
}

/// Names a failed call by its typed trap, never by its text: the text is the guest's.
fn classify(error: &wasmtime::Error, state: &GuestState, plugin: &Plugin, cancel: &CancelFlag) -> Failure {
    tracing::debug!(error = %hook_contract::display::plain(&error.to_string(), 512), "call failed");
    let limits = &plugin.limits;
    let trap = error.downcast_ref::<Trap>();
    match trap {
        Some(Trap::Interrupt) if cancel.is_cancelled() => Failure::new(FailureKind::Cancelled, "the call was cancelled"),
        Some(Trap::Interrupt) => Failure::new(FailureKind::Deadline, format!("it ran longer than {:?}", limits.deadline())),
        Some(Trap::OutOfFuel) => Failure::new(FailureKind::OutOfFuel, format!("it used up its {} fuel", limits.fuel())),
        Some(Trap::StackOverflow) => Failure::new(FailureKind::StackOverflow, "it ran out of stack"),
        // Out of memory, a guest traps in whatever way its language has.
        _ if state.limiter.denied => {
            Failure::new(FailureKind::OutOfMemory, format!("it asked for more than {} MiB of memory", limits.memory() / (1024 * 1024)))
        }
        Some(trap) if is_abi(*trap) => Failure::new(FailureKind::AbiViolation, format!("it broke a rule of the component model: {trap}")),
        Some(trap) => Failure::new(FailureKind::Trap, trap_message(*trap, state)),
        None if error.downcast_ref::<wasmtime::PoolConcurrencyLimitError>().is_some() => {
            Failure::new(FailureKind::HostBusy, "no instance is free")
        }
        None if error.downcast_ref::<wasmtime_wasi::I32Exit>().is_some() => Failure::new(FailureKind::Trap, "it called exit"),
        None => Failure::new(FailureKind::AbiViolation, "it broke a rule of the component model, or moved more data than it may"),
    }
}

/// A guest's last error line says more than the trap does.
fn trap_message(trap: Trap, state: &GuestState) -> String {
    match state.log.iter().rev().find(|line| line.level == crate::guest::LogLevel::Error) {
        Some(line) => format!("it trapped: {}", line.text),
        // A guest's own stack lies in its memory, and ends there.
        None if trap == Trap::MemoryOutOfBounds => format!("it trapped: {trap}; often that is endless recursion"),
        None => format!("it trapped: {trap}"),
    }
}

fn is_abi(trap: Trap) -> bool {
    matches!(
        trap,
        Trap::CannotEnterComponent
            | Trap::CannotLeaveComponent
            | Trap::InvalidChar
            | Trap::StringOutOfBounds
            | Trap::ListOutOfBounds
            | Trap::InvalidDiscriminant
            | Trap::UnalignedPointer
    )
}

fn not_served(hook: Hook) -> RawReply {
    RawReply::failed(Failure::new(FailureKind::MissingHook, format!("it does not serve {hook}")))
}

fn refused(error: &wasmtime::Error) -> RawReply {
    tracing::debug!(%error, "no store");
    RawReply::failed(Failure::new(FailureKind::HostBusy, "the host could not make a store"))
}

/// Wakes the thread that waits.
struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread; the futures of this module are ready at once.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let waker = Waker::noop();
    if let Poll::Ready(output) = future.as_mut().poll(&mut std::task::Context::from_waker(waker)) {
        return output;
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            return output;
        }
        std::thread::park();
    }
}
