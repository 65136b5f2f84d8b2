//! How a chain deals with refusals and failures.
//!
//! Separate because the embedder chooses it, and the pipeline and the chain only read it. Invariant: it can make a chain stricter or have it
//! go on asking; it never turns a refusal or a failure into a permission.

use crate::failure::{FailureKind, FailureMode};

/// How the plugins of a hook that only observes are called. Those of a hook that decides are always called one after another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChainMode {
    /// One after another.
    Sequential,
    /// Side by side; results in order.
    #[default]
    SideBySide,
}

/// How a chain deals with refusals and failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainPolicy {
    /// Whether nobody else is asked after block or deny. Where they are, the refusal stands all the same.
    pub stop_on_blocked: bool,
    /// How observing hooks are called.
    pub mode: ChainMode,
    /// What a failure counts as, but for a timeout; a plugin that is closed stays so.
    pub on_exception: FailureMode,
    /// What a timeout counts as; a plugin that is closed stays so.
    pub on_timeout: FailureMode,
}

impl Default for ChainPolicy {
    /// Stops at a refusal, calls observing hooks side by side, and leaves failures to each plugin's own mode.
    fn default() -> Self {
        Self { stop_on_blocked: true, mode: ChainMode::SideBySide, on_exception: FailureMode::Open, on_timeout: FailureMode::Open }
    }
}

impl ChainPolicy {
    /// Returns the mode that answers for a failure: closed where the plugin or the policy says so.
    pub fn failure_mode(&self, plugin: FailureMode, kind: FailureKind) -> FailureMode {
        let policy = match kind {
            // The whole call ends: nobody answers.
            FailureKind::Cancelled => return FailureMode::Open,
            FailureKind::Deadline | FailureKind::OutOfFuel => self.on_timeout,
            _ => self.on_exception,
        };
        if plugin == FailureMode::Closed { plugin } else { policy }
    }
}
