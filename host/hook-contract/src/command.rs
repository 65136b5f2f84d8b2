//! Splits a shell command into the simple commands that it may run: what a matcher's `Bash(glob)` is held against.
//!
//! Separate because it reads text that a model wrote. Invariant: it only over-approximates, its work is bounded, and what goes over a bound is
//! undecidable, not absent. Rules: spec aimon 6.3; a single `&`, brackets, and the words before a command are ours.

/// The most bytes of a command, the deepest nesting, and the most steps of one reading.
const MAX_BYTES: usize = 65_536;
const MAX_DEPTH: usize = 64;
const MAX_STEPS: usize = 16 * MAX_BYTES;
/// How many words before a command are looked past.
const MAX_WORDS: usize = 8;

/// Something went over a bound.
struct Undecidable;

/// Returns the commands that a shell may run for this text, trimmed; `None` where that cannot be decided.
pub(crate) fn commands(text: &str) -> Option<Vec<&str>> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut pieces = read(text, false)?;
    // A quote in a comment or a here-document would hide what follows it.
    if ["#", "<<", "$'"].iter().any(|mark| text.contains(mark)) {
        pieces.extend(read(text, true)?);
    }
    Some(pieces.into_iter().flat_map(past_prefixes).collect())
}

fn read(text: &str, aware: bool) -> Option<Vec<&str>> {
    let mut splitter = Splitter { text, aware, steps: 0, pieces: Vec::new(), unpaired: false, here_documents: Vec::new() };
    splitter.run(0, Closer::End, 0).ok()?;
    if splitter.unpaired {
        splitter.pieces.push(text);
    }
    Some(splitter.pieces)
}

/// What ends the text that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closer {
    End,
    Bracket,
    Backtick,
    DoubleQuote,
}

/// One reading of a command.
struct Splitter<'a> {
    text: &'a str,
    /// Whether comments, here-documents and `$'...'` are read as such.
    aware: bool,
    steps: usize,
    pieces: Vec<&'a str>,
    /// Whether an opener had no closer, and was read as a character.
    unpaired: bool,
    /// The words that end the here-documents of this line.
    here_documents: Vec<&'a str>,
}

impl<'a> Splitter<'a> {
    /// Reads from `start` to the closer; returns the place after it, or `None` where it never comes.
    fn run(&mut self, start: usize, closer: Closer, depth: usize) -> Result<Option<usize>, Undecidable> {
        let earlier = self.pieces.len();
        let quoted = closer == Closer::DoubleQuote;
        let (mut piece, mut at) = (start, start);
        loop {
            self.steps += 1;
            if self.steps > MAX_STEPS || depth > MAX_DEPTH {
                return Err(Undecidable);
            }
            let Some(byte) = self.byte(at) else {
                if closer == Closer::End {
                    self.push(piece, at);
                    return Ok(Some(at));
                }
                self.pieces.truncate(earlier);
                return Ok(None);
            };
            if closes(closer, byte) {
                self.push(piece, at);
                return Ok(Some(at + 1));
            }
            at = match byte {
                b'\\' => at + 2,
                b'\'' if !quoted => self.opaque(at, at + 1, false),
                b'$' if self.aware && !quoted && self.byte(at + 1) == Some(b'\'') => self.opaque(at, at + 2, true),
                b'"' => self.nested(at, 1, Closer::DoubleQuote, depth)?,
                b'`' => self.nested(at, 1, Closer::Backtick, depth)?,
                b'$' if self.byte(at + 1) == Some(b'(') => self.nested(at, 2, Closer::Bracket, depth)?,
                b'(' if !quoted => self.nested(at, 1, Closer::Bracket, depth)?,
                b'#' if self.aware && !quoted && self.begins_word(at) => self.end_of_line(at),
                b'<' if self.aware && !quoted && self.rest(at).starts_with("<<") => self.here_document(at),
                b';' | b'\n' | b'|' | b'&' | b')' if self.separates(at, byte, quoted) => {
                    self.push(piece, at);
                    let next = if byte == b'\n' { self.skip_here_documents(at + 1) } else { at + 1 };
                    piece = next;
                    next
                }
                _ => at + 1,
            };
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn rest(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    fn push(&mut self, from: usize, to: usize) {
        let piece = self.text.get(from..to).unwrap_or_default().trim();
        if !piece.is_empty() {
            self.pieces.push(piece);
        }
    }

    /// Reads what is inside an opener of that length; one without a closer is a character.
    fn nested(&mut self, at: usize, length: usize, closer: Closer, depth: usize) -> Result<usize, Undecidable> {
        let end = self.run(at + length, closer, depth + 1)?;
        self.unpaired |= end.is_none();
        Ok(end.unwrap_or(at + length))
    }

    /// Skips single-quoted text; a quote without its partner is a character.
    fn opaque(&mut self, at: usize, start: usize, escapes: bool) -> usize {
        let mut escaped = false;
        for (offset, byte) in self.rest(start).bytes().enumerate() {
            self.steps += 1;
            match byte {
                b'\'' if !escaped => return start + offset + 1,
                b'\\' if escapes => escaped = !escaped,
                _ => escaped = false,
            }
        }
        self.unpaired = true;
        at + 1
    }

    /// Says whether a byte ends a simple command here: `2>&1` and `&>file` do not, and quoted brackets do not.
    fn separates(&self, at: usize, byte: u8, quoted: bool) -> bool {
        match byte {
            b')' => !quoted,
            b'&' => {
                let redirects = |byte| matches!(byte, Some(b'<' | b'>'));
                !redirects(at.checked_sub(1).and_then(|before| self.byte(before))) && self.byte(at + 1) != Some(b'>')
            }
            _ => true,
        }
    }

    fn begins_word(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.byte(before));
        before.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b';' | b'&' | b'|' | b'('))
    }

