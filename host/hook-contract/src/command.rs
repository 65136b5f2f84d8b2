//! Splits a shell command into the simple commands that it may run: what a matcher's `Bash(glob)` is held against.
//!
//! Separate because it reads text that a model wrote. Invariant: its work is bounded, and what goes over a bound, or is written so that only a
//! shell can tell what it runs, is undecidable, not absent. Rules: spec aimon 6.3; a single `&`, brackets, and the words before a command are
//! ours. Text that another program runs (`eval`, `sh -c '...'`, a script) is not looked into.

/// The most bytes of a command, the deepest nesting, and the most steps of one reading.
const MAX_BYTES: usize = 65_536;
const MAX_DEPTH: usize = 64;
const MAX_STEPS: usize = 16 * MAX_BYTES;
/// How many words before a command are looked past.
const MAX_WORDS: usize = 8;

/// Something went over a bound, or only a shell can tell.
#[derive(Debug)]
pub(crate) struct Undecidable;

/// A command that may run, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) text: &'a str,
    /// Whether it stands in double quotes, where it is probably no command.
    pub(crate) quoted: bool,
}

impl Piece<'_> {
    /// Says whether a shell may read one of the first `words` words as something else than what is written.
    pub(crate) fn is_veiled(&self, words: usize) -> bool {
        let veils = |word: &str| word.contains(['\\', '\'', '"', '$', '`', '*', '?', '[', '{', '~']) && word != "{";
        !self.quoted && self.text.split_ascii_whitespace().take(words).any(veils)
    }
}

/// Returns the commands that a shell may run for this text, trimmed.
pub(crate) fn commands(text: &str) -> Result<Vec<Piece<'_>>, Undecidable> {
    if text.len() > MAX_BYTES {
        return Err(Undecidable);
    }
    let mut pieces = read(text, false)?;
    // A quote in a comment or a here-document would hide what follows it.
    if ["#", "<<", "$'"].iter().any(|mark| text.contains(mark)) {
        pieces.extend(read(text, true)?);
    }
    let mut all = Vec::with_capacity(pieces.len());
    for piece in pieces {
        past_prefixes(piece, &mut all)?;
    }
    Ok(all)
}

fn read(text: &str, aware: bool) -> Result<Vec<Piece<'_>>, Undecidable> {
    let mut splitter = Splitter { text, aware, steps: 0, pieces: Vec::new(), unpaired: false, here_documents: Vec::new() };
    splitter.run(0, Closer::End, 0)?;
    if splitter.unpaired {
        splitter.pieces.push(Piece { text, quoted: true });
    }
    Ok(splitter.pieces)
}

/// What ends the text that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closer {
    End,
    Bracket,
    Backtick,
    DoubleQuote,
}

impl Closer {
    fn is(self, byte: u8) -> bool {
        match self {
            Self::End => false,
            Self::Bracket => byte == b')',
            Self::Backtick => byte == b'`',
            Self::DoubleQuote => byte == b'"',
        }
    }
}

/// A here-document that was begun on this line.
struct HereDocument<'a> {
    word: &'a str,
    /// Whether its body is text, and not expanded.
    quoted: bool,
    /// Whether tabs before its lines do not count.
    strips_tabs: bool,
}

/// One reading of a command.
struct Splitter<'a> {
    text: &'a str,
    /// Whether comments, here-documents and `$'...'` are read as such.
    aware: bool,
    steps: usize,
    pieces: Vec<Piece<'a>>,
    /// Whether an opener had no closer, and was read as a character.
    unpaired: bool,
    here_documents: Vec<HereDocument<'a>>,
}

