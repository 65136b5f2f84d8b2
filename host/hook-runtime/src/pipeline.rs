//! The way of one hook call through the stages: bound, then for each plugin or native handler invoke, check, apply and audit, then the outcome.
//!
//! Separate because only this file knows the order; the stages do not know each other. Invariant: nothing reaches `apply` but through `check`
//! or the plugin's failure mode, and every call leaves one audit row.

use crate::audit::OpenRecord;
use crate::engine::Sandbox;
use crate::guest::LogLine;
use crate::handler::{HandlerCall, Running};
use crate::invoke::{self, CancelFlag, Input, RawReply};
use crate::plugin::Plugin;
use crate::row::Status;
use crate::set::{PluginSet, Slot, Target};
use crate::store::Writer;
use crate::wit::Frame;
use hook_contract::hook::{Action, Hook, Object};
use hook_contract::{
    Chain, ChainMode, ChainPolicy, Checked, Correlation, Failure, FailureKind, Flow, InvalidPayload, Outcome, Payload, Scope, Terms,
    Version, check,
};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

/// One event that plugins are asked about.
#[derive(Clone, Debug)]
pub struct Invocation {
    hook: Hook,
    payload: Object,
    correlation: Correlation,
    cwd: String,
    cancel: CancelFlag,
}

impl Invocation {
    /// Returns an invocation of a hook with its payload.
    pub fn new(hook: Hook, payload: Object) -> Self {
        Self { hook, payload, correlation: Correlation::default(), cwd: String::new(), cancel: CancelFlag::default() }
    }

    /// Sets who and what the call belongs to.
    #[must_use]
    pub fn correlation(self, correlation: Correlation) -> Self {
        Self { correlation, ..self }
    }

    /// Sets the working directory as the agent sees it, an absolute path.
    #[must_use]
    pub fn cwd(self, cwd: impl Into<String>) -> Self {
        Self { cwd: cwd.into(), ..self }
    }

    /// Sets the flag that stops the call.
    #[must_use]
    pub fn cancel(self, cancel: CancelFlag) -> Self {
        Self { cancel, ..self }
    }
}

/// What a call came to, and how each plugin fared.
#[derive(Clone, Debug)]
pub struct Invoked {
    /// The decisions and the payload after them.
    pub outcome: Outcome,
    /// One report for each plugin that was asked, in order.
    pub calls: Vec<CallReport>,
    /// The plugins that would serve this hook and wait for trust: a name, and the next command to type.
    pub waiting: Vec<(String, String)>,
}

/// How one plugin fared.
#[derive(Clone, Debug)]
pub struct CallReport {
    /// The plugin.
    pub plugin: String,
    /// How it ended.
    pub status: Status,
    /// Its failure's stable code.
    pub code: Option<&'static str>,
    /// What a person can do about that failure.
    pub hint: Option<String>,
    /// What was decided, by the plugin or by its failure mode.
    pub decision: Option<Action>,
    /// Whether that was applied: a plugin in monitor mode only says what it would have done.
    pub applied: bool,
    /// Fuel used, where it is known.
    pub fuel: Option<u64>,
    /// Time in the guest.
    pub guest_time: Duration,
    /// The most bytes of memory it held.
    pub memory: usize,
    /// What it logged.
    pub log: Vec<LogLine>,
}

impl Invoked {
    /// Returns the outcome document ([`Outcome::to_json`]) with `calls` and `waiting` added.
    pub fn to_json(&self) -> Value {
        let mut document = self.outcome.to_json();
        if let Some(object) = document.as_object_mut() {
            object.insert("calls".into(), self.calls.iter().map(CallReport::to_json).collect());
            object.insert("waiting".into(), self.waiting.iter().map(|(plugin, hint)| json!({"plugin": plugin, "next": hint})).collect());
        }
        document
    }
}

impl CallReport {
    fn to_json(&self) -> Value {
        json!({
            "plugin": self.plugin,
            "status": self.status.word(),
            "code": self.code,
            "hint": self.hint,
            "decision": self.decision.map(Action::word),
            "applied": self.applied,
            "fuel": self.fuel,
            "guest_us": u64::try_from(self.guest_time.as_micros()).unwrap_or(u64::MAX),
            "memory_bytes": self.memory,
            "log": self.log.iter().map(|line| json!({"level": line.level.word(), "text": line.text})).collect::<Vec<_>>(),
        })
    }
}

