//! Where the host keeps its own files.
//!
//! Separate because nothing else may ask the environment. Invariant: none of these places lies in a project or in reach of a plugin.

use etcetera::BaseStrategy;
use std::path::{Path, PathBuf};

/// The places of the host's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directories {
    /// The user's own plugins lie in `hooks` below it: `~/.geode`.
    pub geode_home: PathBuf,
    /// Trust record and cache key: `$XDG_DATA_HOME/geode-hooks`.
    pub data: PathBuf,
    /// The activity store: `$XDG_STATE_HOME/geode-hooks`.
    pub state: PathBuf,
    /// The operator's configuration: `$XDG_CONFIG_HOME/geode-hooks`.
    pub config: PathBuf,
    /// Compiled components: `$XDG_CACHE_HOME/geode-hooks`.
    pub cache: PathBuf,
}

/// The environment names no home directory.
#[derive(Debug, thiserror::Error)]
#[error("found no home directory: set `HOME`")]
pub struct NoHome;

impl Directories {
    /// Returns the places that the environment names: `GEODE_HOME`, the XDG variables, `HOME`.
    ///
    /// # Errors
    /// [`NoHome`] where there is no home directory.
    pub fn from_environment() -> Result<Self, NoHome> {
        let base = etcetera::base_strategy::Xdg::new().map_err(|_| NoHome)?;
        let geode_home = std::env::var_os("GEODE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        Ok(Self {
            geode_home: geode_home.unwrap_or_else(|| base.home_dir().join(".geode")),
            data: base.data_dir().join("geode-hooks"),
            state: base.state_dir().unwrap_or_else(|| base.data_dir()).join("geode-hooks"),
            config: base.config_dir().join("geode-hooks"),
            cache: base.cache_dir().join("geode-hooks"),
        })
    }

    /// Returns places that all lie below `root`: for tests, and for embedders that keep to one folder.
    pub fn below(root: &Path) -> Self {
        let below = |name: &str| root.join(name);
        Self { geode_home: below("home"), data: below("data"), state: below("state"), config: below("config"), cache: below("cache") }
    }

    /// Returns the default path of the activity store.
    pub fn store(&self) -> PathBuf {
        self.state.join("activity.db")
    }
}

/// Makes a directory that only its owner can enter.
pub(crate) fn create_private(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Returns the project that a folder belongs to, canonical: the nearest parent with `.geode`, not above the git root.
///
/// A parent that `is_known` counts as well: deleting `.geode` must not hide what was trusted there. The user's own `.geode` makes no project.
/// Without either it is the git root, else the folder itself.
pub(crate) fn find_project(from: &Path, geode_home: &Path, is_known: impl Fn(&Path) -> bool) -> std::io::Result<PathBuf> {
    let start = std::fs::canonicalize(from)?;
    let own = std::fs::canonicalize(geode_home).ok();
    for folder in start.ancestors() {
        let geode = folder.join(".geode");
        let has_plugins = geode.is_dir() && std::fs::canonicalize(&geode).ok() != own;
        if has_plugins || is_known(folder) || folder.join(".git").exists() {
            return Ok(folder.to_owned());
        }
    }
    Ok(start)
}
