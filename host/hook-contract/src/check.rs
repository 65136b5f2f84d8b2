//! Holds a reply against the contract: document, semantic rules, allowed actions, and the payload that a rewrite would make (spec 1.5).
//!
//! Separate because nothing reaches [`crate::apply`] without it. Invariant: a reply passes whole or not at all.

use crate::apply::Payload;
use crate::bound::{REDACTED_FIELDS, char_offset, sanitise};
use crate::decision::{Decision, EvidenceKind, EvidenceRef, RawDecision, RawEvidence, Reply, bad};
use crate::failure::{Failure, FailureKind};
use crate::hook::{Action, Hook, Object, Version};
use crate::patch::{Blind, patch};
use crate::redact::{PLACEHOLDER, is_secret_key, redact};
use crate::validate::validate;
use crate::{display, feedback};
use serde_json::Value;

/// The most characters of a decision's reason.
pub const MAX_REASON_CHARS: usize = 1024;
/// The most characters of an instruction, and of feedback.
pub const MAX_INSTRUCTION_CHARS: usize = 4096;

/// A reply that passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The decision, or none.
    pub decision: Option<Decision>,
    /// The payload after a rewrite.
    pub(crate) next: Option<Payload>,
    /// A message for the model, redacted, at most 4096 characters.
    pub feedback: Option<String>,
    /// What was asked for and is not done: for the audit row.
    pub ignored: Vec<&'static str>,
}

/// What one plugin may do.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The actions that it may return.
    pub actions: &'a [Action],
    /// Whether it was shown the real payload.
    pub full_payload: bool,
    /// The version of the contract.
    pub version: Version,
}

/// Checks a reply to `payload`.
///
/// # Errors
/// [`Failure`] of a `hook::check::*` kind; where several rules are broken, the first in the order action, updates, instruction, misses,
/// `keep_recent`, evidence, payload.
pub fn check(payload: &Payload, reply: Reply, terms: Terms<'_>) -> Result<Checked, Failure> {
    let hook = payload.hook();
    let raw = match (reply.decision, terms.version) {
        (None, Version::V1) => Some(RawDecision::default()),
        (decision, _) => decision,
    };
    let mut ignored = reply.unsupported;
    let (decision, next) = match raw {
        None => (None, None),
        Some(raw) => check_decision(payload, raw, terms).map(|(decision, next)| (Some(decision), next))?,
    };
    let blocks = decision.as_ref().is_some_and(|decision| decision.action.blocks());
    let feedback = reply.feedback.map(|text| clip(&text, MAX_INSTRUCTION_CHARS)).filter(|text| !text.trim().is_empty());
    let feedback = feedback.filter(|_| {
        // Why a plugin refuses is its reason, not advice.
        let routed = feedback::route(hook).is_some() && !blocks;
        if !routed {
            ignored.push("feedback");
        }
        routed
    });
    Ok(Checked { decision, next, feedback, ignored })
}

type Passed = (Decision, Option<Payload>);

fn check_decision(payload: &Payload, raw: RawDecision, terms: Terms<'_>) -> Result<Passed, Failure> {
    let Terms { actions, full_payload, version } = terms;
    let hook = payload.hook();
    let action = check_action(hook, raw.action.as_deref().unwrap_or("continue"), actions)?;
    let updates = check_updates(action, raw.updates)?;
    let instruction = clip(&raw.instruction, MAX_INSTRUCTION_CHARS);
    check_instruction(hook, action, &instruction)?;
    let additional_misses: Vec<_> = raw.additional_misses.iter().take(32).map(|miss| clip(miss, 128)).collect();
    if version == Version::V2 && action == Action::Strengthen && additional_misses.iter().all(|miss| miss.trim().is_empty()) {
        return Err(bad("PreVerify strengthen requires at least one additional miss"));
    }
    if version == Version::V2 && hook == Hook::PreCompact && updates.keys().any(|key| key != "keep_recent") {
        return Err(bad("PreCompact rewrite may change only `keep_recent`"));
    }
    let evidence_refs = raw.evidence_refs.into_iter().take(32).map(check_evidence).collect::<Result<_, _>>()?;
    let shown = sanitise(&updates).payload;
    let next = if action == Action::Rewrite { Some(rewrite(payload, payload.shown(full_payload), &updates, &shown)?) } else { None };
    let reason = clip(&raw.reason, MAX_REASON_CHARS);
    Ok((Decision { action, reason, updates: shown, instruction, additional_misses, evidence_refs }, next))
}

