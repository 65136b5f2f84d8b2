//! Turns a file into a compiled component.
//!
//! Separate because bytes are read once here: what is hashed is what is compiled. Invariant: no guest code runs, and compiling sits behind
//! one function.

use crate::cache::CompileCache;
use crate::files::{ReadError, read_plain};
use crate::inspect::{Inspection, MAX_COMPONENT_BYTES, check_magic};
use hook_contract::{Failure, FailureKind};
use std::path::Path;
use wasmtime::Engine;
use wasmtime::component::Component;

/// The bytes of a plugin's file, bounded and hashed.
#[derive(Debug)]
pub(crate) struct ComponentBytes {
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: blake3::Hash,
}

/// Reads a plugin's file.
pub(crate) fn read(path: &Path) -> Result<ComponentBytes, Failure> {
    let bytes = read_plain(path, MAX_COMPONENT_BYTES).map_err(|error| {
        let kind = match &error {
            ReadError::NotPlain => FailureKind::UnsafeEntry,
            ReadError::TooLarge(_) => FailureKind::TooLarge,
            ReadError::Io(_) => FailureKind::Unreadable,
        };
        Failure::new(kind, error.to_string())
    })?;
    // A folder full of anything else costs no hashing.
    check_magic(&bytes)?;
    let digest = blake3::hash(&bytes);
    Ok(ComponentBytes { bytes, digest })
}

/// Returns the compiled component: from the cache where it has it, else compiled and put there.
pub(crate) fn load(engine: &Engine, cache: Option<&CompileCache>, component: &ComponentBytes) -> Result<Component, Failure> {
    let span = tracing::debug_span!("load", digest = %component.digest);
    let _entered = span.enter();
    if let Some(compiled) = cache.and_then(|cache| cache.get(&component.digest))
        && let Some(component) = revive(engine, &compiled)
    {
        return Ok(component);
    }
    Inspection::read(&component.bytes)?;
    tracing::debug!("compile");
    let compiled = compile(engine, &component.bytes)?;
    if let Some(cache) = cache {
        cache.put(&component.digest, &compiled);
    }
    revive(engine, &compiled).ok_or_else(|| Failure::new(FailureKind::CompileFailed, "the compiled component cannot be loaded"))
}

/// Compiles a component to bytes for [`revive`].
///
/// The compiler is the soft spot of the sandbox: it may take long, or panic. It is given only what somebody vouched for.
fn compile(engine: &Engine, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let compiled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| engine.precompile_component(bytes)));
    match compiled {
        Ok(Ok(compiled)) => Ok(compiled),
        Ok(Err(error)) => {
            tracing::debug!(%error, "not compiled");
            Err(Failure::new(FailureKind::Malformed, "it is no valid component, or uses a WebAssembly proposal that is switched off"))
        }
        Err(_) => Err(Failure::new(FailureKind::CompileFailed, "the compiler gave up on it")),
    }
}

#[expect(unsafe_code, reason = "deserialize runs what it is given: the bytes come from our own compiler in this process, or bear our seal")]
fn revive(engine: &Engine, compiled: &[u8]) -> Option<Component> {
    // SAFETY: `compiled` was made by `compile` with an engine of this configuration; the cache returns only bytes that it sealed.
    unsafe { Component::deserialize(engine, compiled) }.ok()
}
