//! One module for each command, and what they share.

pub(crate) mod completions;
pub(crate) mod componentize;
pub(crate) mod inspect;
pub(crate) mod invoke;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod schema;
pub(crate) mod trust;

use crate::args::Cli;
use crate::exit::{Exit, Fail};
use hook_runtime::{Directories, Grants, HostError, project_of};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Returns the folder to work in.
fn folder(cli: &Cli) -> PathBuf {
    cli.cwd.clone().unwrap_or_else(|| PathBuf::from("."))
}

/// Returns the host's folders and the current project.
fn places(cli: &Cli) -> Result<(Directories, PathBuf), Fail> {
    let directories = Directories::from_environment().map_err(HostError::from)?;
    let folder = folder(cli);
    let project = project_of(&directories, &folder)?;
    Ok((directories, project))
}

/// Reads a file of at most `max` bytes.
fn read_file(path: &Path, max: u64) -> Result<Vec<u8>, Fail> {
    let file = std::fs::File::open(path).map_err(|error| Fail::unreadable(path, error))?;
    read_bounded(file, max).map_err(|error| Fail::unreadable(path, error))?.ok_or_else(|| {
        let error = anyhow::anyhow!("`{}` has more than {max} bytes", path.display());
        Fail::new(Exit::BadData, "cli::too_large", error)
    })
}

/// Reads at most `max` bytes; `None` where there are more.
fn read_bounded(reader: impl std::io::Read, max: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    reader.take(max + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max).then_some(bytes))
}

/// Names the rights of a plugin beyond the default; empty where it has none.
fn grant_words(grants: &Grants) -> Vec<String> {
    let mut words: Vec<_> = grants
        .actions
        .iter()
        .map(|actions| {
            let actions: Vec<_> = actions.iter().map(|action| action.word()).collect();
            format!("actions={}", actions.join("+"))
        })
        .collect();
    if grants.full_payload {
        words.push("full_payload".to_owned());
    }
    words.extend(grants.unavailable.iter().cloned());
    words
}
