//! The two-axis results of a second hook system, and what they mean here (spec aimon 2 and 4).
//!
//! Separate because an embedder that brings handlers of that system maps them at the door: nothing else here knows a second vocabulary.
//! Invariant: a result that says nothing never becomes a permission.

use crate::apply::Outcome;
use crate::decision::{RawDecision, Reply};
use crate::failure::FailureMode;
use crate::hook::{Action, Hook, Object};
use crate::policy::{ChainMode, ChainPolicy};
use core::time::Duration;
use serde_json::Value;

/// The verdict axis; the greatest wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing to object to.
    #[default]
    Allow,
    /// Ask a person.
    Ask,
    /// Refuse.
    Deny,
}

/// The flow axis; the greatest wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flow {
    /// Go on.
    #[default]
    Continue,
    /// Stop, whatever the verdict is.
    Block,
}

/// What a handler of the second system returns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookResult {
    /// The verdict.
    pub decision: Verdict,
    /// The flow.
    pub flow: Flow,
    /// A message for the model; of a refusal its reason, of a question its prompt.
    pub feedback: Option<String>,
    /// What replaces a tool's input.
    pub updated_input: Option<Object>,
    /// What replaces a tool's output.
    pub updated_output: Option<Value>,
    /// Requests to be called again, by name.
    pub rewakes: Vec<String>,
}

impl HookResult {
    /// Returns "nothing to object to".
    pub fn allow() -> Self {
        Self::default()
    }

    /// Returns a message for the model.
    pub fn with_feedback(message: impl Into<String>) -> Self {
        Self { feedback: Some(message.into()), ..Self::default() }
    }

    /// Returns a refusal.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self { decision: Verdict::Deny, flow: Flow::Block, ..Self::with_feedback(reason) }
    }

    /// Returns a question for a person.
    pub fn ask(prompt: impl Into<String>) -> Self {
        Self { decision: Verdict::Ask, ..Self::with_feedback(prompt) }
    }

    /// Says whether this refuses: on either axis. (The second system reads the verdict only, so a lone `block` refuses nothing there.)
    pub fn blocked(&self) -> bool {
        self.decision == Verdict::Deny || self.flow == Flow::Block
    }

    /// Folds results into one verdict: the greatest of each axis, every message, the first replacement, all rewakes. For the verdict only:
    /// in a chain the last replacement counts.
    pub fn merge(results: impl IntoIterator<Item = Self>) -> Self {
        let mut merged = Self::default();
        let mut messages = Vec::new();
        for result in results {
            merged.decision = merged.decision.max(result.decision);
            merged.flow = merged.flow.max(result.flow);
            messages.extend(result.feedback);
            merged.updated_input = merged.updated_input.or(result.updated_input);
            merged.updated_output = merged.updated_output.or(result.updated_output);
            merged.rewakes.extend(result.rewakes);
        }
        merged.feedback = (!messages.is_empty()).then(|| messages.join("\n"));
        merged
    }

    /// Returns the reply that this is on a hook. What no reply can say is named in [`Reply::unsupported`]: a refusal where a hook only
    /// observes, a question where nobody is asked, a replaced input beside a refusal. A question with a replaced input is a refusal.
    pub fn into_reply(self, hook: Hook) -> Reply {
        let mut unsupported = Vec::new();
        if !self.rewakes.is_empty() {
            unsupported.push("rewakes");
        }
        if self.updated_output.is_some() {
            unsupported.push("updated_output");
        }
        let (refuses, asks) = (self.blocked(), self.decision == Verdict::Ask);
        // A person would be asked about the input as it was, and that would run.
        let refuses = refuses || (asks && self.updated_input.is_some() && hook == Hook::PreToolUse);
        let action = if refuses { refusal(hook) } else { asks.then(|| question(hook)).flatten() };
        if (refuses || asks) && action.is_none() {
            unsupported.push(if refuses { "block" } else { "ask" });
        }
        if self.updated_input.is_some() && (action.is_some() || hook != Hook::PreToolUse) {
            unsupported.push("updated_input");
        }
        if let Some(action) = action {
            return Reply { decision: Some(RawDecision::new(action, self.feedback.unwrap_or_default())), feedback: None, unsupported };
        }
        let rewrite = self.updated_input.filter(|_| hook == Hook::PreToolUse).map(|input| {
            let updates = [("arguments".to_owned(), Value::Object(input))].into_iter().collect();
            RawDecision { updates: Some(updates), ..RawDecision::new(Action::Rewrite, "") }
        });
        Reply { decision: rewrite, feedback: self.feedback, unsupported }
    }
}

