//! Which secret files a shell command names.
//!
//! The command is cut into pipelines of programs with their words; it is not parsed. Where the cut is unsure, more words count as files,
//! never fewer. Invariant: linear in the text but for command substitutions, of which at most [`MOST_SUBSTITUTIONS`] are read.

use crate::{
    files::{Found, Policy},
    programs::{self, Program},
};

/// Each substitution is read once more as a command of its own. Past this many the whole text is read without exemptions.
const MOST_SUBSTITUTIONS: usize = 32;

/// A word without its quotes, and a second reading in which `\` separates folders.
#[derive(Debug, Default, Clone)]
pub(crate) struct Word {
    pub(crate) text: String,
    windows: Option<String>,
}

/// A program with its words. `targets` are files that the shell itself opens.
#[derive(Debug, Default)]
struct Call {
    words: Vec<Word>,
    targets: Vec<Word>,
    /// Whether its output goes into the next call.
    piped: bool,
}

/// The first secret file that `command` names where it would be read, written or sent.
pub(crate) fn secret_file(command: &str, policy: &Policy) -> Option<Found> {
    let (command, documents) = take_documents(command);
    let substitutions = substitutions(&command);
    if substitutions.len() > MOST_SUBSTITUTIONS {
        return in_text(&command, policy);
    }
    in_calls(&calls(&command), policy)
        .or_else(|| substitutions.iter().find_map(|inner| in_calls(&calls(inner), policy)))
        .or_else(|| documents.iter().find_map(|document| in_text(document, policy)))
}

/// The same for a command that is already a list of words.
pub(crate) fn secret_file_in_words(words: &[&str], policy: &Policy) -> Option<Found> {
    let words = words.iter().map(|word| Word { text: (*word).to_owned(), windows: None }).collect();
    in_calls(&[Call { words, ..Call::default() }], policy)
}

/// Whether `program` runs the text after an option such as `-c`.
pub(crate) fn is_shell(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    ["sh", "bash", "zsh", "dash", "ksh", "fish", "pwsh", "powershell", "powershell.exe"].contains(&name)
}

/// Whether the word after `option` is a command.
pub(crate) fn is_script_option(option: &str) -> bool {
    option.strip_prefix('-').is_some_and(|letters| letters.ends_with('c') && letters.len() <= 4) || option.eq_ignore_ascii_case("-command")
}

/// Goes from the last call to the first, because what a call may print depends on what reads it.
fn in_calls(calls: &[Call], policy: &Policy) -> Option<Found> {
    let mut only_filters_follow = true;
    calls.iter().rev().find_map(|call| {
        let harmless_after = !call.piped || only_filters_follow;
        only_filters_follow = harmless_after && is_filter(call);
        files_of(call, harmless_after).into_iter().chain(&call.targets).find_map(|word| in_word(word, policy))
    })
}

/// The words of a call that may name a file it opens.
fn files_of(call: &Call, harmless_after: bool) -> Vec<&Word> {
    match programs::program(&call.words) {
        Some(Program { kind: programs::Kind::Mentions, .. }) if harmless_after => Vec::new(),
        Some(program) => programs::without_messages(&call.words, &program),
        None => call.words.iter().collect(),
    }
}

fn is_filter(call: &Call) -> bool {
    programs::program(&call.words).is_some_and(|program| program.is_filter())
}

fn in_text(text: &str, policy: &Policy) -> Option<Found> {
    let plain: String = text.chars().filter(|character| !matches!(character, '\'' | '"' | '\\')).collect();
    candidates(text).chain(candidates(&plain)).find_map(|candidate| policy.check(candidate))
}

fn in_word(word: &Word, policy: &Policy) -> Option<Found> {
    let readings = [Some(&word.text), word.windows.as_ref()];
    readings.into_iter().flatten().find_map(|text| {
        let mut parts = candidates(text).filter(|part| part.len() < text.len());
        policy.check(text).or_else(|| parts.find_map(|part| policy.check(part)))
    })
}

/// The parts of a word that may be a path of their own: `file=@.env`, `user@host:.env`, `open('.env')`.
fn candidates(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| character.is_whitespace() || "=,:;@|&!`#()[]{}<>'\"".contains(character)).filter(|part| !part.is_empty())
}

