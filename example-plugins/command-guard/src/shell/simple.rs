//! One simple command: its assignments, its redirections, and the call.
//!
//! Separate because this is where syntax ends and rules begin. Invariant: the words are expanded before the assignments in front of them count, as
//! the shell does, and every redirection is judged whether or not there is a command.

use rable::{Node, NodeKind};

use super::env::Env;
use super::walk::Walker;
use super::{Arg, Feed, REMOTE, UNKNOWN};
use crate::rules;
use crate::verdict::Level;

/// About how much of a call is shown, in bytes.
const MAX_SHOWN: usize = 500;
/// What can only be a word where the parser let a mistake pass, as in `coproc;`. Quoted, it would have its quotes.
const OPERATORS: &[&str] = &["\n", ";", ";;", "&", "&&", "|", "||", "|&", "(", ")", "<", ">"];
/// The most calls inside calls: `sudo env nice ...`.
const MAX_CALLS: usize = 16;

/// A program with its arguments.
#[derive(Debug, Clone)]
pub struct Call {
    /// The program's name, without directories, lower case and without `.exe`.
    pub program: String,
    /// The program as it was written.
    pub path: String,
    /// Its arguments.
    pub args: Vec<Arg>,
    /// What it reads.
    pub feed: Feed,
}

impl Call {
    /// Returns the call of the words' first as a program; nothing when there are none.
    #[must_use]
    pub fn new(words: &[Arg], feed: &Feed) -> Option<Self> {
        let (first, args) = words.split_first()?;
        let name = crate::paths::base_name(&first.text).to_ascii_lowercase();
        let program = name.strip_suffix(".exe").unwrap_or(&name).to_owned();
        Some(Self { program, path: first.text.clone(), args: args.to_vec(), feed: feed.clone() })
    }

    /// Returns the call as one line.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut line = self.path.clone();
        for arg in &self.args {
            if line.len() > MAX_SHOWN {
                break;
            }
            line.push(' ');
            line.push_str(&arg.text);
        }
        line
    }

    /// Returns the arguments' texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.args.iter().map(|a| a.text.as_str())
    }

    /// Returns the arguments that are not options.
    pub fn operands(&self) -> impl Iterator<Item = &str> {
        let mut only_operands = false;
        self.texts().filter(move |text| {
            if *text == "--" && !only_operands {
                only_operands = true;
                return false;
            }
            only_operands || !text.starts_with('-') || *text == "-"
        })
    }
}

