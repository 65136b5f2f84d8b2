//! The way of one hook call through the stages: bound, then for each plugin invoke, check, apply and audit, then the outcome.
//!
//! Separate because only this file knows the order; the stages do not know each other. Invariant: nothing reaches `apply` but through `check`
//! or the plugin's failure mode, and every call leaves one audit row.

use crate::audit::{OpenRecord, Status};
use crate::engine::Sandbox;
use crate::guest::LogLine;
use crate::invoke::{self, CancelFlag, Input, RawReply};
use crate::plugins::{PluginSet, Slot};
use crate::store::Writer;
use crate::wit::Frame;
use hook_contract::hook::{Action, Hook, Object};
use hook_contract::{
    Chain, Checked, Correlation, Failure, FailureKind, FailureMode, Flow, InvalidPayload, Outcome, Payload, Scope, Terms, Version, check,
};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
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
    /// The call was cancelled: nothing was decided, and nothing is permitted by it.
    #[error("the call was cancelled")]
    Cancelled,
}

/// What the pipeline runs with.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) writer: Arc<Writer>,
    pub(crate) version: Version,
    pub(crate) project: Arc<str>,
}

/// Asks the plugins on this thread.
pub(crate) fn run(bench: &Bench, set: &PluginSet, invocation: Invocation) -> Result<Invoked, InvokeError> {
    let mut call = Call::begin(bench, set, invocation)?;
    while let Some(step) = call.next() {
        let raw = match &step.slot.ready {
            Ok(plugin) => Ok(invoke::call(&bench.sandbox, plugin, call.input(&step))),
            Err(failure) => Err(failure.clone()),
        };
        call.finish(step, raw);
    }
    call.end(set)
}

/// Asks the plugins in a future; dropping it stops the guest and writes the open record.
pub(crate) async fn run_async(bench: &Bench, set: &PluginSet, invocation: Invocation) -> Result<Invoked, InvokeError> {
    let mut call = Call::begin(bench, set, invocation)?;
    while let Some(step) = call.next() {
        let raw = match &step.slot.ready {
            Ok(plugin) => Ok(invoke::call_async(&bench.sandbox, plugin, call.input(&step)).await),
            Err(failure) => Err(failure.clone()),
        };
        call.finish(step, raw);
    }
    call.end(set)
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
    arrived: Instant,
    left: VecDeque<Arc<Slot>>,
    reports: Vec<CallReport>,
}

impl<'a> Call<'a> {
    fn begin(bench: &'a Bench, set: &PluginSet, invocation: Invocation) -> Result<Self, InvalidPayload> {
        let arrived = Instant::now();
        let Invocation { hook, payload, correlation, cwd, cancel } = invocation;
        let payload = tracing::debug_span!("bound", hook = hook.name()).in_scope(|| Payload::new(hook, payload))?;
        let chain = Chain::new(Scope { version: bench.version, correlation: correlation.clone() }, payload);
        let left = set.chain(hook).cloned().collect();
        Ok(Self { bench, chain, correlation: Arc::new(correlation), cwd, cancel, arrived, left, reports: Vec::new() })
    }

    fn hook(&self) -> Hook {
        self.chain.payload().hook()
    }

    /// Opens the record of the next plugin that this event wakes.
    fn next(&mut self) -> Option<Step> {
        if self.cancel.is_cancelled() {
            return None;
        }
        let tool = self.chain.payload().view().payload.get("tool_name").and_then(Value::as_str).map(str::to_owned);
        loop {
            let slot = self.left.pop_front()?;
            if wakes(&slot, tool.as_deref()) {
                let bench = self.bench;
                let mut record = OpenRecord::open(&bench.writer, self.hook(), &slot.name, &bench.project, &self.correlation, &slot.digest);
                record.note(|row| row.queue_time = self.arrived.elapsed());
                return Some(Step { slot, record });
            }
        }
    }

