//! Exit codes, and errors for the person who must act.
//!
//! Separate because every command ends here. Invariant: an error has a stable code, says what happened, and where there is one, the next
//! command to type.

use hook_runtime::{Failure, HostError};

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok = 0,
    Unchanged = 1,
    Blocked = 2,
    NotAllActive = 3,
    Usage = 64,
    BadData = 65,
    NoInput = 66,
    Internal = 70,
    CannotWrite = 73,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Fail {
    pub(crate) exit: Exit,
    pub(crate) code: &'static str,
    pub(crate) error: anyhow::Error,
    pub(crate) hint: Option<String>,
}

impl Fail {
    pub(crate) fn new(exit: Exit, code: &'static str, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, code, error: error.into(), hint: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Returns the error of a name that is no hook.
    pub(crate) fn unknown_hook(name: &str) -> Self {
        let shown = hook_runtime::contract::display::plain(name, 64);
        Self::new(Exit::Usage, "cli::unknown_hook", anyhow::anyhow!("`{shown}` is no hook")).hint("geode-hooks schema")
    }

    /// Returns the error of a file that cannot be read.
    pub(crate) fn unreadable(path: &std::path::Path, error: std::io::Error) -> Self {
        Self::new(Exit::NoInput, "cli::unreadable", anyhow::Error::new(error).context(format!("`{}` cannot be read", path.display())))
    }

    /// Returns the error of a file that is no plugin.
    pub(crate) fn not_a_plugin(failure: &Failure, name: &str) -> Self {
        Self::new(Exit::BadData, failure.kind.code(), anyhow::anyhow!("{failure}")).hint(failure.kind.hint(name))
    }
}

impl From<HostError> for Fail {
    fn from(error: HostError) -> Self {
        let (exit, code, hint) = match &error {
            HostError::Folder { .. } => (Exit::NoInput, "host::folder", None),
            HostError::NoHome(_) => (Exit::Internal, "host::no_home", None),
            HostError::Trust(_) => (Exit::NoInput, "host::trust", None),
            HostError::Config(_) => (Exit::BadData, "host::config", None),
            HostError::Store(_) => (Exit::CannotWrite, "host::store", Some("choose another file with `--db FILE`")),
            _ => (Exit::Internal, "host::engine", None),
        };
        let fail = Self::new(exit, code, error);
        match hint {
            Some(hint) => fail.hint(hint),
            None => fail,
        }
    }
}
