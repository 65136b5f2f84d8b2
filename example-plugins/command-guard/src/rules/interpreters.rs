//! Programs in other languages that are given as text, and the shells of Windows.
//!
//! Separate because their text is not parsed: their string literals are read, and calls that delete or spawn are known by name. Invariant: a literal
//! that goes to a shell is judged as shell; a deletion whose paths are not all known to be free is asked about.

use super::config;
use crate::paths::Zone;
use crate::shell::env::Env;
use crate::shell::simple::Call;
use crate::shell::walk::Walker;
use crate::shell::{Feed, REMOTE, UNKNOWN};
use crate::verdict::Level;

/// A language's programs, and the options whose value is program text.
struct Language {
    programs: &'static [&'static str],
    text: &'static [&'static str],
    /// Whether the first operand is program text.
    operand: bool,
}

const LANGUAGES: &[Language] = &[
    Language { programs: &["python", "python2", "python3", "pypy", "pypy3", "ipython"], text: &["-c"], operand: false },
    Language { programs: &["perl"], text: &["-e", "-E"], operand: false },
    Language { programs: &["ruby", "jruby"], text: &["-e"], operand: false },
    Language { programs: &["node", "nodejs", "bun", "deno", "tsx"], text: &["-e", "--eval", "-p", "--print", "eval"], operand: false },
    Language { programs: &["php"], text: &["-r", "-R"], operand: false },
    Language { programs: &["lua", "luajit", "julia", "rscript", "groovy", "elixir", "osascript"], text: &["-e"], operand: false },
    Language { programs: &["awk", "gawk", "mawk", "nawk"], text: &["-e", "--source"], operand: true },
    Language { programs: &["vim", "nvim", "ex", "vi"], text: &["-c", "+"], operand: false },
    Language { programs: &["tclsh", "expect"], text: &["-c"], operand: false },
];

/// Names that delete, in any of the languages.
const DELETES: &[&str] = &[
    "rmtree",
    "rmsync",
    "rmdirsync",
    "unlinksync",
    "unlink",
    "os.remove",
    "removedirs",
    "os.rmdir",
    "rmdir(",
    "fileutils.rm",
    "file.delete",
    "fs.rm(",
    ".rm(",
    "rimraf",
    "fs.remove",
    "remove_tree",
    "removesync",
    "deno.remove",
    "dir.delete",
    "emptydir",
    "truncate(",
    "shutil.move",
    "os.truncate",
    "unlink(",
    "file.unlink",
    "rm_rf",
    "delete_tree",
    "os.remove(",
    "fs.promises.rm",
];
/// Names that start other programs.
const SPAWNS: &[&str] = &[
    "system",
    "popen",
    "subprocess",
    "child_process",
    "exec",
    "spawn",
    "shell_exec",
    "passthru",
    "proc_open",
    "qx",
    "`",
    "pty.",
    "open3",
    "bun.$",
    "%x",
    "deno.command",
    "deno.run",
    "do shell script",
    ":!",
    "| getline",
    "| \"sh",
];
/// Names that write files.
const WRITES: &[&str] = &[
    "write",
    "open(",
    "copy",
    "rename",
    "move",
    "symlink",
    "chmod",
    "dump",
    "replace",
    "truncate",
    "put_contents",
    "touch",
    "unlink",
    "remove",
    "rm",
];

/// Judges a call of an interpreter; nothing when it is none.
pub fn judge(walker: &mut Walker<'_>, call: &Call, env: &Env) -> Option<Feed> {
    let name = call.program.as_str();
    if matches!(name, "powershell" | "pwsh" | "cmd") {
        windows_call(walker, call);
        return Some(Feed::Unknown);
    }
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let language = LANGUAGES.iter().find(|l| l.programs.contains(&name) || l.programs.contains(&bare))?;
    let mut programs = texts(language, call);
    let reads = language.programs.contains(&"python") || !language.operand;
    let has_script = call.operands().any(|t| t != "-") && programs.is_empty();
    if programs.is_empty() && reads && !has_script {
        match &call.feed {
            Feed::Text(text) => programs.push(text.clone()),
            Feed::Remote => {
                walker.find(
                    Level::Block,
                    &call.shown(),
                    "runs whatever was downloaded or decoded as a program",
                    "save it, read it, then run it",
                );
            }
            Feed::None | Feed::Unknown => {}
        }
    }
    if let Some(path) = call.operands().next().filter(|_| has_script) {
        match walker.file(path, env) {
            Feed::Text(text) => programs.push(text),
            Feed::Remote => {
                walker.find(Level::Block, &call.shown(), "runs a program that was downloaded just now", "read it before it runs");
            }
            Feed::None | Feed::Unknown => {}
        }
    }
    for program in programs {
        program_text(walker, call, &program, env);
    }
    config::judge_writes(walker, call, env);
    Some(if call.feed == Feed::Remote { Feed::Remote } else { Feed::Unknown })
}

