//! Who is asked for each hook: plugins and native handlers, in the order of calling.
//!
//! Separate because calls under way keep the set they began with. Invariant: a set never changes; a reload or a registration makes another.

use crate::discover::Level;
use crate::handler::Handler;
use crate::plugin::Plugin;
use crate::plugins::{PluginState, PluginStatus};
use hook_contract::hook::{Action, Hook};
use hook_contract::{Failure, FailureMode};
use std::sync::Arc;

/// What a slot calls.
#[derive(Debug)]
pub(crate) enum Target {
    Plugin(Box<Plugin>),
    Native(Handler),
}

/// One place in a hook's chain.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The folder it came from; `None` for a native handler.
    pub(crate) level: Option<Level>,
    pub(crate) name: Arc<str>,
    pub(crate) priority: i64,
    pub(crate) mode: FailureMode,
    /// Whether nothing that it answers is applied.
    pub(crate) monitored: bool,
    pub(crate) digest: Arc<str>,
    /// BLAKE3 of the manifest, as hex.
    pub(crate) manifest: Arc<str>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) ready: Result<Arc<Target>, Failure>,
}

impl Slot {
    fn of_handler(hook: Hook, handler: Handler) -> Self {
        Self {
            level: None,
            name: handler.name.as_str().into(),
            priority: handler.priority,
            mode: handler.on_failure,
            monitored: false,
            digest: "".into(),
            manifest: "".into(),
            hooks: vec![hook],
            ready: Ok(Arc::new(Target::Native(handler))),
        }
    }

    /// Returns what is called, or why nothing can be.
    pub(crate) fn target(&self) -> Result<&Target, &Failure> {
        self.ready.as_deref()
    }

    /// Returns the plugin, where it is one and ready.
    pub(crate) fn plugin(&self) -> Option<&Plugin> {
        match self.target() {
            Ok(Target::Plugin(plugin)) => Some(plugin),
            _ => None,
        }
    }

    fn handler(&self) -> Option<&Handler> {
        match self.target() {
            Ok(Target::Native(handler)) => Some(handler),
            _ => None,
        }
    }

    /// Returns the actions it may return: a native handler is trusted with all.
    pub(crate) fn actions(&self, hook: Hook) -> &[Action] {
        match self.target() {
            Ok(Target::Plugin(plugin)) => plugin.actions(hook),
            Ok(Target::Native(_)) => hook.spec().actions,
            Err(_) => &[],
        }
    }

    /// Says whether it is shown the real payload.
    pub(crate) fn full_payload(&self) -> bool {
        self.plugin().is_some_and(|plugin| plugin.full_payload)
    }
}

/// The plugins and native handlers of a host.
#[derive(Clone, Debug, Default)]
pub(crate) struct PluginSet {
    slots: Vec<Arc<Slot>>,
    pub(crate) statuses: Vec<PluginStatus>,
    /// How many entries of the roots were not looked at.
    pub(crate) unread: usize,
    /// The names that the operator overrides something for, and that no plugin here bears.
    pub(crate) unmatched_overrides: Vec<String>,
}

impl PluginSet {
    /// Makes a set of plugins in the order of their registration, and of the native handlers of an earlier one.
    pub(crate) fn new(plugins: Vec<Arc<Slot>>, earlier: &Self) -> Self {
        let handlers = earlier.slots.iter().filter(|slot| slot.handler().is_some()).cloned();
        Self { slots: in_order(plugins.into_iter().chain(handlers)), ..Self::default() }
    }

    /// Returns a hook's chain, in the order of calling; of handlers that share a key only the first.
    pub(crate) fn chain(&self, hook: Hook) -> impl Iterator<Item = &Arc<Slot>> {
        let mut keys: Vec<&str> = Vec::new();
        self.slots.iter().filter(move |slot| slot.hooks.contains(&hook)).filter(move |slot| {
            let Some(key) = slot.handler().and_then(|handler| handler.dedup_key.as_deref()) else { return true };
            let first = !keys.contains(&key);
            keys.push(key);
            first
        })
    }

    /// Returns the slot of that name in a hook's chain.
    pub(crate) fn named(&self, hook: Hook, name: &str) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.hooks.contains(&hook) && *slot.name == *name).map(|slot| &**slot)
    }

    /// Returns the slot of a plugin from a folder.
    pub(crate) fn plugin_of(&self, level: Level, name: &str) -> Option<&Arc<Slot>> {
        self.slots.iter().find(|slot| slot.level == Some(level) && *slot.name == *name)
    }

    /// Returns the names of the native handlers, by hook, in the order of calling.
    pub(crate) fn handlers(&self) -> impl Iterator<Item = (Hook, &str)> {
        let native = self.slots.iter().filter(|slot| slot.handler().is_some());
        native.flat_map(|slot| slot.hooks.iter().map(|hook| (*hook, &*slot.name)))
    }

    /// Returns a set with one more native handler.
    pub(crate) fn with_handler(&self, hook: Hook, handler: Handler) -> Self {
        let slots = self.slots.iter().cloned().chain([Arc::new(Slot::of_handler(hook, handler))]);
        Self { slots: in_order(slots), ..self.clone() }
    }

    /// Returns a set without the native handlers that `gone` names.
    pub(crate) fn without_handlers(&self, gone: impl Fn(Hook, &str) -> bool) -> Self {
        let is_gone = |slot: &Slot| slot.handler().is_some() && slot.hooks.iter().any(|hook| gone(*hook, &slot.name));
        Self { slots: self.slots.iter().filter(|slot| !is_gone(slot)).cloned().collect(), ..self.clone() }
    }

    /// Returns the plugins that wait for trust, would serve a hook, and do not answer closed meanwhile.
    pub(crate) fn waiting(&self, hook: Hook) -> impl Iterator<Item = &PluginStatus> {
        let waits = |status: &PluginStatus| match status.state {
            PluginState::New => true,
            PluginState::Changed => status.on_failure == FailureMode::Open,
            _ => false,
        };
        self.statuses.iter().filter(move |status| waits(status) && status.hooks.contains(&hook))
    }
}

/// Stable: equal priorities keep the order of registration.
fn in_order(slots: impl Iterator<Item = Arc<Slot>>) -> Vec<Arc<Slot>> {
    let mut slots: Vec<_> = slots.collect();
    slots.sort_by_key(|slot| slot.priority);
    slots
}
