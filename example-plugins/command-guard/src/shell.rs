//! From shell text to commands whose words are known as far as the text tells.
//!
//! Separate from the rules because bash, not danger, is the subject here. Invariant: what the text does not tell becomes [`UNKNOWN`] or
//! [`REMOTE`] inside a word, and what cannot be parsed becomes a finding; neither is ever dropped.
//!
//! | file | what it does |
//! |---|---|
//! | `word.rs` | splits one word into its pieces, following the parser's segments |
//! | `expand.rs` | turns pieces into arguments with what is known about variables |
//! | `env.rs` | variables, directories, functions, aliases |
//! | `walk.rs` | follows the syntax tree |
//! | `simple.rs` | one simple command: assignments, redirections, the call |
//! | `wrappers.rs` | programs that run other programs |

pub mod env;
pub mod expand;
pub mod simple;
pub mod walk;
pub mod word;
pub mod wrappers;

/// Stands for text that is not known.
pub const UNKNOWN: char = '\u{FFFC}';
/// Stands for text that was downloaded or decoded.
pub const REMOTE: char = '\u{FFFB}';

/// The longest output that is followed, in bytes.
const MAX_TEXT: usize = 32 * 1024;

/// One argument after expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arg {
    /// The text; unknown parts are [`UNKNOWN`] or [`REMOTE`].
    pub text: String,
    /// Whether any part was quoted.
    pub quoted: bool,
}

impl Arg {
    /// Returns a plain argument.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), quoted: false }
    }

    /// Returns whether a part of it is unknown.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.text.contains([UNKNOWN, REMOTE])
    }
}

/// What flows through a pipe or into a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Feed {
    /// Nothing that matters.
    None,
    /// Known text.
    Text(String),
    /// Text from the network, or decoded from something unreadable.
    Remote,
    /// Text that is not known.
    Unknown,
}

impl Feed {
    /// Returns the text a substitution of this output has.
    #[must_use]
    pub fn as_value(&self) -> String {
        match self {
            Self::Text(text) => text.trim_end_matches('\n').to_owned(),
            Self::Remote => REMOTE.to_string(),
            Self::None | Self::Unknown => UNKNOWN.to_string(),
        }
    }

    /// Returns the output of two commands that write one after the other.
    #[must_use]
    pub fn and(self, next: Self) -> Self {
        match (self, next) {
            (Self::Remote, _) | (_, Self::Remote) => Self::Remote,
            (Self::None, other) | (other, Self::None) => other,
            (Self::Text(a), Self::Text(b)) if a.len().saturating_add(b.len()) <= MAX_TEXT => Self::Text(a + &b),
            _ => Self::Unknown,
        }
    }
}
