//! What people and programs read.
//!
//! Separate because text of plugins is shown here: everything passes the contract's escapes first.

use crate::args::Cli;
use crate::exit::Fail;
use hook_runtime::contract::display;
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Write as _};

/// Says whether to print JSON: asked for, or nobody looks.
pub(crate) fn wants_json(cli: &Cli) -> bool {
    cli.json || !(cli.text || std::io::stdout().is_terminal())
}

/// Prints a line; a reader that went away is no error.
pub(crate) fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", display::lines(text));
}

/// Prints a document, indented.
pub(crate) fn document(value: &Value) {
    let _ = writeln!(std::io::stdout(), "{}", display::json(&format!("{value:#}")));
}

/// Prints bytes as they stand: completions.
pub(crate) fn raw(bytes: &[u8]) {
    let _ = std::io::stdout().write_all(bytes);
}

/// Prints a remark beside the output.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(std::io::stderr(), "geode-hooks: {}", display::lines(text));
}

/// Prints an error: what happened and why, then what to do next.
pub(crate) fn error(fail: &Fail, as_json: bool) {
    let message = fail.error.chain().map(ToString::to_string).collect::<Vec<_>>().join(": ");
    let message = display::plain(&message, 1000);
    if as_json {
        let document = json!({"error": {"code": fail.code, "message": message, "next": fail.hint}});
        let _ = writeln!(std::io::stderr(), "{}", display::json(&format!("{document:#}")));
        return;
    }
    remark(&format!("{message} [{}]", fail.code));
    if let Some(hint) = &fail.hint {
        let _ = writeln!(std::io::stderr(), "  next: {}", display::lines(hint));
    }
}

/// Prints rows in columns as wide as their widest cell.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(head.get(column).map(|cell| cell.len())).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..head.len()).map(width).collect();
    let print = |cells: Vec<&str>| {
        let padded: Vec<_> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        line(padded.join("  ").trim_end());
    };
    print(head.to_vec());
    for row in rows {
        print(row.iter().map(String::as_str).collect());
    }
}

/// Shows a number of bytes for people.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..=9_999 => format!("{count} B"),
        10_000..=9_999_999 => format!("{} KiB", count / 1024),
        _ => format!("{} MiB", count / (1024 * 1024)),
    }
}
