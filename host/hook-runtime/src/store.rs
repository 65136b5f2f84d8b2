//! The activity store: SQLite, written by one thread.
//!
//! Separate because callers must never wait for the disk. Invariant: a row that was accepted is written before `flush` returns `Ok`, or waits to be
//! written, or is counted as lost; the file is its owner's alone. Table, columns and bounds: spec 6.1; the columns after `payload_hash` are ours.

use crate::directories::create_private;
use crate::row::{AuditRow, COLUMNS, EventRow, Row, insert, seconds};
use hook_contract::event::Retention;
use rusqlite::{Connection, OpenFlags, params};
use serde_json::Value;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// Why the store could not be used.
#[derive(Debug, thiserror::Error)]
#[error("the activity store `{path}` cannot be used: {problem}")]
pub struct StoreError {
    path: PathBuf,
    problem: String,
}

/// The most rows in all.
const MAX_ROWS: i64 = 100_000;
/// After how many writes old rows are removed, and how many rows one transaction takes.
const PRUNE_EVERY: usize = 256;
const BATCH: usize = 4096;
/// How long rows gather before they are written together: callers then do not wake the thread for each.
const GATHER: Duration = Duration::from_millis(20);
/// How long rows that could not be written wait for the next try, and how many may wait.
const RETRY: Duration = Duration::from_secs(1);
const MAX_BACKLOG: usize = 65_536;

enum Message {
    Row(Row),
    Flush(Sender<Result<(), String>>),
    Stop,
}

/// The queue to the writing thread. It has no bound: a row is small, and neither waiting nor losing one is allowed.
pub(crate) struct Writer {
    path: PathBuf,
    queue: Option<Sender<Message>>,
    /// Set while somebody waits: then rows do not gather.
    urgent: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Writer {
    /// Opens the store and starts its thread.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = open_for_writing(path)?;
        let (queue, messages) = channel();
        let urgent = Arc::new(AtomicBool::new(false));
        let waits = Arc::clone(&urgent);
        let thread = std::thread::Builder::new().name("geode-store".into()).spawn(move || write_all(connection, &messages, &waits));
        let thread = thread.map_err(|error| StoreError { path: path.to_owned(), problem: error.to_string() })?;
        Ok(Self { path: path.to_owned(), queue: Some(queue), urgent, thread: Mutex::new(Some(thread)) })
    }

    /// Returns a writer that keeps nothing: for embedders that have a store of their own, and benchmarks.
    pub(crate) fn none() -> Self {
        Self { path: PathBuf::new(), queue: None, urgent: Arc::default(), thread: Mutex::new(None) }
    }

    /// Hands the row of a call to the thread.
    pub(crate) fn write(&self, row: AuditRow) {
        self.hand_over(Row::Call(Box::new(row)));
    }

    /// Hands the row of an event to the thread.
    pub(crate) fn write_event(&self, row: EventRow) {
        self.hand_over(Row::Event(Box::new(row)));
    }

    fn hand_over(&self, row: Row) {
        if let Some(queue) = &self.queue {
            // The thread ends only when this queue does.
            let _ = queue.send(Message::Row(row));
        }
    }

    /// Waits until every row handed over so far is on disk.
    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        let Some(queue) = &self.queue else { return Ok(()) };
        let (done, wait) = channel();
        let _ = queue.send(Message::Flush(done));
        self.hurry();
        let written = wait.recv().unwrap_or_else(|_| Err("its thread has ended".to_owned()));
        written.map_err(|problem| StoreError { path: self.path.clone(), problem })
    }
}

impl Writer {
    /// Ends the gathering.
    fn hurry(&self) {
        self.urgent.store(true, Ordering::Release);
        if let Ok(thread) = self.thread.lock()
            && let Some(thread) = thread.as_ref()
        {
            thread.thread().unpark();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            let _ = queue.send(Message::Stop);
            self.hurry();
        }
        if let Some(thread) = self.thread.lock().ok().and_then(|mut thread| thread.take()) {
            let _ = thread.join();
        }
    }
}

