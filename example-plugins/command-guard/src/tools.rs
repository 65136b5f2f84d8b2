//! What a tool call carries: command lines and paths, whatever the tool is called.
//!
//! Separate because agents name tools and arguments differently. Invariant: a tool that is not plainly a reader has every path-like argument looked
//! at, and a key that can hold a command line is read as one for every tool.

use serde_json::{Map, Value};

/// One thing in a tool call that is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A shell command line, with the directory it names for itself.
    Command {
        /// The text.
        text: String,
        /// The tool's own working directory; empty when not given.
        cwd: String,
        /// Whether it is for PowerShell or `cmd`.
        windows: bool,
    },
    /// An argument list that starts a program without a shell.
    Argv(Vec<String>, String),
    /// Program text of a language that the tool does not name.
    Code(String),
    /// A path that may be written.
    Path(String),
    /// A patch that names its files.
    Patch(String),
}

/// Keys that hold a command line for every tool.
const COMMAND_KEYS: &[&str] =
    &["command", "cmd", "commandline", "command_line", "shell_command", "bash_command", "script", "commands", "argv", "shell", "bash"];
/// Keys that hold a command line or program only for tools that run things.
const CODE_KEYS: &[&str] =
    &["code", "input", "chars", "text", "data", "stdin", "keys", "expression", "program", "snippet", "args", "arguments"];
const PATH_KEYS: &[&str] = &[
    "path",
    "file_path",
    "filepath",
    "file",
    "files",
    "filename",
    "file_name",
    "targetfile",
    "target_file",
    "absolutepath",
    "absolute_path",
    "notebook_path",
    "notebookpath",
    "destination",
    "dest",
    "target",
    "new_path",
    "newpath",
    "old_path",
    "oldpath",
    "from",
    "to",
    "uri",
    "paths",
    "relative_path",
    "relativepath",
    "source",
    "output",
    "output_path",
    "folder",
    "dirpath",
    "targetpath",
    "source_path",
    "destination_path",
];
const DIR_KEYS: &[&str] = &["cwd", "working_directory", "workingdirectory", "workdir", "directory", "dir_path"];
/// Words in a tool's name that say it runs something.
const RUNS: &[&str] = &[
    "bash",
    "shell",
    "exec",
    "terminal",
    "run",
    "stdin",
    "python",
    "repl",
    "eval",
    "process",
    "console",
    "powershell",
    "pwsh",
    "code_interpreter",
    "script",
    "js",
    "ssh",
];
/// Words in a tool's name that say it only reads.
const READS: &[&str] =
    &["read", "view", "grep", "glob", "search", "list", "ls", "find", "fetch", "get", "cat", "open", "lookup", "outline"];
const CHANGES: &[&str] =
    &["write", "edit", "create", "delete", "remove", "move", "rename", "patch", "replace", "insert", "update", "append", "save", "set"];

/// Returns the words of a tool's name: `run_shell_command`, `runShellCommand` and `mcp__x__run` alike.
fn name_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let starts = c.is_uppercase() && before.is_lowercase();
        if !c.is_alphanumeric() || starts {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(last) = words.last_mut()
        {
            last.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|w| !w.is_empty());
    words
}

/// What a tool's name says about it.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts about a name, read in many places")]
struct Kind {
    runs: bool,
    reads: bool,
    windows: bool,
    patches: bool,
}

impl Kind {
    fn of(name: &str, arguments: &Value) -> Self {
        let words = name_words(name);
        let lower = name.to_lowercase();
        let changes = words.iter().any(|w| CHANGES.contains(&w.as_str()));
        let verb = arguments.get("command").and_then(Value::as_str);
        Self {
            runs: words.iter().any(|w| RUNS.contains(&w.as_str())) || RUNS.iter().any(|r| r.len() > 3 && lower.contains(r)),
            reads: !changes && words.iter().any(|w| READS.contains(&w.as_str())) || verb == Some("view"),
            windows: lower.contains("powershell") || lower.contains("pwsh") || words.iter().any(|w| w == "cmd"),
            patches: lower.contains("patch"),
        }
    }
}

/// Returns everything in a tool call that is judged.
#[must_use]
pub fn items(name: &str, arguments: &Value) -> Vec<Item> {
    let kind = Kind::of(name, arguments);
    let mut out = Vec::new();
    match arguments {
        Value::Object(map) => object(kind, map, 0, &mut out),
        Value::String(text) if kind.patches => out.push(Item::Patch(text.clone())),
        Value::String(text) if kind.runs => out.push(command(kind, text, "")),
        _ => {}
    }
    out
}

