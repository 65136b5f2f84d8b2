//! The WIT of `geode:hooks@2.0.0` as Rust types, and its conversion from and to the contract's.
//!
//! Separate because a served version is converted here and nowhere else. Invariant: nothing in here decides; a field that does not fit is cut
//! and named.

use hook_contract::decision::{RawDecision, RawEvidence, Reply};
use hook_contract::hook::{Action, Hook, Object};
use hook_contract::{Correlation, Failure, FailureKind};
use serde_json::Value;

#[allow(clippy::pedantic, reason = "generated")]
mod bindings {
    wasmtime::component::bindgen!({ path: "../../wit", world: "geode:hooks/all-hooks" });
}

pub(crate) use bindings::AllHooks;
use bindings::exports::geode::hooks;
pub(crate) use bindings::geode::hooks::{log, settings, state, types};
pub(crate) use types::{Context, HookError};

/// What a plugin is told beside the payload, before it is typed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) schema_version: &'static str,
    pub(crate) correlation: &'a Correlation,
    pub(crate) cwd: &'a str,
    pub(crate) workspace: &'a str,
    pub(crate) redacted: &'a [String],
    pub(crate) reduced: &'a [String],
}

/// One hook's types: how its payload goes in and its reply comes out.
pub(crate) trait Interface {
    /// The payload record.
    type Payload: wasmtime::component::Lower + Send + Sync + 'static;
    /// What `handle` returns where it succeeds.
    type Reply: wasmtime::component::Lift + Send + Sync + 'static;
    /// Types a payload that passed the hook's schema.
    fn payload(fields: &mut Fields<'_>) -> Self::Payload;
    /// Untypes a reply.
    fn reply(reply: Self::Reply) -> Reply;
}

/// Runs `$body` with `$interface` bound to the [`Interface`] of a hook.
macro_rules! for_hook {
    ($hook:expr, $interface:ident => $body:expr) => {{
        use hook_contract::hook::Hook as H;
        match $hook {
            H::UserPromptSubmit => {
                type $interface = $crate::wit::UserPromptSubmit;
                $body
            }
            H::PreToolUse => {
                type $interface = $crate::wit::PreToolUse;
                $body
            }
            H::PermissionRequest => {
                type $interface = $crate::wit::PermissionRequest;
                $body
            }
            H::PostToolUse => {
                type $interface = $crate::wit::PostToolUse;
                $body
            }
            H::PreCompact => {
                type $interface = $crate::wit::PreCompact;
                $body
            }
            H::PostCompact => {
                type $interface = $crate::wit::PostCompact;
                $body
            }
            H::SessionStart => {
                type $interface = $crate::wit::SessionStart;
                $body
            }
            H::SessionEnd => {
                type $interface = $crate::wit::SessionEnd;
                $body
            }
            H::SubagentStart => {
                type $interface = $crate::wit::SubagentStart;
                $body
            }
            H::SubagentStop => {
                type $interface = $crate::wit::SubagentStop;
                $body
            }
            H::PreVerify => {
                type $interface = $crate::wit::PreVerify;
                $body
            }
            H::PostVerify => {
                type $interface = $crate::wit::PostVerify;
                $body
            }
            H::Stop => {
                type $interface = $crate::wit::Stop;
                $body
            }
            H::PermissionDenied => {
                type $interface = $crate::wit::PermissionDenied;
                $body
            }
            H::TurnEnd => {
                type $interface = $crate::wit::TurnEnd;
                $body
            }
            H::ConfigReload => {
                type $interface = $crate::wit::ConfigReload;
                $body
            }
        }
    }};
}
pub(crate) use for_hook;

/// Reads typed fields from a payload, and notes integers that had to be cut.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    payload: &'a Object,
    cut: Vec<String>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(payload: &'a Object) -> Self {
        Self { payload, cut: Vec::new() }
    }

