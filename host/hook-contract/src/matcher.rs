//! `match.tool`: which tool calls a plugin is woken for.
//!
//! Separate because it is decided before any guest runs. Invariant: what cannot be decided matches, since a matcher only decides whether to
//! ask. Grammar and argument fields: spec aimon 6.3. `term ("|" term)*`; a term is a tool name, or a tool name and a glob for its argument in
//! parentheses; `*` is any run of characters, all else literal, whole and case-sensitive.

use crate::command::{Piece, Undecidable, commands};
use crate::display::plain;
use crate::hook::Object;
use serde_json::Value;
use std::cell::LazyCell;

/// A parsed matcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matcher {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    name: String,
    argument: Option<String>,
}

/// The most bytes of a matcher's text.
const MAX_BYTES: usize = 4096;

/// The tools whose arguments a matcher can look at, with the fields that it looks at.
const ARGUMENT_FIELDS: [(&str, &[&str]); 9] = [
    ("Bash", &["command"]),
    ("Read", &["file_path"]),
    ("Edit", &["file_path"]),
    ("Write", &["file_path"]),
    ("MultiEdit", &["file_path"]),
    ("Glob", &["pattern", "path"]),
    ("Grep", &["path", "pattern"]),
    ("LS", &["path"]),
    ("NotebookEdit", &["notebook_path"]),
];

/// Why a matcher was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMatcher {
    /// The text is longer than 4,096 bytes.
    #[error("it is longer than {MAX_BYTES} bytes")]
    TooLong,
    /// A `|` with nothing beside it.
    #[error("a term is empty: expected tool names separated by `|`")]
    EmptyTerm,
    /// Parentheses that do not close, or close too early.
    #[error("the parentheses of `{0}` do not match")]
    Parentheses(String),
    /// No tool name.
    #[error("`{0}` is no tool name: expected letters, digits, `_`, `-`, `.` and `*`; there are no regular expressions")]
    Name(String),
    /// An MCP server with other characters.
    #[error("the server in `{0}` has other characters than `a-z`, `0-9` and `-`: write `mcp__*` for every server")]
    McpServer(String),
    /// Parentheses with nothing in them.
    #[error("the pattern of `{0}` is empty")]
    EmptyPattern(String),
    /// A pattern for a tool whose arguments are not known.
    #[error("`{0}` takes no pattern: only Bash, Read, Edit, Write, MultiEdit, Glob, Grep, LS and NotebookEdit do")]
    NoArguments(String),
}

impl Matcher {
    /// Reads a matcher; blank text matches everything.
    ///
    /// # Errors
    /// [`InvalidMatcher`] where a term is no tool name, or its pattern is none.
    pub fn parse(text: &str) -> Result<Self, InvalidMatcher> {
        if text.len() > MAX_BYTES {
            return Err(InvalidMatcher::TooLong);
        }
        if text.trim().is_empty() {
            return Ok(Self { terms: Vec::new() });
        }
        let terms = split_terms(text)?.into_iter().map(Term::parse).collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }

    /// Returns what is probably not meant: a name with `.*`, which is no regular expression here.
    pub fn doubt(&self) -> Option<String> {
        let term = self.terms.iter().find(|term| term.name.contains(".*"))?;
        Some(format!("`{}` is no regular expression: `*` alone is any run of characters", plain(&term.name, 80)))
    }

    /// Says whether a call wakes the plugin; without the arguments a pattern cannot be decided.
    pub fn matches(&self, tool_name: &str, arguments: Option<&Object>) -> bool {
        let command = arguments.and_then(|arguments| arguments.get("command")).and_then(Value::as_str);
        // Split once, and only where a term asks.
        let commands = LazyCell::new(|| commands(command.unwrap_or_default()));
        self.terms.is_empty() || self.terms.iter().any(|term| term.matches(tool_name, arguments, &commands))
    }
}

impl std::fmt::Display for Matcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let term = |term: &Term| term.argument.as_ref().map_or(term.name.clone(), |argument| format!("{}({argument})", term.name));
        f.write_str(&self.terms.iter().map(term).collect::<Vec<_>>().join("|"))
    }
}

/// The commands of a call, split when they are asked for.
type Commands<'a, F> = LazyCell<Result<Vec<Piece<'a>>, Undecidable>, F>;

