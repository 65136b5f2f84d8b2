//! The one table of hooks: the 13 public ones, and 3 of an agent's lifecycle that only observe.
//!
//! Separate because schemas, validation, CLI, docs and the WIT test all read it. Invariant: what is not in this table does not exist.

/// A JSON object that keeps the order of its keys.
pub type Object = serde_json::Map<String, serde_json::Value>;

/// The version of the contract that a host speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// `geode.public-hook.v1`: kept readable.
    V1,
    /// `geode.public-hook.v2`: the default.
    #[default]
    V2,
}

impl Version {
    /// Returns the value of `schema_version`.
    pub const fn schema_version(self) -> &'static str {
        match self {
            Self::V1 => "geode.public-hook.v1",
            Self::V2 => "geode.public-hook.v2",
        }
    }

    /// Returns the version of a `schema_version` value, or `None` for any other text.
    pub fn from_schema_version(text: &str) -> Option<Self> {
        [Self::V1, Self::V2].into_iter().find(|version| version.schema_version() == text)
    }

    /// Returns the path segment in a schema's `$id`.
    pub(crate) const fn segment(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }
}

/// The JSON type of a payload field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// A string.
    String,
    /// An object, open.
    Object,
    /// A boolean.
    Boolean,
    /// A number without a fraction; `3.0` is one.
    Integer,
    /// Any number.
    Number,
    /// An array of strings.
    Strings,
    /// An array of at most 32 evidence objects.
    Evidence,
}

/// One field of a payload.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in JSON.
    pub name: &'static str,
    /// Its JSON type.
    pub field_type: FieldType,
    /// Whether a payload must have it.
    pub required: bool,
}

const fn required(name: &'static str, field_type: FieldType) -> Field {
    Field { name, field_type, required: true }
}

const fn optional(name: &'static str, field_type: FieldType) -> Field {
    Field { name, field_type, required: false }
}

/// What a hook can decide; 14 words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Nothing to object to.
    Continue,
    /// Change named fields of the payload.
    Rewrite,
    /// Refuse, and end the chain.
    Block,
    /// Force the approval flow.
    RequestPermission,
    /// Grant a permission.
    Allow,
    /// Refuse a permission, and end the chain.
    Deny,
    /// Leave a permission to a person.
    Ask,
    /// Add text beside a tool's result.
    AddContext,
    /// Put a compaction off.
    Defer,
    /// Make verification stricter.
    Strengthen,
    /// Accept a verified candidate.
    Accept,
    /// Send a candidate back with an instruction.
    Revise,
    /// Hand a candidate to an outside owner.
    Escalate,
    /// Deliver.
    Finalize,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 14] = [
        Self::Continue,
        Self::Rewrite,
        Self::Block,
        Self::RequestPermission,
        Self::Allow,
        Self::Deny,
        Self::Ask,
        Self::AddContext,
        Self::Defer,
        Self::Strengthen,
        Self::Accept,
        Self::Revise,
        Self::Escalate,
        Self::Finalize,
    ];

    /// Returns the word in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Rewrite => "rewrite",
            Self::Block => "block",
            Self::RequestPermission => "request_permission",
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::AddContext => "add_context",
            Self::Defer => "defer",
            Self::Strengthen => "strengthen",
            Self::Accept => "accept",
            Self::Revise => "revise",
            Self::Escalate => "escalate",
            Self::Finalize => "finalize",
        }
    }

    /// Returns the action of a word, or `None` for any other text.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.word() == word)
    }

    /// Says whether the action refuses and ends the chain.
    pub const fn blocks(self) -> bool {
        matches!(self, Self::Block | Self::Deny)
    }
}

/// A point at which plugins are asked. The order of the variants is the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hook {
    /// A user's prompt, before planning.
    UserPromptSubmit,
    /// A tool call that passed policy, before permission.
    PreToolUse,
    /// A call that needs approval.
    PermissionRequest,
    /// A tool call that returned.
    PostToolUse,
    /// Before the context is compacted.
    PreCompact,
    /// After the context was compacted.
    PostCompact,
    /// A session began.
    SessionStart,
    /// A session ended.
    SessionEnd,
    /// A sub-agent began.
    SubagentStart,
    /// A sub-agent ended.
    SubagentStop,
    /// Before the built-in verification.
    PreVerify,
    /// After the built-in verification.
    PostVerify,
    /// The last gate before delivery.
    Stop,
    /// A tool call was refused.
    PermissionDenied,
    /// A turn ended, also where it failed.
    TurnEnd,
    /// The plugins or the host's configuration were loaded again.
    ConfigReload,
}

/// One row of the table.
#[derive(Debug)]
pub struct HookSpec {
    /// The hook's name in JSON, manifests and the CLI.
    pub name: &'static str,
    /// The WIT interface in package `geode:hooks`.
    pub interface: &'static str,
    /// One sentence for people.
    pub summary: &'static str,
    /// The payload's fields, in the schema's order.
    pub fields: &'static [Field],
    /// The actions a plugin may answer with.
    pub actions: &'static [Action],
}