const INDEXES: [(&str, &str); 9] = [
    ("session", "session_key, occurred_at DESC"),
    ("run", "run_id, occurred_at"),
    ("turn", "session_id, turn_id, occurred_at"),
    ("tool_call", "tool_call_id, occurred_at) WHERE (tool_call_id <> ''"),
    ("llm_call", "llm_call_id, llm_attempt_id, occurred_at) WHERE (llm_call_id <> ''"),
    ("event", "event, occurred_at DESC"),
    ("action", "action, occurred_at DESC"),
    ("retention", "retention_class, occurred_at"),
    ("project", "project, id DESC"),
];

fn open_for_writing(path: &Path) -> Result<Connection, StoreError> {
    let fail = |problem: String| StoreError { path: path.to_owned(), problem };
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        create_private(directory).map_err(|error| fail(error.to_string()))?;
    }
    // SQLite would make the file with the process's mask; the log and shared-memory files beside it take over its mode.
    let created = std::fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
    created.map_err(|error| fail(error.to_string()))?;
    prepare(path).map_err(|error| fail(error.to_string()))
}

fn prepare(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let columns: Vec<_> = COLUMNS.iter().map(|(name, definition)| format!("{name} {definition}")).collect();
    transaction.execute_batch(&format!("CREATE TABLE IF NOT EXISTS hook_events ({})", columns.join(", ")))?;
    add_missing_columns(&transaction)?;
    for (name, columns) in INDEXES {
        transaction.execute_batch(&format!("CREATE INDEX IF NOT EXISTS hook_events_{name} ON hook_events ({columns})"))?;
    }
    transaction.commit()?;
    Ok(connection)
}

/// A store of an older version gets the columns it lacks; nothing of it is changed.
fn add_missing_columns(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info('hook_events')")?;
    let present: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for (name, definition) in COLUMNS.iter().filter(|(name, _)| !present.iter().any(|column| column == name)) {
        connection.execute_batch(&format!("ALTER TABLE hook_events ADD COLUMN {name} {definition}"))?;
    }
    Ok(())
}

/// The writing thread: takes what is queued, in batches, until it is told to stop.
fn write_all(mut connection: Connection, messages: &Receiver<Message>, urgent: &AtomicBool) {
    let mut backlog = Backlog { rows: Vec::new(), lost: 0, since_prune: PRUNE_EVERY };
    loop {
        let first = if backlog.rows.is_empty() {
            messages.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            messages.recv_timeout(RETRY)
        };
        if matches!(first, Err(RecvTimeoutError::Disconnected)) {
            return;
        }
        if first.is_ok() && !urgent.swap(false, Ordering::Acquire) {
            std::thread::park_timeout(GATHER);
        }
        let (mut waiting, mut stop) = (Vec::new(), false);
        for message in first.into_iter().chain(messages.try_iter().take(BATCH)) {
            match message {
                Message::Row(row) => backlog.rows.push(row),
                Message::Flush(done) => waiting.push(done),
                Message::Stop => stop = true,
            }
        }
        let written = backlog.write(&mut connection);
        for done in waiting {
            let _ = done.send(written.clone());
        }
        if stop {
            return;
        }
    }
}

/// Rows that are not written yet: those of this batch, and those that could not be.
struct Backlog {
    rows: Vec<Row>,
    lost: usize,
    since_prune: usize,
}

impl Backlog {
    /// Writes every row, or keeps them for the next time; past [`MAX_BACKLOG`] the oldest are lost, and counted.
    fn write(&mut self, connection: &mut Connection) -> Result<(), String> {
        let prune = self.since_prune + self.rows.len() >= PRUNE_EVERY && !self.rows.is_empty();
        match write_batch(connection, &self.rows, prune) {
            Ok(()) => {
                self.since_prune = if prune { 0 } else { self.since_prune + self.rows.len() };
                self.rows.clear();
                if self.lost == 0 {
                    Ok(())
                } else {
                    Err(format!("{} audit rows were lost while it could not be written", std::mem::take(&mut self.lost)))
                }
            }
            Err(error) => {
                let beyond = self.rows.len().saturating_sub(MAX_BACKLOG);
                self.rows.drain(..beyond);
                self.lost += beyond;
                tracing::error!(%error, waiting = self.rows.len(), lost = self.lost, "audit rows not written");
                Err(error.to_string())
            }
        }
    }
}