    fn input(&self, step: &Step) -> Input<'_> {
        let full_payload = step.slot.ready.as_ref().is_ok_and(|plugin| plugin.full_payload);
        let payload = self.chain.payload();
        let shown = payload.shown(full_payload);
        let view = payload.view();
        // Shown the real payload, a plugin misses nothing.
        let whole = std::ptr::eq(shown, payload.effective());
        let frame = Frame {
            schema_version: self.bench.version.schema_version(),
            correlation: &self.correlation,
            cwd: &self.cwd,
            workspace: &self.bench.project,
            redacted: if whole { &[] } else { &view.redacted },
            reduced: if whole { &[] } else { &view.reduced },
        };
        Input { hook: self.hook(), payload: shown, frame, cancel: &self.cancel }
    }

    /// Checks and applies a reply, or lets the failure mode answer; closes the record.
    fn finish(&mut self, step: Step, raw: Result<RawReply, Failure>) {
        let Step { slot, mut record } = step;
        let (reply, log, fuel, guest_time, memory) = match raw {
            Ok(RawReply { reply, log, fuel, guest_time, memory }) => (reply, log, fuel, guest_time, memory),
            Err(failure) => (Err(failure), Vec::new(), None, Duration::ZERO, 0),
        };
        let hook = self.hook();
        let checked = reply.and_then(|reply| {
            let plugin = slot.ready.as_ref();
            let actions = plugin.map(|plugin| plugin.actions(hook)).unwrap_or_default();
            let terms = Terms { actions, full_payload: plugin.is_ok_and(|plugin| plugin.full_payload), version: self.bench.version };
            tracing::debug_span!("check", plugin = &*slot.name).in_scope(|| check(self.chain.payload(), reply, terms))
        });
        let ending = tracing::debug_span!("apply", plugin = &*slot.name).in_scope(|| match checked {
            Ok(checked) => self.accept(&slot.name, checked),
            Err(failure) => self.reject(&slot, &failure),
        });
        record.note(|row| {
            row.status = ending.status;
            row.failure = ending.failure;
            row.action = ending.action.map_or("", Action::word);
            row.applied = ending.action.is_some();
            row.ignored = ending.ignored;
            row.guest_time = guest_time;
            row.fuel = fuel;
            row.memory = memory;
        });
        self.report(&slot, ending.status, ending.failure, log, (fuel, guest_time, memory));
        tracing::debug_span!("audit", plugin = &*slot.name).in_scope(|| drop(record));
        if ending.flow == Flow::Stop {
            self.left.clear();
        }
    }

    fn accept(&mut self, plugin: &str, checked: Checked) -> Ending {
        let action = checked.decision.as_ref().map(|decision| decision.action);
        let ignored = checked.ignored.join(",");
        let flow = self.chain.apply(plugin, checked);
        Ending { flow, status: action.map_or(Status::Ok, Status::of), failure: None, action, ignored }
    }

    fn reject(&mut self, slot: &Slot, failure: &Failure) -> Ending {
        // A cancelled plugin did not fail: the whole call ends, and no failure mode answers for it.
        let mode = if failure.kind == FailureKind::Cancelled { FailureMode::Open } else { slot.mode };
        let (flow, answer) = self.chain.fail(&slot.name, failure, mode);
        let action = answer.map(|answer| answer.action);
        let status = action.filter(|action| action.blocks()).map_or(Status::Error, Status::of);
        Ending { flow, status, failure: Some(failure.kind), action, ignored: String::new() }
    }

    fn report(
        &mut self,
        slot: &Slot,
        status: Status,
        failure: Option<FailureKind>,
        log: Vec<LogLine>,
        used: (Option<u64>, Duration, usize),
    ) {
        let (fuel, guest_time, memory) = used;
        self.reports.push(CallReport {
            plugin: slot.name.to_string(),
            status,
            code: failure.map(FailureKind::code),
            hint: failure.map(|kind| kind.hint(&slot.name)),
            fuel,
            guest_time,
            memory,
            log,
        });
    }

    fn end(self, set: &PluginSet) -> Result<Invoked, InvokeError> {
        if self.cancel.is_cancelled() {
            return Err(InvokeError::Cancelled);
        }
        let hook = self.hook();
        let waiting = set.waiting(hook).map(|status| (status.name.clone(), status.hint().unwrap_or_default())).collect();
        Ok(Invoked { outcome: self.chain.into_outcome(), calls: self.reports, waiting })
    }
}

/// Says whether a plugin's matcher wakes it for a tool; a failed plugin is always asked.
fn wakes(slot: &Slot, tool: Option<&str>) -> bool {
    match (&slot.ready, tool) {
        (Ok(plugin), Some(tool)) => plugin.matcher.as_ref().is_none_or(|matcher| matcher.matches(tool)),
        _ => true,
    }
}
