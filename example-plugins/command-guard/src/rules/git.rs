//! git: lost work, lost history, switched-off hooks.
//!
//! Separate because git has its own grammar of options. Invariant: long options are matched by prefix and short ones inside clusters, as git does.

use super::{has_short, is_long};
use crate::shell::env::Env;
use crate::shell::simple::{Call, quote};
use crate::shell::walk::Walker;
use crate::shell::{Arg, Feed, UNKNOWN};
use crate::verdict::Level;

/// Global options that take the next argument.
const VALUED: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--super-prefix",
    "--config-env",
    "--attr-source",
    "--list-cmds",
];
/// Configuration that makes git run a program or skip hooks.
const RUNS: &[&str] = &[
    "core.hookspath",
    "core.fsmonitor",
    "core.sshcommand",
    "core.pager",
    "core.editor",
    "core.askpass",
    "core.gitproxy",
    "diff.external",
    "credential.helper",
    "sequence.editor",
    "gpg.program",
    "include.path",
    "init.templatedir",
    "core.worktree",
];
const RUNS_PREFIX: &[&str] = &["alias.", "filter.", "includeif.", "url.", "difftool.", "mergetool.", "pager.", "hook."];

/// A subcommand with its arguments.
struct Sub<'a> {
    name: &'a str,
    args: Vec<&'a str>,
    shown: String,
}

/// Judges a call of git.
pub fn judge(walker: &mut Walker<'_>, call: &Call, env: &Env) {
    let dashed = call.program.strip_prefix("git-").map(str::to_owned);
    if call.program != "git" && dashed.is_none() {
        return;
    }
    let texts: Vec<&str> = call.texts().collect();
    let mut at = 0_usize;
    let mut aliases: Vec<(String, String)> = Vec::new();
    if dashed.is_none() {
        while let Some(text) = texts.get(at).copied().filter(|t| t.starts_with('-')) {
            let next = texts.get(at.saturating_add(1)).copied().unwrap_or_default();
            let setting = if text == "-c" { Some(next) } else { text.strip_prefix("-c").or_else(|| text.strip_prefix("--config-env=")) };
            if let Some(setting) = setting.filter(|_| !text.starts_with("--") || text.starts_with("--config-env=")) {
                aliases.extend(judge_setting(walker, call, setting));
            }
            at = at.saturating_add(if VALUED.contains(&text) { 2 } else { 1 });
        }
    }
    let rest = texts.get(at..).unwrap_or_default();
    let (name, args) = match (&dashed, rest.split_first()) {
        (Some(name), _) => (name.as_str(), rest),
        (None, Some((name, args))) => (*name, args),
        (None, None) => return,
    };
    if name.contains([UNKNOWN, crate::shell::REMOTE]) {
        walker.find(Level::Ask, &call.shown(), "runs a git command that cannot be told from the text", "write the git command's name");
        return;
    }
    if let Some((_, value)) = aliases.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name)) {
        run_alias(walker, value, args, env);
        return;
    }
    let sub = Sub { name, args: args.to_vec(), shown: call.shown() };
    inner_commands(walker, &sub, env);
    subcommand(walker, &sub);
}

/// `-c name=value`: settings that run programs are asked about, aliases are returned.
fn judge_setting(walker: &mut Walker<'_>, call: &Call, setting: &str) -> Option<(String, String)> {
    let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
    let lower = key.to_ascii_lowercase();
    if let Some(alias) = lower.strip_prefix("alias.") {
        return Some((alias.to_owned(), value.to_owned()));
    }
    if runs_something(&lower) && !(matches!(lower.as_str(), "core.pager" | "core.editor" | "sequence.editor") && is_harmless(value)) {
        walker.find(Level::Ask, &call.shown(), format!("sets `{key}`, which skips hooks or runs a program"), "leave the `-c` away");
    }
    None
}

fn is_harmless(value: &str) -> bool {
    matches!(value, "" | "cat" | "less" | "true" | ":")
}

fn runs_something(key: &str) -> bool {
    RUNS.contains(&key) || RUNS_PREFIX.iter().any(|p| key.starts_with(p)) || key.contains(UNKNOWN)
}

fn run_alias(walker: &mut Walker<'_>, value: &str, args: &[&str], env: &Env) {
    let rest: Vec<String> = args.iter().map(|a| quote(a)).collect();
    let line = match value.strip_prefix('!') {
        Some(script) => format!("{script} {}", rest.join(" ")),
        None => format!("git {value} {}", rest.join(" ")),
    };
    walker.text(&line, &mut env.clone(), &Feed::None);
}