fn write_batch(connection: &mut Connection, rows: &[Row], prune: bool) -> rusqlite::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    for row in rows {
        insert(&transaction, row)?;
    }
    if prune {
        remove_old(&transaction)?;
    }
    transaction.commit()
}

fn remove_old(connection: &Connection) -> rusqlite::Result<()> {
    for class in Retention::ALL {
        let oldest = seconds(SystemTime::now()) - Duration::from_hours(class.days() * 24).as_secs_f64();
        connection.execute("DELETE FROM hook_events WHERE retention_class = ?1 AND occurred_at < ?2", params![class.word(), oldest])?;
    }
    let newest: Option<i64> = connection.query_row("SELECT max(id) FROM hook_events", [], |row| row.get(0))?;
    connection.execute("DELETE FROM hook_events WHERE id <= ?1", [newest.unwrap_or(0) - MAX_ROWS])?;
    Ok(())
}

/// Which rows to read.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    /// The canonical path of a project; `None` means every project.
    pub project: Option<String>,
    /// The name of a plugin.
    pub plugin: Option<String>,
    /// Only calls that blocked or denied.
    pub blocked: bool,
    /// The most rows.
    pub limit: u32,
}

/// One stored call.
#[derive(Clone, Debug)]
pub struct LogRow {
    /// Seconds since the Unix epoch.
    pub occurred_at: f64,
    /// The hook's name.
    pub hook: String,
    /// The plugin's name.
    pub plugin: String,
    /// `ok`, `error`, `block` or `deny`.
    pub status: String,
    /// The decided action; empty where there was none.
    pub decision: String,
    /// The failure's stable code; empty where there was none.
    pub failure_code: String,
    /// Whether the decision was applied.
    pub applied: bool,
    /// What the reply asked for and did not get.
    pub ignored: String,
    /// Milliseconds of the whole call.
    pub duration_ms: f64,
    /// Fuel used, where it is known.
    pub fuel: Option<i64>,
    /// Microseconds of guest time.
    pub guest_us: Option<i64>,
    /// The most bytes of memory.
    pub memory_bytes: Option<i64>,
    /// BLAKE3 of the component, as hex.
    pub component_digest: String,
    /// The canonical path of the project.
    pub project: String,
    /// The session.
    pub session_id: String,
    /// The tool call.
    pub tool_call_id: String,
}

/// Reads rows, newest first. A store that does not exist has none.
///
/// # Errors
/// [`StoreError`] where the file is no store, or cannot be read.
pub fn read_log(path: &Path, filter: &LogFilter) -> Result<Vec<LogRow>, StoreError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    query(path, filter).map_err(|error| StoreError { path: path.to_owned(), problem: error.to_string() })
}

fn query(path: &Path, filter: &LogFilter) -> rusqlite::Result<Vec<LogRow>> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    let mut statement = connection.prepare(
        "SELECT occurred_at, payload_json, decision, failure_code, applied, ignored, fuel, guest_us, memory_bytes, component_digest, project,
                session_id, tool_call_id
         FROM hook_events
         WHERE event = 'extension_invoked'
           AND (?1 IS NULL OR project = ?1)
           AND (?2 IS NULL OR entity_id = ?2)
           AND (NOT ?3 OR json_extract(payload_json, '$.status') IN ('block', 'deny'))
         ORDER BY id DESC LIMIT ?4",
    )?;
    let rows = statement.query_map(params![filter.project, filter.plugin, filter.blocked, filter.limit], |row| {
        let payload: Value = serde_json::from_str(&row.get::<_, String>(1)?).unwrap_or_default();
        let text = |name: &str| payload.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(LogRow {
            occurred_at: row.get(0)?,
            hook: text("name"),
            plugin: text("extension"),
            status: text("status"),
            decision: row.get(2)?,
            failure_code: row.get(3)?,
            applied: row.get(4)?,
            ignored: row.get(5)?,
            duration_ms: payload.get("duration_ms").and_then(Value::as_f64).unwrap_or_default(),
            fuel: row.get(6)?,
            guest_us: row.get(7)?,
            memory_bytes: row.get(8)?,
            component_digest: row.get(9)?,
            project: row.get(10)?,
            session_id: row.get(11)?,
            tool_call_id: row.get(12)?,
        })
    })?;
    rows.collect()
}
