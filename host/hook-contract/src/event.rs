//! The one table of the 57 runtime events, and the names under which history knows them (spec 4.2 and 4.3).
//!
//! Separate because bus, store, readers, manifests and docs all read it. Invariant: what is not in this table is not emitted; what is only in
//! history is still found.

use Retention::{Audit, HighVolume, Standard, Transient};

/// The `schema_version` of what observers are given.
pub const OBSERVER_SCHEMA: &str = "geode.observer.v1";

/// How long an event's row is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Never stored and never mirrored: another event carries the same fact.
    Transient,
    /// 7 days.
    HighVolume,
    /// 30 days.
    Standard,
    /// 180 days.
    Audit,
}

impl Retention {
    /// Every class.
    pub const ALL: [Self; 4] = [Transient, HighVolume, Standard, Audit];

    /// Returns the word that is stored.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::HighVolume => "high_volume",
            Self::Standard => "standard",
            Self::Audit => "audit",
        }
    }

    /// Returns the days that a row is kept.
    pub const fn days(self) -> u64 {
        match self {
            Self::Transient => 0,
            Self::HighVolume => 7,
            Self::Standard => 30,
            Self::Audit => 180,
        }
    }
}

/// The JSON type of a stored detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of JSON")]
pub enum DetailType {
    Text,
    Integer,
    Number,
    Boolean,
    Texts,
    Object,
}

/// A detail of an event that its row keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The key in the event's data and in the row's payload.
    pub name: &'static str,
    /// Its type; a value of another type is not stored.
    pub detail_type: DetailType,
}

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct EventSpec {
    /// The event's name.
    pub name: &'static str,
    /// How long its row is kept.
    pub retention: Retention,
    /// The event that carries the same fact, for one that is never stored.
    pub canonical: Option<&'static str>,
    /// The keys whose absence is a warning.
    pub required: &'static [&'static str],
    /// Who does it: `agent`, `orchestrator`, `system`, `plugin`.
    pub actor_type: &'static str,
    /// What it is done to.
    pub entity_type: &'static str,
    /// The key of the data that names the entity; empty where the event's name does.
    pub entity_key: &'static str,
    /// `info`, `warn` or `error`.
    pub level: &'static str,
    /// The details that its row keeps.
    pub details: &'static [Detail],
}

impl EventSpec {
    /// Returns the name with dots: the lifecycle word last.
    pub fn action(&self) -> String {
        // The one name whose history lies in another family.
        if self.name == "approval_transition" { "tool.approval.transition".to_owned() } else { self.name.replace('_', ".") }
    }

    /// Returns the family that the event belongs to.
    pub fn family(&self) -> &'static str {
        if self.name == "approval_transition" { "tool" } else { family_of(self.name).unwrap_or(self.entity_type) }
    }

    const fn requires(self, required: &'static [&'static str]) -> Self {
        Self { required, ..self }
    }

    const fn stands_for(self, canonical: &'static str) -> Self {
        Self { canonical: Some(canonical), ..self }
    }
}

/// The families of events.
pub const FAMILIES: [&str; 13] =
    ["cognitive", "context", "cost", "improve", "llm", "mcp", "memory", "mutation", "policy", "session", "subagent", "tool", "turn"];

/// First segments of names that stand for a family.
pub const FAMILY_ALIASES: [(&str, &str); 17] = [
    ("adapter", "llm"),
    ("prompt", "llm"),
    ("model", "llm"),
    ("reasoning", "llm"),
    ("user", "turn"),
    ("execution", "turn"),
    ("result", "turn"),
    ("post", "turn"),
    ("shutdown", "session"),
    ("handoff", "session"),
    ("rule", "policy"),
    ("config", "policy"),
    ("extension", "policy"),
    ("program", "policy"),
    ("trigger", "improve"),
    ("self", "improve"),
    ("baseline", "improve"),
];

/// Older spellings, and the event of today.
pub const LEGACY_NAMES: [(&str, &str); 8] = [
    ("session_start", "session_started"),
    ("session_end", "session_ended"),
    ("turn_complete", "turn_completed"),
    ("llm_call_start", "llm_call_started"),
    ("llm_call_end", "llm_call_ended"),
    ("llm_call_retry", "llm_call_retried"),
    ("tool_exec_start", "tool_exec_started"),
    ("tool_exec_end", "tool_exec_ended"),
];

/// Events of history that one event of today stands for: readers find them under it.
pub const COLLAPSED: [(&str, &[&str]); 2] = [
    ("rule_changed", &["rule_created", "rule_updated", "rule_deleted"]),
    (
        "self_improving_auto_trigger",
        &[
            "self_improving_auto_trigger_fired",
            "self_improving_auto_trigger_lock_busy",
            "self_improving_auto_trigger_interval_blocked",
            "self_improving_auto_trigger_runner_error",
            "self_improving_auto_trigger_parse_error",
            "self_improving_auto_trigger_max_generation_reached",
        ],
    ),
];

