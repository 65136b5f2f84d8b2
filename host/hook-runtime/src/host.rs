//! The embedding API: a builder, and the host it makes.
//!
//! Separate because it is what embedders see; it owns the parts and knows none of their rules. Invariant: the builder cannot make a host
//! without limits.

use crate::bind::Linkers;
use crate::bus::Events;
use crate::cache::CompileCache;
use crate::directories::{Directories, NoHome, find_project};
use crate::engine::{Allocator, Sandbox};
use crate::handler::Handler;
use crate::limits::Limits;
use crate::manifest::check_name;
use crate::operator::{ConfigError, OperatorConfig};
use crate::pipeline::{self, Bench, Invocation, InvokeError, Invoked};
use crate::plugins::{PluginStatus, Workshop, assemble};
use crate::review::roots;
use crate::set::PluginSet;
use crate::store::{StoreError, Writer};
use crate::trust::{TrustError, TrustStore};
use crate::yaml::InvalidYaml;
use hook_contract::{ChainPolicy, Hook, Version};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Why a host could not be made, or its plugins not be loaded again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// There is no home directory.
    #[error(transparent)]
    NoHome(#[from] NoHome),
    /// The project's folder, or a folder of plugins, cannot be read.
    #[error("the folder `{path}` cannot be read")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The engine could not be made.
    #[error("the WebAssembly engine cannot start on this machine: {0}")]
    Engine(String),
    /// The trust record.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The operator's configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The activity store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a native handler was not registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// A handler or plugin of that name already serves the hook.
    #[error("`{name}` already serves {hook}: names are unique for each hook, choose another")]
    DuplicateName {
        /// The hook.
        hook: Hook,
        /// The name.
        name: String,
    },
    /// The name could not stand in tables and logs.
    #[error(transparent)]
    BadName(#[from] InvalidYaml),
}

/// Where audit rows go.
#[derive(Clone, Debug, Default)]
enum StorePlace {
    /// The user's state directory.
    #[default]
    Default,
    /// A file of the embedder's choice.
    At(PathBuf),
    /// Nowhere.
    None,
}

/// Makes a [`Host`]. Every setting has a default that is safe.
#[derive(Clone, Debug, Default)]
pub struct HostBuilder {
    directories: Option<Directories>,
    folder: Option<PathBuf>,
    limits: Limits,
    version: Version,
    policy: ChainPolicy,
    store: StorePlace,
    max_instances: Option<u32>,
}

/// The most calls that may be under way at once, and the default.
const MAX_INSTANCES: u32 = 1000;
const DEFAULT_INSTANCES: u32 = 100;

impl HostBuilder {
    /// Sets the folder whose project's plugins are loaded, beside the user's: the nearest parent with `.geode`, not above the git root.
    /// Without it only the user's plugins are loaded.
    #[must_use]
    pub fn project(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets where the host keeps its files; by default what the environment says.
    #[must_use]
    pub fn directories(mut self, directories: Directories) -> Self {
        self.directories = Some(directories);
        self
    }

    /// Sets what a call may use; a plugin's manifest can ask for less, and for more time.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the version of the contract; v2 by default.
    #[must_use]
    pub fn contract(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// Sets how chains deal with refusals and failures.
    #[must_use]
    pub fn chain_policy(mut self, policy: ChainPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the file of the activity store.
    #[must_use]
    pub fn store(mut self, path: impl Into<PathBuf>) -> Self {
        self.store = StorePlace::At(path.into());
        self
    }

    /// Keeps no audit rows: for listing plugins, and for embedders that record outcomes themselves.
    #[must_use]
    pub fn without_store(mut self) -> Self {
        self.store = StorePlace::None;
        self
    }

    /// Sets how many calls may be under way at once: 1 to 1,000, 100 by default.
    #[must_use]
    pub fn max_instances(mut self, count: u32) -> Self {
        self.max_instances = Some(count.clamp(1, MAX_INSTANCES));
        self
    }

    /// Makes the host and loads its plugins.
    ///
    /// A plugin that cannot be loaded is no error: it has a state in [`Host::plugins`].
    ///
    /// # Errors
    /// [`HostError`] where the machine, the folders, the trust record or the store make a host impossible.
    pub fn build(self) -> Result<Host, HostError> {
        let directories = self.directories.map_or_else(Directories::from_environment, Ok)?;
        let project = self.folder.map(|folder| project_of(&directories, &folder)).transpose()?;
        let engine_error = |error: wasmtime::Error| HostError::Engine(error.to_string());
        let sandbox = Sandbox::new(self.max_instances.unwrap_or(DEFAULT_INSTANCES)).map_err(engine_error)?;
        let linkers = Linkers::new(&sandbox.engine).map_err(engine_error)?;
        let cache = CompileCache::open(&directories.cache, &directories.data, &sandbox.engine);
        let writer = match self.store {
            StorePlace::Default => Writer::open(&directories.store())?,
            StorePlace::At(path) => Writer::open(&path)?,
            StorePlace::None => Writer::none(),
        };
        let key = project.as_deref().map(Path::to_string_lossy).unwrap_or_default();
        let bench =
            Bench { sandbox: Arc::new(sandbox), writer: Arc::new(writer), version: self.version, policy: self.policy, project: key.into() };
        let events = Events::new(Arc::clone(&bench.writer), Arc::clone(&bench.project));
        let host = Host {
            inner: Arc::new(Inner {
                bench,
                events,
                linkers,
                cache,
                limits: self.limits,
                directories,
                project,
                set: RwLock::default(),
                changing: Mutex::new(()),
                reloads: AtomicU64::new(0),
                announcing: AtomicBool::new(false),
            }),
        };
        host.load()?;
        Ok(host)
    }
}

/// Returns the project that a folder belongs to: see [`HostBuilder::project`].
///
/// # Errors
/// [`HostError`] where the folder or the trust record cannot be read.
pub fn project_of(directories: &Directories, folder: &Path) -> Result<PathBuf, HostError> {
    let trust = TrustStore::read(&directories.data)?;
    let is_known = |folder: &Path| trust.records(&folder.to_string_lossy()).next().is_some();
    find_project(folder, &directories.geode_home, is_known).map_err(|source| HostError::Folder { path: folder.to_owned(), source })
}

/// The host: asks plugins, and audits every call. Cheap to clone, and shared between threads.
#[derive(Clone, Debug)]
pub struct Host {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    bench: Bench,
    events: Events,
    linkers: Linkers,
    cache: Option<CompileCache>,
    limits: Limits,
    directories: Directories,
    project: Option<PathBuf>,
    set: RwLock<Arc<PluginSet>>,
    /// One change of the set at a time; calls go on meanwhile.
    changing: Mutex<()>,
    reloads: AtomicU64,
    /// Whether a reload is being told to plugins: one that is asked for by then is not told again.
    announcing: AtomicBool,
}

impl Host {
    /// Returns a builder.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Asks the plugins of a hook, on this thread.
    ///
    /// # Errors
    /// [`InvokeError`] where the payload breaks the hook's schema, or the call was cancelled.
    pub fn invoke_blocking(&self, invocation: Invocation) -> Result<Invoked, InvokeError> {
        pipeline::run(&self.inner.bench, &self.set(), invocation)
    }

    /// Asks the plugins of a hook. The future yields at every tick of the epoch; dropping it stops the guest.
    ///
    /// # Errors
    /// [`InvokeError`] where the payload breaks the hook's schema, or the call was cancelled.
    pub async fn invoke(&self, invocation: Invocation) -> Result<Invoked, InvokeError> {
        let set = self.set();
        pipeline::run_async(&self.inner.bench, &set, invocation).await
    }

    /// Loads the plugins and the operator's configuration again, and tells it to the plugins that observe `ConfigReload`. Calls under way
    /// finish on the old set; where a new file is bad, its plugin stays as it was, and [`PluginStatus::kept`] says so.
    ///
    /// # Errors
    /// [`HostError`] where the configuration, the trust record or a folder cannot be read; the old set stays active then.
    pub fn reload(&self) -> Result<Vec<PluginStatus>, HostError> {
        let loaded = self.load();
        self.announce(loaded.as_ref().err());
        loaded
    }

    fn load(&self) -> Result<Vec<PluginStatus>, HostError> {
        let inner = &self.inner;
        let _one = inner.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let trust = TrustStore::read(&inner.directories.data)?;
        let operator = OperatorConfig::read(&inner.directories.config)?;
        let workshop = Workshop {
            sandbox: &inner.bench.sandbox,
            linkers: &inner.linkers,
            cache: inner.cache.as_ref(),
            limits: inner.limits,
            operator: &operator,
        };
        let roots = roots(&inner.directories, inner.project.as_deref());
        let set =
            assemble(workshop, &roots, &trust, &self.set()).map_err(|source| HostError::Folder { path: ".geode/hooks".into(), source })?;
        let statuses = set.statuses.clone();
        self.replace(set);
        Ok(statuses)
    }

    fn announce(&self, failed: Option<&HostError>) {
        let inner = &self.inner;
        let counter = inner.reloads.fetch_add(1, Ordering::Relaxed) + 1;
        if inner.announcing.swap(true, Ordering::AcqRel) {
            return;
        }
        let source = inner.project.as_ref().unwrap_or(&inner.directories.geode_home);
        let payload = [
            ("reload_counter", counter.into()),
            ("config_source", source.to_string_lossy().into()),
            ("success", failed.is_none().into()),
            ("failure_reason", failed.map(HostError::to_string).unwrap_or_default().into()),
        ];
        let payload = payload.map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value)).into_iter().collect();
        let told = self.invoke_blocking(Invocation::new(Hook::ConfigReload, payload));
        if let Err(error) = told {
            tracing::warn!(%error, "a reload was not told");
        }
        inner.announcing.store(false, Ordering::Release);
    }

    /// Registers a native handler on a hook: after the plugins of its priority, in the order of registration. It stays over reloads.
    ///
    /// # Errors
    /// [`RegisterError`] where the name is taken on that hook, or is none.
    pub fn register(&self, hook: Hook, handler: Handler) -> Result<(), RegisterError> {
        check_name(&handler.name)?;
        let _one = self.inner.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let set = self.set();
        if set.named(hook, &handler.name).is_some() {
            return Err(RegisterError::DuplicateName { hook, name: handler.name });
        }
        self.replace(set.with_handler(hook, handler));
        Ok(())
    }

    /// Removes a native handler from a hook; says whether there was one. Calls under way still ask it.
    pub fn unregister(&self, hook: Hook, name: &str) -> bool {
        self.remove(|served, handler| served == hook && handler == name)
    }

    /// Removes every native handler.
    pub fn unregister_all(&self) {
        self.remove(|_, _| true);
    }

    fn remove(&self, gone: impl Fn(Hook, &str) -> bool) -> bool {
        let _one = self.inner.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let set = self.set();
        let any = set.handlers().any(|(hook, name)| gone(hook, name));
        self.replace(set.without_handlers(gone));
        any
    }

    /// Returns the names of a hook's native handlers, in the order of calling.
    pub fn handlers(&self, hook: Hook) -> Vec<String> {
        self.set().handlers().filter(|(served, _)| *served == hook).map(|(_, name)| name.to_owned()).collect()
    }

    /// Returns the bus of runtime events.
    pub fn events(&self) -> &Events {
        &self.inner.events
    }

    /// Returns every plugin with its state, the user's first.
    pub fn plugins(&self) -> Vec<PluginStatus> {
        self.set().statuses.clone()
    }

    /// Returns how many entries of the folders were not looked at, since there are too many.
    pub fn unread_entries(&self) -> usize {
        self.set().unread
    }

    /// Returns the names for which the operator's configuration overrides something, and which no plugin here bears: typing errors, or plugins
    /// of other projects.
    pub fn unmatched_overrides(&self) -> Vec<String> {
        self.set().unmatched_overrides.clone()
    }

    /// Returns the project whose plugins are loaded, a canonical path.
    pub fn project(&self) -> Option<&Path> {
        self.inner.project.as_deref()
    }

    /// Returns where instances get their memory from.
    pub fn allocator(&self) -> Allocator {
        self.inner.bench.sandbox.allocator
    }

    /// Waits until every audit row so far is on disk.
    ///
    /// # Errors
    /// [`StoreError`] where rows could not be written.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.inner.bench.writer.flush()
    }

    fn replace(&self, set: PluginSet) {
        *self.inner.set.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(set);
    }

    fn set(&self) -> Arc<PluginSet> {
        Arc::clone(&self.inner.set.read().unwrap_or_else(PoisonError::into_inner))
    }
}
