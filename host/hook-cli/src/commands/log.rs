//! `log`: what plugins did.

use super::places;
use crate::args::{Cli, LogArgs};
use crate::exit::{Exit, Fail};
use crate::render;
use hook_runtime::{FailureKind, HostError, LogFilter, LogRow, read_log};
use serde_json::{Value, json};
use time::OffsetDateTime;

pub(crate) fn run(cli: &Cli, args: &LogArgs) -> Result<Exit, Fail> {
    let (directories, project) = places(cli)?;
    let path = args.db.clone().unwrap_or_else(|| directories.store());
    let filter = LogFilter {
        project: (!args.all_projects).then(|| project.to_string_lossy().into_owned()),
        plugin: args.plugin.clone(),
        blocked: args.last_block,
        limit: if args.last_block { 1 } else { args.limit },
    };
    let rows = read_log(&path, &filter).map_err(|error| Fail::from(HostError::from(error)))?;
    if render::wants_json(cli) {
        render::document(&rows.iter().map(document).collect());
    } else if args.last_block {
        explain(rows.first());
    } else {
        show(&rows);
    }
    Ok(Exit::Ok)
}

fn when(row: &LogRow) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "whole seconds are enough to show")]
    let time = OffsetDateTime::from_unix_timestamp(row.occurred_at as i64).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    format!("{}-{:02}-{:02} {:02}:{:02}:{:02}Z", time.year(), u8::from(time.month()), time.day(), time.hour(), time.minute(), time.second())
}

fn document(row: &LogRow) -> Value {
    json!({
        "occurred_at": row.occurred_at,
        "hook": row.hook,
        "plugin": row.plugin,
        "status": row.status,
        "decision": row.decision,
        "applied": row.applied,
        "ignored": row.ignored,
        "code": row.failure_code,
        "duration_ms": row.duration_ms,
        "fuel": row.fuel,
        "guest_us": row.guest_us,
        "memory_bytes": row.memory_bytes,
        "component": row.component_digest,
        "project": row.project,
        "session_id": row.session_id,
        "tool_call_id": row.tool_call_id,
        "next": hint(row),
    })
}

fn hint(row: &LogRow) -> Option<String> {
    FailureKind::from_code(&row.failure_code).map(|kind| kind.hint(&row.plugin))
}

fn show(rows: &[LogRow]) {
    if rows.is_empty() {
        render::line("no calls yet in this project; `--all-projects` shows every one");
        return;
    }
    let number = |number: Option<i64>| number.map_or("-".to_owned(), |number| number.to_string());
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let cells = |row: &LogRow| {
        vec![
            when(row),
            row.hook.clone(),
            row.plugin.clone(),
            row.status.clone(),
            decision(row),
            format!("{:.3}", row.duration_ms),
            number(row.fuel),
            row.memory_bytes.map_or("-".to_owned(), |bytes| render::bytes(u64::try_from(bytes).unwrap_or(0))),
            or_dash(&row.failure_code),
        ]
    };
    let rows: Vec<_> = rows.iter().map(cells).collect();
    render::table(&["WHEN", "HOOK", "PLUGIN", "STATUS", "DECISION", "MS", "FUEL", "MEMORY", "CODE"], &rows);
}

fn decision(row: &LogRow) -> String {
    match (row.decision.as_str(), row.applied) {
        ("", _) => "-".to_owned(),
        (decision, true) => decision.to_owned(),
        // In monitor mode.
        (decision, false) => format!("would {decision}"),
    }
}

/// Answers "why was I blocked".
fn explain(row: Option<&LogRow>) {
    let Some(row) = row else {
        render::line("nothing was blocked in this project; `--all-projects` looks at every one");
        return;
    };
    render::line(&format!("{}  `{}` answered {} at {}", when(row), row.plugin, row.status, row.hook));
    let of = [("session", &row.session_id), ("tool call", &row.tool_call_id), ("component", &row.component_digest)];
    of.iter().filter(|(_, text)| !text.is_empty()).for_each(|(what, text)| render::line(&format!("  {what}: {text}")));
    if let Some(kind) = FailureKind::from_code(&row.failure_code) {
        render::line(&format!("  It did not judge: it failed, and it fails closed. {} [{}]", kind.summary().trim(), kind.code()));
        render::line(&format!("  next: {}", kind.hint(&row.plugin)));
    } else {
        render::line("  It judged the call itself. Its reason went to the agent and is not stored, since it may quote private text;");
        render::line("  to see it, send the same payload through `geode-hooks invoke`.");
    }
}