/// Returns the action with which a hook refuses.
const fn refusal(hook: Hook) -> Option<Action> {
    match hook {
        Hook::UserPromptSubmit | Hook::PreToolUse | Hook::PostToolUse => Some(Action::Block),
        Hook::PermissionRequest => Some(Action::Deny),
        Hook::PreCompact => Some(Action::Defer),
        _ => None,
    }
}

/// Returns the action with which a hook has a person asked.
const fn question(hook: Hook) -> Option<Action> {
    match hook {
        Hook::PreToolUse => Some(Action::RequestPermission),
        Hook::PermissionRequest => Some(Action::Ask),
        _ => None,
    }
}

/// Returns what each plugin that was asked said, as a result: replaced inputs as the plugin gave them, redacted and cut. Where there is one,
/// the last result bears the real input as it stands at the end: what runs.
pub fn results(outcome: &Outcome, asked: &[&str]) -> Vec<HookResult> {
    let mut results: Vec<_> = asked.iter().map(|plugin| result_of(outcome, plugin)).collect();
    let replaced = final_input(&results).is_some();
    if let Some(last) = results.last_mut().filter(|_| replaced) {
        last.updated_input = outcome.payload.effective().get("arguments").and_then(Value::as_object).cloned();
    }
    results
}

fn result_of(outcome: &Outcome, plugin: &str) -> HookResult {
    let feedback = outcome.feedback.iter().find(|message| message.source == plugin).map(|message| message.text.clone());
    let decision = outcome.sources.iter().position(|source| source == plugin).and_then(|index| outcome.decisions.get(index));
    let Some(decision) = decision else { return HookResult { feedback, ..HookResult::default() } };
    match decision.action {
        Action::Block | Action::Deny | Action::Defer => HookResult::deny(decision.reason.as_str()),
        Action::RequestPermission | Action::Ask => HookResult::ask(decision.reason.as_str()),
        _ => {
            let updated_input = decision.updates.get("arguments").and_then(Value::as_object).cloned();
            HookResult { feedback, updated_input, ..HookResult::default() }
        }
    }
}

/// Returns the input that a chain's results come to: the last replacement.
pub fn final_input(results: &[HookResult]) -> Option<&Object> {
    results.iter().rev().find_map(|result| result.updated_input.as_ref())
}

/// Settles the questions of a chain where that chain has someone to ask. A person's no also blocks; a question in answer to a question is a no.
pub fn resolve_questions(hook: Hook, results: &mut [HookResult], mut person: impl FnMut(&str) -> Verdict) {
    if question(hook).is_none() {
        return;
    }
    for result in results.iter_mut().filter(|result| result.decision == Verdict::Ask) {
        let allowed = person(result.feedback.as_deref().unwrap_or_default()) == Verdict::Allow;
        result.decision = if allowed { Verdict::Allow } else { Verdict::Deny };
        result.flow = if allowed { result.flow } else { Flow::Block };
    }
}

/// The policy named *continue, never stop*.
pub const CONTINUE_NEVER_STOP: ChainPolicy = ChainPolicy { stop_on_blocked: false, ..CONTINUE_STOP_ON_BLOCKED };

/// The policy named *continue, stop on blocked*.
pub const CONTINUE_STOP_ON_BLOCKED: ChainPolicy =
    ChainPolicy { stop_on_blocked: true, mode: ChainMode::Sequential, on_exception: FailureMode::Open, on_timeout: FailureMode::Open };

/// The policy named *fail closed, stop on blocked*.
pub const FAIL_CLOSED_STOP_ON_BLOCKED: ChainPolicy =
    ChainPolicy { on_exception: FailureMode::Closed, on_timeout: FailureMode::Closed, ..CONTINUE_STOP_ON_BLOCKED };

/// The longest time that a plugin may ask for.
pub const MAX_ASKED: Duration = Duration::from_mins(10);
/// What is added to a time that was asked for.
pub const GRACE: Duration = Duration::from_secs(5);

/// A policy whose time is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the time of a policy must be positive")]
pub struct TimeoutNotPositive;

/// Returns the time that a handler gets, and whether what it asked for was cut: a floor, not an override, with 5 s of grace (spec aimon 4.2).
/// Nothing asked for, or zero, is the policy's own time.
///
/// # Errors
/// [`TimeoutNotPositive`] where the policy's time is zero.
pub fn timeout_for(policy: Duration, asked: Option<Duration>) -> Result<(Duration, bool), TimeoutNotPositive> {
    if policy.is_zero() {
        return Err(TimeoutNotPositive);
    }
    let Some(asked) = asked.filter(|asked| !asked.is_zero()) else { return Ok((policy, false)) };
    let effective = asked.min(MAX_ASKED);
    let time = if effective < policy { policy } else { effective + GRACE };
    Ok((time, asked > MAX_ASKED))
}