    fn end_of_line(&mut self, at: usize) -> usize {
        let end = self.rest(at).find('\n').map_or(self.text.len(), |offset| at + offset);
        self.steps += end - at;
        end
    }

    /// Notes the word that ends a here-document; returns the place after it.
    fn here_document(&mut self, at: usize) -> usize {
        let after = self.rest(at + 2);
        if after.starts_with('<') {
            return at + 3;
        }
        let word = after.trim_start_matches('-').trim_start_matches([' ', '\t']);
        let start = self.text.len() - word.len();
        let length = word.find(|character: char| character.is_whitespace() || ";|&()<>".contains(character)).unwrap_or(word.len());
        let name = word.get(..length).unwrap_or_default().trim_matches(['"', '\'', '\\']);
        if !name.is_empty() {
            self.here_documents.push(name);
        }
        start + length
    }

    /// Skips the bodies of the here-documents that were begun on the line before.
    fn skip_here_documents(&mut self, mut at: usize) -> usize {
        for word in std::mem::take(&mut self.here_documents) {
            loop {
                let end = self.end_of_line(at);
                let line = self.text.get(at..end).unwrap_or_default();
                at = (end + 1).min(self.text.len());
                if line.trim_start_matches('\t') == word || end == self.text.len() {
                    break;
                }
            }
        }
        at
    }
}

fn closes(closer: Closer, byte: u8) -> bool {
    match closer {
        Closer::End => false,
        Closer::Bracket => byte == b')',
        Closer::Backtick => byte == b'`',
        Closer::DoubleQuote => byte == b'"',
    }
}

/// Returns a command as it stands, and without the words that may stand before the real one: `then rm x`, `FOO=1 rm x`, `sudo -u root rm x`.
fn past_prefixes(command: &str) -> Vec<&str> {
    let mut found = vec![command];
    let mut rest = command;
    let mut after_wrapper = false;
    for _ in 0..MAX_WORDS {
        let Some((word, after)) = rest.split_once([' ', '\t']) else { break };
        let prefix = is_assignment(word) || RESERVED.contains(&word);
        after_wrapper |= WRAPPERS.contains(&word);
        if !prefix && !after_wrapper {
            break;
        }
        rest = after.trim_start();
        found.push(rest);
    }
    found
}

const RESERVED: [&str; 9] = ["if", "then", "elif", "else", "while", "until", "do", "{", "!"];
/// Programs that run their arguments: behind one, each word may be the command.
const WRAPPERS: [&str; 12] = ["sudo", "doas", "env", "command", "builtin", "exec", "nohup", "nice", "time", "timeout", "xargs", "coproc"];

fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_may_run_is_found() {
        let runs_rm = [
            "rm -rf x",
            "ls; rm -rf x",
            "ls\nrm -rf x",
            "a | rm -rf x",
            "sleep 1 & rm -rf x",
            "echo $(rm -rf x)",
            "echo `rm -rf x`",
            "echo \"$(rm -rf x)\"",
            "echo \"a `rm -rf x`\"",
            "(rm -rf x)",
            "{ rm -rf x; }",
            "case a in a) rm -rf x;; esac",
            "if true; then rm -rf x; fi",
            "FOO=1 BAR=2 rm -rf x",
            "sudo -u root rm -rf x",
            "cat <(rm -rf x)",
            "echo \"it's\"; rm -rf x",
            "echo it\\'s; rm -rf x",
            "echo hi # it's\nrm -rf x",
            "cat <<E\nit's\nE\nrm -rf x",
            "cat <<-'E'; rm -rf x\nit's\n\tE\n",
            "echo $'it\\'s'; rm -rf x",
            "echo 2>&1 && rm -rf x",
            "echo \"unpaired; rm -rf x",
            "echo 'unpaired; rm -rf x",
        ];
        for text in runs_rm {
            let found = commands(text).unwrap();
            assert!(found.iter().any(|command| command.starts_with("rm -rf x")), "{text:?}: {found:?}");
        }
        for text in ["echo 'rm -rf x'", "echo '; rm -rf x'", "echo \\; rm -rf x", "git push 2>&1", "echo $'; rm -rf x'"] {
            let found = commands(text).unwrap();
            assert!(!found.iter().any(|command| command.starts_with("rm")), "{text:?}: {found:?}");
        }
        assert_eq!(commands("git push 2>&1").unwrap(), ["git push 2>&1"]);
    }

    #[test]
    fn over_a_bound_is_undecidable() {
        assert!(commands(&"a".repeat(MAX_BYTES)).is_some());
        assert!(commands(&"a".repeat(MAX_BYTES + 1)).is_none());
        assert!(commands(&format!("{}{}", "$(".repeat(65), ")".repeat(65))).is_none());
        assert!(commands(&"\"$(".repeat(60)).is_none(), "each opener without a closer doubles the reading");
        assert!(commands(&format!("{}'{}'", "\"$(".repeat(30), "a".repeat(60_000))).is_none(), "what is skipped counts");
    }
}