/// Subcommands that run a command line given to them.
fn inner_commands(walker: &mut Walker<'_>, sub: &Sub<'_>, env: &Env) {
    let scripts: Vec<String> = match sub.name {
        "submodule" => sub.args.iter().position(|a| *a == "foreach").map(|i| tail(sub, i)).into_iter().collect(),
        "bisect" if sub.args.first() == Some(&"run") => {
            let words: Vec<Arg> = sub.args.iter().skip(1).map(|a| Arg::new(*a)).collect();
            if let Some(inner) = Call::new(&words, &Feed::None) {
                walker.call(&inner, &mut env.clone());
            }
            Vec::new()
        }
        "rebase" => after_option(&sub.args, &["-x", "--exec"]),
        "filter-branch" => after_option(&sub.args, &["--tree-filter", "--index-filter", "--env-filter", "--msg-filter"]),
        "difftool" | "mergetool" => after_option(&sub.args, &["-x", "--extcmd"]),
        _ => Vec::new(),
    };
    for script in scripts {
        walker.text(&script, &mut env.clone(), &Feed::None);
    }
}

fn tail(sub: &Sub<'_>, at: usize) -> String {
    let words: Vec<&str> = sub.args.iter().skip(at.saturating_add(1)).filter(|a| !matches!(**a, "--recursive" | "-q")).copied().collect();
    words.join(" ")
}

fn after_option(args: &[&str], names: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (i, arg) in args.iter().enumerate() {
        for name in names {
            if arg == name {
                found.extend(args.get(i.saturating_add(1)).map(|s| (*s).to_owned()));
            } else if let Some(value) = arg.strip_prefix(name).filter(|v| !v.is_empty()) {
                found.push(value.trim_start_matches('=').to_owned());
            }
        }
    }
    found
}

