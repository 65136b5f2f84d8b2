//! Why a plugin gave no verdict.
//!
//! Separate from the generated error so that `?` works on every error type.

use std::{error::Error, fmt};

use crate::bindings::host::geode::hooks::types::HookError;

/// A hook that ended without a verdict. The host records it and applies the plugin's failure mode: with `on_failure: open` the chain
/// goes on, with `closed` the hook gets its strictest answer.
///
/// Every error converts into [`Failure::Failed`], so `?` works in a hook. It is not an [`Error`] itself, which is what allows that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The plugin cannot judge this input, for example because it was reduced.
    NoVerdict(String),
    /// The plugin itself went wrong.
    Failed(String),
}

/// A plugin that cannot judge this input: `Err(no_verdict("..."))`.
pub fn no_verdict(why: impl Into<String>) -> Failure {
    Failure::NoVerdict(why.into())
}

/// A plugin that went wrong: `Err(failed("..."))`.
pub fn failed(why: impl Into<String>) -> Failure {
    Failure::Failed(why.into())
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVerdict(why) => write!(formatter, "no verdict: {why}"),
            Self::Failed(why) => write!(formatter, "failed: {why}"),
        }
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        failed(error.to_string())
    }
}

impl From<Failure> for HookError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NoVerdict(why) => Self::NoVerdict(why),
            Failure::Failed(why) => Self::Failed(why),
        }
    }
}
