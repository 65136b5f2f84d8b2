//! Where a path lies: inside the work tree, in temp, or where nothing may be deleted.
//!
//! Separate because every rule asks the same question, and asks it of text alone. Invariant: paths are normalised by their letters (`.`, `..`,
//! `//`), nothing looks at a file system; a part that is not known makes the place [`Zone::Unknown`], never a good one.

use crate::glob;
use crate::settings::Settings;
use crate::shell::{REMOTE, UNKNOWN};

/// The fixed surroundings of one tool call.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The work tree's root, normalised; empty when unknown.
    pub workspace: String,
    /// The user's home when it can be told from the work tree, else `~`.
    pub home: String,
    /// Further roots in which deletion is fine, normalised.
    pub allowed: Vec<String>,
}

/// What a path is to the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Below the work tree, temp, or an allowed root.
    Free,
    /// The work tree's root, or a directory that holds it.
    TreeRoot,
    /// The repository's `.git`, or something in it.
    Git,
    /// The home directory itself.
    Home,
    /// The root of the file system.
    Root,
    /// Anywhere else.
    Outside,
    /// Cannot be told from the text.
    Unknown,
}

const TEMP: &[&str] = &["/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm"];

impl Place {
    /// Builds the surroundings from the host's context.
    #[must_use]
    pub fn new(cwd: &str, workspace: &str, settings: &Settings) -> Self {
        let tree = if workspace.is_empty() { cwd } else { workspace };
        let workspace = if tree.starts_with('/') { normalise(tree) } else { String::new() };
        let home = home_of(&workspace);
        // A home directory or the whole disk is no work tree: nothing in it is free to delete.
        let workspace = if workspace == home || workspace == "/" { String::new() } else { workspace };
        let mut place = Self { workspace, home, allowed: Vec::new() };
        place.allowed = settings.allow_paths.iter().filter_map(|p| place.absolute(p, "/")).collect();
        place
    }

    /// Returns `path` as an absolute, normalised path seen from `cwd`; nothing when it depends on something unknown at its start.
    #[must_use]
    pub fn absolute(&self, path: &str, cwd: &str) -> Option<String> {
        let path = path.replace('\\', "/");
        if path.starts_with([UNKNOWN, REMOTE]) {
            return None;
        }
        if path == "~" || path.starts_with("~/") {
            let rest = path.strip_prefix('~').unwrap_or_default();
            return Some(normalise(&format!("{}{rest}", self.home)));
        }
        if path.starts_with('/') || path.starts_with('~') {
            return Some(normalise(&path));
        }
        (!cwd.is_empty()).then(|| normalise(&format!("{cwd}/{path}")))
    }

    /// Returns the zone of what a recursive deletion of `path` would take away.
    #[must_use]
    pub fn zone(&self, path: &str, cwd: &str) -> Zone {
        let Some(full) = self.absolute(path, cwd) else { return Zone::Unknown };
        let (base, unknown) = known_base(&full);
        if unknown {
            return match self.fixed(&base) {
                Zone::Free => Zone::Unknown,
                zone => self.unknown_below(&base, zone),
            };
        }
        self.fixed(&base)
    }

    /// A path with an unknown later part: known to be bad when everything below its start is bad.
    fn unknown_below(&self, base: &str, zone: Zone) -> Zone {
        match zone {
            Zone::Outside | Zone::Home if !is_below(&self.workspace, base) => Zone::Outside,
            _ => Zone::Unknown,
        }
    }

    fn fixed(&self, path: &str) -> Zone {
        if path == "/" {
            return Zone::Root;
        }
        if self.allowed.iter().any(|root| is_below(path, root)) {
            return Zone::Free;
        }
        if !self.workspace.is_empty() && is_below(&self.workspace, path) {
            return if path == self.home { Zone::Home } else { Zone::TreeRoot };
        }
        if path == self.home || path == "~" || is_home_root(path) {
            return Zone::Home;
        }
        let in_tree = !self.workspace.is_empty() && is_below(path, &self.workspace);
        let in_temp = TEMP.iter().any(|root| path != *root && is_below(path, root));
        if path.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
            return if in_temp && !in_tree { Zone::Free } else { Zone::Git };
        }
        if in_tree || in_temp { Zone::Free } else { Zone::Outside }
    }
}

/// Cuts at the first component with a pattern. A pattern that could take everything stands for its directory; another is kept out of the
/// base when it is the last component. Returns the base, and whether an unknown part was met.
fn known_base(full: &str) -> (String, bool) {
    let mut base = String::new();
    for part in full.split('/').filter(|p| !p.is_empty()) {
        if part.contains([UNKNOWN, REMOTE]) {
            return (rooted(base), true);
        }
        if part.contains(['*', '?', '[']) {
            if takes_everything(part) {
                return (rooted(base), false);
            }
            base.push('/');
            base.push_str(part);
            return (base, false);
        }
        if !(base.is_empty() && part == "~") {
            base.push('/');
        }
        base.push_str(part);
    }
    (rooted(base), false)
}

fn rooted(base: String) -> String {
    if base.is_empty() { "/".to_owned() } else { base }
}

fn takes_everything(pattern: &str) -> bool {
    glob::matches(pattern, ".git") || glob::matches(pattern, "zq-9") || glob::matches(pattern, "src")
}

/// Returns whether `path` is `root` or lies below it.
#[must_use]
pub fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| root.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
}

/// Returns `path` without `.`, `..` and doubled slashes. `..` at the root stays at the root; a leading `~` counts as a root.
#[must_use]
pub fn normalise(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let at_home = path.starts_with('~');
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if at_home && parts.len() <= 1 => return "/home".to_owned(),
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if at_home { joined } else { format!("/{joined}") }
}

/// Returns the last component of a program's path.
#[must_use]
pub fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn home_of(workspace: &str) -> String {
    let mut parts = workspace.split('/').filter(|p| !p.is_empty());
    match (parts.next(), parts.next()) {
        (Some(root @ ("home" | "Users")), Some(user)) => format!("/{root}/{user}"),
        (Some("root"), _) => "/root".to_owned(),
        _ => "~".to_owned(),
    }
}

fn is_home_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    match parts.as_slice() {
        [one] => one.starts_with('~') || matches!(*one, "root" | "home" | "Users"),
        [parent, _] => matches!(*parent, "home" | "Users"),
        _ => false,
    }
}
