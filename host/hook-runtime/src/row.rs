//! Turns the rows of calls and of events into the columns of `hook_events`.
//!
//! Separate because what is stored is decided here, and when and how in `store`. Table, columns and bounds: spec 6.1; the columns after
//! `payload_hash` are ours. Invariant: nothing of a call's content is in a row.

use hook_contract::activity::{Activity, MAX_ID_CHARS, RowStatus, cut};
use hook_contract::hook::{Action, Hook};
use hook_contract::{Correlation, FailureKind, canonical};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A decision was applied, or there was none.
    Ok,
    /// The plugin failed.
    Error,
    /// It decided block.
    Block,
    /// It decided deny.
    Deny,
}

impl Status {
    /// Returns the word that is stored.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Block => "block",
            Self::Deny => "deny",
        }
    }

    /// Returns the status of a decision's action.
    pub(crate) fn of(action: Action) -> Self {
        match action {
            Action::Block => Self::Block,
            Action::Deny => Self::Deny,
            _ => Self::Ok,
        }
    }
}

/// What is stored of one call.
#[derive(Clone, Debug)]
pub(crate) struct AuditRow {
    pub(crate) occurred_at: SystemTime,
    pub(crate) hook: Hook,
    pub(crate) plugin: Arc<str>,
    pub(crate) project: Arc<str>,
    pub(crate) correlation: Arc<Correlation>,
    /// BLAKE3 of the component, as hex; empty where none was loaded.
    pub(crate) digest: Arc<str>,
    pub(crate) status: Status,
    pub(crate) failure: Option<FailureKind>,
    /// The action's word; empty where nothing was decided.
    pub(crate) action: &'static str,
    /// Whether the decision was applied.
    pub(crate) applied: bool,
    /// What the reply asked for and did not get, separated by commas.
    pub(crate) ignored: String,
    /// From the event's arrival until this call began: the plugins before it.
    pub(crate) queue_time: Duration,
    /// Of the whole call; where it is not set, until the record is dropped.
    pub(crate) duration: Option<Duration>,
    pub(crate) guest_time: Duration,
    pub(crate) fuel: Option<u64>,
    pub(crate) memory: usize,
}

/// What is stored of an event that was emitted.
#[derive(Debug)]
pub(crate) struct EventRow {
    pub(crate) occurred_at: SystemTime,
    pub(crate) project: Arc<str>,
    pub(crate) correlation: Correlation,
    pub(crate) activity: Activity,
    /// How many observers were told.
    pub(crate) observers: usize,
    /// Those of them that failed.
    pub(crate) failed: Vec<Arc<str>>,
    /// The time that telling them took.
    pub(crate) duration: Duration,
}

/// A row that waits to be written.
#[derive(Debug)]
pub(crate) enum Row {
    /// A plugin was called.
    Call(Box<AuditRow>),
    /// An event was emitted.
    Event(Box<EventRow>),
}

/// The columns with their definitions, in the order of the table.
pub(crate) const COLUMNS: [(&str, &str); 38] = [
    ("id", "INTEGER PRIMARY KEY AUTOINCREMENT"),
    ("schema_version", "INTEGER NOT NULL"),
    ("occurred_at", "REAL NOT NULL"),
    ("session_key", "TEXT NOT NULL"),
    ("run_id", "TEXT NOT NULL"),
    ("session_id", "TEXT NOT NULL DEFAULT ''"),
    ("turn_id", "TEXT NOT NULL DEFAULT ''"),
    ("tool_call_id", "TEXT NOT NULL DEFAULT ''"),
    ("llm_call_id", "TEXT NOT NULL DEFAULT ''"),
    ("llm_attempt_id", "TEXT NOT NULL DEFAULT ''"),
    ("event", "TEXT NOT NULL"),
    ("dispatch_mode", "TEXT NOT NULL"),
    ("status", "TEXT NOT NULL"),
    ("retention_class", "TEXT NOT NULL"),
    ("handler_count", "INTEGER NOT NULL DEFAULT 0"),
    ("handler_error_count", "INTEGER NOT NULL DEFAULT 0"),
    ("blocked", "INTEGER NOT NULL DEFAULT 0"),
    ("block_reason", "TEXT NOT NULL DEFAULT ''"),
    ("actor_type", "TEXT NOT NULL"),
    ("actor_id", "TEXT NOT NULL"),
    ("action", "TEXT NOT NULL"),
    ("entity_type", "TEXT NOT NULL"),
    ("entity_id", "TEXT NOT NULL"),
    ("task_id", "TEXT"),
    ("level", "TEXT NOT NULL"),
    ("payload_json", "TEXT NOT NULL"),
    ("payload_hash", "TEXT NOT NULL"),
    ("step_id", "TEXT NOT NULL DEFAULT ''"),
    ("project", "TEXT NOT NULL DEFAULT ''"),
    ("component_digest", "TEXT NOT NULL DEFAULT ''"),
    ("failure_code", "TEXT NOT NULL DEFAULT ''"),
    ("decision", "TEXT NOT NULL DEFAULT ''"),
    ("applied", "INTEGER NOT NULL DEFAULT 0"),
    ("ignored", "TEXT NOT NULL DEFAULT ''"),
    ("fuel", "INTEGER"),
    ("guest_us", "INTEGER"),
    ("memory_bytes", "INTEGER"),
    ("queue_us", "INTEGER"),
];

