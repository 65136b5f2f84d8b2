//! Lists the roots and reads manifests: what could be a plugin, and what it asks for.
//!
//! Separate because it touches hostile folders and must stay cheap. Invariant: it follows no link out of a root, reads no wasm bytes, and
//! leaves nothing out in silence.

use crate::files::read_plain;
use crate::manifest::{self, Manifest, check_name};
use hook_contract::{Failure, FailureKind, display};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Whose folder a plugin lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// `~/.geode/hooks`: runs as it lies there.
    User,
    /// A project's `.geode/hooks`: runs after trust.
    Project,
}

impl Level {
    /// Returns the word for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A folder of plugins.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) level: Level,
    /// The folder that `.geode` lies in, or for the user `~/.geode` itself; canonical where it exists.
    pub(crate) base: PathBuf,
    /// The folder of plugins.
    pub(crate) hooks: PathBuf,
}

/// Something in a root that may be a plugin.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) level: Level,
    /// Its name as far as it is known: the manifest's, else the entry's.
    pub(crate) name: String,
    /// Its place inside the root, safe to show.
    pub(crate) place: String,
    pub(crate) source: Result<Source, Failure>,
}

/// Where a candidate's bytes are, and what it asks for.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) component: PathBuf,
    pub(crate) manifest: Manifest,
    /// BLAKE3 of the manifest's bytes; of nothing for a lone component.
    pub(crate) manifest_digest: blake3::Hash,
}

/// What a root holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub(crate) candidates: Vec<Candidate>,
    /// How many entries past the bound were not looked at.
    pub(crate) unread: usize,
}

/// The most entries of a root that are looked at.
pub(crate) const MAX_ENTRIES: usize = 256;
/// The most entries that are even counted.
const MAX_COUNTED: usize = 100_000;

/// Lists a root; a root that does not exist is empty.
pub(crate) fn discover(root: &Root) -> std::io::Result<Listing> {
    let span = tracing::debug_span!("discover", level = root.level.word());
    let _entered = span.enter();
    let entries = match std::fs::read_dir(&root.hooks) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Listing::default()),
        Err(error) => return Err(error),
    };
    if !lies_inside(&root.hooks, &root.base) {
        let failure = Failure::new(FailureKind::UnsafeEntry, "the folder of hooks is a link that leads out of its place");
        let candidate = Candidate { level: root.level, name: "hooks".into(), place: ".".into(), source: Err(failure) };
        return Ok(Listing { candidates: vec![candidate], unread: 0 });
    }
    let mut names: Vec<_> =
        entries.take(MAX_COUNTED).filter_map(Result::ok).map(|entry| entry.file_name()).filter(|name| is_candidate_name(name)).collect();
    names.sort();
    let unread = names.len().saturating_sub(MAX_ENTRIES);
    let candidates = names.iter().take(MAX_ENTRIES).filter_map(|name| candidate(root, name)).collect();
    Ok(Listing { candidates, unread })
}

fn lies_inside(path: &Path, base: &Path) -> bool {
    let (Ok(path), Ok(base)) = (std::fs::canonicalize(path), std::fs::canonicalize(base)) else { return false };
    path.starts_with(base)
}

/// Says whether an entry's name is not hidden and not that of a temporary file.
fn is_candidate_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    !name.starts_with(['.', '#', '~']) && !name.ends_with('~') && ![".tmp", ".part", ".swp", ".bak"].iter().any(|end| name.ends_with(end))
}

/// Returns what an entry may be: a lone component, a folder with a manifest, or nothing of ours.
fn candidate(root: &Root, name: &OsStr) -> Option<Candidate> {
    let path = root.hooks.join(name);
    let shown = name.to_string_lossy();
    let is_wasm = path.extension() == Some(OsStr::new("wasm"));
    let stem = if is_wasm { path.file_stem().unwrap_or(name).to_string_lossy().into_owned() } else { shown.clone().into_owned() };
    let file_type = std::fs::symlink_metadata(&path).ok()?.file_type();
    let source = if file_type.is_dir() {
        with_manifest(&path, &stem)
    } else if is_wasm {
        lone(&path, &stem, file_type)
    } else if file_type.is_symlink() {
        Err(Failure::new(FailureKind::UnsafeEntry, "it is a link"))
    } else {
        return None;
    };
    let name = source.as_ref().map_or(stem, |source| source.manifest.name.clone());
    Some(Candidate { level: root.level, name: display::plain(&name, 64), place: display::plain(&shown, 128), source })
}

fn lone(path: &Path, stem: &str, file_type: std::fs::FileType) -> Result<Source, Failure> {
    if !file_type.is_file() {
        return Err(Failure::new(FailureKind::UnsafeEntry, "it is no plain file"));
    }
    check_name(stem).map_err(|error| Failure::new(FailureKind::BadManifest, error.to_string()))?;
    Ok(Source { component: path.to_owned(), manifest: Manifest::of_lone_component(stem), manifest_digest: blake3::hash(b"") })
}

fn with_manifest(folder: &Path, name: &str) -> Result<Source, Failure> {
    let bytes = read_plain(&folder.join("hook.yaml"), manifest::MAX_BYTES).map_err(|error| {
        let message =
            if error.is_absent() { "the folder has no hook.yaml".to_owned() } else { format!("hook.yaml cannot be read: {error}") };
        Failure::new(FailureKind::BadManifest, message)
    })?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Failure::new(FailureKind::BadManifest, "hook.yaml is no UTF-8 text"))?;
    let manifest = Manifest::parse(text, name).map_err(|error| Failure::new(FailureKind::BadManifest, format!("hook.yaml: {error}")))?;
    let component = folder.join(&manifest.component);
    match std::fs::symlink_metadata(&component) {
        Err(_) => {
            let message = format!("`{}` is not there", display::plain(&manifest.component, 80));
            return Err(Failure::new(FailureKind::MissingComponent, message));
        }
        Ok(metadata) if !metadata.is_file() || !lies_inside(&component, folder) => {
            return Err(Failure::new(FailureKind::UnsafeEntry, "the component is no plain file of its folder"));
        }
        Ok(_) => {}
    }
    Ok(Source { component, manifest, manifest_digest: blake3::hash(&bytes) })
}
