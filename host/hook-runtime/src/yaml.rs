//! Reads YAML of which every key and value must be understood.
//!
//! Separate because manifests and the operator's configuration are read alike. Invariant: an error says where, what was expected and what was
//! found, safe to show.

use hook_contract::hook::Object;
use hook_contract::{FailureMode, display};
use serde_json::Value;

/// Why a document was refused: a fragment that says where and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidYaml(String);

/// Reads a document.
pub(crate) fn parse(text: &str) -> Result<Value, InvalidYaml> {
    serde_saphyr::from_str(text).map_err(|error| invalid(format!("broken YAML: {}", display::plain(&error.to_string(), 200))))
}

pub(crate) fn invalid(message: impl Into<String>) -> InvalidYaml {
    InvalidYaml(message.into())
}

pub(crate) fn expected(key: &str, what: &str, value: &Value) -> InvalidYaml {
    invalid(format!("`{key}`: expected {what}, found `{}`", display::plain(&value.to_string(), 80)))
}

pub(crate) fn known_keys(object: &Object, known: &[&str], prefix: &str) -> Result<(), InvalidYaml> {
    let Some(unknown) = object.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
    let shown = display::plain(unknown, 64);
    let nearest = known.iter().min_by_key(|key| strsim::damerau_levenshtein(key, &shown)).copied().unwrap_or_default();
    Err(invalid(format!("unknown key `{prefix}{shown}`; the nearest known one is `{prefix}{nearest}`")))
}

pub(crate) fn mapping<'a>(key: &str, value: &'a Value) -> Result<&'a Object, InvalidYaml> {
    value.as_object().ok_or_else(|| expected(key, "a mapping", value))
}

pub(crate) fn text(key: &str, value: &Value) -> Result<String, InvalidYaml> {
    value.as_str().map(str::to_owned).ok_or_else(|| expected(key, "text", value))
}

pub(crate) fn boolean(key: &str, value: &Value) -> Result<bool, InvalidYaml> {
    value.as_bool().ok_or_else(|| expected(key, "true or false", value))
}

pub(crate) fn failure_mode(value: &Value) -> Result<FailureMode, InvalidYaml> {
    match value.as_str() {
        Some("open") => Ok(FailureMode::Open),
        Some("closed") => Ok(FailureMode::Closed),
        _ => Err(expected("on_failure", "open or closed", value)),
    }
}