    fn text(&self, name: &str) -> String {
        self.payload.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn optional_text(&self, name: &str) -> Option<String> {
        self.payload.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    fn json(&self, name: &str) -> String {
        self.payload.get(name).map(Value::to_string).unwrap_or_default()
    }

    fn boolean(&self, name: &str) -> bool {
        self.optional_boolean(name).unwrap_or_default()
    }

    fn optional_boolean(&self, name: &str) -> Option<bool> {
        self.payload.get(name).and_then(Value::as_bool)
    }

    fn number(&self, name: &str) -> f64 {
        self.optional_number(name).unwrap_or_default()
    }

    fn optional_number(&self, name: &str) -> Option<f64> {
        self.payload.get(name).and_then(Value::as_f64)
    }

    fn integer(&mut self, name: &str) -> i64 {
        self.optional_integer(name).unwrap_or_default()
    }

    #[expect(clippy::cast_possible_truncation, reason = "a cast from f64 saturates, which is the cut that is noted")]
    fn optional_integer(&mut self, name: &str) -> Option<i64> {
        let value = self.payload.get(name)?;
        if let Some(integer) = value.as_i64() {
            return Some(integer);
        }
        // `3.0` is an integer; what does not fit is cut.
        let float = value.as_f64().unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "the bounds of i64 need no more precision")]
        if float >= i64::MAX as f64 || float < i64::MIN as f64 {
            self.cut.push(format!("/{name}"));
        }
        Some(float as i64)
    }

    fn texts(&self, name: &str) -> Vec<String> {
        self.optional_texts(name).unwrap_or_default()
    }

    fn optional_texts(&self, name: &str) -> Option<Vec<String>> {
        let items = self.payload.get(name)?.as_array()?;
        Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    fn evidence(&self, name: &str) -> Vec<types::EvidenceRef> {
        let items = self.payload.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(evidence_in).collect()
    }
}

fn evidence_in(value: &Value) -> Option<types::EvidenceRef> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = match value.get("kind")?.as_str()? {
        "crucible_evidence" => types::EvidenceKind::CrucibleEvidence,
        "legacy" => types::EvidenceKind::Legacy,
        "native_receipt" => types::EvidenceKind::NativeReceipt,
        "runtime_event" => types::EvidenceKind::RuntimeEvent,
        "sil_eval" => types::EvidenceKind::SilEval,
        _ => return None,
    };
    Some(types::EvidenceRef { kind, schema_id: text("schema_id"), authority: text("authority"), reference: text("reference") })
}

fn evidence_out(evidence: types::EvidenceRef) -> RawEvidence {
    let kind = match evidence.kind {
        types::EvidenceKind::CrucibleEvidence => "crucible_evidence",
        types::EvidenceKind::Legacy => "legacy",
        types::EvidenceKind::NativeReceipt => "native_receipt",
        types::EvidenceKind::RuntimeEvent => "runtime_event",
        types::EvidenceKind::SilEval => "sil_eval",
    };
    RawEvidence::Object { kind: kind.into(), schema_id: evidence.schema_id, authority: evidence.authority, reference: evidence.reference }
}

/// Types the context; called after the payload, since integers that were cut are named in it.
pub(crate) fn context(frame: &Frame<'_>, fields: Fields<'_>) -> Context {
    let c = frame.correlation;
    let mut reduced = frame.reduced.to_vec();
    reduced.extend(fields.cut);
    let spec = fields.payload.get(hook_contract::bound::REDACTED_FIELDS);
    Context {
        schema_version: frame.schema_version.to_owned(),
        correlation: types::Correlation {
            session_id: c.session_id.clone(),
            turn_id: c.turn_id.clone(),
            step_id: c.step_id.clone(),
            run_id: c.run_id.clone(),
            session_generation: c.session_generation,
            verify_attempt: c.verify_attempt,
            tool_call_id: c.tool_call_id.clone(),
            llm_call_id: c.llm_call_id.clone(),
            llm_attempt_id: c.llm_attempt_id.clone(),
        },
        cwd: frame.cwd.to_owned(),
        workspace: frame.workspace.to_owned(),
        redacted: frame.redacted.to_vec(),
        reduced,
        refire: None,
        more: spec.map(|value| (hook_contract::bound::REDACTED_FIELDS.to_owned(), value.to_string())).into_iter().collect(),
    }
}

