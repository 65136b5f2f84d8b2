//! Devices, file systems, truncation, and permissions of whole trees.
//!
//! Separate because what is lost here is below or around files, not files themselves. Invariant: writing to a block device is always blocked.

use rable::{Node, NodeKind};

use super::{config, has_short, is_long};
use crate::paths::{Zone, base_name};
use crate::shell::Arg;
use crate::shell::env::Env;
use crate::shell::simple::Call;
use crate::shell::walk::Walker;
use crate::verdict::Level;

/// Programs that destroy what they are pointed at.
const ALWAYS: &[(&str, Level, &str)] = &[
    ("wipefs", Level::Block, "wipes a file system's signature"),
    ("blkdiscard", Level::Block, "discards a whole device"),
    ("mke2fs", Level::Block, "makes a new file system over what is there"),
    ("mkswap", Level::Block, "makes a swap area over what is there"),
    ("shred", Level::Block, "destroys a file for good"),
    ("lvremove", Level::Block, "deletes a volume"),
    ("vgremove", Level::Block, "deletes a volume group"),
    ("pvremove", Level::Block, "deletes a physical volume"),
    ("badblocks", Level::Ask, "can overwrite a device"),
    ("sgdisk", Level::Ask, "changes a partition table"),
    ("sfdisk", Level::Ask, "changes a partition table"),
    ("parted", Level::Ask, "changes a partition table"),
    ("mdadm", Level::Ask, "changes a disk array"),
    ("cryptsetup", Level::Ask, "changes an encrypted volume"),
];

/// Judges a call of a disk or permission program.
pub fn judge(walker: &mut Walker<'_>, call: &Call, env: &Env) {
    if let Some((_, level, what)) = ALWAYS.iter().find(|(name, ..)| *name == call.program) {
        let harmless =
            call.args.is_empty() || call.texts().any(|t| matches!(t, "--help" | "--version" | "-l" | "--list" | "-n" | "--no-act"));
        if !harmless || *level == Level::Block && call.args.len() > 1 {
            walker.find(*level, &call.shown(), *what, "leave it to a person");
        }
    }
    match call.program.as_str() {
        name if name == "mkfs" || name.starts_with("mkfs.") || name.starts_with("newfs") => {
            walker.find(Level::Block, &call.shown(), "makes a new file system over what is there", "leave it to a person");
        }
        "fdisk" if !call.texts().any(|t| t.starts_with("-l") || t == "--list") => {
            walker.find(Level::Ask, &call.shown(), "changes a partition table", "list with `fdisk -l`");
        }
        "zfs" | "zpool" if call.operands().any(|t| matches!(t, "destroy" | "labelclear" | "rollback")) => {
            walker.find(Level::Block, &call.shown(), "destroys a pool, a data set or its later state", "leave it to a person");
        }
        "dd" => dd(walker, call, env),
        "truncate" => truncate(walker, call),
        "tee" | "sponge" => call.operands().for_each(|t| device(walker, call, t)),
        "cp" | "install" | "cat" => copy(walker, call),
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" => permissions(walker, call, env),
        _ => {}
    }
}

fn dd(walker: &mut Walker<'_>, call: &Call, env: &Env) {
    for target in call.texts().filter_map(|t| t.strip_prefix("of=")) {
        if is_device(target) {
            walker.find(Level::Block, &call.shown(), format!("writes over the device {target}"), "write to a file in the work tree");
        } else {
            system_file(walker, &call.shown(), target, env);
        }
    }
}

fn truncate(walker: &mut Walker<'_>, call: &Call) {
    let texts: Vec<&str> = call.texts().collect();
    let zero = texts.iter().enumerate().any(|(i, t)| {
        let next = texts.get(i.saturating_add(1)).copied();
        let size = if matches!(*t, "-s" | "--size") { next } else { t.strip_prefix("-s").or_else(|| t.strip_prefix("--size=")) };
        size.is_some_and(|s| s.starts_with(['0', '-', '<']))
    });
    if zero {
        walker.find(Level::Ask, &call.shown(), "empties or cuts a file", "move the file away first");
    }
}

fn copy(walker: &mut Walker<'_>, call: &Call) {
    let operands: Vec<&str> = call.operands().collect();
    if call.program != "cat" && operands.len() > 1 {
        if let Some(target) = operands.last() {
            device(walker, call, target);
        }
        if operands.first() == Some(&"/dev/null") {
            walker.find(Level::Ask, &call.shown(), "empties a file", "move the file away first");
        }
    }
}

fn device(walker: &mut Walker<'_>, call: &Call, target: &str) {
    if is_device(target) {
        walker.find(Level::Block, &call.shown(), format!("writes over the device {target}"), "write to a file in the work tree");
    }
}

