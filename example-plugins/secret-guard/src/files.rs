//! Which files are secret: by name, by extension, by the folder they lie in, and by the settings.
//!
//! Separate because every way a path can reach a tool asks this one question. A path is judged by its text alone; nothing is read.

use crate::{glob, settings::Settings};

/// Names of files that hold credentials.
const NAMES: &[&str] = &[
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".vault-token",
    ".dockercfg",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
];

/// Extensions of keys, key stores and states that hold secrets in the clear.
const EXTENSIONS: &[&str] = &["pem", "key", "p12", "pfx", "ppk", "jks", "keystore", "kdbx", "tfstate", "tfstate.backup"];

/// Ends of paths: a file in a folder.
const FILES: &[&[&str]] = &[
    &[".aws", "credentials"],
    &[".kube", "config"],
    &[".docker", "config.json"],
    &[".config", "gh", "hosts.yml"],
    &[".cargo", "credentials"],
    &[".cargo", "credentials.toml"],
    &[".gem", "credentials"],
    &[".m2", "settings.xml"],
    &[".terraform.d", "credentials.tfrc.json"],
    &["application_default_credentials.json"],
    &["kubeconfig"],
    &["etc", "shadow"],
    &["etc", "gshadow"],
    &["proc", "*", "environ"],
    &[".aws", "sso", "cache", "*"],
    &[".aws", "cli", "cache", "*"],
];

/// Folders in which everything is secret.
const FOLDERS: &[&[&str]] = &[&[".ssh"], &[".gnupg"], &[".azure"], &[".config", "gcloud"], &[".password-store"], &["share", "keyrings"]];

/// What lies beside private keys and is no secret. What ends in `.pub` is not either.
const SSH_PUBLIC: &[&str] = &["known_hosts", "known_hosts.old", "authorized_keys", "config", "allowed_signers"];

/// Ends of `.env.example` and the like, which are made to be shared.
const ENV_SHARED: &[&str] = &["example", "sample", "template"];

/// Fewer plain characters than this make a pattern that is about all files.
const TELLING: usize = 2;

/// Longer texts are no paths (`PATH_MAX` on Linux).
const LONGEST_PATH: usize = 4096;

/// A secret file and what it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: String,
    pub(crate) kind: &'static str,
}

/// The built-in rules with those of the settings.
#[derive(Debug)]
pub(crate) struct Policy {
    allow: Vec<String>,
    deny: Vec<String>,
}

impl Policy {
    pub(crate) fn new(settings: &Settings) -> Self {
        let fold = |patterns: &[String]| patterns.iter().map(|pattern| parts(pattern).join("/")).collect();
        Self { allow: fold(&settings.allow), deny: fold(&settings.deny) }
    }

    /// What makes `path` a secret file, if anything does. `allow` wins over `deny`, and both over the built-in rules.
    pub(crate) fn check(&self, path: &str) -> Option<Found> {
        if path.len() > LONGEST_PATH {
            return None;
        }
        let parts = parts(path);
        if in_list(&self.allow, &parts) {
            return None;
        }
        let kind = if in_list(&self.deny, &parts) { Some("a file that the settings protect") } else { built_in(&parts) };
        kind.map(|kind| Found { path: path.to_owned(), kind })
    }
}

/// The parts of a path in one spelling: lower case, because some file systems ignore it, no `.`, no empty part, `..` resolved.
fn parts(path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for part in path.split(['/', '\\']) {
        // `name::$DATA` is another spelling of `name` on Windows.
        match part.split("::").next().unwrap_or(part).trim() {
            "" | "." | "~" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part.to_ascii_lowercase()),
        }
    }
    parts
}

/// A pattern without `/` is about the name; one with it about the path's end.
fn in_list(patterns: &[String], parts: &[String]) -> bool {
    patterns.iter().any(|pattern| {
        let ends = (0..parts.len()).filter_map(|from| parts.get(from..)).map(|end| end.join("/"));
        if pattern.contains('/') { ends.into_iter().any(|end| glob::matches(pattern, &end)) } else { name_matches(pattern, parts) }
    })
}

fn name_matches(pattern: &str, parts: &[String]) -> bool {
    parts.last().is_some_and(|name| glob::matches(pattern, name))
}

fn built_in(parts: &[String]) -> Option<&'static str> {
    let name = parts.last()?;
    if FILES.iter().any(|file| ends_with(parts, file)) {
        return Some("a file with credentials");
    }
    if let Some(kind) = by_folder(parts, name) {
        return Some(kind);
    }
    if name.contains(['*', '?']) { by_pattern(name) } else { by_name(name) }
}

fn by_name(name: &str) -> Option<&'static str> {
    if is_environment(name) {
        return Some("an environment file with secrets");
    }
    if NAMES.contains(&name) {
        return Some("a file with credentials");
    }
    EXTENSIONS.iter().any(|extension| has_extension(name, extension)).then_some("a key or a store of secrets")
}

/// A name that is all extension (`.key` in a program's text) is not one.
fn has_extension(name: &str, extension: &str) -> bool {
    name.strip_suffix(extension).is_some_and(|stem| stem.len() > 1 && stem.ends_with('.'))
}

fn is_environment(name: &str) -> bool {
    let named = name.strip_prefix(".env").is_some_and(|rest| rest.is_empty() || rest == "rc" || rest.starts_with(['.', '-', '_', '~']));
    named && !is_shared(name)
}

fn is_shared(name: &str) -> bool {
    name.rsplit('.').next().is_some_and(|end| ENV_SHARED.contains(&end))
}

fn by_folder(parts: &[String], name: &str) -> Option<&'static str> {
    let holds = |folder: &[&str]| parts.windows(folder.len()).any(|window| window.iter().eq(folder.iter()));
    let folder = FOLDERS.iter().find(|folder| holds(folder))?;
    let public = *folder == [".ssh"] && (has_extension(name, "pub") || SSH_PUBLIC.contains(&name));
    (!public).then_some("in a folder of secrets")
}

/// A shell turns `.e*` into `.env`, so a pattern is tried on the names that are secret.
fn by_pattern(pattern: &str) -> Option<&'static str> {
    let telling = pattern.chars().filter(|character| !matches!(character, '*' | '?')).count() >= TELLING;
    let matches = |name: &str| glob::matches(pattern, name);
    let hits = || {
        NAMES.iter().any(|name| matches(name))
            || EXTENSIONS.iter().any(|extension| matches(&format!("server.{extension}")))
            || matches(".env")
            || pattern.starts_with(".env")
    };
    (telling && !is_shared(pattern) && hits()).then_some("a pattern that matches secret files")
}

fn ends_with(parts: &[String], file: &[&str]) -> bool {
    let start = parts.len().checked_sub(file.len()).and_then(|from| parts.get(from..));
    start.is_some_and(|end| end.iter().zip(file).all(|(part, expected)| *expected == "*" || part == expected))
}
