//! Programs that run other programs, shells with `-c`, and the builtins that change the shell's state.
//!
//! Separate because here a command line becomes another command line and no danger is judged. Invariant: an option that is not known is read both
//! ways, with and without a value, so that it cannot hide the program behind it.

use super::env::Env;
use super::simple::{Call, quote};
use super::walk::Walker;
use super::{Arg, Feed, REMOTE, UNKNOWN};
use crate::rules;
use crate::verdict::Level;

/// How a wrapper's own arguments end and the wrapped command begins.
struct Wrapper {
    name: &'static str,
    /// Options that take the next argument.
    valued: &'static [&'static str],
    /// Options that take nothing.
    plain: &'static [&'static str],
    /// Operands before the command.
    skip: usize,
    /// Options whose value is shell text.
    script: &'static [&'static str],
    /// How the command is given.
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As arguments.
    Args,
    /// As arguments that are joined and parsed again.
    Joined,
    /// Joined, on another machine.
    Remote,
    /// As arguments to which what is read is added.
    Xargs,
}

const fn plain(name: &'static str, valued: &'static [&'static str], skip: usize) -> Wrapper {
    Wrapper { name, valued, plain: &[], skip, script: &[], form: Form::Args }
}

const SUDO: &[&str] = &[
    "-u",
    "-g",
    "-h",
    "-p",
    "-C",
    "-D",
    "-R",
    "-T",
    "-U",
    "-r",
    "-t",
    "--user",
    "--group",
    "--host",
    "--prompt",
    "--close-from",
    "--chdir",
    "--chroot",
    "--command-timeout",
    "--other-user",
    "--role",
    "--type",
];

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        plain: &["--preserve-env", "--non-interactive", "--login", "--shell", "--background", "--set-home"],
        ..plain("sudo", SUDO, 0)
    },
    plain("doas", &["-u", "-C", "-a"], 0),
    Wrapper {
        plain: &["--ignore-environment", "--null", "--debug"],
        script: &["-S", "--split-string"],
        ..plain("env", &["-u", "-C", "--unset", "--chdir", "-a", "--argv0"], 0)
    },
    // Words that are no programs but stand in front of one where the grammar took them for names.
    plain("!", &[], 0),
    plain("coproc", &[], 0),
    plain("command", &[], 0),
    plain("builtin", &[], 0),
    plain("exec", &["-a"], 0),
    plain("nohup", &[], 0),
    plain("nice", &["-n", "--adjustment"], 0),
    plain("ionice", &["-c", "-n", "-p", "--class", "--classdata"], 0),
    plain("chrt", &["-T", "-P", "-D"], 1),
    plain("taskset", &[], 1),
    Wrapper { plain: &["--verbose", "--portability", "--append"], ..plain("time", &["-f", "-o", "--format", "--output"], 0) },
    Wrapper {
        plain: &["--foreground", "--preserve-status", "--verbose"],
        ..plain("timeout", &["-s", "-k", "--signal", "--kill-after"], 1)
    },
    plain("gtimeout", &["-s", "-k"], 1),
    plain("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    plain("setsid", &[], 0),
    plain("unbuffer", &[], 0),
    plain("strace", &["-e", "-o", "-p", "-s", "-u", "-E", "-P", "-S", "-O", "-a", "-b", "-I", "-X"], 0),
    plain("ltrace", &["-e", "-o", "-p", "-s", "-u", "-l", "-n", "-a"], 0),
    plain("busybox", &[], 0),
    plain("toybox", &[], 0),
    plain("chroot", &["--userspec", "--groups"], 1),
    plain("unshare", &["-S", "-G", "-R", "-w", "--root", "--wd", "--setuid", "--setgid"], 0),
    plain("nsenter", &["-t", "-S", "-G", "--target"], 0),
    plain("setpriv", &["--reuid", "--regid", "--groups"], 0),
    plain("caffeinate", &["-t", "-w"], 0),
    plain("arch", &[], 0),
    plain("firejail", &[], 0),
    plain("proxychains", &["-f"], 0),
    plain("systemd-run", &["-p", "-u", "-E", "--unit", "--property"], 0),
    plain("npx", &["-p", "--package"], 0),
    plain("bunx", &[], 0),
    Wrapper { script: &["-c", "--command"], ..plain("flock", &["-w", "-E", "--timeout"], 1) },
    Wrapper { script: &["-c", "--command", "--session-command"], skip: usize::MAX, ..plain("su", &["-s", "-g", "-G", "-w", "--shell"], 0) },
    Wrapper { script: &["-c", "--command"], ..plain("runuser", &["-u", "-g", "-G", "-s"], 0) },
    Wrapper { script: &["-c", "--command"], skip: usize::MAX, ..plain("script", &["-o", "-I", "-O", "-B", "-T", "-E"], 0) },
    Wrapper { form: Form::Joined, ..plain("watch", &["-n", "-q", "--interval", "--equexit"], 0) },
    Wrapper { form: Form::Joined, ..plain("entr", &[], 0) },
    Wrapper {
        form: Form::Xargs,
        plain: &["--null", "--no-run-if-empty", "--verbose", "--exit", "--interactive"],
        ..plain(
            "xargs",
            &["-I", "-n", "-P", "-L", "-s", "-d", "-a", "-E", "--max-args", "--max-procs", "--max-lines", "--delimiter", "--arg-file"],
            0,
        )
    },
    Wrapper {
        form: Form::Xargs,
        plain: &["--bar", "--null", "--halt", "--dry-run"],
        ..plain("parallel", &["-j", "-n", "-N", "-a", "-I", "-S", "--jobs", "--colsep"], 0)
    },
    Wrapper {
        form: Form::Remote,
        ..plain(
            "ssh",
            &["-B", "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-Q", "-R", "-S", "-W", "-w"],
            1,
        )
    },
];

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash", "mksh", "csh", "tcsh"];

