//! Turns the pieces of a word into arguments.
//!
//! Separate from splitting because it needs the shell's state and runs substitutions through the walk. Invariant: every substitution in a word is
//! judged, whatever becomes of its value.

use rable::Node;

use super::env::Env;
use super::walk::Walker;
use super::word::{self, Piece};
use super::{Arg, Feed, REMOTE, UNKNOWN};
use crate::verdict::Level;

/// The most words that braces make of one.
const MAX_BRACES: usize = 64;

impl Walker<'_> {
    /// Returns the arguments that a word becomes.
    pub(crate) fn fields(&mut self, node: &Node, env: &Env) -> Vec<Arg> {
        if self.is_exhausted() {
            return Vec::new();
        }
        let variants = braces(word::pieces(node)).unwrap_or_else(|| vec![vec![Piece::Text { text: UNKNOWN.to_string(), quoted: false }]]);
        if variants.len() > 1 {
            self.weigh(variants.len().saturating_mul(16));
        }
        let mut out = Vec::new();
        for variant in variants {
            self.split(&variant, env, &mut out);
        }
        out
    }

    /// Returns a word's text without splitting, as in assignments and redirections.
    pub(crate) fn joined(&mut self, node: &Node, env: &Env) -> String {
        let mut text = String::new();
        for piece in word::pieces(node) {
            text.push_str(&self.value(&piece, env).0);
        }
        text
    }

    fn split(&mut self, pieces: &[Piece], env: &Env, out: &mut Vec<Arg>) {
        let mut current: Option<Arg> = None;
        let separators = env.lookup("IFS", self.place);
        for piece in pieces {
            let (value, splits) = self.value(piece, env);
            let quoted = matches!(piece, Piece::Text { quoted: true, .. } | Piece::Param { quoted: true, .. });
            if !splits {
                let arg = current.get_or_insert_default();
                arg.text.push_str(&value);
                arg.quoted |= quoted;
                continue;
            }
            let mut first = true;
            for part in value.split(|c: char| c.is_whitespace() || separators.contains(c)) {
                if !first {
                    out.extend(current.take());
                }
                first = false;
                if !part.is_empty() {
                    current.get_or_insert_default().text.push_str(part);
                }
            }
        }
        out.extend(current);
    }

    /// Returns a piece's text, and whether it is split at spaces.
    fn value(&mut self, piece: &Piece, env: &Env) -> (String, bool) {
        match piece {
            Piece::Text { text, .. } | Piece::Brace(text) => (text.clone(), false),
            Piece::Param { name, op, arg, quoted } => (self.parameter(name, op, arg, env), !quoted || name == "@"),
            Piece::Unknown(text) => {
                self.embedded(text, env);
                (UNKNOWN.to_string(), false)
            }
            Piece::Script { text, sink: true, .. } => {
                self.sinks.push(text.clone());
                ("/dev/fd/63".to_owned(), false)
            }
            Piece::Script { text, file, .. } => {
                let feed = self.text(text, &mut env.clone(), &Feed::None);
                if *file { (self.keep(feed), false) } else { (feed.as_value(), true) }
            }
            Piece::Opaque(text) => {
                self.find(Level::Ask, text, "holds an expansion that this guard cannot take apart", "write it as separate commands");
                (UNKNOWN.to_string(), false)
            }
        }
    }

    /// Remembers what a process substitution yields, under the name of a file.
    fn keep(&mut self, feed: Feed) -> String {
        let name = format!("/dev/fd/{}", self.kept.len().saturating_add(100));
        let name = if feed == Feed::Remote { format!("{name}{REMOTE}") } else { name };
        self.kept.insert(name.clone(), feed);
        name
    }

    fn parameter(&mut self, name: &str, op: &str, arg: &str, env: &Env) -> String {
        self.embedded(arg, env);
        if name.contains('[') {
            self.embedded(name, env);
            return UNKNOWN.to_string();
        }
        let value = env.lookup(name, self.place);
        match op {
            "" | ":-" | "-" | ":=" | "=" | ":?" | "?" if !value.is_empty() => value,
            "" | "-" | "=" | "?" => value,
            _ => UNKNOWN.to_string(),
        }
    }

    /// Judges the substitutions inside text that is not a word.
    pub(crate) fn embedded(&mut self, text: &str, env: &Env) {
        if !text.contains(['`', '(']) {
            return;
        }
        match word::embedded(text) {
            Some(scripts) => {
                for script in scripts {
                    self.text(&script, &mut env.clone(), &Feed::None);
                }
            }
            None => self.find(Level::Ask, text, "holds a substitution whose end this guard cannot find", "write it as separate commands"),
        }
    }

    /// Returns a here-document's text with the variables that are known.
    pub(crate) fn heredoc(&mut self, content: &str, env: &Env) -> String {
        self.embedded(content, env);
        let mut out = String::new();
        let mut chars = content.chars().peekable();
        while let Some(c) = chars.next() {
            match (c, chars.peek().copied()) {
                ('\\', Some(next @ ('$' | '`' | '\\'))) => {
                    out.push(next);
                    chars.next();
                }
                ('$', Some(next)) if next == '{' || next == '_' || next.is_alphanumeric() => {
                    let braced = next == '{';
                    if braced {
                        chars.next();
                    }
                    let mut name = String::new();
                    while let Some(n) = chars.next_if(|n| n.is_alphanumeric() || *n == '_') {
                        name.push(n);
                    }
                    let plain = !braced || chars.next_if_eq(&'}').is_some();
                    out.push_str(&if plain { env.lookup(&name, self.place) } else { UNKNOWN.to_string() });
                }
                _ => out.push(c),
            }
        }
        out
    }
}

