//! Folds checked answers and failures into a chain, and the chain into an outcome (spec 1.4).
//!
//! Separate because it is total: it cannot fail, and it takes only what [`mod@crate::check`] or a failure mode made.

use crate::bound::{Bounded, bound};
use crate::canonical::object_size;
use crate::check::Checked;
use crate::correlation::Correlation;
use crate::decision::Decision;
use crate::failure::{Failure, FailureMode, closed_answer};
use crate::feedback::{self, Route};
use crate::hook::{Action, Hook, Object, Version};
use crate::policy::ChainPolicy;
use crate::validate::{InvalidPayload, validate};
use serde_json::{Value, json};

/// A payload in its two forms: what runs, and what plugins see.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    hook: Hook,
    effective: Object,
    view: Bounded,
}

impl Payload {
    /// Bounds a payload and holds the view against the schema.
    ///
    /// # Errors
    /// [`InvalidPayload`] where the view breaks the hook's schema; no plugin is asked then.
    pub fn new(hook: Hook, effective: Object) -> Result<Self, InvalidPayload> {
        let view = bound(&effective);
        validate(hook, &view.payload)?;
        Ok(Self { hook, effective, view })
    }

    /// Returns the hook.
    pub fn hook(&self) -> Hook {
        self.hook
    }

    /// Returns the real payload: what runs.
    pub fn effective(&self) -> &Object {
        &self.effective
    }

    /// Returns what plugins see.
    pub fn view(&self) -> &Bounded {
        &self.view
    }

    /// Returns what a plugin is shown: the view, or with the `full_payload` grant the real payload where it fits 1 MiB.
    pub fn shown(&self, full_payload: bool) -> &Object {
        if full_payload && object_size(&self.effective) <= MAX_FULL_PAYLOAD_BYTES { &self.effective } else { &self.view.payload }
    }

    pub(crate) fn view_mut(&mut self) -> &mut Bounded {
        &mut self.view
    }

    pub(crate) fn with_effective(&self, effective: Object) -> Self {
        Self { hook: self.hook, view: bound(&effective), effective }
    }
}

/// The most bytes of canonical JSON that the `full_payload` grant shows.
pub const MAX_FULL_PAYLOAD_BYTES: usize = 1024 * 1024;

/// Whether the chain goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Ask the next plugin.
    Next,
    /// Block or deny: ask nobody else.
    Stop,
}

/// The rules and identifiers that one call is made under.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The version of the contract.
    pub version: Version,
    /// Who and what the call belongs to.
    pub correlation: Correlation,
    /// How refusals and failures are dealt with.
    pub policy: ChainPolicy,
}

/// The state of one call while plugins are asked.
#[derive(Clone, Debug)]
pub struct Chain {
    scope: Scope,
    payload: Payload,
    decisions: Vec<Decision>,
    sources: Vec<String>,
    errors: Vec<SourceText>,
    feedback: Vec<SourceText>,
}

/// A text and the plugin that it came from; shown as `plugin: text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// The plugin.
    pub source: String,
    /// Its failure's stable code, where this is an error.
    pub code: Option<&'static str>,
    /// The text.
    pub text: String,
}

impl std::fmt::Display for SourceText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.source, self.text)
    }
}

impl Chain {
    /// Begins a call.
    pub fn new(scope: Scope, payload: Payload) -> Self {
        Self { scope, payload, decisions: Vec::new(), sources: Vec::new(), errors: Vec::new(), feedback: Vec::new() }
    }

    /// Returns the payload as it stands now.
    pub fn payload(&self) -> &Payload {
        &self.payload
    }

    /// Returns the rules and identifiers of the call.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Applies a checked reply.
    pub fn apply(&mut self, source: &str, checked: Checked) -> Flow {
        if let Some(next) = checked.next {
            self.payload = next;
        }
        if let Some(text) = checked.feedback {
            self.feedback.push(SourceText { source: source.to_owned(), code: None, text });
        }
        checked.decision.map_or(Flow::Next, |decision| self.record(source, decision))
    }

    /// Records a failure, and answers for the plugin where [`Chain::answer_for`] does.
    pub fn fail(&mut self, source: &str, failure: &Failure, mode: FailureMode) -> (Flow, Option<Action>) {
        self.errors.push(SourceText { source: source.to_owned(), code: Some(failure.kind.code()), text: failure.message.clone() });
        let answer = self.answer_for(source, failure, mode);
        let action = answer.as_ref().map(|answer| answer.action);
        (answer.map_or(Flow::Next, |answer| self.record(source, answer)), action)
    }

