//! What a shell knows at one point of a command: directories, variables, functions, aliases.
//!
//! Separate because branches, subshells and pipes copy and merge it. Invariant: merging two states never makes a value known that differs
//! between them.

use std::collections::BTreeMap;
use std::rc::Rc;

use rable::Node;

use super::UNKNOWN;
use crate::paths::Place;

/// The most directories that are followed at once.
const MAX_CWDS: usize = 4;

/// The longest value that is followed, in bytes.
const MAX_VALUE: usize = 4096;
/// The most variables that are followed.
const MAX_VARS: usize = 200;

/// The state of one shell.
#[derive(Debug, Clone, Default)]
pub struct Env {
    /// The directories it may be in; none when unknown.
    pub cwds: Vec<String>,
    vars: BTreeMap<String, String>,
    /// Functions defined so far.
    pub functions: BTreeMap<String, Rc<Node>>,
    /// Aliases defined so far.
    pub aliases: BTreeMap<String, String>,
    /// The positional parameters, when known.
    pub args: Option<Vec<String>>,
    /// The functions and aliases that are being run.
    pub running: Vec<String>,
    /// How many shells are around this one.
    pub depth: usize,
}

impl Env {
    /// Returns a shell in `cwd`.
    #[must_use]
    pub fn new(cwd: &str) -> Self {
        let cwds = if cwd.starts_with('/') { vec![crate::paths::normalise(cwd)] } else { Vec::new() };
        Self { cwds, ..Self::default() }
    }

    /// Returns the value of a parameter; [`UNKNOWN`] when the text does not tell.
    #[must_use]
    pub fn lookup(&self, name: &str, place: &Place) -> String {
        if let Some(value) = self.vars.get(name) {
            return value.clone();
        }
        match name {
            "HOME" => place.home.clone(),
            "PWD" => match self.cwds.as_slice() {
                [one] => one.clone(),
                _ => UNKNOWN.to_string(),
            },
            "XDG_DATA_HOME" => format!("{}/.local/share", place.home),
            "XDG_STATE_HOME" => format!("{}/.local/state", place.home),
            "XDG_CONFIG_HOME" => format!("{}/.config", place.home),
            "GEODE_HOME" => format!("{}/.geode", place.home),
            "TMPDIR" => "/tmp".to_owned(),
            "IFS" => " ".to_owned(),
            "$" | "?" | "#" | "!" | "RANDOM" | "UID" | "EUID" | "PPID" | "BASHPID" | "SECONDS" | "EPOCHSECONDS" | "LINENO" => {
                "1".to_owned()
            }
            "@" | "*" => self.args.as_ref().map_or_else(|| UNKNOWN.to_string(), |args| args.join(" ")),
            _ => self.positional(name).unwrap_or_else(|| UNKNOWN.to_string()),
        }
    }

    fn positional(&self, name: &str) -> Option<String> {
        let index: usize = name.parse().ok()?;
        let args = self.args.as_ref()?;
        Some(args.get(index.checked_sub(1)?).cloned().unwrap_or_default())
    }

    /// Sets a variable.
    pub fn set(&mut self, name: &str, value: String) {
        let followed = value.len() <= MAX_VALUE && (self.vars.len() < MAX_VARS || self.vars.contains_key(name));
        self.vars.insert(name.to_owned(), if followed { value } else { UNKNOWN.to_string() });
    }

    /// Forgets a variable: it may be anything from now on.
    pub fn forget(&mut self, name: &str) {
        self.vars.insert(name.to_owned(), UNKNOWN.to_string());
    }

    /// Changes the directory, from every directory it may be in.
    pub fn change_dir(&mut self, target: &str, place: &Place) {
        if target.contains([UNKNOWN, super::REMOTE, '*', '?', '[']) {
            self.cwds.clear();
        } else if self.cwds.is_empty() {
            self.cwds.extend(place.absolute(target, ""));
        } else {
            self.cwds = self.cwds.iter().filter_map(|cwd| place.absolute(target, cwd)).collect();
            self.cwds.dedup();
        }
    }

    /// Takes in the other way this point may have been reached.
    pub fn merge(&mut self, other: &Self) {
        if self.cwds.is_empty() || other.cwds.is_empty() {
            self.cwds.clear();
        } else {
            for cwd in &other.cwds {
                if !self.cwds.contains(cwd) {
                    self.cwds.push(cwd.clone());
                }
            }
            if self.cwds.len() > MAX_CWDS {
                self.cwds.clear();
            }
        }
        for (name, value) in &other.vars {
            if self.vars.get(name) != Some(value) {
                self.vars.insert(name.clone(), UNKNOWN.to_string());
            }
        }
        let ours: Vec<String> = self.vars.keys().filter(|name| !other.vars.contains_key(*name)).cloned().collect();
        for name in ours {
            self.forget(&name);
        }
        for (name, body) in &other.functions {
            self.functions.entry(name.clone()).or_insert_with(|| Rc::clone(body));
        }
        self.aliases.extend(other.aliases.clone());
    }

    /// Returns whether variables and directories are the same.
    #[must_use]
    pub fn same_values(&self, other: &Self) -> bool {
        self.cwds == other.cwds && self.vars == other.vars
    }
}
