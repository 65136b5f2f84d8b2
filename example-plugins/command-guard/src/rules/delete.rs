//! Deleting files and trees: `rm`, `unlink`, `find -delete` and `-exec`, moving a tree away.
//!
//! Separate because its one question is where a path lies. Invariant: a recursive deletion passes only when every target is known to lie below the
//! work tree, temp or an allowed root, from every directory the shell may be in.

use super::{has_short, is_long};
use crate::paths::Zone;
use crate::shell::env::Env;
use crate::shell::simple::Call;
use crate::shell::walk::Walker;
use crate::shell::{Arg, Feed};
use crate::verdict::Level;

const INSTEAD: &str = "delete a named path inside the work tree or below /tmp";

/// Judges a call of a deleting program.
pub fn judge(walker: &mut Walker<'_>, call: &Call, env: &Env) {
    match call.program.as_str() {
        "rm" | "grm" | "unlink" | "srm" => rm(walker, call, env),
        "rimraf" | "trash" | "del-cli" => tree(walker, call, env, &operands(call)),
        "find" | "gfind" => find(walker, call, env),
        "fd" | "fdfind" => fd(walker, call, env),
        "mv" => moved(walker, call, env),
        "rsync" if call.texts().any(|t| t.starts_with("--delete") || t == "--remove-source-files") => {
            walker.find(Level::Ask, &call.shown(), "makes `rsync` delete files", "run it without `--delete`");
        }
        _ => {}
    }
}

fn operands(call: &Call) -> Vec<String> {
    call.operands().map(str::to_owned).collect()
}

fn rm(walker: &mut Walker<'_>, call: &Call, env: &Env) {
    let before_end = || call.texts().take_while(|t| *t != "--");
    let mut recursive = before_end().any(|t| has_short(t, 'r') || has_short(t, 'R') || is_long(t, "recursive", 1));
    recursive |= call.args.iter().any(|a| a.is_unknown() && a.text.starts_with('-'));
    if before_end().any(|t| is_long(t, "no-preserve-root", 4)) {
        walker.find(Level::Block, &call.shown(), "switches off the protection of `/`", "leave `--no-preserve-root` away");
    }
    if recursive {
        tree(walker, call, env, &operands(call));
        return;
    }
    for target in operands(call) {
        match strictest(walker, env, &target) {
            Some(Zone::Unknown) if !target.starts_with([crate::shell::UNKNOWN, crate::shell::REMOTE]) => {}
            Some(Zone::Unknown) if call.args.iter().any(|a| a.text == target && a.quoted) => {}
            Some(zone) => walker.find(Level::Ask, &call.shown(), format!("deletes {}", place_name(zone)), INSTEAD),
            None => {}
        }
    }
}

/// A recursive deletion of each target.
fn tree(walker: &mut Walker<'_>, call: &Call, env: &Env, targets: &[String]) {
    for target in targets {
        if let Some(zone) = strictest(walker, env, target) {
            let level = if zone == Zone::Unknown { Level::Ask } else { Level::Block };
            walker.find(level, &call.shown(), format!("deletes {} and everything in it", place_name(zone)), INSTEAD);
        }
    }
}

/// Returns the worst zone that `target` has from any directory; nothing when it may be deleted.
fn strictest(walker: &Walker<'_>, env: &Env, target: &str) -> Option<Zone> {
    let nowhere = [String::new()];
    let cwds = if env.cwds.is_empty() { &nowhere[..] } else { &env.cwds[..] };
    let zones: Vec<Zone> = cwds.iter().map(|cwd| walker.place.zone(target, cwd)).filter(|z| *z != Zone::Free).collect();
    zones.iter().copied().find(|z| *z != Zone::Unknown).or_else(|| zones.first().copied())
}

const fn place_name(zone: Zone) -> &'static str {
    match zone {
        Zone::Free => "a path",
        Zone::TreeRoot => "the work tree itself",
        Zone::Git => "the repository's `.git`",
        Zone::Home => "the home directory",
        Zone::Root => "the root of the file system",
        Zone::Outside => "a path outside the work tree",
        Zone::Unknown => "a path that cannot be told from the text",
    }
}

