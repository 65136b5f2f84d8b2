//! What the guard answers: pass, ask a person, or block.
//!
//! Separate because every rule makes findings and only one place may weigh them. Invariant: the strictest finding wins.

/// How strictly a finding is answered. The order is the order of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A person decides.
    Ask,
    /// The call does not run.
    Block,
}

/// One thing that a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How strictly it is answered.
    pub level: Level,
    /// The part of the command that it is about, as a person reads it.
    pub part: String,
    /// What was found, as the end of the sentence "`part` ...".
    pub what: String,
    /// What would be fine instead; may be empty.
    pub instead: &'static str,
}

/// The answer for one tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing was found.
    Pass,
    /// The call does not run; the text says why.
    Block(String),
    /// A person decides; the text says why.
    Ask(String),
}

/// The longest part of a command that a reason repeats, in characters.
const SHOWN: usize = 120;

impl Verdict {
    /// Returns the verdict of the strictest finding, and names how many others there are.
    #[must_use]
    pub fn of(findings: &[Finding], ask_instead_of_block: bool) -> Self {
        let Some(first) = findings.iter().max_by(|a, b| a.level.cmp(&b.level).then(std::cmp::Ordering::Greater)) else {
            return Self::Pass;
        };
        let mut reason = format!("`{}` {}.", shorten(&first.part), first.what);
        if !first.instead.is_empty() {
            reason.push_str(" Instead: ");
            reason.push_str(first.instead);
            reason.push('.');
        }
        match findings.iter().filter(|f| *f != first).count() {
            0 => {}
            1 => reason.push_str(" One more part of this call was found too."),
            n => reason = format!("{reason} {n} more parts of this call were found too."),
        }
        match first.level {
            Level::Block if !ask_instead_of_block => Self::Block(reason),
            Level::Block | Level::Ask => Self::Ask(reason),
        }
    }
}

/// Returns one line of at most [`SHOWN`] characters, with unknown parts written as `…`.
#[must_use]
pub fn shorten(text: &str) -> String {
    let flat: String = text
        .chars()
        .take(SHOWN)
        .map(|c| match c {
            crate::shell::UNKNOWN | crate::shell::REMOTE => '…',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect();
    if text.chars().nth(SHOWN).is_some() { format!("{flat}…") } else { flat }
}