fn check_action(hook: Hook, word: &str, allowed: &[Action]) -> Result<Action, Failure> {
    let action = Action::from_word(word).filter(|action| hook.spec().actions.contains(action));
    let action = action.ok_or_else(|| {
        let word = display::plain(word, 64);
        Failure::new(FailureKind::ActionNotAllowed, format!("{word} is not allowed for {hook}"))
    })?;
    if allowed.contains(&action) {
        return Ok(action);
    }
    Err(Failure::new(FailureKind::ActionNotAllowed, format!("{action} is not granted to this plugin")))
}

fn check_updates(action: Action, updates: Option<Object>) -> Result<Object, Failure> {
    let updates = updates.unwrap_or_default();
    match (action, updates.is_empty()) {
        (Action::Rewrite, true) => Err(bad("rewrite requires non-empty updates")),
        (Action::Rewrite, false) | (_, true) => Ok(updates),
        (_, false) => Err(bad("updates are only allowed for rewrite decisions")),
    }
}

fn check_instruction(hook: Hook, action: Action, instruction: &str) -> Result<(), Failure> {
    if !instruction.trim().is_empty() {
        return Ok(());
    }
    match (hook, action) {
        (Hook::PostVerify, Action::Revise) => Err(bad("PostVerify revise requires an instruction")),
        (Hook::Stop, Action::Continue) => Err(bad("Stop continue requires an instruction")),
        _ => Ok(()),
    }
}

fn check_evidence(raw: RawEvidence) -> Result<EvidenceRef, Failure> {
    let (kind, schema_id, authority, reference) = match raw {
        RawEvidence::Object { kind, schema_id, authority, reference } => (kind, schema_id, authority, reference),
        RawEvidence::Text(text) => ("legacy".into(), "geode.hook-evidence-handle@1".to_owned(), "public hook extension".to_owned(), text),
        RawEvidence::Other(name) => return Err(bad(format!("unsupported evidence reference type: {name}"))),
    };
    let [schema_id, authority, reference] = [schema_id, authority, reference].map(|text| clip(&text, 512));
    if [&*kind, &schema_id, &authority, &reference].into_iter().any(str::is_empty) {
        return Err(bad("evidence reference fields must be non-empty"));
    }
    let kind = EvidenceKind::from_word(&kind)
        .ok_or_else(|| bad(format!("unsupported evidence reference kind: `{}`", display::plain(&kind, 64))))?;
    Ok(EvidenceRef { kind, schema_id, authority, reference })
}

/// Redacts, makes control characters visible, then cuts without a marker: plugins write this, and models, people and terminals read it.
fn clip(text: &str, max: usize) -> String {
    let mut clean = display::lines(&redact(text));
    if let Some(end) = char_offset(&clean, max) {
        clean.truncate(end);
    }
    clean
}

/// Returns the payload that a rewrite makes: changes go to the real value, and the view is made anew from it.
fn rewrite(payload: &Payload, seen: &Object, updates: &Object, shown: &Object) -> Result<Payload, Failure> {
    let mut effective = payload.effective().clone();
    for (key, value) in updates.iter().filter(|(key, _)| !is_secret_key(key)) {
        let value = new_value(payload.effective(), seen, key, value)?;
        effective.insert(key.clone(), value);
    }
    let mut next = payload.with_effective(effective);
    if let Some(removed) = shown.get(REDACTED_FIELDS) {
        next.view_mut().payload.insert(REDACTED_FIELDS.to_owned(), removed.clone());
    }
    validate(payload.hook(), &next.view().payload).map_err(|invalid| Failure::new(FailureKind::BadRewrite, invalid.to_string()))?;
    Ok(next)
}

/// Returns the real value of a field after its rewrite.
fn new_value(effective: &Object, seen: &Object, key: &str, value: &Value) -> Result<Value, Failure> {
    let (Some(real), Some(seen)) = (effective.get(key), seen.get(key)) else {
        return Ok(value.clone());
    };
    let blind = |Blind(below): Blind| {
        Failure::new(FailureKind::BlindRewrite, format!("`/{key}{below}` was not seen whole, so it cannot be changed"))
    };
    match value {
        Value::Object(_) => patch(real, seen, value).map_err(blind),
        // A whole text may replace a masked or cut one, unless it still bears what stands in for the part that was not seen.
        Value::String(text) if real != seen && value != seen && bears_stand_in(text) => Err(blind(Blind(String::new()))),
        _ if value == seen => Ok(real.clone()),
        _ => Ok(value.clone()),
    }
}

fn bears_stand_in(text: &str) -> bool {
    text.contains(PLACEHOLDER) || text.contains("…[truncated")
}