const HARMLESS: &[&str] = &["null", "zero", "full", "stdin", "stdout", "stderr", "tty", "random", "urandom", "ptmx", "console"];

/// Whether a path names a device that holds data.
fn is_device(path: &str) -> bool {
    let normal = if path.starts_with('/') { crate::paths::normalise(path) } else { path.to_owned() };
    normal.strip_prefix("/dev/").is_some_and(|rest| {
        let name = rest.split('/').next().unwrap_or(rest);
        !HARMLESS.contains(&name) && !matches!(name, "fd" | "shm" | "pts" | "tcp" | "udp") && !name.starts_with("tty")
    })
}

/// Judges one redirection that writes.
pub fn judge_redirect(walker: &mut Walker<'_>, op: &str, target: &str, env: &Env) {
    let shown = format!("{op} {target}");
    if is_device(target) {
        walker.find(Level::Block, &shown, format!("writes over the device {target}"), "write to a file in the work tree");
        return;
    }
    if let Some(label) = config::protected(walker, target, env) {
        walker.find(Level::Ask, &shown, format!("writes to {label}"), config::INSTEAD);
        return;
    }
    system_file(walker, &shown, target, env);
}

const SYSTEM: &[&str] = &["/etc", "/boot", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/sys", "/proc"];

/// Whether a path lies in a directory of the system, from any directory the shell may be in.
pub(super) fn is_system(walker: &Walker<'_>, target: &str, env: &Env) -> bool {
    let cwds = if env.cwds.is_empty() { vec![String::new()] } else { env.cwds.clone() };
    cwds.iter().filter_map(|cwd| walker.place.absolute(target, cwd)).any(|full| {
        let in_tree = !walker.place.workspace.is_empty() && crate::paths::is_below(&full, &walker.place.workspace);
        !in_tree && !full.starts_with("/proc/self/fd") && SYSTEM.iter().any(|root| crate::paths::is_below(&full, root))
    })
}

fn system_file(walker: &mut Walker<'_>, shown: &str, target: &str, env: &Env) {
    if is_system(walker, target, env) {
        walker.find(Level::Ask, shown, "overwrites a file of the system", "write to a file in the work tree");
    }
}

/// `:> file` and `> file`: a redirection without a command only empties the file.
pub fn judge_bare_redirects(walker: &mut Walker<'_>, words: &[Arg], redirects: &[Node], env: &Env) {
    let bare = match words {
        [] => true,
        [one] => matches!(one.text.as_str(), ":" | "true"),
        [program, rest @ ..] => {
            let name = base_name(&program.text);
            name == "cat" && rest.iter().all(|a| a.text == "/dev/null") || name == "echo" && rest.iter().all(|a| a.text == "-n")
        }
    };
    if !bare {
        return;
    }
    for redirect in redirects {
        if let NodeKind::Redirect { op, target, .. } = &redirect.kind
            && matches!(op.as_str(), ">" | ">|" | "&>")
        {
            let text = walker.joined(target, env);
            if !text.starts_with("/dev/") {
                walker.find(Level::Ask, &format!("{op} {text}"), "empties a file", "move the file away first, or use `touch` to make one");
            }
        }
    }
}

fn permissions(walker: &mut Walker<'_>, call: &Call, env: &Env) {
    let recursive = call.texts().any(|t| has_short(t, 'R') || is_long(t, "recursive", 3));
    let operands: Vec<&str> = call.operands().collect();
    let mode = operands.first().copied().unwrap_or_default();
    if call.program == "chmod" && sets_id(mode) {
        walker.find(Level::Ask, &call.shown(), "lets a program run with its owner's rights", "set plain permissions");
    }
    if !recursive {
        return;
    }
    let cwds = if env.cwds.is_empty() { vec![String::new()] } else { env.cwds.clone() };
    for target in operands.iter().skip(1) {
        let zones: Vec<Zone> = cwds.iter().map(|cwd| walker.place.zone(target, cwd)).collect();
        let anybody = call.program == "chmod" && matches!(mode.trim_start_matches('0'), "777" | "666" | "a+rwx" | "");
        let worst = if zones.iter().any(|z| matches!(z, Zone::Root | Zone::Home | Zone::Outside)) {
            Level::Block
        } else if anybody || zones.contains(&Zone::Unknown) || zones.contains(&Zone::Git) {
            Level::Ask
        } else {
            continue;
        };
        walker.find(worst, &call.shown(), "changes the permissions or owners of a whole tree", "name the files in the work tree");
    }
}

fn sets_id(mode: &str) -> bool {
    let octal = mode.len() == 4 && mode.chars().all(|c| c.is_ascii_digit()) && mode.starts_with(['2', '4', '6']);
    octal || mode.split(',').any(|part| part.contains(['+', '=']) && part.rsplit(['+', '=']).next().is_some_and(|m| m.contains('s')))
}