/// Tests of `find` that keep the match to something named.
const NARROWING: &[&str] = &["-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-lname"];
/// Tests that keep the match to something rare.
const BARE: &[&str] = &["-empty", "-newer", "-mtime", "-mmin", "-size", "-atime", "-ctime", "-cmin", "-amin"];

fn find(walker: &mut Walker<'_>, call: &Call, env: &Env) {
    let texts: Vec<&str> = call.texts().collect();
    let mut starts: Vec<&str> = texts.iter().copied().skip_while(|t| matches!(*t, "-H" | "-L" | "-P")).collect();
    let end = starts.iter().position(|t| t.starts_with(['-', '(', '!'])).unwrap_or(starts.len());
    starts.truncate(end);
    if starts.is_empty() {
        starts.push(".");
    }
    let suffix = if narrowed(&texts) { "/found" } else { "" };
    let targets: Vec<String> = starts.iter().map(|s| format!("{s}{suffix}")).collect();
    if texts.contains(&"-delete") {
        tree(walker, call, env, &targets);
    }
    for (i, text) in texts.iter().enumerate() {
        if walker.is_exhausted() {
            return;
        }
        if matches!(*text, "-exec" | "-execdir" | "-ok" | "-okdir") {
            let words = call.args.get(i.saturating_add(1)..).unwrap_or_default();
            let command: Vec<Arg> = words.iter().take_while(|a| a.text != ";" && a.text != "+").cloned().collect();
            each_target(walker, &command, &targets, env);
        }
    }
}

fn narrowed(texts: &[&str]) -> bool {
    let mut narrow = false;
    for (i, text) in texts.iter().enumerate() {
        if matches!(*text, "!" | "-not" | "-o" | "-or") {
            return false;
        }
        let pattern = texts.get(i.saturating_add(1)).copied().unwrap_or_default();
        narrow |= BARE.contains(text);
        narrow |= NARROWING.contains(text) && pattern.chars().any(|c| c.is_alphanumeric() && c != crate::shell::UNKNOWN);
    }
    narrow
}

fn each_target(walker: &mut Walker<'_>, command: &[Arg], targets: &[String], env: &Env) {
    for target in targets {
        if !walker.step() {
            return;
        }
        let words: Vec<Arg> = command.iter().map(|a| Arg::new(a.text.replace("{}", target))).collect();
        if let Some(inner) = Call::new(&words, &Feed::None) {
            walker.call(&inner, &mut env.clone());
        }
    }
}

fn fd(walker: &mut Walker<'_>, call: &Call, env: &Env) {
    let at = call.texts().position(|t| matches!(t, "-x" | "-X" | "--exec" | "--exec-batch"));
    let Some(at) = at else { return };
    let mut command = call.args.get(at.saturating_add(1)..).unwrap_or_default().to_vec();
    if !command.iter().any(|a| a.text.contains("{}")) {
        command.push(Arg::new("{}"));
    }
    let narrow = call.args.get(..at).unwrap_or_default().iter().any(|a| !a.text.starts_with('-') && a.text.len() > 1);
    let target = if narrow { "./found" } else { "." };
    each_target(walker, &command, &[target.to_owned()], env);
}

/// Moving the tree, the home or the root away is as good as deleting it where it was.
fn moved(walker: &mut Walker<'_>, call: &Call, env: &Env) {
    let operands = operands(call);
    let sources = operands.split_last().map(|(_, sources)| sources).unwrap_or_default();
    for source in sources {
        if let Some(zone @ (Zone::TreeRoot | Zone::Git | Zone::Home | Zone::Root)) = strictest(walker, env, source) {
            walker.find(Level::Ask, &call.shown(), format!("moves {} away", place_name(zone)), "move a named path");
        }
    }
    if sources.iter().any(|source| super::disk::is_system(walker, source, env)) {
        walker.find(Level::Ask, &call.shown(), "moves a file of the system away", "move a named path");
    }
    if operands.last().is_some_and(|t| t == "/dev/null") {
        walker.find(Level::Block, &call.shown(), "moves a file onto `/dev/null`", INSTEAD);
    }
}