impl Term {
    fn parse(text: &str) -> Result<Self, InvalidMatcher> {
        let text = text.trim();
        let shown = || plain(text, 80);
        let (name, argument) = match text.split_once('(') {
            Some((name, rest)) => (name, Some(rest.strip_suffix(')').ok_or_else(|| InvalidMatcher::Parentheses(shown()))?)),
            None => (text, None),
        };
        if text.is_empty() {
            return Err(InvalidMatcher::EmptyTerm);
        }
        let legal = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '*');
        if name.is_empty() || !name.chars().all(legal) {
            return Err(InvalidMatcher::Name(shown()));
        }
        let server = name.strip_prefix("mcp__").map(|rest| rest.split_once("__").map_or(rest, |(server, _)| server));
        let of_server = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || matches!(character, '-' | '*');
        if server.is_some_and(|server| !server.chars().all(of_server)) {
            return Err(InvalidMatcher::McpServer(shown()));
        }
        if argument.is_some_and(|pattern| pattern.trim().is_empty()) {
            return Err(InvalidMatcher::EmptyPattern(plain(name, 80)));
        }
        if argument.is_some() && fields_of(name).is_none() {
            return Err(InvalidMatcher::NoArguments(plain(name, 80)));
        }
        Ok(Self { name: name.to_owned(), argument: argument.map(str::to_owned) })
    }

    fn matches<'a, F>(&self, tool_name: &str, arguments: Option<&Object>, commands: &Commands<'a, F>) -> bool
    where
        F: FnOnce() -> Result<Vec<Piece<'a>>, Undecidable>,
    {
        let Some((pattern, arguments)) = self.argument.as_deref().zip(arguments).filter(|_| glob(&self.name, tool_name)) else {
            return glob(&self.name, tool_name);
        };
        let fields = fields_of(tool_name).unwrap_or_default();
        fields.iter().any(|field| match arguments.get(*field) {
            None | Some(Value::Null) => false,
            Some(Value::String(_)) if tool_name == "Bash" => matches_command(pattern, commands),
            Some(Value::String(text)) => glob(pattern, text),
            Some(_) => true,
        })
    }
}

fn fields_of(tool_name: &str) -> Option<&'static [&'static str]> {
    ARGUMENT_FIELDS.iter().find(|(tool, _)| *tool == tool_name).map(|(_, fields)| *fields)
}

/// Splits at `|` outside parentheses.
fn split_terms(text: &str) -> Result<Vec<&str>, InvalidMatcher> {
    let unbalanced = || InvalidMatcher::Parentheses(plain(text, 80));
    let mut depth = 0_usize;
    let mut terms = Vec::new();
    let mut start = 0;
    for (offset, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or_else(unbalanced)?,
            '|' if depth == 0 => {
                terms.push(text.get(start..offset).unwrap_or_default());
                start = offset + 1;
            }
            _ => {}
        }
    }
    terms.push(text.get(start..).unwrap_or_default());
    if depth == 0 { Ok(terms) } else { Err(unbalanced()) }
}

/// Holds a pattern against each command; where a shell may read the words that the pattern begins with otherwise, it cannot be decided.
fn matches_command<'a, F>(pattern: &str, commands: &Commands<'a, F>) -> bool
where
    F: FnOnce() -> Result<Vec<Piece<'a>>, Undecidable>,
{
    let literal = pattern.split('*').next().unwrap_or_default();
    let words = literal.split_ascii_whitespace().count();
    let Ok(commands) = &**commands else { return true };
    commands.iter().any(|command| {
        let blanks_apart = || command.text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        command.is_veiled(words) || glob(pattern, command.text) || glob(pattern, &blanks_apart())
    })
}

/// Matches `*` as any run of characters, all else literally; linear in the text for each star.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_cannot_be_decided_matches() {
        let matches = |pattern: &str, tool: &str, arguments: Value| Matcher::parse(pattern).unwrap().matches(tool, arguments.as_object());
        assert!(matches("Bash(git *)", "Bash", Value::Null), "no arguments are known");
        assert!(matches("Bash(git *)", "Bash", json!({"command": ["git"]})), "no text");
        assert!(!matches("Bash(git *)", "Bash", json!({"command": null})));
        assert!(!matches("Bash(a|b)", "Bash", json!({"command": "a"})), "a bar in parentheses is a character");
        assert!(matches("Bash(git push*)", "Bash", json!({"command": "git  push\t-f"})), "blanks are blanks");
        assert!(matches("Bash(git push*)", "Bash", json!({"command": "git pu\"sh\""})), "a word may be quoted");
        assert!(!matches("Bash(git push*)", "Bash", json!({"command": "git commit -m \"push\""})));
        assert!(matches("mcp__*__delete", "mcp__db__delete", json!({})));
        assert!(!matches("mcp__*__delete", "mcp__db__read", json!({})));
    }

    #[test]
    fn what_is_no_matcher_says_why() {
        let cases = [
            ("Bash(", "parentheses"),
            ("Bash)", "parentheses"),
            ("Bash(x)y", "parentheses"),
            ("a b", "no regular expressions"),
            ("|", "empty"),
            ("mcp__my_server__x", "mcp__*"),
            ("Bash( )", "empty"),
            ("Fetch(x)", "takes no pattern"),
        ];
        for (text, expected) in cases {
            let error = Matcher::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(Matcher::parse("Read.*").unwrap().doubt().is_some());
    }
}