/// Returns the failure of a plugin that gave no verdict.
pub(crate) fn failure(error: HookError) -> Failure {
    match error {
        HookError::NoVerdict(message) => Failure::new(FailureKind::NoVerdict, message),
        HookError::Failed(message) => Failure::new(FailureKind::PluginFailed, message),
    }
}

/// The parts of an action beside its word.
#[derive(Default)]
struct Parts {
    updates: Option<Object>,
    instruction: String,
    misses: Vec<String>,
}

fn decision(action: Action, parts: Parts, note: types::Note) -> RawDecision {
    RawDecision {
        action: Some(action.word().into()),
        reason: note.reason,
        updates: parts.updates,
        instruction: parts.instruction,
        additional_misses: parts.misses,
        evidence_refs: note.evidence.into_iter().map(evidence_out).collect(),
    }
}

fn reply(decision: Option<RawDecision>, extras: types::Extras) -> Reply {
    let mut unsupported = Vec::new();
    if !extras.rewakes.is_empty() {
        unsupported.push("rewakes");
    }
    if !extras.more.is_empty() {
        unsupported.push("more");
    }
    Reply { decision, feedback: extras.feedback, unsupported }
}

fn observed(observation: types::Observation) -> Reply {
    reply(observation.continue_.map(|note| decision(Action::Continue, Parts::default(), note)), observation.extras)
}

fn updates<const N: usize>(fields: [(&str, Option<Value>); N]) -> Parts {
    let updates = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    Parts { updates: Some(updates), ..Parts::default() }
}

fn instruction(text: String) -> Parts {
    Parts { instruction: text, ..Parts::default() }
}

/// A plugin's JSON; text that is none stays text, and the hook's schema refuses it.
fn json_value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// Declares a hook whose plugins decide.
macro_rules! deciding {
    ($name:ident, $module:ident, |$fields:ident| $payload:expr, |$action:ident| $parts:expr) => {
        pub(crate) struct $name;
        impl Interface for $name {
            type Payload = hooks::$module::Payload;
            type Reply = hooks::$module::Reply;
            #[allow(unused_mut, reason = "a payload without integers changes nothing")]
            fn payload($fields: &mut Fields<'_>) -> Self::Payload {
                $payload
            }
            fn reply(given: Self::Reply) -> Reply {
                let decided = given.decision.map(|d| {
                    let $action = d.action;
                    let (action, parts) = $parts;
                    decision(action, parts, d.note)
                });
                reply(decided, given.extras)
            }
        }
    };
}

/// Declares a hook whose plugins look on.
macro_rules! observing {
    ($name:ident, $module:ident, |$fields:ident| $payload:expr) => {
        pub(crate) struct $name;
        impl Interface for $name {
            type Payload = hooks::$module::Payload;
            type Reply = types::Observation;
            fn payload($fields: &mut Fields<'_>) -> Self::Payload {
                $payload
            }
            fn reply(given: Self::Reply) -> Reply {
                observed(given)
            }
        }
    };
}

deciding!(UserPromptSubmit, user_prompt_submit, |f| hooks::user_prompt_submit::Payload { user_input: f.text("user_input") }, |action| {
    use hooks::user_prompt_submit::Action as W;
    match action {
        W::Continue => (Action::Continue, Parts::default()),
        W::Rewrite(u) => (Action::Rewrite, updates([("user_input", Some(Value::from(u.user_input)))])),
        W::Block => (Action::Block, Parts::default()),
    }
});

