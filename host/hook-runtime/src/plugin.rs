//! A plugin that is ready to be called: what `bind` makes and `invoke` calls.
//!
//! Separate so that the two stages do not know each other. Invariant: it never changes, so calls share it.

use crate::guest::GuestState;
use crate::limits::Limits;
use hook_contract::hook::{Action, Hook};
use hook_contract::matcher::Matcher;
use std::sync::Arc;
use wasmtime::component::{ComponentExportIndex, InstancePre};

/// A plugin, ready to be called.
pub(crate) struct Plugin {
    pub(crate) pre: InstancePre<GuestState>,
    pub(crate) exports: Vec<(Hook, ComponentExportIndex)>,
    pub(crate) limits: Limits,
    pub(crate) settings: Arc<str>,
    pub(crate) full_payload: bool,
    pub(crate) matcher: Option<Matcher>,
    /// The actions it may return, by hook.
    pub(crate) actions: Vec<(Hook, Vec<Action>)>,
    /// Whether it was linked with WASI, so that every call of it is an asynchronous one.
    pub(crate) wasi: bool,
    /// BLAKE3 of the component, as hex.
    pub(crate) digest: String,
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin").field("digest", &self.digest).field("hooks", &self.hooks().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

impl Plugin {
    /// Says whether it has rights that only trust gives.
    pub(crate) fn exceeds_default(&self) -> bool {
        self.full_payload || self.actions.iter().any(|(_, actions)| actions.contains(&Action::Allow))
    }

    /// Returns the hooks it serves.
    pub(crate) fn hooks(&self) -> impl Iterator<Item = Hook> {
        self.exports.iter().map(|(hook, _)| *hook)
    }

    /// Returns the export to call for a hook.
    pub(crate) fn export(&self, hook: Hook) -> Option<&ComponentExportIndex> {
        self.exports.iter().find(|(served, _)| *served == hook).map(|(_, export)| export)
    }

    /// Returns the actions it may return for a hook.
    pub(crate) fn actions(&self, hook: Hook) -> &[Action] {
        self.actions.iter().find(|(served, _)| *served == hook).map(|(_, actions)| actions.as_slice()).unwrap_or_default()
    }
}
