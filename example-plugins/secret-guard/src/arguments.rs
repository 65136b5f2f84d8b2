//! Where a tool's arguments name files and commands.
//!
//! Tools name their arguments as they like, so every string counts: as a command under the names that mean one, as text under the names
//! that mean text, and as a path under every other name.

use serde_json::Value;

use crate::{
    files::{Found, Policy},
    shell,
};

/// Names of arguments that hold commands, folded by [`fold`].
const COMMANDS: &[&str] = &["command", "commands", "cmd", "commandline", "script", "argv", "args", "shell", "shellcommand"];

/// Names of arguments that hold text about anything, which may mention files.
const TEXTS: &[&str] = &[
    "content",
    "contents",
    "filetext",
    "text",
    "oldstring",
    "newstring",
    "oldstr",
    "newstr",
    "newsource",
    "inserttext",
    "description",
    "prompt",
    "message",
    "messages",
    "body",
    "title",
    "query",
    "question",
    "questions",
    "reason",
    "explanation",
    "thought",
    "summary",
    "todos",
    "pattern",
    "regex",
    "replacement",
    "instruction",
    "instructions",
];

/// Lines of a patch that name the file it changes.
const PATCH_HEADERS: &[&str] = &[
    "*** Add File: ",
    "*** Update File: ",
    "*** Delete File: ",
    "*** Move to: ",
    "--- ",
    "+++ ",
    "rename from ",
    "rename to ",
    "copy from ",
];

const PATCH_MARKS: &[&str] = &["*** Begin Patch", "*** Update File: ", "*** Add File: ", "diff --git ", "\n+++ "];

/// The first secret file that the arguments name.
pub(crate) fn secret_file(arguments: &Value, policy: &Policy) -> Option<Found> {
    let mut open = vec![("", arguments)];
    while let Some((name, value)) = open.pop() {
        let found = match value {
            Value::String(text) => in_string(name, text, policy),
            Value::Array(items) if is_command(name) => in_words(items, policy),
            Value::Array(items) => {
                open.extend(items.iter().map(|item| (name, item)));
                None
            }
            Value::Object(fields) => {
                open.extend(fields.iter().map(|(name, value)| (name.as_str(), value)));
                fields.keys().find_map(|name| policy.check(name))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Whether a JSON pointer ends in an argument that holds text, so that it does not matter where it was cut.
pub(crate) fn is_text_field(pointer: &str) -> bool {
    pointer.split('/').skip(2).any(|name| TEXTS.contains(&fold(name).as_str()))
}

fn in_string(name: &str, text: &str, policy: &Policy) -> Option<Found> {
    if TEXTS.contains(&fold(name).as_str()) {
        return None;
    }
    if let Some(found) = in_patch(text, policy) {
        return Some(found);
    }
    let is_patch = text.trim_start().starts_with("*** Begin Patch");
    if is_command(name) && !is_patch { shell::secret_file(text, policy) } else { policy.check(text) }
}

fn in_patch(text: &str, policy: &Policy) -> Option<Found> {
    if !PATCH_MARKS.iter().any(|mark| text.contains(mark)) {
        return None;
    }
    let named = |line: &str| {
        let path = PATCH_HEADERS.iter().find_map(|header| line.trim_start().strip_prefix(header))?;
        policy.check(path.split('\t').next().unwrap_or(path))
    };
    text.lines().find_map(named)
}

/// A command as a list of words: nothing to split, but `["bash", "-lc", "..."]` holds a whole command.
fn in_words(items: &[Value], policy: &Policy) -> Option<Found> {
    let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
    let script = words.iter().skip_while(|word| !shell::is_script_option(word)).nth(1);
    match script {
        Some(script) if words.first().is_some_and(|program| shell::is_shell(program)) => shell::secret_file(script, policy),
        _ => shell::secret_file_in_words(&words, policy),
    }
}

fn is_command(name: &str) -> bool {
    COMMANDS.contains(&fold(name).as_str())
}

/// One spelling for `filePath`, `file_path` and `file-path`.
fn fold(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|character| character.to_ascii_lowercase()).collect()
}