impl Walker<'_> {
    pub(crate) fn simple(&mut self, assignments: &[Node], words: &[Node], redirects: &[Node], env: &mut Env, feed: &Feed) -> Feed {
        let sinks = std::mem::take(&mut self.sinks);
        let mut args: Vec<Arg> = Vec::new();
        for word in words {
            if matches!(&word.kind, NodeKind::Word { value, .. } if OPERATORS.contains(&value.as_str())) {
                self.find(Level::Ask, "an operator", "stands where the shell wants a word, so this cannot be parsed", "check the command");
            }
            args.extend(self.fields(word, env));
        }
        let mut inner = env.clone();
        let target = if args.is_empty() { &mut *env } else { &mut inner };
        for assignment in assignments {
            let text = self.joined(assignment, target);
            self.assign(&text, target);
            if !args.is_empty() {
                rules::config::judge_variable(self, &text);
            }
        }
        let feed = self.redirected(redirects, env, feed);
        rules::disk::judge_bare_redirects(self, &args, redirects, env);
        let out = match Call::new(&args, &feed) {
            None => Feed::None,
            Some(call) => self.call(&call, env),
        };
        self.keep_output(redirects, env, &out);
        for sink in std::mem::replace(&mut self.sinks, sinks) {
            let flow = if out == Feed::None { Feed::Unknown } else { out.clone() };
            self.text(&sink, &mut env.clone(), &flow);
        }
        out
    }

    /// Takes `name=value` into the state. Arrays and subscripts are unknown from then on.
    pub(crate) fn assign(&mut self, text: &str, env: &mut Env) {
        let Some((name, value)) = text.split_once('=') else { return };
        let plain = name.strip_suffix('+').unwrap_or(name);
        let bare = plain.split('[').next().unwrap_or(plain);
        if bare != plain || value.starts_with('(') {
            env.forget(bare);
        } else if plain == name {
            env.set(name, value.to_owned());
        } else {
            let old = env.lookup(plain, self.place);
            env.set(plain, old + value);
        }
    }

    /// Judges redirections and returns what the command reads.
    pub(crate) fn redirected(&mut self, redirects: &[Node], env: &mut Env, feed: &Feed) -> Feed {
        let mut feed = feed.clone();
        for redirect in redirects {
            if !self.step() {
                return Feed::Unknown;
            }
            match &redirect.kind {
                NodeKind::HereDoc { content, quoted, .. } => {
                    feed = Feed::Text(if *quoted { content.clone() } else { self.heredoc(content, env) });
                }
                NodeKind::Redirect { op, target, .. } => {
                    let text = self.joined(target, env);
                    match op.as_str() {
                        "<<<" => feed = Feed::Text(text + "\n"),
                        "<" => feed = self.file(&text, env),
                        op if writes(op, &text) => rules::disk::judge_redirect(self, op, &text, env),
                        _ => {}
                    }
                }
                _ => self.find(Level::Ask, "a redirection", "is of a kind that this guard does not know", ""),
            }
        }
        feed
    }

    /// Returns what is in a file, as far as this command tells.
    pub(crate) fn file(&self, path: &str, env: &Env) -> Feed {
        if let Some(feed) = self.kept.get(path) {
            return feed.clone();
        }
        if path.contains(REMOTE) {
            return Feed::Remote;
        }
        let paths: Vec<String> = env.cwds.iter().filter_map(|cwd| self.place.absolute(path, cwd)).collect();
        let found = paths.iter().chain([&path.to_owned()]).find_map(|p| self.files.get(p));
        found.cloned().unwrap_or(Feed::Unknown)
    }

    /// Remembers what was written to files, so that running them later is judged.
    fn keep_output(&mut self, redirects: &[Node], env: &Env, out: &Feed) {
        for redirect in redirects {
            if let NodeKind::Redirect { op, target, .. } = &redirect.kind
                && matches!(op.as_str(), ">" | ">|" | ">>" | "&>" | "&>>")
                && matches!(out, Feed::Text(_) | Feed::Remote)
            {
                let path = self.joined(target, env);
                self.remember(&path, out, env);
            }
        }
    }

    /// Remembers a file's content under every path it may have.
    pub(crate) fn remember(&mut self, path: &str, feed: &Feed, env: &Env) {
        let mut paths: Vec<String> = env.cwds.iter().filter_map(|cwd| self.place.absolute(path, cwd)).collect();
        paths.push(path.to_owned());
        for path in paths {
            let old = self.files.remove(&path).unwrap_or(Feed::None);
            self.files.insert(path, old.and(feed.clone()));
        }
    }

    /// Judges one call and returns what it writes.
    pub(crate) fn call(&mut self, call: &Call, env: &mut Env) -> Feed {
        if call.path.contains(REMOTE) {
            self.find(Level::Block, &call.shown(), "runs whatever was downloaded or decoded as a command", "save it, read it, then run it");
            return Feed::Unknown;
        }
        if call.path.contains(UNKNOWN) {
            self.find(Level::Ask, &call.shown(), "runs a program whose name cannot be told from the text", "write the program's name");
            return Feed::Unknown;
        }
        self.weigh(call.args.len());
        if !self.step() {
            return Feed::Unknown;
        }
        if self.calls >= MAX_CALLS {
            self.find(Level::Ask, &call.shown(), "is started by more programs than this guard follows", "run the inner command directly");
            return Feed::Unknown;
        }
        self.calls = self.calls.saturating_add(1);
        // A function may be taken back or passed over (`command`, `env`), so the program of its name is judged too.
        let defined = self.defined(call, env);
        let out = rules::judge(self, call, env);
        let out = defined.unwrap_or(out);
        self.calls = self.calls.saturating_sub(1);
        out
    }

    /// Runs a function or an alias that this command has defined.
    fn defined(&mut self, call: &Call, env: &mut Env) -> Option<Feed> {
        if env.running.len() > 8 || env.running.contains(&call.path) {
            return env.functions.contains_key(&call.path).then_some(Feed::Unknown);
        }
        if let Some(alias) = env.aliases.get(&call.path).cloned() {
            let rest: Vec<String> = call.texts().map(quote).collect();
            env.running.push(call.path.clone());
            let out = self.text(&format!("{alias} {}", rest.join(" ")), env, &call.feed);
            env.running.pop();
            return Some(out);
        }
        let body = env.functions.get(&call.path).cloned()?;
        let outer = env.args.replace(call.texts().map(str::to_owned).collect());
        env.running.push(call.path.clone());
        let out = self.node(&body, env, &call.feed);
        env.running.pop();
        env.args = outer;
        Some(out)
    }
}

fn writes(op: &str, target: &str) -> bool {
    match op {
        ">" | ">>" | ">|" | "&>" | "&>>" | "<>" => true,
        ">&" => !target.chars().all(|c| c.is_ascii_digit() || c == '-'),
        _ => false,
    }
}

/// Returns text as one single-quoted word.
#[must_use]
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
