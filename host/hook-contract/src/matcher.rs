//! `match.tool`: which tool calls a plugin is woken for.
//!
//! Separate because it is decided before any guest runs. Invariant: what cannot be decided matches, since a matcher only decides whether to
//! ask. Grammar: `term ("|" term)*`, a term is a tool name with `*`, or a tool name and a glob in parentheses; of the latter only the name is
//! decided here.

/// A parsed matcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matcher {
    names: Vec<String>,
}

/// The most bytes of a matcher's text.
const MAX_BYTES: usize = 4096;

/// Why a matcher was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected tool names separated by `|`, each with an optional glob in parentheses")]
pub struct InvalidMatcher;

impl Matcher {
    /// Reads a matcher; blank text matches everything.
    ///
    /// # Errors
    /// [`InvalidMatcher`] where a term is no tool name, or parentheses do not close.
    pub fn parse(text: &str) -> Result<Self, InvalidMatcher> {
        if text.len() > MAX_BYTES {
            return Err(InvalidMatcher);
        }
        let names = split_terms(text)?.into_iter().map(term_name).collect::<Result<_, _>>()?;
        Ok(Self { names })
    }

    /// Says whether a call of that tool wakes the plugin.
    pub fn matches(&self, tool_name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| glob(name, tool_name))
    }
}

/// Splits at `|` outside parentheses.
fn split_terms(text: &str) -> Result<Vec<&str>, InvalidMatcher> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut depth = 0_usize;
    let mut terms = Vec::new();
    let mut start = 0;
    for (offset, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or(InvalidMatcher)?,
            '|' if depth == 0 => {
                terms.push(text.get(start..offset).unwrap_or_default());
                start = offset + 1;
            }
            _ => {}
        }
    }
    terms.push(text.get(start..).unwrap_or_default());
    if depth == 0 { Ok(terms) } else { Err(InvalidMatcher) }
}

fn term_name(term: &str) -> Result<String, InvalidMatcher> {
    let term = term.trim();
    let name = match term.split_once('(') {
        Some((name, rest)) if rest.ends_with(')') => name,
        Some(_) => return Err(InvalidMatcher),
        None => term,
    };
    let legal = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '*');
    if name.is_empty() || !name.chars().all(legal) {
        return Err(InvalidMatcher);
    }
    Ok(name.to_owned())
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

    #[test]
    fn terms_match_by_name() {
        let cases = [
            ("Bash(git *)|Write", "Bash", true),
            ("Bash(git *)|Write", "Write", true),
            ("Bash(git *)|Write", "Read", false),
            ("mcp__*__delete", "mcp__db__delete", true),
            ("mcp__*__delete", "mcp__db__read", false),
            ("*", "anything", true),
            ("", "anything", true),
            ("Bash(a|b)", "Bash", true),
            ("Bash", "bash", false),
        ];
        for (pattern, tool, expected) in cases {
            assert_eq!(Matcher::parse(pattern).unwrap().matches(tool), expected, "{pattern} {tool}");
        }
        for wrong in ["Bash(", "Bash)", "a b", "|", "Bash(x)y"] {
            assert_eq!(Matcher::parse(wrong), Err(InvalidMatcher), "{wrong}");
        }
    }
}