/// Events of the older system that no longer exist, and the event that took their place, where one did.
pub const GONE: [(&str, Option<&str>); 27] = [
    ("pipeline_start", Some("session_started")),
    ("pipeline_end", Some("turn_completed")),
    ("pipeline_error", Some("execution_cancelled")),
    ("node_bootstrap", None),
    ("node_enter", Some("tool_exec_started")),
    ("node_exit", Some("tool_exec_ended")),
    ("node_error", Some("tool_exec_ended")),
    ("analyst_complete", None),
    ("evaluator_complete", None),
    ("scoring_complete", None),
    ("verification_pass", Some("turn_verify_passed")),
    ("verification_fail", Some("turn_verify_failed")),
    ("drift_detected", None),
    ("outcome_collected", Some("result_feedback")),
    ("model_promoted", Some("baseline_promoted")),
    ("snapshot_captured", None),
    ("rule_created", Some("rule_changed")),
    ("rule_updated", Some("rule_changed")),
    ("rule_deleted", Some("rule_changed")),
    ("prompt_drift_detected", None),
    ("gateway_message_received", Some("user_input_received")),
    ("gateway_response_sent", Some("turn_completed")),
    ("mcp_server_started", Some("mcp_server_connected")),
    ("mcp_server_stopped", None),
    ("context_warning", Some("context_critical")),
    ("tool_approval_granted", Some("approval_transition")),
    ("tool_approval_denied", Some("approval_transition")),
];

/// Returns the family of a name, or of a family's own name or alias; `None` for any other text.
pub fn family_of(name: &str) -> Option<&'static str> {
    let first = name.split(['_', '.']).next().unwrap_or_default();
    let alias = FAMILY_ALIASES.iter().find(|(alias, _)| *alias == first).map(|(_, family)| *family);
    alias.or_else(|| FAMILIES.into_iter().find(|family| *family == first))
}

/// Returns the event of a name: its own or an older spelling, in any case, blanks around it ignored.
pub fn event(name: &str) -> Option<&'static EventSpec> {
    let name = name.trim().to_lowercase();
    let current = LEGACY_NAMES.iter().find(|(legacy, _)| *legacy == name).map_or(name.as_str(), |(_, current)| current);
    EVENTS.iter().find(|event| event.name == current)
}

/// Returns the names under which rows of an event may lie in a store: itself, its older spelling, what was collapsed into it; any other text
/// stands for itself.
pub fn stored_names(name: &str) -> Vec<String> {
    let current = event(name).map_or_else(|| name.trim().to_lowercase(), |event| event.name.to_owned());
    let legacy = LEGACY_NAMES.iter().filter(|(_, now)| *now == current).map(|(legacy, _)| *legacy);
    let collapsed = COLLAPSED.iter().filter(|(now, _)| *now == current).flat_map(|(_, names)| names.iter().copied());
    let names: Vec<_> = legacy.chain(collapsed).map(str::to_owned).collect();
    std::iter::once(current).chain(names).collect()
}

const fn row(
    name: &'static str,
    retention: Retention,
    actor_type: &'static str,
    entity_type: &'static str,
    entity_key: &'static str,
    level: &'static str,
    details: &'static [Detail],
) -> EventSpec {
    EventSpec { name, retention, canonical: None, required: &[], actor_type, entity_type, entity_key, level, details }
}

const fn text(name: &'static str) -> Detail {
    Detail { name, detail_type: DetailType::Text }
}

const fn integer(name: &'static str) -> Detail {
    Detail { name, detail_type: DetailType::Integer }
}

const fn number(name: &'static str) -> Detail {
    Detail { name, detail_type: DetailType::Number }
}

const fn boolean(name: &'static str) -> Detail {
    Detail { name, detail_type: DetailType::Boolean }
}

const fn texts(name: &'static str) -> Detail {
    Detail { name, detail_type: DetailType::Texts }
}

const fn object(name: &'static str) -> Detail {
    Detail { name, detail_type: DetailType::Object }
}

// The shapes of lifecycle events.
const STARTED: &[Detail] = &[text("identifier")];
const COMPLETED: &[Detail] = &[number("duration_ms"), boolean("success")];
const FAILED: &[Detail] = &[number("duration_ms"), text("error_type"), text("message")];
const RETRIED: &[Detail] = &[integer("attempt"), text("reason")];
// And of groups.
const CONTEXT: &[Detail] = &[object("metrics"), text("model"), text("provider")];
const MCP: &[Detail] = &[text("error"), text("server_name")];
const COST: &[Detail] = &[number("limit_usd"), number("pct"), number("total_cost_usd")];
const COGNITIVE: &[Detail] = &[integer("input_len"), integer("result_count"), integer("round"), text("session_id"), texts("tool_names")];
const MUTATION: &[Detail] = &[text("mutation_id"), text("reason"), text("run_id"), text("target_kind"), text("target_path"), number("ts")];