/// Why a call has no outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvokeError {
    /// The payload breaks the hook's schema; no plugin was asked.
    #[error(transparent)]
    InvalidPayload(#[from] InvalidPayload),
    /// The call was cancelled: nothing was decided, and nothing is permitted by it. A hook that decides counts as blocked.
    #[error("the call was cancelled")]
    Cancelled,
}

/// What the pipeline runs with.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) writer: Arc<Writer>,
    pub(crate) version: Version,
    pub(crate) policy: ChainPolicy,
    pub(crate) project: Arc<str>,
}

/// Asks the plugins on this thread; those of a hook that only observes on others beside it.
pub(crate) fn run(bench: &Bench, set: &PluginSet, invocation: Invocation) -> Result<Invoked, InvokeError> {
    let mut call = Call::begin(bench, set, invocation)?;
    if call.side_by_side() {
        let steps = call.rest();
        let asked = ask_side_by_side(&call, &steps);
        call.finish_all(steps, asked);
    }
    while let Some(step) = call.next() {
        let raw = call.ask(&step.slot);
        call.finish(step, raw);
    }
    call.end(set)
}

/// Asks the plugins in a future; dropping it stops the guest and writes the open record.
pub(crate) async fn run_async(bench: &Bench, set: &PluginSet, invocation: Invocation) -> Result<Invoked, InvokeError> {
    let mut call = Call::begin(bench, set, invocation)?;
    if call.side_by_side() {
        let steps = call.rest();
        let ask = async |step: &Step| {
            let begun = Instant::now();
            Timed { raw: call.ask_async(&step.slot).await, begun, took: begun.elapsed() }
        };
        let asked = futures_util::future::join_all(steps.iter().map(ask)).await;
        call.finish_all(steps, asked);
    }
    while let Some(step) = call.next() {
        let raw = call.ask_async(&step.slot).await;
        call.finish(step, raw);
    }
    call.end(set)
}

/// Calls native handlers on threads of their own, and guests on as many threads as the machine runs at once.
fn ask_side_by_side(call: &Call<'_>, steps: &[Step]) -> Vec<Timed> {
    let start = Instant::now();
    let begun: Vec<_> = steps.iter().map(|step| call.begin_native(&step.slot)).collect();
    let answers: Vec<_> = steps.iter().map(|_| OnceLock::new()).collect();
    let guests: Vec<_> = steps.iter().zip(&answers).zip(&begun).filter(|(_, begun)| begun.is_none()).map(|(guest, _)| guest).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((step, answer)) = guests.get(next.fetch_add(1, Ordering::Relaxed)) {
            answer.get_or_init(|| {
                let begun = Instant::now();
                Timed { raw: call.ask(&step.slot), begun, took: begun.elapsed() }
            });
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..guests.len().min(*PARALLELISM) {
            // Without a thread more, the others do its part.
            drop(std::thread::Builder::new().name("geode-beside".into()).spawn_scoped(scope, work));
        }
        work();
    });
    let missing = || RawReply::failed(Failure::new(FailureKind::HostBusy, "nobody called it"));
    let finish = |(begun, answer): (Option<Running>, OnceLock<Timed>)| match begun {
        Some(running) => {
            let raw = running.finish();
            Timed { begun: start, took: raw.guest_time, raw }
        }
        None => answer.into_inner().unwrap_or_else(|| Timed { raw: missing(), begun: start, took: Duration::ZERO }),
    };
    begun.into_iter().zip(answers).map(finish).collect()
}

static PARALLELISM: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// What came of one that was asked beside others.
#[derive(Debug)]
struct Timed {
    raw: RawReply,
    begun: Instant,
    took: Duration,
}

/// A plugin that is about to be asked, with its record open.
#[derive(Debug)]
struct Step {
    slot: Arc<Slot>,
    record: OpenRecord,
}

/// What became of a plugin's answer.
#[derive(Debug)]
struct Ending {
    flow: Flow,
    status: Status,
    failure: Option<FailureKind>,
    /// What was decided, by the plugin or by its failure mode.
    action: Option<Action>,
    applied: bool,
    ignored: String,
}