impl HookSpec {
    /// Returns the field of that name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl Hook {
    /// The public hooks, in the order of the table.
    pub const PUBLIC: [Self; 13] = [
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PostToolUse,
        Self::PreCompact,
        Self::PostCompact,
        Self::SessionStart,
        Self::SessionEnd,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::PreVerify,
        Self::PostVerify,
        Self::Stop,
    ];

    /// The lifecycle hooks: the public contract lacks them, and they only observe (schema `geode.lifecycle-hook.v1`).
    pub const LIFECYCLE: [Self; 3] = [Self::PermissionDenied, Self::TurnEnd, Self::ConfigReload];

    /// Returns every hook, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::PUBLIC.into_iter().chain(Self::LIFECYCLE)
    }

    /// Returns the value of `schema_version` for this hook under a version of the contract.
    pub fn schema_version(self, version: Version) -> &'static str {
        if Self::LIFECYCLE.contains(&self) { "geode.lifecycle-hook.v1" } else { version.schema_version() }
    }

    /// Returns the hook's row of the table.
    pub const fn spec(self) -> &'static HookSpec {
        match self {
            Self::UserPromptSubmit => &USER_PROMPT_SUBMIT,
            Self::PreToolUse => &PRE_TOOL_USE,
            Self::PermissionRequest => &PERMISSION_REQUEST,
            Self::PostToolUse => &POST_TOOL_USE,
            Self::PreCompact => &PRE_COMPACT,
            Self::PostCompact => &POST_COMPACT,
            Self::SessionStart => &SESSION_START,
            Self::SessionEnd => &SESSION_END,
            Self::SubagentStart => &SUBAGENT_START,
            Self::SubagentStop => &SUBAGENT_STOP,
            Self::PreVerify => &PRE_VERIFY,
            Self::PostVerify => &POST_VERIFY,
            Self::Stop => &STOP,
            Self::PermissionDenied => &PERMISSION_DENIED,
            Self::TurnEnd => &TURN_END,
            Self::ConfigReload => &CONFIG_RELOAD,
        }
    }

    /// Returns the hook's name.
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// Returns the hook of that name, or `None`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|hook| hook.name() == name)
    }

    /// Returns the hook of that WIT interface name (`pre-tool-use`), or `None`.
    pub fn from_interface(interface: &str) -> Option<Self> {
        Self::all().find(|hook| hook.spec().interface == interface)
    }

    /// Says whether plugins can only look on: nothing they answer steers, and a failure is always open.
    pub const fn observes(self) -> bool {
        self.spec().actions.len() == 1
    }
}

impl std::fmt::Display for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

use Action as A;
use FieldType as T;

static USER_PROMPT_SUBMIT: HookSpec = HookSpec {
    name: "UserPromptSubmit",
    interface: "user-prompt-submit",
    summary: "a user's prompt, before planning",
    fields: &[required("user_input", T::String)],
    actions: &[A::Continue, A::Rewrite, A::Block],
};

static PRE_TOOL_USE: HookSpec = HookSpec {
    name: "PreToolUse",
    interface: "pre-tool-use",
    summary: "a tool call that passed policy, before permission",
    fields: &[required("tool_name", T::String), required("arguments", T::Object)],
    actions: &[A::Continue, A::Rewrite, A::Block, A::RequestPermission],
};

static PERMISSION_REQUEST: HookSpec = HookSpec {
    name: "PermissionRequest",
    interface: "permission-request",
    summary: "a call that needs approval; no decision is never a permission",
    fields: &[required("tool_name", T::String), required("safety_level", T::String), required("detail", T::String)],
    actions: &[A::Allow, A::Deny, A::Ask],
};

static POST_TOOL_USE: HookSpec = HookSpec {
    name: "PostToolUse",
    interface: "post-tool-use",
    summary: "a tool call that returned; its effect stands",
    fields: &[
        required("tool_name", T::String),
        required("arguments", T::Object),
        required("result", T::Object),
        required("has_error", T::Boolean),
        required("executed", T::Boolean),
    ],
    actions: &[A::Continue, A::AddContext, A::Block],
};

static PRE_COMPACT: HookSpec = HookSpec {
    name: "PreCompact",
    interface: "pre-compact",
    summary: "before the context is compacted",
    fields: &[
        required("model", T::String),
        required("provider", T::String),
        required("message_count", T::Integer),
        required("keep_recent", T::Integer),
        required("trigger", T::String),
        required("hard", T::Boolean),
    ],
    actions: &[A::Continue, A::Rewrite, A::Defer],
};

static POST_COMPACT: HookSpec = HookSpec {
    name: "PostCompact",
    interface: "post-compact",
    summary: "after the context was compacted",
    fields: &[
        required("model", T::String),
        required("provider", T::String),
        required("original_message_count", T::Integer),
        required("new_message_count", T::Integer),
        required("keep_recent", T::Integer),
        required("trigger", T::String),
        required("persisted", T::Boolean),
    ],
    actions: &[A::Continue],
};