/// Every event, in the order of the catalogue.
pub static EVENTS: [EventSpec; 57] = [
    row("trigger_fired", Standard, "orchestrator", "trigger", "trigger_id", "info", &[text("trigger_id"), text("type")]),
    row(
        "post_analysis",
        Standard,
        "orchestrator",
        "trigger",
        "",
        "info",
        &[text("automation_id"), text("session_id"), text("snapshot_id"), boolean("success"), text("trigger_type")],
    ),
    row("memory_saved", Standard, "agent", "memory", "", "info", &[text("key"), boolean("persistent")]),
    row("rule_changed", Standard, "agent", "rule", "name", "info", &[text("action"), text("name"), texts("paths")]).requires(&["name"]),
    row(
        "result_feedback",
        Audit,
        "agent",
        "result",
        "",
        "info",
        &[text("comment"), integer("rating"), text("reason"), text("subject"), text("verdict")],
    ),
    row(
        "prompt_assembled",
        Standard,
        "agent",
        "prompt",
        "model",
        "info",
        &[text("model"), integer("prompt_len"), text("provider"), text("reason"), boolean("x2_injected")],
    ),
    row("subagent_started", Standard, "agent", "task", "task_id", "info", STARTED).requires(&["task_id", "task_type"]),
    row("subagent_completed", Standard, "agent", "task", "task_id", "info", COMPLETED).requires(&["component", "status", "task_id"]),
    row("subagent_failed", Standard, "agent", "task", "task_id", "error", FAILED),
    row("tool_recovery_attempted", Standard, "agent", "tool_call", "tool_call_id", "info", STARTED),
    row("tool_recovery_succeeded", Standard, "agent", "tool_call", "tool_call_id", "info", COMPLETED),
    row("tool_recovery_failed", Standard, "agent", "tool_call", "tool_call_id", "error", FAILED),
    row("turn_completed", Standard, "agent", "turn", "turn_id", "info", COMPLETED),
    row("context_critical", Standard, "agent", "context", "model", "warn", CONTEXT),
    row("context_overflow_action", Standard, "agent", "context", "model", "warn", CONTEXT),
    row("session_started", Standard, "orchestrator", "session", "session_id", "info", STARTED),
    row("session_ended", Transient, "orchestrator", "session", "session_id", "info", COMPLETED)
        .requires(&["session_id"])
        .stands_for("turn_completed"),
    row(
        "model_switched",
        Standard,
        "agent",
        "model",
        "",
        "info",
        &[text("from_model"), integer("purged_ack_count"), text("reason"), text("to_model")],
    ),
    row("llm_call_started", HighVolume, "agent", "llm_call", "session_id", "info", STARTED),
    row("llm_call_ended", HighVolume, "agent", "llm_call", "session_id", "info", COMPLETED),
    row("llm_call_failed", Transient, "agent", "llm_call", "session_id", "error", FAILED).stands_for("llm_call_ended"),
    row("llm_call_retried", HighVolume, "agent", "llm_call", "session_id", "warn", RETRIED),
    row(
        "tool_approval_requested",
        Transient,
        "agent",
        "tool_approval",
        "tool_name",
        "info",
        &[boolean("always"), text("decision"), number("latency_ms"), text("permission_level"), text("safety_level"), text("tool_name")],
    )
    .requires(&["tool_name"])
    .stands_for("approval_transition"),
    row(
        "approval_transition",
        Audit,
        "agent",
        "tool_approval",
        "tool_name",
        "info",
        &[text("approval_id"), text("category"), text("detail"), boolean("illegal"), text("state"), text("tool_name"), text("verdict")],
    )
    .requires(&["tool_name"]),
    row(
        "adapter_dispatch_attempt",
        HighVolume,
        "system",
        "adapter",
        "adapter_name",
        "info",
        &[
            text("adapter_name"),
            text("capability"),
            number("elapsed_ms"),
            text("error_msg"),
            text("error_type"),
            text("outcome"),
            text("provider"),
            text("source"),
        ],
    )
    .requires(&["adapter_name"]),
    row("shutdown_started", Audit, "system", "shutdown", "", "info", &[integer("active_sessions")]),
    row("config_reloaded", Audit, "system", "config", "", "info", &[text("config_path")]),
    row(
        "extension_invoked",
        Audit,
        "plugin",
        "extension",
        "extension",
        "info",
        &[
            number("duration_ms"),
            text("extension"),
            text("name"),
            integer("session_generation"),
            text("status"),
            text("surface"),
            text("turn_id"),
            integer("verify_attempt"),
        ],
    )
    .requires(&["extension", "name", "status", "surface"]),
    row(
        "tool_result_offloaded",
        Standard,
        "agent",
        "tool_result",
        "",
        "info",
        &[text("block_id"), integer("original_tokens"), text("ref_id")],
    ),
    row("mcp_server_connected", Standard, "system", "mcp_server", "server_name", "info", MCP).requires(&["server_name"]),
    row("mcp_server_failed", Standard, "system", "mcp_server", "server_name", "error", MCP).requires(&["server_name"]),
    row("user_input_received", Standard, "agent", "user_input", "session_id", "info", &[integer("input_len"), text("session_id")]),
    row("tool_exec_started", HighVolume, "agent", "tool_call", "tool_call_id", "info", STARTED),
    row("tool_exec_ended", HighVolume, "agent", "tool_call", "tool_call_id", "info", COMPLETED).requires(&[
        "duration_ms",
        "has_error",
        "tool_name",
    ]),
    row("tool_exec_failed", Transient, "agent", "tool_call", "tool_call_id", "error", FAILED).stands_for("tool_exec_ended"),
    row("tool_result_transform", Transient, "agent", "tool_result", "tool_name", "info", &[boolean("has_error"), text("tool_name")])
        .stands_for("tool_exec_ended"),
    row("cost_warning", Audit, "agent", "cost", "", "warn", COST).requires(&["limit_usd", "total_cost_usd"]),
    row("cost_limit_exceeded", Audit, "agent", "cost", "", "error", COST).requires(&["limit_usd", "total_cost_usd"]),
    row("execution_cancelled", Audit, "orchestrator", "execution", "session_id", "warn", &[text("reason"), text("session_id")]),
    row(
        "reasoning_metrics",
        HighVolume,
        "agent",
        "reasoning",
        "",
        "info",
        &[
            number("cost_per_tool_call"),
            number("cost_usd"),
            integer("empty_rounds"),
            integer("output_tokens"),
            boolean("overthinking_detected"),
            number("thinking_ratio"),
            integer("thinking_tokens"),
            integer("tool_calls_total"),
            integer("total_rounds"),
        ],
    ),
    row("cognitive_perceive", HighVolume, "agent", "cognitive", "session_id", "info", COGNITIVE),
    row("cognitive_plan", HighVolume, "agent", "cognitive", "session_id", "info", COGNITIVE),
    row("cognitive_act", HighVolume, "agent", "cognitive", "session_id", "info", COGNITIVE),
    row("cognitive_observe", HighVolume, "agent", "cognitive", "session_id", "info", COGNITIVE),
    row("cognitive_reflect", HighVolume, "agent", "cognitive", "session_id", "info", COGNITIVE),
    row("cognitive_update_memory", HighVolume, "agent", "cognitive", "session_id", "info", COGNITIVE),
    row(
        "self_improving_auto_trigger",
        Standard,
        "system",
        "auto_trigger",
        "trigger_id",
        "info",
        &[text("detail"), text("stage"), text("trigger_id"), number("ts")],
    )
    .requires(&["trigger_id"]),
    row("handoff_triggered", Audit, "orchestrator", "handoff", "session_id", "info", STARTED),
    row("turn_verify_passed", Standard, "agent", "turn_verify", "turn_id", "info", COMPLETED),
    row("turn_verify_failed", Standard, "agent", "turn_verify", "turn_id", "error", FAILED),
    row("mutation_proposed", Audit, "system", "mutation", "mutation_id", "info", MUTATION).requires(&["mutation_id"]),
    row("mutation_applied", Audit, "system", "mutation", "mutation_id", "info", MUTATION).requires(&["mutation_id"]),
    row("mutation_rejected", Audit, "system", "mutation", "mutation_id", "warn", MUTATION).requires(&["mutation_id"]),
    row("mutation_reverted", Audit, "system", "mutation", "mutation_id", "warn", MUTATION).requires(&["mutation_id"]),
    row(
        "baseline_promoted",
        Audit,
        "system",
        "baseline",
        "",
        "info",
        &[text("baseline_path"), text("prior_baseline_path"), text("reason"), text("run_id"), number("ts")],
    )
    .requires(&["baseline_path"]),
    row("program_md_unreadable", Standard, "system", "program_md", "", "warn", &[text("path")]),
    row(
        "memory_promotion_proposed",
        Audit,
        "system",
        "memory_promotion",
        "",
        "info",
        &[text("proposal_path"), texts("session_ids"), text("slug"), integer("source_count"), number("ts")],
    ),
];