/// Takes here-documents out. Those that a program merely writes down are dropped, the others returned.
fn take_documents(text: &str) -> (String, Vec<String>) {
    let (mut command, mut documents) = (String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        command.push_str(line);
        command.push('\n');
        let Some((delimiter, quoted)) = delimiter(line) else { continue };
        let mut closed = false;
        let mut goes_on = |line: &&str| {
            closed = line.trim() == delimiter;
            !closed
        };
        let body = lines.by_ref().take_while(&mut goes_on).collect::<Vec<_>>().join("\n");
        let runs_inside = !quoted && (body.contains("$(") || body.contains('`'));
        // What never ends was none: `$((1<<n))`.
        if !closed || runs_inside || !programs::writes_down(line) {
            documents.push(body);
        }
    }
    (command, documents)
}

/// The delimiter of a here-document that `line` opens, and whether it is quoted.
fn delimiter(line: &str) -> Option<(&str, bool)> {
    let (_, rest) = line.split_once("<<").filter(|(_, rest)| !rest.starts_with('<'))?;
    let word = rest.trim_start_matches('-').trim_start().split([' ', '\t', ';', '|', '&', '>', ')']).next()?;
    let plain = word.trim_matches(['\'', '"', '\\']);
    plain.starts_with(|first: char| first.is_alphabetic() || first == '_').then_some((plain, plain.len() < word.len()))
}

/// The text behind each `$(`, backtick and `<(` that is not in single quotes, to the end: where it ends does not matter here.
fn substitutions(text: &str) -> Vec<&str> {
    let (mut found, mut previous, mut single, mut double) = (Vec::new(), ' ', false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if previous == '\\' && !single => {
                previous = ' ';
                continue;
            }
            '\'' if !double => single = !single,
            '"' if !single => double = !double,
            '`' if !single => found.extend(text.get(at + 1..)),
            '(' if !single && matches!(previous, '$' | '<' | '>') => found.extend(text.get(at + 1..)),
            _ => {}
        }
        previous = character;
    }
    found
}

/// Cuts a command into calls.
fn calls(text: &str) -> Vec<Call> {
    let mut cutter = Cutter::default();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (cutter.quote, character) {
            (Some(quote), _) if quote == character => cutter.quote = None,
            (Some('"'), '\\') => cutter.escape(characters.next_if(|next| matches!(next, '"' | '\\' | '$' | '`'))),
            (None, '\'' | '"') => cutter.open(character),
            (None, '\\') => cutter.escape(characters.next()),
            (None, '#') if cutter.word.is_none() => while characters.next_if(|next| *next != '\n').is_some() {},
            (None, '<' | '>') => {
                // `2>&1` and `>|` go on: the pipe or the end of the call comes later.
                characters.next_if(|next| matches!(next, '&' | '|'));
                cutter.redirect();
            }
            (None, '&') if characters.next_if_eq(&'>').is_some() => cutter.redirect(),
            (None, '|') => cutter.end_call(characters.next_if_eq(&'|').is_none()),
            (None, '&' | ';' | '\n' | '(' | ')' | '`') => cutter.end_call(false),
            (None, _) if character.is_whitespace() => cutter.end_word(),
            _ => cutter.push(character),
        }
    }
    cutter.end_call(false);
    cutter.calls
}

/// The state of [`calls`].
#[derive(Debug, Default)]
struct Cutter {
    calls: Vec<Call>,
    call: Call,
    word: Option<Word>,
    quote: Option<char>,
    /// Whether the next word is a file that the shell opens.
    to_target: bool,
}

impl Cutter {
    fn push(&mut self, character: char) {
        let word = self.word.get_or_insert_default();
        word.text.push(character);
        if let Some(windows) = &mut word.windows {
            windows.push(character);
        }
    }

    fn open(&mut self, quote: char) {
        self.word.get_or_insert_default();
        self.quote = Some(quote);
    }

    /// A backslash: in the first reading it makes the next character plain, in the second it separates folders.
    fn escape(&mut self, next: Option<char>) {
        let quoted = self.quote.is_some();
        let word = self.word.get_or_insert_default();
        let windows = word.windows.get_or_insert_with(|| word.text.clone());
        windows.push('/');
        windows.extend(next);
        match next {
            Some('\n') => {}
            Some(next) => word.text.push(next),
            None if quoted => word.text.push('\\'),
            None => {}
        }
    }

    fn redirect(&mut self) {
        self.end_word();
        self.to_target = true;
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            let list = if self.to_target { &mut self.call.targets } else { &mut self.call.words };
            list.push(word);
            self.to_target = false;
        }
    }

    fn end_call(&mut self, piped: bool) {
        self.end_word();
        self.to_target = false;
        let call = std::mem::take(&mut self.call);
        if !call.words.is_empty() || !call.targets.is_empty() {
            self.calls.push(Call { piped, ..call });
        }
    }
}
