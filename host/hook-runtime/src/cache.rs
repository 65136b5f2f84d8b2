//! Compiled components on disk.
//!
//! Separate because what it returns is run as machine code. Invariant: only bytes that bear our own seal are used; a cache that is missing,
//! read-only or damaged costs time and never correctness.
//!
//! ```text
//! <cache>/compiled/<key>     32 bytes of seal, then the compiled component; key = BLAKE3(digest of the component, compatibility of the engine)
//! <data>/cache.key           32 random bytes that the seals are made with
//! ```

use crate::files::{read_plain, write_private};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use wasmtime::Engine;

/// The most bytes of a compiled component.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
const SEAL_BYTES: usize = 32;

/// The cache of one engine.
#[derive(Debug)]
pub(crate) struct CompileCache {
    directory: PathBuf,
    seal_key: [u8; 32],
    compatibility: u64,
}

impl CompileCache {
    /// Opens the cache, or returns `None` where its key can neither be read nor made.
    pub(crate) fn open(cache: &Path, data: &Path, engine: &Engine) -> Option<Self> {
        let seal_key = seal_key(&data.join("cache.key"))?;
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Some(Self { directory: cache.join("compiled"), seal_key, compatibility: hasher.finish() })
    }

    /// Returns the compiled bytes of a component; damaged or foreign ones are as good as none.
    pub(crate) fn get(&self, digest: &blake3::Hash) -> Option<Vec<u8>> {
        let key = self.key(digest);
        let mut bytes = read_plain(&self.directory.join(key.to_hex().as_str()), MAX_BYTES).ok()?;
        let (seal, compiled) = bytes.split_at_checked(SEAL_BYTES)?;
        // `Hash` compares in constant time.
        let genuine = blake3::Hash::from_slice(seal).ok()? == self.seal(&key, compiled);
        genuine.then(|| bytes.split_off(SEAL_BYTES))
    }

    /// Stores the compiled bytes of a component; a failure is only logged.
    pub(crate) fn put(&self, digest: &blake3::Hash, compiled: &[u8]) {
        let key = self.key(digest);
        let mut bytes = self.seal(&key, compiled).as_bytes().to_vec();
        bytes.extend_from_slice(compiled);
        if let Err(error) = write_private(&self.directory.join(key.to_hex().as_str()), &bytes) {
            tracing::debug!(%error, "compiled component not cached");
        }
    }

    fn key(&self, digest: &blake3::Hash) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(digest.as_bytes()).update(&self.compatibility.to_le_bytes());
        hasher.finalize()
    }

    fn seal(&self, key: &blake3::Hash, compiled: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.seal_key);
        hasher.update(key.as_bytes()).update(compiled);
        hasher.finalize()
    }
}

/// Reads the key, or makes one.
fn seal_key(path: &Path) -> Option<[u8; 32]> {
    if let Ok(bytes) = read_plain(path, 32) {
        return bytes.try_into().ok();
    }
    let bytes = read_random().ok()?;
    write_private(path, &bytes).ok()?;
    // Another process may have been faster: what lies there counts.
    read_plain(path, 32).ok()?.try_into().ok()
}

fn read_random() -> std::io::Result<[u8; 32]> {
    use std::io::Read as _;
    let mut bytes = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
