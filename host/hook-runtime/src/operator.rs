//! The operator's configuration: what the owner of this machine overrides for plugins, whatever their manifests say.
//!
//! Separate because it is neither a plugin's nor a project's. Invariant: a key or value that is not understood is an error, and a name
//! that is no plugin's here is said in `list`: one file serves every project, so that cannot be an error.

use crate::files::{ReadError, read_plain};
use crate::yaml::{self, InvalidYaml, expected, failure_mode, known_keys, mapping};
use hook_contract::{FailureMode, display};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Whether a plugin's answers count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PluginMode {
    /// They are applied.
    #[default]
    Enforce,
    /// It is called, checked and audited; nothing is applied.
    Monitor,
}

impl PluginMode {
    /// Returns the word in configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Monitor => "monitor",
        }
    }

    /// Returns the mode of a word, or `None`.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Enforce, Self::Monitor].into_iter().find(|mode| mode.word() == word)
    }
}

/// What is overridden for a plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Override {
    pub(crate) mode: Option<PluginMode>,
    pub(crate) on_failure: Option<FailureMode>,
}

/// The file's content.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OperatorConfig {
    plugins: HashMap<String, Override>,
}

/// Why the operator's configuration was refused.
#[derive(Debug, thiserror::Error)]
#[error("the configuration `{path}` {problem}; correct it, or move it away")]
pub struct ConfigError {
    path: PathBuf,
    problem: String,
}

const MAX_BYTES: u64 = 256 * 1024;

impl OperatorConfig {
    /// Reads the file of a configuration directory; one that does not exist overrides nothing.
    pub(crate) fn read(directory: &Path) -> Result<Self, ConfigError> {
        let path = directory.join("config.yaml");
        let fail = |problem: String| ConfigError { path: path.clone(), problem };
        // The operator's own files may be links into a folder of settings.
        match read_plain(&std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone()), MAX_BYTES) {
            Ok(bytes) => {
                let text = String::from_utf8(bytes).map_err(|_| fail("is no UTF-8 text".to_owned()))?;
                Self::parse(&text).map_err(|error| fail(format!("is wrong: {error}")))
            }
            Err(error) if error.is_absent() => Ok(Self::default()),
            Err(ReadError::Io(error)) => Err(fail(format!("cannot be read: {error}"))),
            Err(error) => Err(fail(format!("cannot be read: {error}"))),
        }
    }

    fn parse(text: &str) -> Result<Self, InvalidYaml> {
        let value = yaml::parse(text)?;
        let mut config = Self::default();
        if value.is_null() {
            return Ok(config);
        }
        let document = mapping("the file", &value)?;
        known_keys(document, &["plugins"], "")?;
        let Some(plugins) = document.get("plugins") else { return Ok(config) };
        for (name, value) in mapping("plugins", plugins)? {
            config.plugins.insert(name.clone(), override_of(name, value)?);
        }
        Ok(config)
    }

    /// Returns the names that it overrides something for.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.plugins.keys().map(String::as_str).filter(|name| *name != "*")
    }

    /// Returns what is overridden for a plugin: what stands under its name, else what stands under `*`.
    pub(crate) fn of(&self, name: &str) -> Override {
        let entry = |name: &str| self.plugins.get(name).copied().unwrap_or_default();
        let (own, all) = (entry(name), entry("*"));
        Override { mode: own.mode.or(all.mode), on_failure: own.on_failure.or(all.on_failure) }
    }
}

fn override_of(name: &str, value: &Value) -> Result<Override, InvalidYaml> {
    let place = format!("plugins.{}", display::plain(name, 64));
    let object = mapping(&place, value)?;
    known_keys(object, &["mode", "on_failure"], &format!("{place}."))?;
    let mode = |value: &Value| {
        value.as_str().and_then(PluginMode::from_word).ok_or_else(|| expected(&format!("{place}.mode"), "enforce or monitor", value))
    };
    Ok(Override { mode: object.get("mode").map(mode).transpose()?, on_failure: object.get("on_failure").map(failure_mode).transpose()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugins_own_entry_beats_the_one_for_all() {
        let config = OperatorConfig::parse("plugins:\n  '*': {mode: monitor, on_failure: closed}\n  a: {mode: enforce}\n").unwrap();
        let of = |name: &str| (config.of(name).mode, config.of(name).on_failure);
        assert_eq!(of("a"), (Some(PluginMode::Enforce), Some(FailureMode::Closed)));
        assert_eq!(of("b"), (Some(PluginMode::Monitor), Some(FailureMode::Closed)));
        assert_eq!(OperatorConfig::parse("").unwrap(), OperatorConfig::default());
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        let cases = [
            ("plugin: {}", "nearest known one is `plugins`"),
            ("plugins: {a: {mod: monitor}}", "nearest known one is `plugins.a.mode`"),
            ("plugins: {a: {mode: off}}", "enforce or monitor"),
            ("plugins: {a: {on_failure: shut}}", "open or closed"),
            ("plugins: [a]", "a mapping"),
            ("plugins: {a: {}", "broken YAML"),
        ];
        for (text, expected) in cases {
            let error = OperatorConfig::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