/// Judges a call of a wrapper, a shell or a builtin; nothing when it is none of them.
pub fn judge(walker: &mut Walker<'_>, call: &Call, env: &mut Env) -> Option<Feed> {
    if SHELLS.contains(&call.program.as_str()) {
        return Some(shell(walker, call, env));
    }
    if let Some(out) = builtin(walker, call, env) {
        return Some(out);
    }
    let wrapper = WRAPPERS.iter().find(|w| w.name == call.program)?;
    if call.program == "command" && call.texts().take_while(|t| t.starts_with('-')).any(|t| t.contains(['v', 'V'])) {
        return Some(Feed::Unknown);
    }
    Some(unwrap(walker, wrapper, call, env))
}

/// What stands before a wrapped command.
#[derive(Default)]
struct Front {
    taken: usize,
    doubtful: bool,
    scripts: Vec<String>,
    assigned: Vec<String>,
}

fn front(wrapper: &Wrapper, args: &[Arg]) -> Front {
    let mut front = Front::default();
    let mut skip = wrapper.skip;
    let mut rest = args.iter().peekable();
    while let Some(arg) = rest.peek().map(|a| a.text.as_str()) {
        let mut take = 1;
        if arg == "--" {
            front.taken = front.taken.saturating_add(1);
            break;
        } else if let Some((script, count)) = script_of(wrapper, args.get(front.taken..).unwrap_or_default()) {
            front.scripts.push(script);
            take = count;
        } else if arg.starts_with('-') && arg.len() > 1 {
            take = if takes_next(wrapper, arg) { 2 } else { 1 };
            front.doubtful |= arg.starts_with("--") && !arg.contains('=') && take == 1 && !wrapper.plain.contains(&arg);
        } else if is_assignment(arg) && matches!(wrapper.name, "env" | "sudo" | "doas") {
            front.assigned.push(arg.to_owned());
        } else if skip > 0 {
            skip = skip.saturating_sub(1);
        } else {
            break;
        }
        for _ in 0..take {
            if rest.next().is_some() {
                front.taken = front.taken.saturating_add(1);
            }
        }
    }
    front
}

/// Returns the shell text behind a `-c`-like option, and how many arguments that takes.
fn script_of(wrapper: &Wrapper, args: &[Arg]) -> Option<(String, usize)> {
    let first = args.first()?.text.as_str();
    for option in wrapper.script {
        if first == *option {
            return Some((args.get(1)?.text.clone(), 2));
        }
        let attached = if option.starts_with("--") { first.strip_prefix(option)?.strip_prefix('=') } else { first.strip_prefix(option) };
        if let Some(text) = attached.filter(|text| !text.is_empty()) {
            return Some((text.to_owned(), 1));
        }
    }
    None
}

