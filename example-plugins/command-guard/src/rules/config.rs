//! The guard's own surroundings: hook, trust and agent configuration, and the program that changes them.
//!
//! Separate because these are asked about for every way of writing, by shell and by file tools. Invariant: reading is never asked about.

use crate::glob;
use crate::shell::env::Env;
use crate::shell::simple::Call;
use crate::shell::walk::Walker;
use crate::shell::{Feed, REMOTE, UNKNOWN};
use crate::verdict::Level;

/// What would be fine instead of such a write.
pub const INSTEAD: &str = "ask the person to change it";

/// Consecutive components of protected paths, as patterns in lower case.
const PROTECTED: &[(&[&str], &str)] = &[
    (&[".geode"], "the hook plugins or their state"),
    (&["share", "geode-hooks"], "the trust records of geode-hooks"),
    (&["state", "geode-hooks"], "the activity of geode-hooks"),
    (&[".config", "geode-hooks"], "the settings of geode-hooks"),
    (&["application support", "geode-hooks"], "the trust records of geode-hooks"),
    (&[".git", "hooks"], "git's hooks"),
    (&[".git", "config*"], "git's configuration"),
    (&[".gitconfig"], "git's configuration"),
    (&[".config", "git"], "git's configuration"),
    (&[".husky"], "git's hooks"),
    (&[".claude", "settings*.json"], "the agent's settings"),
    (&[".claude", "hooks"], "the agent's hooks"),
    (&[".claude.json"], "the agent's settings"),
    (&[".codex", "hooks.json"], "the agent's hooks"),
    (&[".codex", "hooks"], "the agent's hooks"),
    (&[".codex", "config.toml"], "the agent's settings"),
    (&[".cursor", "hooks*"], "the agent's hooks"),
    (&[".cursor", "mcp.json"], "the agent's servers"),
    (&[".gemini", "settings.json"], "the agent's settings"),
    (&[".gemini", "hooks"], "the agent's hooks"),
    (&[".qwen", "settings.json"], "the agent's settings"),
    (&[".factory", "settings.json"], "the agent's settings"),
    (&[".factory", "hooks*"], "the agent's hooks"),
    (&[".github", "hooks"], "the agent's hooks"),
    (&[".copilot", "hooks"], "the agent's hooks"),
    (&[".copilot", "config*"], "the agent's settings"),
    (&[".grok", "hooks"], "the agent's hooks"),
    (&[".grok", "settings*"], "the agent's settings"),
    (&[".kiro", "hooks"], "the agent's hooks"),
    (&[".kiro", "agents"], "the agent's hooks"),
    (&[".kiro", "settings"], "the agent's settings"),
    (&[".opencode", "plugin*"], "the agent's plugins"),
    (&["opencode.json*"], "the agent's settings"),
    (&[".vscode", "mcp.json"], "the agent's servers"),
    (&[".mcp.json"], "the agent's servers"),
    (&["hooks.json"], "the agent's hooks"),
];

/// Directories that hold nothing but what is protected above; taking them away takes it away.
const HOLDERS: &[&str] =
    &[".geode", ".husky", ".claude", ".codex", ".cursor", ".gemini", ".copilot", ".grok", ".kiro", ".opencode", ".qwen", ".factory"];