deciding!(
    PreToolUse,
    pre_tool_use,
    |f| hooks::pre_tool_use::Payload { tool_name: f.text("tool_name"), arguments: f.json("arguments") },
    |action| {
        use hooks::pre_tool_use::Action as W;
        match action {
            W::Continue => (Action::Continue, Parts::default()),
            W::Rewrite(u) => {
                let arguments = u.arguments.as_deref().map(json_value);
                (Action::Rewrite, updates([("tool_name", u.tool_name.map(Value::from)), ("arguments", arguments)]))
            }
            W::Block => (Action::Block, Parts::default()),
            W::RequestPermission => (Action::RequestPermission, Parts::default()),
        }
    }
);

deciding!(
    PermissionRequest,
    permission_request,
    |f| hooks::permission_request::Payload {
        tool_name: f.text("tool_name"),
        safety_level: f.text("safety_level"),
        detail: f.text("detail")
    },
    |action| {
        use hooks::permission_request::Action as W;
        let action = match action {
            W::Allow => Action::Allow,
            W::Deny => Action::Deny,
            W::Ask => Action::Ask,
        };
        (action, Parts::default())
    }
);

deciding!(
    PostToolUse,
    post_tool_use,
    |f| hooks::post_tool_use::Payload {
        tool_name: f.text("tool_name"),
        arguments: f.json("arguments"),
        result: f.json("result"),
        has_error: f.boolean("has_error"),
        executed: f.boolean("executed"),
    },
    |action| {
        use hooks::post_tool_use::Action as W;
        match action {
            W::Continue => (Action::Continue, Parts::default()),
            W::AddContext(text) => (Action::AddContext, instruction(text)),
            W::Block => (Action::Block, Parts::default()),
        }
    }
);

deciding!(
    PreCompact,
    pre_compact,
    |f| hooks::pre_compact::Payload {
        model: f.text("model"),
        provider: f.text("provider"),
        message_count: f.integer("message_count"),
        keep_recent: f.integer("keep_recent"),
        trigger: f.text("trigger"),
        hard: f.boolean("hard"),
    },
    |action| {
        use hooks::pre_compact::Action as W;
        match action {
            W::Continue => (Action::Continue, Parts::default()),
            W::Rewrite(u) => (Action::Rewrite, updates([("keep_recent", Some(Value::from(u.keep_recent)))])),
            W::Defer => (Action::Defer, Parts::default()),
        }
    }
);

observing!(PostCompact, post_compact, |f| hooks::post_compact::Payload {
    model: f.text("model"),
    provider: f.text("provider"),
    original_message_count: f.integer("original_message_count"),
    new_message_count: f.integer("new_message_count"),
    keep_recent: f.integer("keep_recent"),
    trigger: f.text("trigger"),
    persisted: f.boolean("persisted"),
});

observing!(SessionStart, session_start, |f| hooks::session_start::Payload {
    model: f.text("model"),
    provider: f.text("provider"),
    resumed: f.boolean("resumed"),
    status: f.text("status"),
});

observing!(SessionEnd, session_end, |f| hooks::session_end::Payload { reason: f.text("reason"), status: f.text("status") });

observing!(SubagentStart, subagent_start, |f| hooks::subagent_start::Payload {
    task_id: f.text("task_id"),
    task_type: f.text("task_type"),
    description: f.text("description"),
    child_session_key: f.text("child_session_key"),
    parent_session_key: f.text("parent_session_key"),
    generation: f.optional_integer("generation"),
});

observing!(SubagentStop, subagent_stop, |f| hooks::subagent_stop::Payload {
    task_id: f.text("task_id"),
    task_type: f.text("task_type"),
    success: f.boolean("success"),
    status: f.text("status"),
    duration_ms: f.number("duration_ms"),
    error: f.text("error"),
    child_session_key: f.text("child_session_key"),
    generation: f.optional_integer("generation"),
});