static SESSION_START: HookSpec = HookSpec {
    name: "SessionStart",
    interface: "session-start",
    summary: "a session began",
    fields: &[
        required("model", T::String),
        required("provider", T::String),
        required("resumed", T::Boolean),
        required("status", T::String),
    ],
    actions: &[A::Continue],
};

static SESSION_END: HookSpec = HookSpec {
    name: "SessionEnd",
    interface: "session-end",
    summary: "a session ended",
    fields: &[required("reason", T::String), required("status", T::String)],
    actions: &[A::Continue],
};

static SUBAGENT_START: HookSpec = HookSpec {
    name: "SubagentStart",
    interface: "subagent-start",
    summary: "a sub-agent began",
    fields: &[
        required("task_id", T::String),
        required("task_type", T::String),
        required("description", T::String),
        required("child_session_key", T::String),
        required("parent_session_key", T::String),
        optional("generation", T::Integer),
    ],
    actions: &[A::Continue],
};

static SUBAGENT_STOP: HookSpec = HookSpec {
    name: "SubagentStop",
    interface: "subagent-stop",
    summary: "a sub-agent ended",
    fields: &[
        required("task_id", T::String),
        required("task_type", T::String),
        required("success", T::Boolean),
        required("status", T::String),
        required("duration_ms", T::Number),
        required("error", T::String),
        required("child_session_key", T::String),
        optional("generation", T::Integer),
    ],
    actions: &[A::Continue],
};

static PRE_VERIFY: HookSpec = HookSpec {
    name: "PreVerify",
    interface: "pre-verify",
    summary: "before the built-in verification, which can only be made stricter",
    fields: &[
        optional("passed", T::Boolean),
        optional("mode", T::String),
        optional("effective_mode", T::String),
        optional("score", T::Number),
        optional("rubric_misses", T::Strings),
        optional("should_retry", T::Boolean),
        required("termination_reason", T::String),
        required("rounds", T::Integer),
        required("tool_call_count", T::Integer),
        required("candidate_summary", T::String),
    ],
    actions: &[A::Continue, A::Strengthen],
};

static POST_VERIFY: HookSpec = HookSpec {
    name: "PostVerify",
    interface: "post-verify",
    summary: "after the built-in verification; a failed one stays failed",
    fields: &[
        required("passed", T::Boolean),
        required("mode", T::String),
        optional("effective_mode", T::String),
        required("score", T::Number),
        required("rubric_misses", T::Strings),
        optional("should_retry", T::Boolean),
        required("termination_reason", T::String),
        required("rounds", T::Integer),
        required("tool_call_count", T::Integer),
        required("candidate_summary", T::String),
    ],
    actions: &[A::Accept, A::Revise, A::Escalate],
};

static STOP: HookSpec = HookSpec {
    name: "Stop",
    interface: "stop",
    summary: "the last gate before delivery; `continue` sends the agent back",
    fields: &[
        required("passed", T::Boolean),
        required("mode", T::String),
        optional("effective_mode", T::String),
        required("score", T::Number),
        required("rubric_misses", T::Strings),
        optional("should_retry", T::Boolean),
        required("termination_reason", T::String),
        required("rounds", T::Integer),
        required("tool_call_count", T::Integer),
        required("candidate_summary", T::String),
        required("policy_action", T::String),
        required("evidence_refs", T::Evidence),
    ],
    actions: &[A::Finalize, A::Continue],
};

static PERMISSION_DENIED: HookSpec = HookSpec {
    name: "PermissionDenied",
    interface: "permission-denied",
    summary: "a tool call was refused, by a plugin or by approval",
    fields: &[
        required("tool_name", T::String),
        required("arguments", T::Object),
        required("deny_reason", T::String),
        optional("principal_id", T::String),
        optional("principal_type", T::String),
    ],
    actions: &[A::Continue],
};

static TURN_END: HookSpec = HookSpec {
    name: "TurnEnd",
    interface: "turn-end",
    summary: "a turn ended, also where it failed",
    fields: &[
        required("success", T::Boolean),
        required("iteration_count", T::Integer),
        optional("final_answer", T::String),
        optional("input_tokens", T::Integer),
        optional("output_tokens", T::Integer),
        optional("started_at_ms", T::Integer),
        optional("ended_at_ms", T::Integer),
    ],
    actions: &[A::Continue],
};

static CONFIG_RELOAD: HookSpec = HookSpec {
    name: "ConfigReload",
    interface: "config-reload",
    summary: "plugins and configuration were loaded again on request",
    fields: &[
        required("reload_counter", T::Integer),
        required("config_source", T::String),
        required("success", T::Boolean),
        required("failure_reason", T::String),
    ],
    actions: &[A::Continue],
};