fn takes_next(wrapper: &Wrapper, arg: &str) -> bool {
    if arg.starts_with("--") {
        return wrapper.valued.contains(&arg);
    }
    let letters: Vec<char> = arg.chars().skip(1).collect();
    let valued = |c: &char| wrapper.valued.contains(&format!("-{c}").as_str());
    letters.iter().position(valued).is_some_and(|at| at.saturating_add(1) == letters.len())
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

fn unwrap(walker: &mut Walker<'_>, wrapper: &Wrapper, call: &Call, env: &mut Env) -> Feed {
    let front = front(wrapper, &call.args);
    let mut inner = env.clone();
    for text in &front.assigned {
        rules::config::judge_variable(walker, text);
        walker.assign(text, &mut inner);
    }
    let mut out = Feed::None;
    for script in &front.scripts {
        out = out.and(walker.text(script, &mut inner, &call.feed));
    }
    let rest = call.args.get(front.taken..).unwrap_or_default();
    if wrapper.name == "env" && !front.scripts.is_empty() && !rest.is_empty() {
        let joined: Vec<String> = rest.iter().map(|a| quote(&a.text)).collect();
        return walker.text(&format!("{} {}", front.scripts.join(" "), joined.join(" ")), &mut inner, &call.feed);
    }
    if rest.is_empty() {
        let reads = matches!(wrapper.name, "sudo" | "su" | "doas" | "ssh" | "chroot") && front.scripts.is_empty();
        return if reads { remote(walker, wrapper.form, |w| script(w, call, env, &call.feed)) } else { out };
    }
    remote(walker, wrapper.form, |walker| {
        let env = if matches!(wrapper.name, "builtin" | "command") { env } else { &mut inner };
        if wrapper.form == Form::Remote {
            env.cwds.clear();
        }
        let out = inner_call(walker, wrapper.form, rest, call, env);
        if front.doubtful && rest.len() > 1 {
            return out.and(inner_call(walker, wrapper.form, rest.get(1..).unwrap_or_default(), call, env));
        }
        out
    })
}

/// Runs `judge` with findings held down to a question when the command runs elsewhere.
fn remote(walker: &mut Walker<'_>, form: Form, judge: impl FnOnce(&mut Walker<'_>) -> Feed) -> Feed {
    let ceiling = walker.ceiling;
    if form == Form::Remote {
        walker.ceiling = Level::Ask;
    }
    let out = judge(walker);
    walker.ceiling = ceiling;
    out
}

fn inner_call(walker: &mut Walker<'_>, form: Form, rest: &[Arg], call: &Call, env: &mut Env) -> Feed {
    match form {
        Form::Joined | Form::Remote => {
            let line: Vec<&str> = rest.iter().map(|a| a.text.as_str()).collect();
            walker.text(&line.join(" "), env, &call.feed)
        }
        Form::Args => Call::new(rest, &call.feed).map_or(Feed::None, |inner| walker.call(&inner, env)),
        Form::Xargs => xargs(walker, rest, call, env),
    }
}

/// `xargs` and `parallel`: what is read or listed behind `:::` becomes arguments.
fn xargs(walker: &mut Walker<'_>, rest: &[Arg], call: &Call, env: &mut Env) -> Feed {
    let (words, listed) = match rest.iter().position(|a| a.text.starts_with(":::")) {
        Some(at) => (rest.get(..at).unwrap_or_default(), rest.get(at.saturating_add(1)..).unwrap_or_default().to_vec()),
        None => (rest, read_words(&call.feed, placeholder(call).is_some())),
    };
    let placeholder = placeholder(call);
    let mut args: Vec<Arg> = Vec::new();
    let mut placed = false;
    for word in words {
        if placeholder.as_ref().is_some_and(|p| word.text.contains(p.as_str())) {
            placed = true;
            let pattern = placeholder.clone().unwrap_or_default();
            args.extend(listed.iter().map(|item| Arg::new(word.text.replace(&pattern, &item.text))));
        } else {
            args.push(word.clone());
        }
    }
    if !placed {
        args.extend(listed);
    }
    let one = args.len() == 1 || call.program == "parallel" && words.len() <= 1;
    let feed = Feed::None;
    if one && args.first().is_some_and(|a| a.text.contains(' ')) {
        let line: Vec<&str> = args.iter().map(|a| a.text.as_str()).collect();
        return walker.text(&line.join(" "), env, &feed);
    }
    Call::new(&args, &feed).map_or(Feed::None, |inner| walker.call(&inner, env))
}

/// What is read, by words, or by lines where a placeholder stands for each.
fn read_words(feed: &Feed, by_line: bool) -> Vec<Arg> {
    match feed {
        Feed::Text(text) if by_line => text.lines().take(64).map(Arg::new).collect(),
        Feed::Text(text) => text.split_whitespace().take(64).map(Arg::new).collect(),
        Feed::Remote => vec![Arg::new(REMOTE)],
        Feed::None | Feed::Unknown => vec![Arg::new(UNKNOWN)],
    }
}

fn placeholder(call: &Call) -> Option<String> {
    if call.program == "parallel" {
        return Some("{}".to_owned());
    }
    let texts: Vec<&str> = call.texts().collect();
    for (i, text) in texts.iter().enumerate() {
        if *text == "-I" || *text == "--replace" {
            return texts.get(i.saturating_add(1)).map(|s| (*s).to_owned());
        }
        if let Some(attached) = text.strip_prefix("-I").or_else(|| text.strip_prefix("--replace=")) {
            return Some(attached.to_owned());
        }
        if *text == "-i" {
            return Some("{}".to_owned());
        }
    }
    None
}