static INSERT: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<_> = COLUMNS.iter().skip(1).map(|(name, _)| *name).collect();
    let places: Vec<_> = (1..=names.len()).map(|index| format!("?{index}")).collect();
    format!("INSERT INTO hook_events ({}) VALUES ({})", names.join(", "), places.join(", "))
});

/// What differs between the kinds of rows.
struct Columns<'a> {
    occurred_at: SystemTime,
    project: &'a str,
    correlation: &'a Correlation,
    event: &'a str,
    action: String,
    status: &'a str,
    retention: &'a str,
    observers: usize,
    failed_observers: usize,
    actor_type: &'a str,
    actor_id: String,
    entity_type: &'a str,
    entity_id: String,
    task_id: Option<&'a str>,
    level: &'a str,
    payload: Value,
    call: Option<&'a AuditRow>,
}

/// Writes a row.
pub(crate) fn insert(connection: &Connection, row: &Row) -> rusqlite::Result<()> {
    let columns = match row {
        Row::Call(row) => of_call(row),
        Row::Event(row) => of_event(row),
    };
    let mut statement = connection.prepare_cached(&INSERT)?;
    let Columns { correlation, call, .. } = &columns;
    let id = |text: &str| cut(text, MAX_ID_CHARS);
    let text = canonical::canonical(&columns.payload);
    statement.execute(params![
        3,
        seconds(columns.occurred_at),
        id(&correlation.session_id),
        id(&correlation.run_id),
        id(&correlation.session_id),
        id(&correlation.turn_id),
        id(&correlation.tool_call_id),
        id(&correlation.llm_call_id),
        id(&correlation.llm_attempt_id),
        columns.event,
        "observe",
        columns.status,
        columns.retention,
        saturating(columns.observers as u64),
        saturating(columns.failed_observers as u64),
        0,
        "",
        columns.actor_type,
        columns.actor_id,
        columns.action,
        columns.entity_type,
        columns.entity_id,
        columns.task_id,
        columns.level,
        text,
        canonical::sha256_hex_of(&text),
        id(&correlation.step_id),
        columns.project,
        call.map_or("", |call| &call.digest),
        call.and_then(|call| call.failure).map_or("", FailureKind::code),
        call.map_or("", |call| call.action),
        call.is_some_and(|call| call.applied),
        call.map_or("", |call| &call.ignored),
        call.and_then(|call| call.fuel).map(saturating),
        call.map(|call| micros(call.guest_time)),
        call.map(|call| saturating(call.memory as u64)),
        call.map(|call| micros(call.queue_time)),
    ])?;
    Ok(())
}

fn of_call(row: &AuditRow) -> Columns<'_> {
    let plugin = cut(&row.plugin, MAX_ID_CHARS);
    let session = cut(&row.correlation.session_id, MAX_ID_CHARS);
    Columns {
        occurred_at: row.occurred_at,
        project: &row.project,
        correlation: &row.correlation,
        event: "extension_invoked",
        action: "extension.invoked".to_owned(),
        status: "ok",
        retention: "audit",
        observers: 0,
        failed_observers: 0,
        actor_type: "plugin",
        actor_id: if session.is_empty() { plugin.clone() } else { session },
        entity_type: "extension",
        entity_id: plugin,
        task_id: None,
        level: "info",
        payload: payload(row),
        call: Some(row),
    }
}

fn of_event(row: &EventRow) -> Columns<'_> {
    let EventRow { activity, failed, .. } = row;
    let event = activity.event;
    let mut payload = activity.payload.clone();
    payload.insert("_dispatch_duration_ms".to_owned(), millis(row.duration).into());
    if !failed.is_empty() {
        payload.insert("_failed_handlers".to_owned(), failed.iter().take(32).map(|name| Value::from(&**name)).collect());
    }
    let status = if activity.status == RowStatus::Ok && !failed.is_empty() { RowStatus::HandlerError } else { activity.status };
    Columns {
        occurred_at: row.occurred_at,
        project: &row.project,
        correlation: &row.correlation,
        event: event.name,
        action: event.action(),
        status: status.word(),
        retention: event.retention.word(),
        observers: row.observers,
        failed_observers: failed.len(),
        actor_type: event.actor_type,
        actor_id: activity.actor_id.clone(),
        entity_type: event.entity_type,
        entity_id: activity.entity_id.clone(),
        task_id: activity.task_id.as_deref(),
        level: event.level,
        payload: Value::Object(payload),
        call: None,
    }
}

/// The stored payload of an extension row: identifiers, status and time, nothing of the call's content (spec 6.1).
fn payload(row: &AuditRow) -> Value {
    let correlation = &row.correlation;
    let id = |text: &str| cut(text, MAX_ID_CHARS);
    let millis = millis(row.duration.unwrap_or_default());
    json!({
        "surface": "hook",
        "name": row.hook.name(),
        "extension": id(&row.plugin),
        "status": row.status.word(),
        "duration_ms": millis,
        "_dispatch_duration_ms": millis,
        "session_id": id(&correlation.session_id),
        "turn_id": id(&correlation.turn_id),
        "step_id": id(&correlation.step_id),
        "tool_call_id": id(&correlation.tool_call_id),
        "llm_call_id": id(&correlation.llm_call_id),
        "llm_attempt_id": id(&correlation.llm_attempt_id),
        "session_generation": correlation.session_generation,
        "verify_attempt": correlation.verify_attempt,
    })
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn saturating(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Seconds since the Unix epoch.
pub(crate) fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Milliseconds with three decimals.
fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1_000_000.0).round() / 1000.0
}
