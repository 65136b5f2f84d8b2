//! The record of what a person vouched for.
//!
//! Separate because it decides what runs. Invariant: it lies in the user's data directory, it is bound to the bytes of component and
//! manifest, and nothing in a project can add to it.

use crate::files::{ReadError, open_lock, read_plain, write_private};
use crate::manifest::Grants;
use crate::operator::PluginMode;
use hook_contract::FailureMode;
use hook_contract::hook::{Action, Hook};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One plugin that was trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TrustRecord {
    /// The canonical path of the project; empty for the user's own folder.
    pub(crate) project: String,
    /// The plugin's name.
    pub(crate) name: String,
    /// BLAKE3 of the component, as hex.
    pub(crate) component: String,
    /// BLAKE3 of the manifest, as hex.
    pub(crate) manifest: String,
    /// The hooks it serves.
    pub(crate) hooks: Vec<String>,
    /// Lower runs first.
    pub(crate) priority: i64,
    /// Whether it answers closed when it fails.
    pub(crate) closed: bool,
    /// Whether nothing that it answers is applied.
    #[serde(default)]
    pub(crate) monitored: bool,
    /// The actions granted; `None` means every action of its hooks but `allow`.
    pub(crate) actions: Option<Vec<String>>,
    /// Whether the real payload was granted.
    pub(crate) full_payload: bool,
    /// What its manifest says of settings, matcher and limits, in words: to tell what changed.
    #[serde(default)]
    pub(crate) terms: Vec<String>,
    /// Seconds since the Unix epoch.
    pub(crate) trusted_at: u64,
}

impl TrustRecord {
    pub(crate) fn mode(&self) -> FailureMode {
        if self.closed { FailureMode::Closed } else { FailureMode::Open }
    }

    pub(crate) fn plugin_mode(&self) -> PluginMode {
        if self.monitored { PluginMode::Monitor } else { PluginMode::Enforce }
    }

    pub(crate) fn hooks(&self) -> Vec<Hook> {
        self.hooks.iter().filter_map(|name| Hook::from_name(name)).collect()
    }

    pub(crate) fn grants(&self) -> Grants {
        let actions = self.actions.as_ref().map(|words| words.iter().filter_map(|word| Action::from_word(word)).collect());
        Grants { actions, full_payload: self.full_payload, unavailable: Vec::new() }
    }
}

/// A plugin that a person switched off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Disabled {
    project: String,
    name: String,
}

/// The file's content.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    trusted: Vec<TrustRecord>,
    disabled: Vec<Disabled>,
}

/// Why the record could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("the trust record `{path}` {problem}; move it away to begin anew, then `geode-hooks trust`")]
pub struct TrustError {
    path: PathBuf,
    problem: String,
}

/// The most bytes of the record.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The record of trust, as it stood when it was read.
#[derive(Clone, Debug)]
pub(crate) struct TrustStore {
    path: PathBuf,
    document: Document,
}

impl TrustStore {
    /// Reads the record; one that does not exist is empty.
    pub(crate) fn read(data: &Path) -> Result<Self, TrustError> {
        let path = data.join("trust.json");
        let fail = |problem: String| TrustError { path: path.clone(), problem };
        let document = match read_plain(&path, MAX_BYTES) {
            Ok(bytes) => serde_json::from_slice::<Document>(&bytes).map_err(|error| fail(format!("is damaged: {error}")))?,
            Err(error) if error.is_absent() => Document { version: 1, ..Document::default() },
            Err(ReadError::Io(error)) => return Err(fail(format!("cannot be read: {error}"))),
            Err(error) => return Err(fail(format!("cannot be read: {error}"))),
        };
        if document.version != 1 {
            return Err(fail(format!("is of version {}, which this host does not know", document.version)));
        }
        Ok(Self { path, document })
    }

    /// Returns the record of a plugin.
    pub(crate) fn record(&self, project: &str, name: &str) -> Option<&TrustRecord> {
        self.document.trusted.iter().find(|record| record.project == project && record.name == name)
    }

    /// Returns every record of a project, or with an empty path of the user's own folder.
    pub(crate) fn records<'a>(&'a self, project: &'a str) -> impl Iterator<Item = &'a TrustRecord> {
        self.document.trusted.iter().filter(move |record| record.project == project)
    }

    pub(crate) fn is_disabled(&self, project: &str, name: &str) -> bool {
        self.document.disabled.iter().any(|disabled| disabled.project == project && disabled.name == name)
    }

    /// Reads the record anew, changes it and writes it, while no other process does.
    fn change(data: &Path, change: impl FnOnce(&mut Document) -> bool) -> Result<bool, TrustError> {
        let path = data.join("trust.json");
        let fail = |error: std::io::Error| TrustError { path: path.clone(), problem: format!("cannot be written: {error}") };
        let lock = open_lock(&data.join("trust.lock")).map_err(fail)?;
        lock.lock().map_err(fail)?;
        let mut store = Self::read(data)?;
        let changed = change(&mut store.document);
        if changed {
            let mut text = serde_json::to_vec_pretty(&store.document).map_err(|error| fail(error.into()))?;
            text.push(b'\n');
            write_private(&store.path, &text).map_err(fail)?;
        }
        Ok(changed)
    }

    /// Adds a record in place of an earlier one of that name.
    pub(crate) fn trust(data: &Path, record: TrustRecord) -> Result<(), TrustError> {
        Self::change(data, |document| {
            document.trusted.retain(|earlier| earlier.project != record.project || earlier.name != record.name);
            document.trusted.push(record);
            true
        })
        .map(|_| ())
    }

    /// Removes a record; says whether there was one.
    pub(crate) fn untrust(data: &Path, project: &str, name: &str) -> Result<bool, TrustError> {
        Self::change(data, |document| {
            let before = document.trusted.len();
            document.trusted.retain(|record| record.project != project || record.name != name);
            document.trusted.len() < before
        })
    }

    /// Switches a plugin off or on; says whether that changed anything.
    pub(crate) fn set_disabled(data: &Path, project: &str, name: &str, off: bool) -> Result<bool, TrustError> {
        Self::change(data, |document| {
            let before = document.disabled.len();
            document.disabled.retain(|disabled| disabled.project != project || disabled.name != name);
            let was_off = document.disabled.len() < before;
            if off {
                document.disabled.push(Disabled { project: project.to_owned(), name: name.to_owned() });
            }
            was_off != off
        })
    }
}