deciding!(
    PreVerify,
    pre_verify,
    |f| hooks::pre_verify::Payload {
        termination_reason: f.text("termination_reason"),
        rounds: f.integer("rounds"),
        tool_call_count: f.integer("tool_call_count"),
        candidate_summary: f.text("candidate_summary"),
        passed: f.optional_boolean("passed"),
        mode: f.optional_text("mode"),
        effective_mode: f.optional_text("effective_mode"),
        score: f.optional_number("score"),
        rubric_misses: f.optional_texts("rubric_misses"),
        should_retry: f.optional_boolean("should_retry"),
    },
    |action| {
        use hooks::pre_verify::Action as W;
        match action {
            W::Continue => (Action::Continue, Parts::default()),
            W::Strengthen(s) => (Action::Strengthen, Parts { misses: s.additional_misses, instruction: s.instruction, updates: None }),
        }
    }
);

deciding!(
    PostVerify,
    post_verify,
    |f| hooks::post_verify::Payload {
        passed: f.boolean("passed"),
        mode: f.text("mode"),
        score: f.number("score"),
        rubric_misses: f.texts("rubric_misses"),
        termination_reason: f.text("termination_reason"),
        rounds: f.integer("rounds"),
        tool_call_count: f.integer("tool_call_count"),
        candidate_summary: f.text("candidate_summary"),
        effective_mode: f.optional_text("effective_mode"),
        should_retry: f.optional_boolean("should_retry"),
    },
    |action| {
        use hooks::post_verify::Action as W;
        match action {
            W::Accept => (Action::Accept, Parts::default()),
            W::Revise(text) => (Action::Revise, instruction(text)),
            W::Escalate => (Action::Escalate, Parts::default()),
        }
    }
);

deciding!(
    Stop,
    stop,
    |f| hooks::stop::Payload {
        passed: f.boolean("passed"),
        mode: f.text("mode"),
        score: f.number("score"),
        rubric_misses: f.texts("rubric_misses"),
        termination_reason: f.text("termination_reason"),
        rounds: f.integer("rounds"),
        tool_call_count: f.integer("tool_call_count"),
        candidate_summary: f.text("candidate_summary"),
        effective_mode: f.optional_text("effective_mode"),
        should_retry: f.optional_boolean("should_retry"),
        policy_action: f.text("policy_action"),
        evidence_refs: f.evidence("evidence_refs"),
    },
    |action| {
        use hooks::stop::Action as W;
        match action {
            W::Finalize => (Action::Finalize, Parts::default()),
            W::Continue(text) => (Action::Continue, instruction(text)),
        }
    }
);

observing!(PermissionDenied, permission_denied, |f| hooks::permission_denied::Payload {
    tool_name: f.text("tool_name"),
    arguments: f.json("arguments"),
    deny_reason: f.text("deny_reason"),
    principal_id: f.optional_text("principal_id"),
    principal_type: f.optional_text("principal_type"),
});

observing!(TurnEnd, turn_end, |f| hooks::turn_end::Payload {
    success: f.boolean("success"),
    iteration_count: f.integer("iteration_count"),
    final_answer: f.optional_text("final_answer"),
    input_tokens: f.optional_integer("input_tokens"),
    output_tokens: f.optional_integer("output_tokens"),
    started_at_ms: f.optional_integer("started_at_ms"),
    ended_at_ms: f.optional_integer("ended_at_ms"),
});

observing!(ConfigReload, config_reload, |f| hooks::config_reload::Payload {
    reload_counter: f.integer("reload_counter"),
    config_source: f.text("config_source"),
    success: f.boolean("success"),
    failure_reason: f.text("failure_reason"),
});

/// Returns the full name of a hook's interface.
pub(crate) fn interface_name(hook: Hook) -> String {
    format!("{}{}@2.0.0", crate::inspect::PACKAGE, hook.spec().interface)
}