/// Multiplies out the braces of a word; nothing when there are too many.
fn braces(pieces: Vec<Piece>) -> Option<Vec<Vec<Piece>>> {
    let mut words: Vec<Vec<Piece>> = vec![Vec::new()];
    for piece in pieces {
        let choices = match &piece {
            Piece::Brace(text) => alternatives(text)?,
            _ => vec![vec![piece]],
        };
        if words.len().saturating_mul(choices.len()) > MAX_BRACES {
            return None;
        }
        words = words.iter().flat_map(|word| choices.iter().map(move |choice| word.iter().chain(choice).cloned().collect())).collect();
    }
    Some(words)
}

fn alternatives(text: &str) -> Option<Vec<Vec<Piece>>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let parts = commas(inner);
    if parts.len() == 1 {
        return range(inner);
    }
    let mut out = Vec::new();
    for part in parts {
        out.extend(braces(word::pieces_of_text(&part))?);
        if out.len() > MAX_BRACES {
            return None;
        }
    }
    Some(out)
}

/// Splits at the commas outside quotes and inner braces.
fn commas(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_usize;
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for c in text.chars() {
        if c == ',' && depth == 0 && quote.is_none() && !escaped {
            parts.push(String::new());
            continue;
        }
        match (c, quote) {
            _ if escaped => {}
            ('{' | '(', None) => depth = depth.saturating_add(1),
            ('}' | ')', None) => depth = depth.saturating_sub(1),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            _ => {}
        }
        escaped = c == '\\' && !escaped && quote != Some('\'');
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts
}

fn range(inner: &str) -> Option<Vec<Vec<Piece>>> {
    let (from, to) = inner.split_once("..")?;
    let text = |text: String| vec![Piece::Text { text, quoted: false }];
    if let (Ok(from), Ok(to)) = (from.parse::<i32>(), to.parse::<i32>()) {
        let (low, high) = (from.min(to), from.max(to));
        return (high.saturating_sub(low) < 64).then(|| (low..=high).map(|n| text(n.to_string())).collect());
    }
    let mut letters = (from.chars(), to.chars());
    match (letters.0.next(), letters.0.next(), letters.1.next(), letters.1.next()) {
        (Some(from), None, Some(to), None) if from.is_ascii() && to.is_ascii() => {
            let (low, high) = (from.min(to), from.max(to));
            Some((low..=high).take(MAX_BRACES).map(|c| text(c.to_string())).collect())
        }
        _ => None,
    }
}
