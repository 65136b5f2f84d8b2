//! What the host offers: a log, the manifest's settings, a durable key-value space.
//!
//! Separate from the bindings so that plugins run natively in tests, where a stand-in takes the host's place.

#[cfg_attr(target_arch = "wasm32", path = "host/wasm.rs")]
#[cfg_attr(not(target_arch = "wasm32"), path = "host/native.rs")]
pub(crate) mod side;

use serde::de::DeserializeOwned;

use crate::{Failure, failed};

/// Lines for the host's trace. The host counts and cuts them.
pub mod log {
    pub use crate::bindings::host::geode::hooks::log::Level;

    macro_rules! levels {
        ($($name:ident $level:ident),+) => {
            $(#[doc = concat!("Writes a line at level `", stringify!($name), "`.")]
            pub fn $name(message: impl AsRef<str>) {
                super::side::log(Level::$level, message.as_ref());
            })+
        };
    }
    levels!(trace Trace, debug Debug, info Info, warn Warn, error Error);
}

/// The `settings` of the plugin's manifest as a type of the plugin, or as a `serde_json::Value`. A manifest without settings reads as `{}`.
///
/// # Errors
///
/// [`Failure::Failed`] where they do not fit `T`. A gate should pass it on with `?`, so that a typing error never opens it.
pub fn settings<T: DeserializeOwned>() -> Result<T, Failure> {
    let json = side::settings();
    let json = if matches!(json.trim(), "" | "null") { "{}" } else { &json };
    serde_json::from_str(json).map_err(|error| failed(format!("settings: {error}")))
}

/// The plugin's own durable key-value space. Without the `state` grant every call answers [`Error::Denied`](state::Error::Denied).
pub mod state {
    pub use crate::bindings::host::geode::hooks::state::Error;

    use super::side;

    /// The value stored under `key`, if any.
    ///
    /// # Errors
    ///
    /// `Denied` without the grant, `Unavailable` where the host cannot read.
    pub fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
        side::get(key)
    }

    /// Stores `value` under `key`.
    ///
    /// # Errors
    ///
    /// `Denied` without the grant, `Quota` past its size, `Unavailable` where the host cannot write.
    pub fn set(key: &str, value: &[u8]) -> Result<(), Error> {
        side::set(key, value)
    }

    /// Stores `new` only where the current value is `old`, and returns whether it did; `None` is no value.
    ///
    /// # Errors
    ///
    /// As [`set`].
    pub fn swap(key: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Result<bool, Error> {
        side::swap(key, old, new)
    }

    /// The keys that begin with `prefix`.
    ///
    /// # Errors
    ///
    /// As [`get`].
    pub fn keys(prefix: &str) -> Result<Vec<String>, Error> {
        side::keys(prefix)
    }
}
