//! Native handlers: an embedder's own closures in a hook's chain, beside plugins.
//!
//! Separate because they are trusted code: no sandbox, no limits but a timeout. Invariant: what one returns is checked and audited as a
//! plugin's reply is, and one that hangs or panics fails alone.

use crate::invoke::{CancelFlag, RawReply};
use hook_contract::hook::{Hook, Object};
use hook_contract::{Correlation, Failure, FailureKind, FailureMode, Reply};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// What a handler is called with: what a plugin is shown.
#[derive(Clone, Debug)]
pub struct HandlerCall {
    /// The hook.
    pub hook: Hook,
    /// The payload, bounded and redacted.
    pub payload: Object,
    /// Who and what the call belongs to.
    pub correlation: Arc<Correlation>,
    /// The working directory as the agent sees it; empty when unknown.
    pub cwd: String,
    /// The project's folder; empty when there is none.
    pub workspace: Arc<str>,
    /// JSON pointers of the fields whose value was removed as secret.
    pub redacted: Vec<String>,
    /// JSON pointers of the fields that were cut.
    pub reduced: Vec<String>,
    /// The flag that stops the whole call. Setting it, or failing with [`FailureKind::Cancelled`], ends the call undecided.
    pub cancel: CancelFlag,
}

type Function = dyn Fn(&HandlerCall) -> Result<Reply, Failure> + Send + Sync;

/// A closure with its place in the chain. It runs on a thread of its own, unless its timeout is switched off.
#[derive(Clone)]
pub struct Handler {
    pub(crate) name: String,
    pub(crate) priority: i64,
    pub(crate) on_failure: FailureMode,
    pub(crate) dedup_key: Option<String>,
    timeout: Option<Duration>,
    function: Arc<Function>,
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handler").field("name", &self.name).field("priority", &self.priority).finish_non_exhaustive()
    }
}

/// The time of a handler that names none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a waiting caller looks at the cancel flag.
const LOOK: Duration = Duration::from_millis(5);

impl Handler {
    /// Returns a handler of priority 100, with 10 s of time, that fails open.
    pub fn new(name: impl Into<String>, function: impl Fn(&HandlerCall) -> Result<Reply, Failure> + Send + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            priority: 100,
            on_failure: FailureMode::Open,
            dedup_key: None,
            timeout: Some(DEFAULT_TIMEOUT),
            function: Arc::new(function),
        }
    }

    /// Sets its place: lower runs first.
    #[must_use]
    pub fn priority(self, priority: i64) -> Self {
        Self { priority, ..self }
    }

    /// Sets its time. One that takes longer fails; its thread runs on, and what it returns is dropped.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Switches its timeout off: it runs on the caller's thread, which is faster, and nothing stops it.
    #[must_use]
    pub fn without_timeout(self) -> Self {
        Self { timeout: None, ..self }
    }

    /// Sets what it answers when it fails.
    #[must_use]
    pub fn on_failure(self, on_failure: FailureMode) -> Self {
        Self { on_failure, ..self }
    }

    /// Sets a key: of the handlers of a hook that share one, only the first is called. An empty key is none.
    #[must_use]
    pub fn dedup_key(self, key: impl Into<String>) -> Self {
        Self { dedup_key: Some(key.into()).filter(|key| !key.is_empty()), ..self }
    }

    /// Begins a call.
    pub(crate) fn start(&self, call: HandlerCall) -> Running {
        let start = Instant::now();
        let Some(timeout) = self.timeout else { return Running::Done(Box::new(answer(run(&self.function, &call), start))) };
        let (done, wait) = sync_channel(1);
        let cancel = call.cancel.clone();
        match spawn(Arc::clone(&self.function), call, done) {
            Ok(()) => Running::Waiting { wait, start, timeout, cancel },
            Err(error) => {
                tracing::debug!(%error, "no thread");
                Running::Done(Box::new(answer(Err(no_thread()), start)))
            }
        }
    }

    /// Calls it, and waits on a thread of its own: a future may not wait.
    pub(crate) async fn call_async(&self, call: HandlerCall) -> RawReply {
        if self.timeout.is_none() {
            return self.start(call).finish();
        }
        let (done, wait) = futures_channel::oneshot::channel();
        let handler = self.clone();
        let waiter = move || drop(done.send(handler.start(call).finish()));
        // Where there is no thread, the channel closes.
        drop(std::thread::Builder::new().name("geode-wait".into()).spawn(waiter));
        wait.await.unwrap_or_else(|_| answer(Err(no_thread()), Instant::now()))
    }
}

fn spawn(function: Arc<Function>, call: HandlerCall, done: SyncSender<Ended>) -> std::io::Result<()> {
    // Nobody listens any more where the time was up.
    let body = move || {
        let reply = run(&function, &call);
        drop(done.send((reply, Instant::now())));
    };
    std::thread::Builder::new().name("geode-handler".into()).spawn(body).map(drop)
}

/// Runs a closure; a panic is its failure.
fn run(function: &Arc<Function>, call: &HandlerCall) -> Result<Reply, Failure> {
    std::panic::catch_unwind(AssertUnwindSafe(|| function(call)))
        .unwrap_or_else(|_| Err(Failure::new(FailureKind::PluginFailed, "it panicked")))
}

fn no_thread() -> Failure {
    Failure::new(FailureKind::HostBusy, "the host could not start a thread")
}

fn answer(reply: Result<Reply, Failure>, start: Instant) -> RawReply {
    RawReply { reply, log: Vec::new(), fuel: None, guest_time: start.elapsed(), memory: 0 }
}

/// What a handler returned, and when.
type Ended = (Result<Reply, Failure>, Instant);

/// A call under way.
#[derive(Debug)]
pub(crate) enum Running {
    Done(Box<RawReply>),
    Waiting { wait: Receiver<Ended>, start: Instant, timeout: Duration, cancel: CancelFlag },
}

impl Running {
    /// Waits for the answer. One that is there counts, however late it is looked at.
    pub(crate) fn finish(self) -> RawReply {
        let (wait, start, timeout, cancel) = match self {
            Self::Done(reply) => return *reply,
            Self::Waiting { wait, start, timeout, cancel } => (wait, start, timeout, cancel),
        };
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            match wait.recv_timeout(left.min(LOOK)) {
                Ok((reply, ended)) => {
                    return RawReply { guest_time: ended.saturating_duration_since(start), ..answer(reply, start) };
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return answer(Err(Failure::new(FailureKind::PluginFailed, "its thread ended")), start);
                }
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => {
                    return answer(Err(Failure::new(FailureKind::Cancelled, "the call was cancelled")), start);
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    let message = format!("it ran {} ms, longer than {} ms", start.elapsed().as_millis(), timeout.as_millis());
                    return answer(Err(Failure::new(FailureKind::Deadline, message)), start);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}