    /// Returns what a failure is answered with where the plugin's mode or the policy is closed. Observing hooks are always open.
    pub fn answer_for(&self, source: &str, failure: &Failure, mode: FailureMode) -> Option<Decision> {
        let hook = self.payload.hook;
        if self.scope.policy.failure_mode(mode, failure.kind) == FailureMode::Open || hook.observes() {
            return None;
        }
        closed_answer(hook, &self.payload.view.payload, &self.scope.correlation, source, failure)
    }

    fn record(&mut self, source: &str, decision: Decision) -> Flow {
        let flow = if decision.action.blocks() && self.scope.policy.stop_on_blocked { Flow::Stop } else { Flow::Next };
        self.decisions.push(decision);
        self.sources.push(source.to_owned());
        flow
    }

    /// Ends the call.
    pub fn into_outcome(self) -> Outcome {
        let Self { scope, payload, decisions, sources, errors, feedback } = self;
        Outcome { version: scope.version, correlation: scope.correlation, payload, decisions, sources, errors, feedback }
    }
}

/// What a call came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The version of the contract.
    pub version: Version,
    /// Who and what the call belongs to.
    pub correlation: Correlation,
    /// The payload after every rewrite.
    pub payload: Payload,
    /// What was decided, in order.
    pub decisions: Vec<Decision>,
    /// Who decided: parallel to `decisions`.
    pub sources: Vec<String>,
    /// What failed.
    pub errors: Vec<SourceText>,
    /// Messages for the model, in order.
    pub feedback: Vec<SourceText>,
}

impl Outcome {
    /// Says whether a plugin refused: any decision is block or deny.
    pub fn blocked(&self) -> bool {
        self.blocking().is_some()
    }

    /// Returns the refusing decision and its source.
    pub fn blocking(&self) -> Option<(&Decision, &str)> {
        self.decisions
            .iter()
            .zip(&self.sources)
            .find(|(decision, _)| decision.action.blocks())
            .map(|(decision, source)| (decision, source.as_str()))
    }

    /// Returns why plugins refused, each with its source; empty where none did.
    pub fn refusals(&self) -> Vec<SourceText> {
        self.texts(|decision| decision.action.blocks().then_some(&decision.reason))
    }

    /// Returns the instructions of the decisions, each with its source: context to add, or what a continuation must do.
    pub fn instructions(&self) -> Vec<SourceText> {
        self.texts(|decision| Some(&decision.instruction).filter(|text| !text.trim().is_empty()))
    }

    fn texts(&self, text: impl Fn(&Decision) -> Option<&String>) -> Vec<SourceText> {
        let of_one = |(decision, source): (&Decision, &String)| {
            Some(SourceText { source: source.clone(), code: None, text: text(decision)?.clone() })
        };
        self.decisions.iter().zip(&self.sources).filter_map(of_one).collect()
    }

    /// Returns the feedback in its wrapper, and where it goes.
    pub fn feedback_block(&self) -> Option<(Route, String)> {
        let block = feedback::render(self.feedback.iter().map(|message| message.text.as_str()))?;
        Some((feedback::route(self.payload.hook)?, block))
    }

    /// Returns the outcome document: `envelope`, `payload`, `decisions`, `sources`, `errors`, `blocked` as the original system prints them,
    /// then ours: `effective` (what runs), `feedback`, `failures` (codes), `reduced`, `redacted`, `payload_reduced`.
    pub fn to_json(&self) -> Value {
        let view = self.payload.view();
        let texts = |texts: &[SourceText]| texts.iter().map(SourceText::to_string).collect::<Vec<_>>();
        json!({
            "envelope": {
                "schema_version": self.payload.hook().schema_version(self.version),
                "name": self.payload.hook().name(),
                "correlation": self.correlation.to_json(self.version),
            },
            "payload": view.payload,
            "decisions": self.decisions.iter().map(Decision::to_json).collect::<Vec<_>>(),
            "sources": self.sources,
            "errors": texts(&self.errors),
            "blocked": self.blocked(),
            "effective": self.payload.effective(),
            "feedback": self.feedback.iter().map(|text| json!({"source": text.source, "text": text.text})).collect::<Vec<_>>(),
            "failures": self.errors.iter().map(|text| json!({"source": text.source, "code": text.code})).collect::<Vec<_>>(),
            "reduced": view.reduced,
            "redacted": view.redacted,
            "payload_reduced": !view.reduced.is_empty(),
        })
    }
}
