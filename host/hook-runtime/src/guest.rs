//! What a guest's store holds, and the host functions that read and write it.
//!
//! Separate because every host function is an attack surface. Invariant: nothing here reaches a file, the network, a clock or the
//! environment, and whatever a guest writes is cut.

use crate::limits::{Limiter, Limits};
use crate::wasi::WasiState;
use crate::wit::{log, settings, state, types};
use hook_contract::{display, redact};
use std::sync::Arc;

/// One line that a guest logged, safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How important the guest says it is.
    pub level: LogLevel,
    /// The text: redacted, escaped, at most 1,024 characters.
    pub text: String,
}

/// The importance of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the usual words")]
pub enum LogLevel {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

impl LogLevel {
    /// Returns the word for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// The most lines of a call, and the most characters of a line.
const MAX_LINES: usize = 64;
const MAX_LINE_CHARS: usize = 1024;

/// The data of one call's store.
pub(crate) struct GuestState {
    pub(crate) limiter: Limiter,
    pub(crate) log: Vec<LogLine>,
    settings: Arc<str>,
    pub(crate) wasi: Option<Box<WasiState>>,
}

impl GuestState {
    pub(crate) fn new(limits: &Limits, settings: Arc<str>, wasi: Option<Box<WasiState>>) -> Self {
        Self { limiter: Limiter::new(limits), log: Vec::new(), settings, wasi }
    }

    pub(crate) fn add_line(&mut self, level: LogLevel, text: &str) {
        if self.log.len() < MAX_LINES {
            // Cut before it is searched: a guest may log as much as the host call lets it.
            let end = text.char_indices().nth(MAX_LINE_CHARS).map_or(text.len(), |(offset, _)| offset);
            let text = text.get(..end).unwrap_or_default();
            self.log.push(LogLine { level, text: display::plain(&redact::redact(text), MAX_LINE_CHARS) });
        }
    }
}

impl types::Host for GuestState {}

impl log::Host for GuestState {
    fn log(&mut self, level: log::Level, message: String) {
        let level = match level {
            log::Level::Trace => LogLevel::Trace,
            log::Level::Debug => LogLevel::Debug,
            log::Level::Info => LogLevel::Info,
            log::Level::Warn => LogLevel::Warn,
            log::Level::Error => LogLevel::Error,
        };
        self.add_line(level, &message);
    }
}

impl settings::Host for GuestState {
    fn get(&mut self) -> String {
        self.settings.to_string()
    }
}

/// No plugin has the `state` grant yet: every call answers `denied`.
impl state::Host for GuestState {
    fn get(&mut self, _key: String) -> Result<Option<Vec<u8>>, state::Error> {
        Err(state::Error::Denied)
    }

    fn set(&mut self, _key: String, _value: Vec<u8>) -> Result<(), state::Error> {
        Err(state::Error::Denied)
    }

    fn swap(&mut self, _key: String, _old: Option<Vec<u8>>, _new: Option<Vec<u8>>) -> Result<bool, state::Error> {
        Err(state::Error::Denied)
    }

    fn keys(&mut self, _prefix: String) -> Result<Vec<String>, state::Error> {
        Err(state::Error::Denied)
    }
}
