//! Reads and writes single files without being led astray.
//!
//! Separate because every file of a plugin, and every file of ours, goes through here. Invariant: what is read is a plain file, no link,
//! and has at most as many bytes as its caller asked for; what is written is there whole or not at all.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// It is a link, a device, a pipe or a directory.
    #[error("it is no plain file")]
    NotPlain,
    /// It has more bytes than allowed.
    #[error("it has more than {0} bytes")]
    TooLarge(u64),
    /// The system says no.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl ReadError {
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == std::io::ErrorKind::NotFound)
    }
}

/// Reads a plain file of at most `max` bytes. A pipe does not block it, and a link is not followed.
pub(crate) fn read_plain(path: &Path, max: u64) -> Result<Vec<u8>, ReadError> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| {
        if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) { ReadError::NotPlain } else { error.into() }
    })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ReadError::NotPlain);
    }
    if metadata.len() > max {
        return Err(ReadError::TooLarge(max));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > max {
        return Err(ReadError::TooLarge(max));
    }
    Ok(bytes)
}

/// Writes a file that only its owner can read: beside its place, then by rename.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    crate::directories::create_private(directory)?;
    let unique = format!(".{}.{:x}.tmp", std::process::id(), unique_number());
    let temporary = directory.join(unique);
    let written = write_new(&temporary, bytes).and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Opens a file for locking; its content does not matter.
pub(crate) fn open_lock(path: &Path) -> std::io::Result<File> {
    if let Some(directory) = path.parent() {
        crate::directories::create_private(directory)?;
    }
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)
}

fn unique_number() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