impl<'a> Splitter<'a> {
    /// Reads from `start` to the closer; returns the place after it, or `None` where it never comes.
    fn run(&mut self, start: usize, closer: Closer, depth: usize) -> Result<Option<usize>, Undecidable> {
        let earlier = self.pieces.len();
        let quoted = closer == Closer::DoubleQuote;
        let (mut piece, mut at) = (start, start);
        // The byte before; a blank at the beginning, and zero where it was escaped or nested.
        let mut before = b' ';
        loop {
            self.steps += 1;
            if self.steps > MAX_STEPS || depth > MAX_DEPTH {
                return Err(Undecidable);
            }
            let Some(byte) = self.byte(at) else {
                return Ok(self.end_of_text(closer, piece, at, earlier));
            };
            if closer.is(byte) {
                self.push(piece, at, quoted);
                return Ok(Some(at + 1));
            }
            let next = match byte {
                b'\\' if closer == Closer::Backtick && self.byte(at + 1) == Some(b'`') => return Err(Undecidable),
                b'\\' => at + 2,
                b'\'' if !quoted => self.opaque(at, at + 1, false),
                b'$' if self.aware && !quoted && self.byte(at + 1) == Some(b'\'') => self.opaque(at, at + 2, true),
                b'"' => self.nested(at, 1, Closer::DoubleQuote, depth)?,
                b'`' => self.nested(at, 1, Closer::Backtick, depth)?,
                b'$' if self.byte(at + 1) == Some(b'(') => self.substitution(at, depth)?,
                b'(' if !quoted => {
                    // `f() { ...`, `case x in (x) ...`: another command may follow.
                    let end = self.nested(at, 1, Closer::Bracket, depth)?;
                    self.push(piece, end, quoted);
                    piece = end;
                    end
                }
                b'#' if self.aware && !quoted && ends_word(before) => self.end_of_line(at),
                b'<' if self.aware && !quoted && !self.is_arithmetic(start) && self.rest(at).starts_with("<<") => self.here_document(at),
                b';' | b'\n' | b'|' | b'&' | b')' if self.separates(at, byte, before, quoted) => {
                    self.push(piece, at, quoted);
                    piece = if byte == b'\n' { self.skip_here_documents(at + 1)? } else { at + 1 };
                    piece
                }
                _ => at + 1,
            };
            before = if next == at + 1 { byte } else { 0 };
            at = next;
        }
    }