/// One call under way.
#[derive(Debug)]
struct Call<'a> {
    bench: &'a Bench,
    chain: Chain,
    correlation: Arc<Correlation>,
    cwd: String,
    cancel: CancelFlag,
    /// Whether a native handler ended the call.
    cancelled: bool,
    arrived: Instant,
    left: VecDeque<Arc<Slot>>,
    reports: Vec<CallReport>,
}

impl<'a> Call<'a> {
    fn begin(bench: &'a Bench, set: &PluginSet, invocation: Invocation) -> Result<Self, InvalidPayload> {
        let arrived = Instant::now();
        let Invocation { hook, payload, correlation, cwd, cancel } = invocation;
        let payload = tracing::debug_span!("bound", hook = hook.name()).in_scope(|| Payload::new(hook, payload))?;
        let chain = Chain::new(Scope { version: bench.version, correlation: correlation.clone(), policy: bench.policy }, payload);
        let left = set.chain(hook).cloned().collect();
        let correlation = Arc::new(correlation);
        Ok(Self { bench, chain, correlation, cwd, cancel, cancelled: false, arrived, left, reports: Vec::new() })
    }

    fn hook(&self) -> Hook {
        self.chain.payload().hook()
    }

    /// Says whether the plugins are asked side by side: never where one's answer changes what the next is shown.
    fn side_by_side(&self) -> bool {
        self.hook().observes() && self.bench.policy.mode == ChainMode::SideBySide && self.left.len() > 1
    }

    /// Opens the records of all that this event wakes.
    fn rest(&mut self) -> Vec<Step> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Opens the record of the next plugin that this event wakes.
    fn next(&mut self) -> Option<Step> {
        if self.cancelled || self.cancel.is_cancelled() {
            return None;
        }
        loop {
            let slot = self.left.pop_front()?;
            if wakes(&slot, self.chain.payload().effective()) {
                let bench = self.bench;
                let mut record = OpenRecord::open(&bench.writer, self.hook(), &slot.name, &bench.project, &self.correlation, &slot.digest);
                record.note(|row| row.queue_time = self.arrived.elapsed());
                return Some(Step { slot, record });
            }
        }
    }

    /// Asks one on this thread.
    fn ask(&self, slot: &Slot) -> RawReply {
        match slot.target() {
            Ok(Target::Plugin(plugin)) => invoke::call(&self.bench.sandbox, plugin, self.input(plugin)),
            Ok(Target::Native(handler)) => handler.start(self.handler_call()).finish(),
            Err(failure) => RawReply::failed(failure.clone()),
        }
    }

    async fn ask_async(&self, slot: &Slot) -> RawReply {
        match slot.target() {
            Ok(Target::Plugin(plugin)) => invoke::call_async(&self.bench.sandbox, plugin, self.input(plugin)).await,
            Ok(Target::Native(handler)) => handler.call_async(self.handler_call()).await,
            Err(failure) => RawReply::failed(failure.clone()),
        }
    }

    fn begin_native(&self, slot: &Slot) -> Option<Running> {
        match slot.target() {
            Ok(Target::Native(handler)) => Some(handler.start(self.handler_call())),
            _ => None,
        }
    }