fn command(kind: Kind, text: &str, cwd: &str) -> Item {
    Item::Command { text: text.to_owned(), cwd: cwd.to_owned(), windows: kind.windows }
}

fn object(kind: Kind, map: &Map<String, Value>, depth: usize, out: &mut Vec<Item>) {
    let cwd = map.iter().find(|(k, _)| DIR_KEYS.contains(&k.to_lowercase().as_str())).and_then(|(_, v)| v.as_str()).unwrap_or_default();
    for (key, value) in map {
        let lower = key.to_lowercase();
        let key = lower.as_str();
        if kind.patches && value.is_string() {
            out.extend(value.as_str().map(|text| Item::Patch(text.to_owned())));
        }
        if COMMAND_KEYS.contains(&key) {
            run(kind, map, value, cwd, out);
        } else if kind.runs && CODE_KEYS.contains(&key) && !map.contains_key("command") {
            code(kind, value, cwd, out);
        }
        if PATH_KEYS.contains(&key) && !kind.reads {
            paths(value, out);
        }
        if depth < 4 {
            nested(kind, value, depth, out);
        }
    }
}

fn nested(kind: Kind, value: &Value, depth: usize, out: &mut Vec<Item>) {
    let deeper = depth.saturating_add(1);
    match value {
        Value::Object(inner) => object(kind, inner, deeper, out),
        Value::Array(items) => items.iter().take(256).filter_map(Value::as_object).for_each(|inner| object(kind, inner, deeper, out)),
        Value::String(text) if text.starts_with('{') && text.len() <= crate::bounds::MAX_LENGTH => {
            if let Ok(Value::Object(inner)) = serde_json::from_str(text) {
                object(kind, &inner, deeper, out);
            }
        }
        _ => {}
    }
}

fn run(kind: Kind, map: &Map<String, Value>, value: &Value, cwd: &str, out: &mut Vec<Item>) {
    match value {
        Value::String(text) => {
            let args: Option<Vec<String>> = map.get("args").and_then(Value::as_array).map(|a| strings(a));
            match args {
                Some(args) if !text.contains(' ') => out.push(Item::Argv([vec![text.clone()], args].concat(), cwd.to_owned())),
                _ => out.push(command(kind, text, cwd)),
            }
        }
        Value::Array(items) => {
            let words = strings(items);
            if words.len() > 1 && words.first().is_some_and(|w| w.contains(' ')) {
                out.extend(words.iter().map(|text| command(kind, text, cwd)));
            } else if !words.is_empty() {
                out.push(Item::Argv(words, cwd.to_owned()));
            }
        }
        _ => {}
    }
}

fn code(kind: Kind, value: &Value, cwd: &str, out: &mut Vec<Item>) {
    let texts: Vec<String> = match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => strings(items),
        _ => Vec::new(),
    };
    for text in texts {
        if crate::shell::word::parse(&text).is_some() && crate::bounds::refuse(&text).is_none() || kind.windows {
            out.push(command(kind, &text, cwd));
        }
        out.push(Item::Code(text));
    }
}

fn paths(value: &Value, out: &mut Vec<Item>) {
    match value {
        Value::String(text) if text.len() <= 4096 => {
            let plain = text.strip_prefix("file://").unwrap_or(text);
            out.push(Item::Path(plain.to_owned()));
        }
        Value::Array(items) => items.iter().filter_map(Value::as_str).for_each(|t| out.push(Item::Path(t.to_owned()))),
        _ => {}
    }
}

fn strings(items: &[Value]) -> Vec<String> {
    items.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect()
}

/// Returns whether a field that was cut decides anything: it, or something in it, is a command, a path, or a patch.
#[must_use]
pub fn matters(pointer: &str, name: &str, arguments: &Value) -> bool {
    let kind = Kind::of(name, arguments);
    let Some(rest) = pointer.strip_prefix("/arguments") else { return false };
    let mut keys = rest.split('/').skip(1).map(str::to_lowercase).peekable();
    if keys.peek().is_none() {
        return true;
    }
    keys.any(|key| {
        COMMAND_KEYS.contains(&key.as_str())
            || (kind.runs && CODE_KEYS.contains(&key.as_str()))
            || (!kind.reads && PATH_KEYS.contains(&key.as_str()))
            || kind.patches
    })
}