/// What makes a subcommand destructive.
enum When {
    /// Always.
    Always,
    /// With one of these long options (name, shortest abbreviation) or short letters.
    Option(&'static [(&'static str, usize)], &'static str),
    /// When its first operand is this word.
    Word(&'static str),
    /// Decided by a function.
    Test(fn(&Sub<'_>) -> bool),
}

struct Rule {
    name: &'static str,
    when: When,
    level: Level,
    what: &'static str,
    instead: &'static str,
}

const fn rule(name: &'static str, when: When, level: Level, what: &'static str, instead: &'static str) -> Rule {
    Rule { name, when, level, what, instead }
}

const STASH: &str = "run `git stash` first";
const LEASE: &str = "use `git push --force-with-lease`, or push without force";
const HOOKS: &str = "commit without it and fix what the hooks report";

const RULES: &[Rule] = &[
    rule("reset", When::Option(&[("hard", 2)], ""), Level::Block, "throws away all uncommitted work", STASH),
    rule("reset", When::Option(&[("merge", 1), ("keep", 1)], ""), Level::Ask, "can throw away uncommitted work", STASH),
    rule("checkout", When::Option(&[("force", 2)], "f"), Level::Block, "throws away uncommitted work", STASH),
    rule("checkout", When::Test(checks_out_tree), Level::Block, "overwrites the whole work tree's uncommitted work", STASH),
    rule("checkout", When::Test(checks_out_paths), Level::Ask, "overwrites files and their uncommitted work", STASH),
    rule("checkout", When::Option(&[], "B"), Level::Ask, "moves a branch and can lose its commits", "use `git checkout -b`"),
    rule(
        "restore",
        When::Test(restores_tree),
        Level::Ask,
        "overwrites files and their uncommitted work",
        "use `git restore --staged`, or stash first",
    ),
    rule("switch", When::Option(&[("discard-changes", 2), ("force", 3)], "f"), Level::Block, "throws away uncommitted work", STASH),
    rule("switch", When::Option(&[("force-create", 7)], "C"), Level::Ask, "moves a branch and can lose its commits", "use `git switch -c`"),
    rule("clean", When::Test(cleans), Level::Block, "deletes untracked files for good", "look first with `git clean -n`"),
    rule("push", When::Test(forces), Level::Block, "overwrites history on the remote", LEASE),
    rule("push", When::Test(deletes_remote), Level::Block, "deletes a branch or tag on the remote", "leave it to a person"),
    rule("push", When::Option(&[("no-verify", 4)], ""), Level::Ask, "skips the push hooks", "push without `--no-verify`"),
    rule("branch", When::Test(deletes_branch), Level::Ask, "deletes a branch even if it is not merged", "use `git branch -d`"),
    rule("branch", When::Option(&[("force", 1)], "fMC"), Level::Ask, "moves a branch and can lose its commits", ""),
    rule("tag", When::Option(&[("delete", 3), ("force", 1)], "df"), Level::Ask, "deletes or moves a tag", ""),
    rule("stash", When::Word("clear"), Level::Block, "deletes every stash", "keep it, or drop a single one"),
    rule("stash", When::Word("drop"), Level::Ask, "deletes a stash", "keep it"),
    rule("reflog", When::Word("expire"), Level::Block, "deletes the way back to lost commits", ""),
    rule("reflog", When::Word("delete"), Level::Block, "deletes the way back to lost commits", ""),
    rule("gc", When::Option(&[("prune", 2)], ""), Level::Block, "deletes unreachable commits for good", "run plain `git gc`"),
    rule("prune", When::Always, Level::Ask, "deletes unreachable commits for good", "run plain `git gc`"),
    rule("filter-branch", When::Always, Level::Ask, "rewrites the whole history", ""),
    rule("filter-repo", When::Always, Level::Block, "rewrites the whole history", ""),
    rule("update-ref", When::Option(&[("stdin", 2)], "d"), Level::Ask, "deletes or moves refs", ""),
    rule("worktree", When::Test(removes_worktree), Level::Block, "deletes a work tree with its uncommitted work", "leave `--force` away"),
    rule(
        "submodule",
        When::Test(|s| first(s) == "deinit" && any(s, &[("force", 1)], "f")),
        Level::Ask,
        "deletes a submodule's work tree",
        "",
    ),
    rule("commit", When::Option(&[("no-verify", 4)], ""), Level::Ask, "skips the commit hooks", HOOKS),
    rule("commit", When::Test(|s| clusters(s, "mFCctSu", 'n')), Level::Ask, "skips the commit hooks", HOOKS),
    rule("merge", When::Option(&[("no-verify", 4)], ""), Level::Ask, "skips the commit hooks", HOOKS),
    rule("am", When::Option(&[("no-verify", 4)], ""), Level::Ask, "skips the commit hooks", HOOKS),
    rule("rebase", When::Option(&[("no-verify", 4)], ""), Level::Ask, "skips the commit hooks", HOOKS),
    rule("cherry-pick", When::Option(&[("no-verify", 4)], ""), Level::Ask, "skips the commit hooks", HOOKS),
    rule("rm", When::Option(&[("force", 1)], "f"), Level::Ask, "deletes files with their uncommitted work", "leave `-f` away"),
    rule("read-tree", When::Option(&[("reset", 3)], ""), Level::Ask, "overwrites the work tree", STASH),
    rule("checkout-index", When::Option(&[("force", 1)], "f"), Level::Ask, "overwrites files", STASH),
    rule("config", When::Test(sets_config), Level::Ask, "sets git configuration that skips hooks or runs a program", ""),
];

fn subcommand(walker: &mut Walker<'_>, sub: &Sub<'_>) {
    for rule in RULES.iter().filter(|r| r.name == sub.name) {
        let hit = match &rule.when {
            When::Always => true,
            When::Option(long, short) => any(sub, long, short),
            When::Word(word) => first(sub) == *word,
            When::Test(test) => test(sub),
        };
        if hit {
            walker.find(rule.level, &sub.shown, rule.what, rule.instead);
        }
    }
}

fn options<'a>(sub: &'a Sub<'_>) -> impl Iterator<Item = &'a str> {
    sub.args.iter().copied().take_while(|a| *a != "--").filter(|a| a.starts_with('-'))
}

fn operands<'a>(sub: &'a Sub<'_>) -> Vec<&'a str> {
    sub.args.iter().copied().filter(|a| !a.starts_with('-')).collect()
}

fn first<'a>(sub: &'a Sub<'_>) -> &'a str {
    operands(sub).first().copied().unwrap_or_default()
}

fn any(sub: &Sub<'_>, long: &[(&str, usize)], short: &str) -> bool {
    options(sub).any(|a| long.iter().any(|(name, least)| is_long(a, name, *least)) || short.chars().any(|c| has_short(a, c)))
}

/// Looks for a letter in clusters, up to the first letter that takes the rest as its value; values of separate options are skipped.
fn clusters(sub: &Sub<'_>, valued: &str, letter: char) -> bool {
    let mut skip = false;
    for arg in sub.args.iter().take_while(|a| **a != "--") {
        if std::mem::take(&mut skip) || arg.starts_with("--") || !arg.starts_with('-') {
            continue;
        }
        let letters: Vec<char> = arg.chars().skip(1).collect();
        for (i, c) in letters.iter().enumerate() {
            if *c == letter {
                return true;
            }
            if valued.contains(*c) {
                skip = i.saturating_add(1) == letters.len() && !matches!(*c, 'S' | 'u');
                break;
            }
        }
    }
    false
}

fn checks_out_tree(sub: &Sub<'_>) -> bool {
    operands(sub).iter().any(|a| matches!(*a, "." | "./" | ":/" | "*" | ":/*" | "..")) && !creates_branch(sub)
}

fn creates_branch(sub: &Sub<'_>) -> bool {
    any(sub, &[("orphan", 2), ("track", 1)], "bBt")
}

/// Paths behind `--`, a second operand, or a first one that looks like a file.
fn checks_out_paths(sub: &Sub<'_>) -> bool {
    if creates_branch(sub) {
        return false;
    }
    let behind = sub.args.iter().position(|a| *a == "--").is_some_and(|i| sub.args.len() > i.saturating_add(1));
    let operands = operands(sub);
    let from_file = any(sub, &[("pathspec-from-file", 3), ("ours", 2), ("theirs", 2)], "");
    behind || from_file || operands.len() > 1 || operands.iter().any(|a| looks_like_file(a))
}

fn looks_like_file(text: &str) -> bool {
    let last = text.rsplit('/').next().unwrap_or(text);
    let extension = last.rsplit_once('.').map(|(_, ext)| ext).unwrap_or_default();
    let named = !extension.is_empty() && extension.len() <= 8 && extension.chars().any(char::is_alphabetic) && !extension.contains(UNKNOWN);
    text.starts_with(['.', '/', ':']) || text.ends_with('/') || text.contains(['*', '?']) || (named && !text.contains(".."))
}

fn restores_tree(sub: &Sub<'_>) -> bool {
    let staged = any(sub, &[("staged", 2)], "S");
    let worktree = any(sub, &[("worktree", 1)], "W");
    !operands(sub).is_empty() && (!staged || worktree)
}

fn cleans(sub: &Sub<'_>) -> bool {
    any(sub, &[("force", 1)], "f") && !any(sub, &[("dry-run", 1)], "n")
}

fn forces(sub: &Sub<'_>) -> bool {
    let forced = options(sub).any(|a| a != "--force-if-includes" && is_long(a, "force", 2)) || clusters(sub, "o", 'f');
    let refspec = operands(sub).iter().skip(1).any(|a| a.starts_with('+'));
    let lone = operands(sub).first().is_some_and(|a| a.starts_with('+'));
    forced || refspec || lone || any(sub, &[("mirror", 2)], "")
}

fn deletes_remote(sub: &Sub<'_>) -> bool {
    any(sub, &[("delete", 3), ("prune", 3)], "")
        || clusters(sub, "o", 'd')
        || operands(sub).iter().skip(1).any(|a| a.starts_with(':') && a.len() > 1)
}

fn deletes_branch(sub: &Sub<'_>) -> bool {
    any(sub, &[], "D") || (any(sub, &[("delete", 1)], "d") && any(sub, &[("force", 1)], "f"))
}

fn removes_worktree(sub: &Sub<'_>) -> bool {
    first(sub) == "remove" && any(sub, &[("force", 1)], "f")
}

fn sets_config(sub: &Sub<'_>) -> bool {
    if any(sub, &[("get", 3), ("list", 1), ("get-all", 4), ("get-regexp", 5)], "l") || matches!(first(sub), "get" | "list") {
        return false;
    }
    let operands = operands(sub);
    let unset = any(sub, &[("unset", 3), ("remove-section", 3), ("edit", 2)], "e");
    operands.iter().any(|a| runs_something(&a.to_ascii_lowercase())) && (operands.len() > 1 || unset)
}