/// Returns what a path is, when a change of it is asked about.
#[must_use]
pub fn protected(walker: &Walker<'_>, path: &str, env: &Env) -> Option<&'static str> {
    let mut paths: Vec<String> = env.cwds.iter().filter_map(|cwd| walker.place.absolute(path, cwd)).collect();
    if paths.is_empty() {
        paths.push(crate::paths::normalise(path));
    }
    paths.iter().find_map(|full| label(full, &walker.settings.protect, walker))
}

fn label(full: &str, extra: &[String], walker: &Walker<'_>) -> Option<&'static str> {
    let lower = full.to_lowercase();
    let parts: Vec<&str> = lower.split('/').filter(|p| !p.is_empty()).collect();
    let hit = PROTECTED
        .iter()
        .find(|(row, _)| parts.windows(row.len()).any(|window| window.iter().zip(row.iter()).all(|(part, pattern)| alike(part, pattern))));
    if let Some((_, label)) = hit {
        return Some(label);
    }
    let tree = format!("{}/", walker.place.workspace);
    let inside = full.strip_prefix(&tree).unwrap_or(full);
    extra.iter().any(|p| glob::matches(p, inside) || glob::matches(p, full)).then_some("a path that the settings protect")
}

/// Compares a component, which may hold patterns or unknown parts, with a protected name, which may end in `*`.
fn alike(part: &str, name: &str) -> bool {
    let known = part.chars().filter(|c| !matches!(*c, UNKNOWN | REMOTE | '*' | '?' | '[' | ']')).count();
    if part.contains([UNKNOWN, REMOTE, '*', '?', '[']) {
        let pattern = part.replace([UNKNOWN, REMOTE], "*");
        return known >= 2 && glob::matches(&pattern, name.trim_end_matches('*'));
    }
    glob::matches(name, part)
}

fn holder(walker: &Walker<'_>, path: &str, env: &Env) -> Option<&'static str> {
    if let Some(label) = protected(walker, path, env) {
        return Some(label);
    }
    let name = crate::paths::normalise(path).to_lowercase();
    let last = name.rsplit('/').next().unwrap_or_default();
    HOLDERS.iter().any(|h| alike(last, h)).then_some("a folder of agent or hook configuration")
}

/// Which operands of a program are written to.
#[derive(Clone, Copy)]
enum Writes {
    /// All of them.
    All,
    /// All of them, and a folder that holds protected things counts.
    Trees,
    /// The last one, or the target option's.
    Last,
    /// All, but only with an in-place option.
    InPlace,
}

const WRITERS: &[(&str, Writes)] = &[
    ("tee", Writes::All),
    ("sponge", Writes::All),
    ("touch", Writes::All),
    ("truncate", Writes::All),
    ("shred", Writes::All),
    ("mkdir", Writes::All),
    ("patch", Writes::All),
    ("ed", Writes::All),
    ("ex", Writes::All),
    ("vi", Writes::All),
    ("vim", Writes::All),
    ("nvim", Writes::All),
    ("nano", Writes::All),
    ("emacs", Writes::All),
    ("code", Writes::All),
    ("unlink", Writes::Trees),
    ("rm", Writes::Trees),
    ("rmdir", Writes::Trees),
    ("rimraf", Writes::Trees),
    ("mv", Writes::Trees),
    ("ln", Writes::Trees),
    ("chmod", Writes::Trees),
    ("chown", Writes::Trees),
    ("chgrp", Writes::Trees),
    ("chattr", Writes::Trees),
    ("rename", Writes::Trees),
    ("cp", Writes::Last),
    ("install", Writes::Last),
    ("rsync", Writes::Last),
    ("scp", Writes::Last),
    ("sed", Writes::InPlace),
    ("gsed", Writes::InPlace),
    ("perl", Writes::InPlace),
    ("ruby", Writes::InPlace),
    ("awk", Writes::InPlace),
    ("gawk", Writes::InPlace),
    ("yq", Writes::InPlace),
    ("dasel", Writes::All),
    ("prettier", Writes::InPlace),
];

/// Options whose value is a file that is written, or a directory that is written into.
const TARGETS: &[&str] = &[
    "-o",
    "-O",
    "-t",
    "-d",
    "-C",
    "-P",
    "--output",
    "--output-document",
    "--target-directory",
    "--directory",
    "--directory-prefix",
    "--output-dir",
];

/// Judges what a program writes.
pub fn judge_writes(walker: &mut Walker<'_>, call: &Call, env: &Env) {
    let mut targets: Vec<String> = option_targets(call);
    let mut trees = false;
    if let Some((_, writes)) = WRITERS.iter().find(|(name, _)| *name == call.program) {
        trees = matches!(writes, Writes::Trees);
        let operands = call.operands().map(str::to_owned);
        match writes {
            Writes::All | Writes::Trees => targets.extend(operands),
            Writes::Last => targets.extend(operands.last()),
            Writes::InPlace if in_place(call) => targets.extend(operands),
            Writes::InPlace => {}
        }
    }
    match call.program.as_str() {
        "git" => targets.extend(git_targets(call)),
        "dd" => targets.extend(call.texts().filter_map(|t| t.strip_prefix("of=").map(str::to_owned))),
        "find" => targets.extend(find_targets(call)),
        _ => {}
    }
    for target in targets {
        let label = if trees { holder(walker, &target, env) } else { protected(walker, &target, env) };
        if let Some(label) = label {
            walker.find(Level::Ask, &call.shown(), format!("changes {label}"), INSTEAD);
        }
    }
    if matches!(call.program.as_str(), "apply_patch" | "applypatch" | "patch")
        || call.program == "git" && call.texts().any(|t| t == "apply")
    {
        let mut texts: Vec<String> = call.texts().map(str::to_owned).collect();
        if let Feed::Text(text) = &call.feed {
            texts.push(text.clone());
        }
        for text in texts {
            judge_patch(walker, &text, env);
        }
    }
}

fn in_place(call: &Call) -> bool {
    call.texts().any(|t| t.starts_with("-i") || t.starts_with("--in-place") || t.starts_with("--inplace") || t == "--write" || t == "-w")
        || call.texts().any(|t| !t.starts_with("--") && t.starts_with('-') && t.ends_with('i') && t.len() <= 5)
}

fn option_targets(call: &Call) -> Vec<String> {
    let writers =
        ["curl", "wget", "tar", "unzip", "cp", "mv", "install", "ln", "7z", "bsdtar", "sort", "jq", "openssl", "aria2c", "gcc", "cc"];
    if !writers.contains(&call.program.as_str()) {
        return Vec::new();
    }
    let texts: Vec<&str> = call.texts().collect();
    let mut out = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        for option in TARGETS {
            if text == option {
                out.extend(texts.get(i.saturating_add(1)).map(|s| (*s).to_owned()));
            } else if let Some(value) = text.strip_prefix(option).filter(|v| !v.is_empty()) {
                out.push(value.trim_start_matches('=').to_owned());
            }
        }
    }
    out
}

fn git_targets(call: &Call) -> Vec<String> {
    let mut operands = call.operands().skip_while(|t| !matches!(*t, "checkout" | "restore" | "rm" | "mv" | "checkout-index"));
    if operands.next().is_none() { Vec::new() } else { operands.map(str::to_owned).collect() }
}

fn find_targets(call: &Call) -> Vec<String> {
    let texts: Vec<&str> = call.texts().collect();
    let mut out = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        if matches!(*text, "-fprint" | "-fprintf" | "-fls" | "-fprint0") {
            out.extend(texts.get(i.saturating_add(1)).map(|s| (*s).to_owned()));
        }
    }
    if texts.contains(&"-delete") {
        out.extend(texts.iter().take_while(|t| !t.starts_with('-')).map(|s| (*s).to_owned()));
    }
    out
}

/// Judges the files that a patch names, in either of the two formats.
pub fn judge_patch(walker: &mut Walker<'_>, text: &str, env: &Env) {
    const MARKS: &[&str] =
        &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ ", "--- ", "rename to ", "rename from "];
    for line in text.lines() {
        let line = line.trim_start();
        let Some(path) = MARKS.iter().find_map(|mark| line.strip_prefix(mark)) else { continue };
        let path = path.split('\t').next().unwrap_or(path).trim();
        if let Some(label) = protected(walker, path, env) {
            walker.find(Level::Ask, line, format!("changes {label}"), INSTEAD);
        }
    }
}

/// Programs that only show their arguments.
const SHOWS: &[&str] = &[
    "echo", "printf", "grep", "rg", "ag", "cat", "man", "which", "git", "ls", "type", "less", "head", "tail", "whatis", "apropos",
    "whereis", "test", "[",
];

/// Judges a run of the program that gives or takes trust, whoever starts it.
pub fn judge_cli(walker: &mut Walker<'_>, call: &Call) {
    if SHOWS.contains(&call.program.as_str()) {
        return;
    }
    let is_cli = |text: &str| {
        let name = crate::paths::base_name(text).to_ascii_lowercase();
        name.strip_suffix(".exe").unwrap_or(&name).split('@').next().is_some_and(|n| n == "geode-hooks")
    };
    let mut words = std::iter::once(call.path.as_str()).chain(call.texts()).skip_while(|t| !is_cli(t)).skip(1);
    let hit = words.any(|t| matches!(t, "trust" | "untrust" | "enable" | "disable") || t.contains([UNKNOWN, REMOTE]));
    if hit {
        walker.find(Level::Ask, &call.shown(), "changes which hook plugins are trusted or run", "ask the person to run it");
    }
}

/// Variables that make a shell, the loader or git run something, or switch hooks off.
const VARIABLES: &[&str] = &[
    "BASH_ENV",
    "PROMPT_COMMAND",
    "LD_PRELOAD",
    "DYLD_INSERT_LIBRARIES",
    "HUSKY",
    "GIT_TEMPLATE_DIR",
    "GEODE_HOME",
    "LEFTHOOK",
    "PRE_COMMIT_ALLOW_NO_CONFIG",
    "GIT_CONFIG",
];

/// Judges `name=value` in front of a command or exported.
pub fn judge_variable(walker: &mut Walker<'_>, text: &str) {
    let Some((name, _)) = text.split_once('=') else { return };
    if VARIABLES.contains(&name) || name.starts_with("GIT_CONFIG_") {
        walker.find(Level::Ask, text, "sets a variable that runs a program or switches hooks off", "run the command without it");
    }
}