fn texts(language: &Language, call: &Call) -> Vec<String> {
    let texts: Vec<&str> = call.texts().collect();
    let mut out = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        for option in language.text {
            let cluster = option.len() == 2 && text.starts_with('-') && !text.starts_with("--") && text.len() > 2;
            if text == option || cluster && text.ends_with(option.trim_start_matches('-')) {
                out.extend(texts.get(i.saturating_add(1)).map(|s| (*s).to_owned()));
            } else if let Some(rest) = text.strip_prefix(option).filter(|rest| !rest.is_empty() && *option != "eval") {
                out.push(rest.trim_start_matches('=').to_owned());
            }
        }
    }
    if language.operand && out.is_empty() {
        out.extend(call.operands().next().map(str::to_owned));
    }
    out
}

/// Judges program text by the names it calls and its literals.
fn program_text(walker: &mut Walker<'_>, call: &Call, text: &str, env: &Env) {
    if text.contains(REMOTE) {
        walker.find(Level::Block, &call.shown(), "runs whatever was downloaded or decoded as a program", "save it, read it, then run it");
        return;
    }
    let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
    let squeezed = squeezed.replace("platform.system()", "");
    let lower = text.to_lowercase().replace("platform.system()", "");
    let has = |names: &[&str]| names.iter().any(|n| squeezed.contains(n) || lower.contains(n));
    let literals = literals(text);
    if has(DELETES) && !paths_are_free(walker, &literals, env) {
        walker.find(
            Level::Ask,
            &call.shown(),
            "is a program that deletes, and not all its paths are known to lie in the work tree or temp",
            "delete a named path with `rm`",
        );
    }
    if has(SPAWNS) {
        spawned(walker, call, &literals, env);
    }
    if has(WRITES) {
        for literal in &literals {
            if let Some(label) = config::protected(walker, literal, env) {
                walker.find(Level::Ask, &call.shown(), format!("is a program that changes {label}"), config::INSTEAD);
            }
        }
    }
    if calls(&squeezed, "eval(") || calls(&squeezed, "exec(") && squeezed.contains("decode") || squeezed.contains("fromcharcode") {
        walker.find(Level::Ask, &call.shown(), "is a program that runs text which it makes itself", "write the program out");
    }
}

/// Whether a function is called by exactly this name: `eval(`, not `retrieval(` or `x.eval(`.
fn calls(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        before.is_none_or(|c| !(c.is_alphanumeric() || c == '_' || c == '.'))
    })
}

fn paths_are_free(walker: &Walker<'_>, literals: &[String], env: &Env) -> bool {
    let paths: Vec<&String> = literals.iter().filter(|l| looks_like_path(l)).collect();
    let [cwd] = env.cwds.as_slice() else { return false };
    !paths.is_empty() && paths.iter().all(|p| walker.place.zone(p, cwd) == Zone::Free)
}

/// Leaves out module names and modes, which are literals too.
fn looks_like_path(text: &str) -> bool {
    !matches!(
        text,
        "fs" | "node:fs"
            | "fs/promises"
            | "node:fs/promises"
            | "fs-extra"
            | "rimraf"
            | "path"
            | "os"
            | "shutil"
            | "fileutils"
            | "r"
            | "w"
            | "rb"
            | "wb"
            | ""
    )
}

/// Judges the command lines that a program spawns: each literal alone, and all of them as one argument list.
fn spawned(walker: &mut Walker<'_>, call: &Call, literals: &[String], env: &Env) {
    let commands: Vec<&String> =
        literals.iter().filter(|l| looks_like_path(l) && !matches!(l.as_str(), "child_process" | "node:child_process")).collect();
    if commands.is_empty() {
        walker.find(
            Level::Ask,
            &call.shown(),
            "is a program that starts another one which cannot be told from the text",
            "run it directly",
        );
        return;
    }
    let before = walker.findings.len();
    for literal in &commands {
        if crate::shell::word::parse(literal).is_some() && crate::bounds::refuse(literal).is_none() {
            walker.text(literal, &mut env.clone(), &Feed::None);
        }
    }
    for start in 0..commands.len().min(8) {
        let words: Vec<crate::shell::Arg> = commands.iter().skip(start).map(|l| crate::shell::Arg::new(l.as_str())).collect();
        if let Some(inner) = Call::new(&words, &Feed::None) {
            walker.call(&inner, &mut env.clone());
        }
    }
    walker.demote(before);
}