    /// Ends a reading where the text does; what lacks its closer leaves nothing.
    fn end_of_text(&mut self, closer: Closer, piece: usize, at: usize, earlier: usize) -> Option<usize> {
        if closer != Closer::End {
            self.pieces.truncate(earlier);
            return None;
        }
        self.push(piece, at, false);
        Some(at)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn rest(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    fn push(&mut self, from: usize, to: usize, quoted: bool) {
        let text = self.text.get(from..to.min(self.text.len())).unwrap_or_default().trim();
        if !text.is_empty() {
            self.pieces.push(Piece { text, quoted });
        }
    }

    /// Reads what is inside an opener of that length; one without a closer is a character.
    fn nested(&mut self, at: usize, length: usize, closer: Closer, depth: usize) -> Result<usize, Undecidable> {
        let end = self.run(at + length, closer, depth + 1)?;
        self.unpaired |= end.is_none();
        Ok(end.unwrap_or(at + length))
    }

    /// Reads `$(...)`. A `case` in it has brackets of its own.
    fn substitution(&mut self, at: usize, depth: usize) -> Result<usize, Undecidable> {
        let end = self.nested(at, 2, Closer::Bracket, depth)?;
        let has_case = self.text.get(at..end).is_some_and(|inside| inside.contains("case"));
        if has_case { Err(Undecidable) } else { Ok(end) }
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
    fn separates(&self, at: usize, byte: u8, before: u8, quoted: bool) -> bool {
        match byte {
            b')' => !quoted,
            b'&' => !matches!(before, b'<' | b'>') && self.byte(at + 1) != Some(b'>'),
            _ => true,
        }
    }

    /// Says whether a reading began after `((`: there `<<` shifts.
    fn is_arithmetic(&self, start: usize) -> bool {
        start >= 2 && self.text.get(start - 2..start) == Some("((")
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
        let strips_tabs = after.starts_with('-');
        let word = after.trim_start_matches('-').trim_start_matches([' ', '\t']);
        let start = self.text.len() - word.len();
        let length = word.find(|character: char| character.is_whitespace() || ";|&()<>".contains(character)).unwrap_or(word.len());
        let written = word.get(..length).unwrap_or_default();
        let name = written.trim_matches(['"', '\'', '\\']);
        if !name.is_empty() {
            self.here_documents.push(HereDocument { word: name, quoted: name.len() < written.len(), strips_tabs });
        }
        start + length
    }

    /// Skips the bodies of the here-documents that were begun on the line before. What is expanded in one, runs.
    fn skip_here_documents(&mut self, mut at: usize) -> Result<usize, Undecidable> {
        for document in std::mem::take(&mut self.here_documents) {
            loop {
                let end = self.end_of_line(at);
                let line = self.text.get(at..end).unwrap_or_default();
                let is_last = end == self.text.len();
                at = (end + 1).min(self.text.len());
                let bare = if document.strips_tabs { line.trim_start_matches('\t') } else { line };
                if bare == document.word {
                    break;
                }
                if !document.quoted && (line.contains("$(") || line.contains('`')) {
                    return Err(Undecidable);
                }
                if is_last {
                    break;
                }
            }
        }
        Ok(at)
    }
}

/// Says whether a word begins after this byte.
fn ends_word(before: u8) -> bool {
    before.is_ascii_whitespace() || matches!(before, b';' | b'&' | b'|' | b'(')
}

/// Adds a command as it stands, and without the words that may stand before the real one: `then rm x`, `FOO=1 rm x`, `>out rm x`,
/// `sudo -u root rm x`.
fn past_prefixes<'a>(piece: Piece<'a>, found: &mut Vec<Piece<'a>>) -> Result<(), Undecidable> {
    found.push(piece);
    let mut rest = piece.text;
    let mut after_wrapper = false;
    for _ in 0..MAX_WORDS {
        let Some((word, after)) = rest.split_once(|character: char| character.is_ascii_whitespace()) else { return Ok(()) };
        after_wrapper |= WRAPPERS.contains(&word);
        // `> file`: the file is the next word.
        let redirects = is_redirection(word);
        if !(after_wrapper || redirects || is_assignment(word) || RESERVED.contains(&word)) {
            return Ok(());
        }
        rest = after.trim_start();
        if redirects && word.ends_with(['<', '>', '&', '|']) {
            rest = rest.split_once(|character: char| character.is_ascii_whitespace()).map_or("", |(_, after)| after.trim_start());
        }
        found.push(Piece { text: rest, ..piece });
    }
    Err(Undecidable)
}

const RESERVED: [&str; 9] = ["if", "then", "elif", "else", "while", "until", "do", "{", "!"];
/// Programs that run their arguments: behind one, each word may be the command.
const WRAPPERS: [&str; 12] = ["sudo", "doas", "env", "command", "builtin", "exec", "nohup", "nice", "time", "timeout", "xargs", "coproc"];

fn is_redirection(word: &str) -> bool {
    word.trim_start_matches(|character: char| character.is_ascii_digit()).trim_start_matches('&').starts_with(['<', '>'])
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.trim_end_matches('+');
        !name.is_empty() && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says whether a shell may run `rm` for a text.
    fn may_run_rm(text: &str) -> bool {
        let Ok(pieces) = commands(text) else { return true };
        pieces.iter().any(|piece| piece.text.starts_with("rm") || piece.is_veiled(1))
    }

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
            "case a in (a) rm -rf x;; esac",
            "f() { rm -rf x; }; f",
            "if true; then rm -rf x; fi",
            "FOO=1 BAR=2 rm -rf x",
            "A=\"b c\" rm -rf x",
            ">out rm -rf x",
            "2> out rm -rf x",
            "sudo -u root rm -rf x",
            "A0=1 A1=1 A2=1 A3=1 A4=1 A5=1 A6=1 A7=1 A8=1 rm -rf x",
            "cat <(rm -rf x)",
            "echo \"it's\"; rm -rf x",
            "echo it\\'s; rm -rf x",
            "echo hi # it's\nrm -rf x",
            "true # it's\necho \\ # ; rm -rf x # '",
            "cat <<E\nit's\nE\nrm -rf x",
            "cat <<-'E'; rm -rf x\nit's\n\tE\n",
            "cat <<E\nit's $(rm -rf x) isn't\nE",
            "cat <<E\n\tE\nit's\nE\nrm -rf x # '",
            "echo $((1<<2)) # it's\nrm -rf x # '",
            "echo $'it\\'s'; rm -rf x",
            "echo 2>&1 && rm -rf x",
            "echo \\>& rm -rf x",
            "echo $(case a in a) rm -rf x;; esac)",
            "echo `echo \\`rm -rf x\\``",
            "rm -rf x \\",
            "rm\t-rf x",
            "\\rm -rf x",
            "\"rm\" -rf x",
            "r\\\nm -rf x",
            "rm${IFS}-rf x",
            "$CMD -rf x",
            "echo \"unpaired; rm -rf x",
            "echo 'unpaired; rm -rf x",
        ];
        for text in runs_rm {
            assert!(may_run_rm(text), "{text:?}: {:?}", commands(text));
        }
        let harmless = [
            "echo 'rm -rf x'",
            "echo '; rm -rf x'",
            "echo \\; rm -rf x",
            "git push 2>&1",
            "echo $'; rm -rf x'",
            "git commit -m \"don't\"",
            "echo \"$HOME\" && ls *.txt",
        ];
        for text in harmless {
            assert!(!may_run_rm(text), "{text:?}: {:?}", commands(text));
        }
        assert_eq!(commands("git push 2>&1").unwrap(), [Piece { text: "git push 2>&1", quoted: false }]);
    }

    #[test]
    fn over_a_bound_is_undecidable() {
        assert!(commands(&"a".repeat(MAX_BYTES)).is_ok());
        assert!(commands(&"a".repeat(MAX_BYTES + 1)).is_err());
        assert!(commands(&format!("{}{}", "$(".repeat(65), ")".repeat(65))).is_err());
        assert!(commands(&"\"$(".repeat(60)).is_err(), "each opener without a closer doubles the reading");
        assert!(commands(&format!("{}'{}'", "\"$(".repeat(30), "a".repeat(60_000))).is_err(), "what is skipped counts");
    }
}
