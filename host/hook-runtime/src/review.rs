//! Shows what a plugin is and asks for, and records that a person said yes.
//!
//! Separate because it is the only way into the trust record. Invariant: what is recorded is what was shown, bound to the bytes that were
//! read for it; nothing here compiles or runs a plugin.

use crate::directories::Directories;
use crate::discover::{Level, Root};
use crate::inspect::Inspection;
use crate::load;
use crate::operator::PluginMode;
use crate::plugins::{Judged, PluginState, Verdict, judge_all, project_key};
use crate::trust::{TrustError, TrustRecord, TrustStore};
use hook_contract::hook::{Action, Hook};
use hook_contract::{Failure, FailureKind, FailureMode};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a person is asked to vouch for.
#[derive(Clone, Debug)]
pub struct Review {
    /// The plugin's name.
    pub name: String,
    /// Whose folder it lies in.
    pub level: Level,
    /// Its place inside that folder.
    pub place: String,
    /// What it is now: new, changed, active, invalid.
    pub state: PluginState,
    /// What its component exports, imports and was made with.
    pub inspection: Inspection,
    /// The hooks it would serve.
    pub hooks: Vec<Hook>,
    /// Whether trust would change anything: it waits, or runs without what it asks for.
    pub waits: bool,
    /// What it could do, in words; the strongest first.
    pub asks: Vec<String>,
    /// Why it will not run although it is trusted, in words.
    pub obstacles: Vec<String>,
    record: TrustRecord,
    earlier: Option<TrustRecord>,
}

impl Review {
    /// Returns what is different from what was trusted, in words; empty where it never was.
    pub fn changes(&self) -> Vec<String> {
        self.earlier.as_ref().map(|earlier| changes(earlier, &self.record)).unwrap_or_default()
    }

    /// Has the plugin evaluated and audited only, or its answers applied, by the word of whoever trusts it.
    #[must_use]
    pub fn in_mode(mut self, mode: PluginMode) -> Self {
        self.record.monitored = mode == PluginMode::Monitor;
        self.asks.push(format!("by your word: `mode: {}`", mode.word()));
        self
    }

    /// Sets what it answers when it fails, whatever its manifest says.
    #[must_use]
    pub fn failing(mut self, mode: FailureMode) -> Self {
        self.record.closed = mode == FailureMode::Closed;
        self.asks.push(format!("by your word: `on_failure: {}`", mode.word()));
        self
    }
}

/// What a person can, and cannot, vouch for.
#[derive(Clone, Debug, Default)]
pub struct Reviews {
    /// What can be trusted.
    pub open: Vec<Review>,
    /// What is broken.
    pub broken: Vec<Broken>,
}

/// A plugin that cannot be trusted.
#[derive(Clone, Debug)]
pub struct Broken {
    /// Its name.
    pub name: String,
    /// Whose folder it lies in.
    pub level: Level,
    /// Why.
    pub failure: Failure,
}

/// Why the plugins could not be reviewed.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The trust record.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A root cannot be listed.
    #[error("the folder of plugins cannot be read")]
    Io(#[from] std::io::Error),
}

/// Reviews every plugin of the user's folder and of a project.
///
/// # Errors
/// [`ReviewError`] where the trust record or a root cannot be read.
pub fn review(directories: &Directories, project: Option<&Path>) -> Result<Reviews, ReviewError> {
    let trust = TrustStore::read(&directories.data)?;
    let mut reviews = Reviews::default();
    for root in roots(directories, project) {
        let key = project_key(&root);
        for judged in judge_all(std::slice::from_ref(&root), &trust)?.0 {
            match review_one(&judged, &key) {
                Ok(review) => reviews.open.push(review),
                Err(failure) => reviews.broken.push(Broken { name: judged.candidate.name.clone(), level: root.level, failure }),
            }
        }
    }
    Ok(reviews)
}

/// Returns the folders that plugins lie in, the user's first.
pub(crate) fn roots(directories: &Directories, project: Option<&Path>) -> Vec<Root> {
    let user = Root { level: Level::User, base: directories.geode_home.clone(), hooks: directories.geode_home.join("hooks") };
    // In the user's own home the two are one folder.
    let own = std::fs::canonicalize(&directories.geode_home).ok();
    let project = project.filter(|project| own.is_none() || std::fs::canonicalize(project.join(".geode")).ok() != own);
    let project =
        project.map(|project| Root { level: Level::Project, base: project.to_owned(), hooks: project.join(".geode").join("hooks") });
    std::iter::once(user).chain(project).collect()
}