/// A shell: its `-c` text, its script file, or what it reads.
fn shell(walker: &mut Walker<'_>, call: &Call, env: &Env) -> Feed {
    let mut rest = call.args.iter();
    let mut is_text = false;
    let mut reads = false;
    while let Some(arg) = rest.next() {
        let text = arg.text.as_str();
        match text {
            "--rcfile" | "--init-file" | "-o" | "+o" | "-O" | "+O" => {
                rest.next();
            }
            "--" | "-" => {}
            _ if text.starts_with("--") => {}
            _ if text.starts_with(['-', '+']) && text.len() > 1 => {
                is_text |= text.starts_with('-') && text.contains('c');
                reads |= text.contains('s');
                if text.ends_with('o') {
                    rest.next();
                }
            }
            _ => {
                let mut inner = env.clone();
                let mut args: Vec<String> = rest.map(|a| a.text.clone()).collect();
                if is_text {
                    if !args.is_empty() {
                        args.remove(0);
                    }
                    inner.args = Some(args);
                    return shell_text(walker, call, text, &mut inner);
                }
                if reads || text == "/dev/stdin" {
                    break;
                }
                inner.args = Some(args);
                return script_file(walker, call, text, &mut inner);
            }
        }
    }
    script(walker, call, &mut env.clone(), &call.feed)
}

fn shell_text(walker: &mut Walker<'_>, call: &Call, text: &str, env: &mut Env) -> Feed {
    if text.contains(REMOTE) {
        walker.find(Level::Block, &call.shown(), "runs whatever was downloaded or decoded", "save it to a file, read it, then run it");
        return Feed::Unknown;
    }
    walker.text(text, env, &call.feed)
}

fn script_file(walker: &mut Walker<'_>, call: &Call, path: &str, env: &mut Env) -> Feed {
    match walker.file(path, env) {
        Feed::Unknown if !path.starts_with("/dev/fd/") && !path.starts_with("/proc/self/fd/") => Feed::Unknown,
        feed => script(walker, call, env, &feed),
    }
}

/// Runs what a shell reads as commands.
fn script(walker: &mut Walker<'_>, call: &Call, env: &mut Env, feed: &Feed) -> Feed {
    match feed {
        Feed::None => Feed::Unknown,
        Feed::Text(text) => walker.text(text, env, &Feed::None),
        Feed::Remote => {
            walker.find(
                Level::Block,
                &call.shown(),
                "runs whatever was downloaded or decoded as a script",
                "save it to a file, read it, then run it",
            );
            Feed::Unknown
        }
        Feed::Unknown => {
            walker.find(Level::Ask, &call.shown(), "runs text as a script that this guard cannot see", "run the commands directly");
            Feed::Unknown
        }
    }
}

/// Builtins that change the shell's state or run text in it.
fn builtin(walker: &mut Walker<'_>, call: &Call, env: &mut Env) -> Option<Feed> {
    let operands: Vec<&str> = call.operands().collect();
    let first = operands.first().copied();
    match call.program.as_str() {
        "cd" | "pushd" | "chdir" => match first {
            None => env.change_dir(&walker.place.home.clone(), walker.place),
            Some("-") => env.cwds.clear(),
            Some(dir) => env.change_dir(dir, walker.place),
        },
        "popd" => env.cwds.clear(),
        "eval" => {
            let line: Vec<&str> = call.texts().skip_while(|t| *t == "--").collect();
            return Some(shell_text(walker, call, &line.join(" "), env));
        }
        "source" | "." => {
            let path = first?;
            if path == "/dev/stdin" {
                return Some(script(walker, call, env, &call.feed.clone()));
            }
            return Some(script_file(walker, call, path, env));
        }
        "trap" => {
            if let Some(text) = first.filter(|t| *t != "-") {
                walker.text(text, &mut env.clone(), &Feed::None);
            }
        }
        "alias" => {
            for (name, value) in operands.iter().filter_map(|t| t.split_once('=')) {
                env.aliases.insert(name.to_owned(), value.to_owned());
            }
        }
        "export" | "declare" | "typeset" | "local" | "readonly" => {
            for text in operands.iter().filter(|t| t.contains('=')) {
                rules::config::judge_variable(walker, text);
                walker.assign(text, env);
            }
        }
        "unset" | "read" | "mapfile" | "readarray" | "getopts" | "let" => {
            for name in &operands {
                env.forget(name.split(['=', '+', '-']).next().unwrap_or(name));
            }
        }
        "set" => {
            if call.texts().any(|t| t == "--") {
                env.args = Some(operands.iter().map(|s| (*s).to_owned()).collect());
            }
        }
        "shift" => env.args = None,
        "hash" if call.texts().any(|t| t.starts_with("-p")) => {
            walker.find(Level::Ask, &call.shown(), "makes a command name mean another program", "");
        }
        _ => return None,
    }
    Some(Feed::None)
}