/// Returns the string literals of program text; `'`, `"`, backticks, and perl's `q`-forms.
fn literals(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut chars = text.chars();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        if matches!(c, '"' | '\'' | '`') {
            out.push(until(&mut chars, c));
        } else if matches!(before, 'q' | 'x' | 'w') && matches!(c, '{' | '(' | '[' | '/' | '|') && text.contains(&format!("q{c}"))
            || text.contains(&format!("{before}{c}")) && matches!(before, 'x' | 'q') && matches!(c, '{' | '/' | '|')
        {
            let close = match c {
                '{' => '}',
                '(' => ')',
                '[' => ']',
                other => other,
            };
            out.push(until(&mut chars, close));
        }
        before = c;
        if out.len() > 64 {
            break;
        }
    }
    out.retain(|l| !l.is_empty());
    out
}

fn until(chars: &mut std::str::Chars<'_>, close: char) -> String {
    let mut out = String::new();
    while let Some(c) = chars.next() {
        match c {
            c if c == close => break,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('x' | 'u') => out.push(UNKNOWN),
                Some(c) => out.push(c),
                None => break,
            },
            c => out.push(c),
        }
    }
    out
}

fn windows_call(walker: &mut Walker<'_>, call: &Call) {
    let line: Vec<&str> = call.texts().collect();
    let mut text = line.join(" ");
    if let Feed::Text(fed) = &call.feed {
        text.push(' ');
        text.push_str(fed);
    }
    if call.feed == Feed::Remote || text.contains(REMOTE) {
        walker.find(Level::Block, &call.shown(), "runs whatever was downloaded or decoded", "save it, read it, then run it");
    }
    windows_text(walker, &text);
}

/// Words of PowerShell and `cmd` that destroy or run what is downloaded.
const WINDOWS: &[&str] = &[
    "remove-item",
    "ri",
    "rd",
    "rmdir",
    "del",
    "erase",
    "rm",
    "format",
    "format-volume",
    "clear-disk",
    "clear-content",
    "initialize-disk",
    "diskpart",
    "remove-partition",
    "iex",
    "invoke-expression",
    "stop-computer",
    "restart-computer",
    "shutdown",
    "vssadmin",
    "cipher",
    "bcdedit",
    "reg",
    "-encodedcommand",
    "-enc",
    "-ec",
    "-e",
    "downloadstring",
    "frombase64string",
    "set-executionpolicy",
    "remove-itemproperty",
    "takeown",
    "icacls",
    "geode-hooks",
    "taskkill",
    "wevtutil",
    "clear-recyclebin",
    "deltree",
    "remove-psdrive",
    "start-process",
    "invoke-command",
    "robocopy",
];

/// Judges a command line of PowerShell or `cmd`: asks when a destructive word is seen, or git that would be stopped in a shell.
pub fn windows_text(walker: &mut Walker<'_>, text: &str) {
    let lower = text.to_lowercase().replace(['^', '`'], "");
    let hit =
        lower.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_'))).find(|word| WINDOWS.contains(word)).map(str::to_owned);
    if let Some(word) = hit {
        walker.find(
            Level::Ask,
            text,
            format!("holds `{word}`, and this guard does not parse this kind of shell"),
            "run it in a POSIX shell",
        );
        return;
    }
    let unquoted = lower.replace(['"', '\''], " ");
    let marks = ["git", ".geode", ".claude", ".git/hooks", ".git\\hooks", ".husky", "hooks.json", ".codex", ".cursor", ".gemini"];
    let before = walker.findings.len();
    let place = Env::default();
    if unquoted.split_whitespace().any(|w| w == "git") && crate::shell::word::parse(&unquoted).is_some() {
        let at = unquoted.find("git").and_then(|i| unquoted.get(i..)).unwrap_or_default().to_owned();
        walker.text(&at, &mut place.clone(), &Feed::None);
        walker.demote(before);
    }
    let writes = ["set-content", "out-file", "add-content", ">", "copy", "move", "ren", "new-item", "mklink", "attrib"];
    if marks.iter().skip(1).any(|m| lower.contains(m)) && writes.iter().any(|w| lower.contains(w)) {
        walker.find(Level::Ask, text, "changes agent or hook configuration", config::INSTEAD);
    }
}