fn review_one(judged: &Judged, project: &str) -> Result<Review, Failure> {
    let source = judged.candidate.source.as_ref().map_err(Clone::clone)?;
    let (state, failure) = match &judged.verdict {
        Verdict::Run(_) => (PluginState::Active, None),
        Verdict::Not(state, failure) => (*state, Some(failure)),
    };
    if let Some(failure) = failure.filter(|_| state == PluginState::Invalid) {
        return Err(failure.clone());
    }
    let bytes = load::read(&source.component)?;
    let inspection = Inspection::read(&bytes.bytes)?;
    let manifest = &source.manifest;
    let hooks = served(&inspection, manifest.hooks.as_deref())?;
    let record = TrustRecord {
        project: project.to_owned(),
        name: judged.candidate.name.clone(),
        component: bytes.digest.to_hex().to_string(),
        manifest: source.manifest_digest.to_hex().to_string(),
        hooks: hooks.iter().map(|hook| hook.name().to_owned()).collect(),
        priority: manifest.priority,
        closed: manifest.on_failure == FailureMode::Closed,
        monitored: false,
        actions: manifest.grants.actions.as_ref().map(|actions| actions.iter().map(|action| action.word().to_owned()).collect()),
        full_payload: manifest.grants.full_payload,
        terms: manifest.terms(),
        trusted_at: SystemTime::now().duration_since(UNIX_EPOCH).map(|age| age.as_secs()).unwrap_or_default(),
    };
    let asks = asks(&record, &hooks);
    let mut obstacles: Vec<_> = manifest.grants.unavailable.iter().map(|name| format!("this host cannot give `{name}`")).collect();
    obstacles.extend(inspection.lacking().iter().map(|name| format!("this host does not give the import `{name}`")));
    if !manifest.enabled {
        obstacles.push("its own hook.yaml switches it off: `enabled: false`".to_owned());
    }
    Ok(Review {
        name: record.name.clone(),
        level: judged.candidate.level,
        place: judged.candidate.place.clone(),
        state,
        inspection,
        waits: matches!(state, PluginState::New | PluginState::Changed) || judged.withheld(),
        hooks,
        asks,
        obstacles,
        record,
        earlier: judged.record.clone(),
    })
}

/// Returns the hooks that a component would serve: those of its exports that its manifest wants.
fn served(inspection: &Inspection, wanted: Option<&[Hook]>) -> Result<Vec<Hook>, Failure> {
    let hooks: Vec<_> = inspection.hooks().into_iter().filter(|hook| wanted.is_none_or(|wanted| wanted.contains(hook))).collect();
    if let Some(missing) = wanted.into_iter().flatten().find(|hook| !hooks.contains(hook)) {
        return Err(Failure::new(FailureKind::MissingHook, format!("hook.yaml lists {missing}, which the component does not export")));
    }
    if hooks.is_empty() {
        return Err(Failure::new(FailureKind::WrongWorld, "it exports no hook of geode:hooks@2.0.0"));
    }
    Ok(hooks)
}

/// Says in words what a plugin could do.
fn asks(record: &TrustRecord, hooks: &[Hook]) -> Vec<String> {
    let grants = record.grants();
    let mut asks = Vec::new();
    if hooks.iter().any(|hook| hook.spec().actions.contains(&Action::Allow)) && grants.allows(Action::Allow) {
        asks.push("ALLOW tool calls in your place (grant `allow`)".to_owned());
    }
    if grants.full_payload {
        asks.push("see payloads whole, secrets included (grant `full_payload`)".to_owned());
    }
    for hook in hooks {
        let actions: Vec<_> = hook.spec().actions.iter().filter(|action| grants.allows(**action)).map(|action| action.word()).collect();
        asks.push(format!("{hook}: {}", actions.join(", ")));
    }
    asks.extend(record.terms.iter().map(|term| format!("with {term}")));
    if record.closed {
        asks.push("answer for its hooks the strictest way when it fails (`on_failure: closed`)".to_owned());
    }
    asks
}

/// Says in words what is different from an earlier record.
fn changes(earlier: &TrustRecord, now: &TrustRecord) -> Vec<String> {
    let mut changes = Vec::new();
    let mut differ = |what: &str, before: String, after: String| {
        if before != after {
            changes.push(format!("{what}: {before} -> {after}"));
        }
    };
    let short = |digest: &str| digest.chars().take(12).collect::<String>();
    let actions = |record: &TrustRecord| record.actions.as_ref().map_or("all but allow".to_owned(), |actions| actions.join(", "));
    differ("component", short(&earlier.component), short(&now.component));
    differ("hook.yaml", short(&earlier.manifest), short(&now.manifest));
    differ("hooks", earlier.hooks.join(", "), now.hooks.join(", "));
    differ("actions", actions(earlier), actions(now));
    differ("full_payload", earlier.full_payload.to_string(), now.full_payload.to_string());
    differ("on_failure", earlier.mode().word().to_owned(), now.mode().word().to_owned());
    differ("mode", earlier.plugin_mode().word().to_owned(), now.plugin_mode().word().to_owned());
    let gone = earlier.terms.iter().filter(|term| !now.terms.contains(term)).map(|term| (term.clone(), "gone".to_owned()));
    let come = now.terms.iter().filter(|term| !earlier.terms.contains(term)).map(|term| ("new".to_owned(), term.clone()));
    gone.chain(come).for_each(|(before, after)| differ("terms", before, after));
    differ("priority", earlier.priority.to_string(), now.priority.to_string());
    changes
}

/// Records that a person vouched for what a review shows.
///
/// # Errors
/// [`TrustError`] where the record cannot be read or written.
pub fn trust(directories: &Directories, review: &Review) -> Result<(), TrustError> {
    TrustStore::trust(&directories.data, review.record.clone())
}

/// Takes trust back; says whether there was any.
///
/// # Errors
/// [`TrustError`] where the record cannot be read or written.
pub fn untrust(directories: &Directories, project: Option<&Path>, name: &str) -> Result<bool, TrustError> {
    TrustStore::untrust(&directories.data, &key_of(project), name)
}

/// Switches a plugin off or on; says whether that changed anything.
///
/// # Errors
/// [`TrustError`] where the record cannot be read or written.
pub fn set_enabled(directories: &Directories, project: Option<&Path>, name: &str, enabled: bool) -> Result<bool, TrustError> {
    TrustStore::set_disabled(&directories.data, &key_of(project), name, !enabled)
}

fn key_of(project: Option<&Path>) -> String {
    project.map(|project| project.to_string_lossy().into_owned()).unwrap_or_default()
}