    fn input(&self, plugin: &Plugin) -> Input<'_> {
        let payload = self.chain.payload();
        let shown = payload.shown(plugin.full_payload);
        let view = payload.view();
        // Shown the real payload, a plugin misses nothing.
        let whole = std::ptr::eq(shown, payload.effective());
        let frame = Frame {
            schema_version: self.hook().schema_version(self.bench.version),
            correlation: &self.correlation,
            cwd: &self.cwd,
            workspace: &self.bench.project,
            redacted: if whole { &[] } else { &view.redacted },
            reduced: if whole { &[] } else { &view.reduced },
        };
        Input { hook: self.hook(), payload: shown, frame, cancel: &self.cancel }
    }

    fn handler_call(&self) -> HandlerCall {
        let view = self.chain.payload().view();
        HandlerCall {
            hook: self.hook(),
            payload: view.payload.clone(),
            correlation: Arc::clone(&self.correlation),
            cwd: self.cwd.clone(),
            workspace: Arc::clone(&self.bench.project),
            redacted: view.redacted.clone(),
            reduced: view.reduced.clone(),
            cancel: self.cancel.clone(),
        }
    }

    fn finish_all(&mut self, steps: Vec<Step>, asked: Vec<Timed>) {
        for (mut step, Timed { raw, begun, took }) in steps.into_iter().zip(asked) {
            step.record.note(|row| {
                row.queue_time = begun.saturating_duration_since(self.arrived);
                row.duration = Some(took);
            });
            self.finish(step, raw);
        }
    }

    /// Checks and applies a reply, or lets the failure mode answer; closes the record.
    fn finish(&mut self, step: Step, raw: RawReply) {
        let Step { slot, mut record } = step;
        let RawReply { reply, log, fuel, guest_time, memory } = raw;
        let hook = self.hook();
        let checked = reply.and_then(|reply| {
            let terms = Terms { actions: slot.actions(hook), full_payload: slot.full_payload(), version: self.bench.version };
            tracing::debug_span!("check", plugin = &*slot.name).in_scope(|| check(self.chain.payload(), reply, terms))
        });
        let ending = tracing::debug_span!("apply", plugin = &*slot.name).in_scope(|| match checked {
            checked if slot.monitored => self.watch(&slot, checked),
            Ok(checked) => self.accept(&slot.name, checked),
            Err(failure) => self.reject(&slot, &failure),
        });
        record.note(|row| {
            row.status = ending.status;
            row.failure = ending.failure;
            row.action = ending.action.map_or("", Action::word);
            row.applied = ending.applied;
            row.ignored = ending.ignored;
            row.guest_time = guest_time;
            row.fuel = fuel;
            row.memory = memory;
        });
        self.reports.push(CallReport {
            plugin: slot.name.to_string(),
            status: ending.status,
            code: ending.failure.map(FailureKind::code),
            hint: ending.failure.map(|kind| kind.hint(&slot.name)),
            decision: ending.action,
            applied: ending.applied,
            fuel,
            guest_time,
            memory,
            log,
        });
        tracing::debug_span!("audit", plugin = &*slot.name).in_scope(|| drop(record));
        self.cancelled |= ending.failure == Some(FailureKind::Cancelled);
        if ending.flow == Flow::Stop {
            self.left.clear();
        }
    }

    fn accept(&mut self, plugin: &str, checked: Checked) -> Ending {
        let action = checked.decision.as_ref().map(|decision| decision.action);
        let ignored = checked.ignored.join(",");
        let flow = self.chain.apply(plugin, checked);
        Ending { flow, status: action.map_or(Status::Ok, Status::of), failure: None, action, applied: action.is_some(), ignored }
    }

    fn reject(&mut self, slot: &Slot, failure: &Failure) -> Ending {
        let (flow, action) = self.chain.fail(&slot.name, failure, slot.mode);
        let status = action.filter(|action| action.blocks()).map_or(Status::Error, Status::of);
        Ending { flow, status, failure: Some(failure.kind), action, applied: action.is_some(), ignored: String::new() }
    }

    /// Says what a plugin in monitor mode would have done.
    fn watch(&self, slot: &Slot, checked: Result<Checked, Failure>) -> Ending {
        let (action, failure, ignored) = match checked {
            Ok(checked) => (checked.decision.map(|decision| decision.action), None, checked.ignored.join(",")),
            Err(failure) => {
                let answer = self.chain.answer_for(&slot.name, &failure, slot.mode);
                (answer.map(|answer| answer.action), Some(failure.kind), String::new())
            }
        };
        let status = if failure.is_some() { Status::Error } else { Status::Ok };
        Ending { flow: Flow::Next, status, failure, action, applied: false, ignored }
    }

    fn end(self, set: &PluginSet) -> Result<Invoked, InvokeError> {
        if self.cancelled || self.cancel.is_cancelled() {
            return Err(InvokeError::Cancelled);
        }
        let hook = self.hook();
        let waiting = set.waiting(hook).map(|status| (status.name.clone(), status.hint().unwrap_or_default())).collect();
        Ok(Invoked { outcome: self.chain.into_outcome(), calls: self.reports, waiting })
    }
}

/// Says whether a plugin's matcher wakes it: held against the real call, not against what plugins see of it. A failed plugin is always asked.
fn wakes(slot: &Slot, payload: &Object) -> bool {
    let matcher = slot.plugin().and_then(|plugin| plugin.matcher.as_ref());
    let tool = payload.get("tool_name").and_then(Value::as_str);
    let arguments = payload.get("arguments").and_then(Value::as_object);
    matcher.zip(tool).is_none_or(|(matcher, tool)| matcher.matches(tool, arguments))
}
