//! One record for every call of a plugin.
//!
//! Separate because it must be there whatever happens to the call. Invariant: a record is opened before the call and writes itself when it is
//! dropped, so traps, deadlines, cancellations and panics are in it; it never holds a payload, an argument, a result or a decision's reason.

use crate::row::{AuditRow, Status};
use crate::store::Writer;
use hook_contract::hook::Hook;
use hook_contract::{Correlation, FailureKind};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

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
