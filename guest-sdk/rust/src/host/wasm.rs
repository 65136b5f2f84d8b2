//! The host's side in a component: its imports.

pub(crate) use crate::bindings::host::geode::hooks::{
    log::log,
    settings::get as settings,
    state::{get, keys, set, swap},
};
