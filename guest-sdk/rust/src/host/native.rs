//! The host's side in a native test: a stand-in for each thread, steered by [`testing`](crate::testing).

use std::{cell::RefCell, collections::BTreeMap};

use super::{log::Level, state::Error};

/// What a test sets and reads.
#[derive(Default)]
pub(crate) struct StandIn {
    pub(crate) settings: String,
    pub(crate) lines: Vec<(Level, String)>,
    pub(crate) state: BTreeMap<String, Vec<u8>>,
    pub(crate) state_denied: bool,
}

thread_local! {
    pub(crate) static STAND_IN: RefCell<StandIn> = RefCell::default();
}

pub(crate) fn with<R>(act: impl FnOnce(&mut StandIn) -> R) -> R {
    STAND_IN.with_borrow_mut(act)
}

pub(crate) fn log(level: Level, message: &str) {
    with(|host| host.lines.push((level, message.to_owned())));
}

pub(crate) fn settings() -> String {
    with(|host| host.settings.clone())
}

pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
    granted(|state| state.get(key).cloned())
}

pub(crate) fn set(key: &str, value: &[u8]) -> Result<(), Error> {
    granted(|state| drop(state.insert(key.to_owned(), value.to_owned())))
}

pub(crate) fn swap(key: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Result<bool, Error> {
    granted(|state| {
        let matches = state.get(key).map(Vec::as_slice) == old;
        match new {
            Some(value) if matches => drop(state.insert(key.to_owned(), value.to_owned())),
            None if matches => drop(state.remove(key)),
            _ => {}
        }
        matches
    })
}

pub(crate) fn keys(prefix: &str) -> Result<Vec<String>, Error> {
    granted(|state| state.keys().filter(|key| key.starts_with(prefix)).cloned().collect())
}

fn granted<R>(act: impl FnOnce(&mut BTreeMap<String, Vec<u8>>) -> R) -> Result<R, Error> {
    with(|host| if host.state_denied { Err(Error::Denied) } else { Ok(act(&mut host.state)) })
}
