//! One record for every call of a plugin.
//!
//! Separate because it must be there whatever happens to the call. Invariant: a record is opened before the call and writes itself when it is
//! dropped, so traps, deadlines, cancellations and panics are in it; it never holds a payload, an argument, a result or a decision's reason.

use crate::store::Writer;
use hook_contract::hook::Hook;
use hook_contract::{Correlation, FailureKind};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

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

/// A record that is not written yet.
#[derive(Debug)]
pub(crate) struct OpenRecord {
    row: Option<AuditRow>,
    start: Instant,
    writer: Arc<Writer>,
}

impl OpenRecord {
    /// Opens the record of a call; until it says otherwise, the call was cancelled.
    pub(crate) fn open(
        writer: &Arc<Writer>,
        hook: Hook,
        plugin: &Arc<str>,
        project: &Arc<str>,
        correlation: &Arc<Correlation>,
        digest: &Arc<str>,
    ) -> Self {
        let row = AuditRow {
            occurred_at: SystemTime::now(),
            hook,
            plugin: Arc::clone(plugin),
            project: Arc::clone(project),
            correlation: Arc::clone(correlation),
            digest: Arc::clone(digest),
            status: Status::Error,
            failure: Some(FailureKind::Cancelled),
            action: "",
            applied: false,
            ignored: String::new(),
            queue_time: Duration::ZERO,
            duration: None,
            guest_time: Duration::ZERO,
            fuel: None,
            memory: 0,
        };
        Self { row: Some(row), start: Instant::now(), writer: Arc::clone(writer) }
    }

    /// Changes what will be written.
    pub(crate) fn note(&mut self, change: impl FnOnce(&mut AuditRow)) {
        if let Some(row) = &mut self.row {
            change(row);
        }
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        if let Some(mut row) = self.row.take() {
            row.duration.get_or_insert(self.start.elapsed());
            self.writer.write(row);
        }
    }
}
