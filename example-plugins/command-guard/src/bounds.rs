//! Refuses text that the parser should not see: too long, or too deeply nested.
//!
//! Separate because it runs before the parser and must stay far cheaper. Invariant: one pass and little memory. It does not know quotes, so
//! hostile text can look flatter than it is; the parser's own limit of depth and the host's fuel and stack stand behind it.

/// The longest command text that is parsed, in bytes. The host shows a plugin about half of that.
pub const MAX_LENGTH: usize = 8 * 1024;
/// The deepest nesting of brackets that is parsed.
pub const MAX_BRACKETS: usize = 20;
/// The deepest nesting of substitutions: the parser reads each level again for every level around it.
pub const MAX_NESTED: usize = 8;
/// The deepest nesting of compound commands that is parsed.
pub const MAX_KEYWORDS: usize = 30;
/// The most substitutions that are parsed.
pub const MAX_SUBSTITUTIONS: usize = 100;
/// The most commands: a list is as deep in the parser's tree as it is long.
pub const MAX_COMMANDS: usize = 600;
/// The most expansions of any kind.
pub const MAX_EXPANSIONS: usize = 400;

const OPENERS: &[&str] = &["if", "while", "until", "for", "case", "select", "!", "time", "coproc", "function", "elif"];
const CLOSERS: &[&str] = &["fi", "done", "esac"];
const INNER: &[&str] = &["then", "do", "else"];
/// Signs that make one more level of an arithmetic expression.
const ARITHMETIC: &[char] = &['+', '-', '*', '/', '%', '<', '>', '=', '?', ':', ',', '^'];

/// Returns why `text` must not reach the parser, or nothing.
#[must_use]
pub fn refuse(text: &str) -> Option<&'static str> {
    if text.len() > MAX_LENGTH {
        return Some("is longer than this guard parses");
    }
    if text.contains('\0') {
        return Some("holds a zero byte");
    }
    let mut depth = Depth { at_command: true, arithmetic: text.contains("((") || text.contains("$["), ..Depth::default() };
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars() {
        if c.is_alphanumeric() || matches!(c, '!' | '_' | '-' | '.' | '/') {
            if word.len() < 16 {
                word.push(c);
            }
        } else {
            depth.word(&word);
            word.clear();
            depth.mark(c, before);
        }
        before = c;
        if depth.too_deep() {
            return Some("is nested deeper, or has more parts, than this guard parses");
        }
    }
    None
}

#[derive(Default)]
struct Depth {
    brackets: usize,
    /// For each bracket that opened a substitution, how many were open before.
    nested: Vec<usize>,
    keywords: usize,
    substitutions: usize,
    commands: usize,
    expansions: usize,
    at_command: bool,
    arithmetic: bool,
}

impl Depth {
    fn word(&mut self, word: &str) {
        if word.is_empty() {
            return;
        }
        if self.at_command && OPENERS.contains(&word) {
            self.keywords = self.keywords.saturating_add(1);
        } else if self.at_command && CLOSERS.contains(&word) {
            self.keywords = self.keywords.saturating_sub(1);
        } else {
            self.at_command = INNER.contains(&word);
        }
    }

    fn mark(&mut self, c: char, before: char) {
        match c {
            '(' | '{' | '[' => {
                if matches!(before, '$' | '<' | '>') {
                    self.substitutions = self.substitutions.saturating_add(1);
                    self.nested.push(self.brackets);
                }
                self.brackets = self.brackets.saturating_add(1);
                self.at_command = true;
            }
            ')' | '}' | ']' => {
                self.brackets = self.brackets.saturating_sub(1);
                if self.nested.last().is_some_and(|open| *open >= self.brackets) {
                    self.nested.pop();
                }
                self.at_command = true;
            }
            '`' => {
                self.substitutions = self.substitutions.saturating_add(1);
                self.at_command = true;
            }
            ';' | '\n' | '&' | '|' => {
                self.commands = self.commands.saturating_add(1);
                self.at_command = true;
            }
            ' ' | '\t' => {}
            c if self.arithmetic && ARITHMETIC.contains(&c) => self.commands = self.commands.saturating_add(1),
            '$' => {
                self.expansions = self.expansions.saturating_add(1);
                self.at_command = false;
            }
            _ => self.at_command = false,
        }
    }

    const fn too_deep(&self) -> bool {
        self.brackets > MAX_BRACKETS
            || self.nested.len() > MAX_NESTED
            || self.keywords > MAX_KEYWORDS
            || self.substitutions > MAX_SUBSTITUTIONS
            || self.commands > MAX_COMMANDS
            || self.expansions > MAX_EXPANSIONS
    }
}
