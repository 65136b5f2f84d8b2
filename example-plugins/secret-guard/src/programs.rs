//! What is known about programs: which only mention files, which words of theirs are text, which only filter what they are given.
//!
//! Whatever is not known here opens every file it names.

use crate::shell::Word;

/// Programs in front of the one that matters.
const WRAPPERS: &[&str] =
    &["sudo", "env", "command", "builtin", "exec", "time", "nohup", "nice", "if", "then", "else", "do", "while", "!", "{"];

/// Programs that print words or look at names, sizes and rights, never at contents.
const MENTIONS: &[&str] =
    &["echo", "printf", "ls", "dir", "test", "[", "[[", "stat", "mkdir", "pwd", "chmod", "chown", "which", "basename", "dirname"];

/// Programs that read only what is piped to them when they name no secret file, which is checked for them too.
const FILTERS: &[&str] =
    &["grep", "egrep", "rg", "head", "tail", "wc", "sort", "uniq", "tr", "cut", "less", "more", "column", "cat", "jq", "nl", "rev", "tee"];

/// Programs whose first plain word is a pattern.
const SEARCHES: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "ack", "jq"];

/// Options of theirs that are followed by files.
const FILE_OPTIONS: &[&str] = &["--include", "-g", "--glob", "--iglob", "--ignore-file"];

/// Options of `git` and `gh` that are followed by text meant for people.
const GIT_MESSAGES: &[&str] = &["-m", "-am", "--message"];
const GH_MESSAGES: &[&str] = &["-t", "--title", "-b", "--body", "-n", "--notes"];

/// Actions of `find` that open or run something.
const FIND_ACTIONS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fls"];

/// How a program treats the files it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It prints or lists names.
    Mentions,
    /// Its first plain word is a pattern.
    Searches,
    /// These options are followed by a message.
    Messages(&'static [&'static str]),
    Opens,
}

/// The program of a call, and where its own words begin.
#[derive(Debug)]
pub(crate) struct Program<'call> {
    name: &'call str,
    pub(crate) kind: Kind,
    first_word: usize,
}

impl Program<'_> {
    /// Whether it only passes on, in part or reordered, what is piped to it.
    pub(crate) fn is_filter(&self) -> bool {
        FILTERS.contains(&self.name)
    }
}

/// The program that `words` run, behind assignments and wrappers. `None` where there is none, or where an assignment is all there is.
pub(crate) fn program(words: &[Word]) -> Option<Program<'_>> {
    let is_before = |word: &Word| WRAPPERS.contains(&word.text.as_str()) || is_assignment(&word.text);
    let at = words.iter().position(|word| !is_before(word))?;
    // An assignment may name a file for later, so nothing is exempt behind one.
    let assigns = words.iter().take(at).any(|word| is_assignment(&word.text));
    let name = words.get(at)?.text.rsplit('/').next()?;
    let kind = if assigns { Kind::Opens } else { kind(name, words.get(at + 1..)?) };
    Some(Program { name, kind, first_word: at + 1 })
}

fn kind(name: &str, words: &[Word]) -> Kind {
    let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.text.as_str()));
    let first = words.first().map(|word| word.text.as_str()).unwrap_or_default();
    match name {
        "find" if !has(FIND_ACTIONS) => Kind::Mentions,
        "git" if ["check-ignore", "ls-files", "status"].contains(&first) => Kind::Mentions,
        "git" if has(&["commit", "tag", "notes", "stash", "merge"]) => Kind::Messages(GIT_MESSAGES),
        "gh" => Kind::Messages(GH_MESSAGES),
        _ if MENTIONS.contains(&name) => Kind::Mentions,
        // With `-e` or `-f` the first plain word is a file.
        _ if SEARCHES.contains(&name) && !words.iter().any(|word| names_pattern(&word.text)) => Kind::Searches,
        _ => Kind::Opens,
    }
}

fn names_pattern(option: &str) -> bool {
    let short = option.strip_prefix('-').filter(|letters| !letters.starts_with('-')).is_some_and(|letters| letters.contains(['e', 'f']));
    short || option.starts_with("--regexp") || option.starts_with("--file") || option.starts_with("--from-file")
}

/// The words of a call that are not messages or patterns.
pub(crate) fn without_messages<'call>(words: &'call [Word], program: &Program<'_>) -> Vec<&'call Word> {
    let own = words.get(program.first_word..).unwrap_or_default();
    let pattern = own.iter().position(|word| !word.text.starts_with('-')).filter(|at| !follows(own, *at, FILE_OPTIONS));
    let is_text = |at: usize| match program.kind {
        Kind::Searches => Some(at) == pattern,
        Kind::Messages(options) => is_message(own, at, options),
        Kind::Mentions | Kind::Opens => false,
    };
    let before = words.iter().take(program.first_word);
    before.chain(own.iter().enumerate().filter(|(at, _)| !is_text(*at)).map(|(_, word)| word)).collect()
}

/// Whether the word at `at` follows one of the options, or is one with its text behind `=`.
fn is_message(words: &[Word], at: usize, options: &[&str]) -> bool {
    let inline = words.get(at).and_then(|word| word.text.split_once('=')).is_some_and(|(option, _)| options.contains(&option));
    inline || follows(words, at, options)
}

fn follows(words: &[Word], at: usize, options: &[&str]) -> bool {
    at.checked_sub(1).and_then(|before| words.get(before)).is_some_and(|word| options.contains(&word.text.as_str()))
}

/// Whether the here-document that `line` opens is only written down: `cat > notes.md <<EOF`, `git commit -m "$(cat <<EOF`.
pub(crate) fn writes_down(line: &str) -> bool {
    let (before, after) = line.split_once("<<").unwrap_or((line, ""));
    let call = before.rsplit(['|', ';', '&']).next().unwrap_or_default();
    let inner = call.rsplit(['(', '`']).next().unwrap_or_default();
    let first = |text: &str, known: &[&str]| text.split_whitespace().next().is_some_and(|word| known.contains(&word));
    let writes = first(inner, &["cat", "tee", "apply_patch"]) && first(call, &["cat", "tee", "apply_patch", "git", "gh", "echo", "printf"]);
    let message = first(call, &["git", "gh"]) && (call.contains(" -F") || call.contains("-file"));
    (writes || message) && !after.contains('|')
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name).unwrap_or_default();
    !name.is_empty() && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}
