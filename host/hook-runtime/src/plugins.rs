//! From files to plugins: what the roots hold, what the trust record and the operator say of it, and what is loaded.
//!
//! Separate because it is done once for each load. Invariant: every file has a state and the next command to type; what nobody vouched for
//! has no effect.

use crate::bind::{Linkers, bind};
use crate::cache::CompileCache;
use crate::discover::{Candidate, Level, Listing, Root, Source, discover};
use crate::engine::Sandbox;
use crate::inspect::Inspection;
use crate::limits::Limits;
use crate::load::{self, ComponentBytes};
use crate::manifest::{Grants, Manifest};
use crate::operator::{OperatorConfig, PluginMode};
use crate::plugin::Plugin;
use crate::set::{PluginSet, Slot, Target};
use crate::trust::{TrustRecord, TrustStore};
use hook_contract::hook::Hook;
use hook_contract::{Failure, FailureKind, FailureMode};
use std::collections::HashMap;
use std::sync::Arc;

/// What a plugin's file came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginState {
    /// It is called.
    Active,
    /// It waits for `geode-hooks trust`.
    New,
    /// It changed since it was trusted.
    Changed,
    /// It was switched off.
    Disabled,
    /// It cannot be used.
    Invalid,
    /// It was trusted and is gone.
    Vanished,
}

impl PluginState {
    /// Returns the word for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Disabled => "disabled",
            Self::Invalid => "invalid",
            Self::Vanished => "vanished",
        }
    }
}

/// What is known of one plugin.
#[derive(Clone, Debug)]
pub struct PluginStatus {
    /// Its name.
    pub name: String,
    /// Whose folder it lies in.
    pub level: Level,
    /// Its place inside that folder, safe to show.
    pub place: String,
    /// What it came to.
    pub state: PluginState,
    /// The hooks it serves, or would.
    pub hooks: Vec<Hook>,
    /// Lower runs first.
    pub priority: i64,
    /// What it answers when it fails.
    pub on_failure: FailureMode,
    /// Whether its answers count.
    pub mode: PluginMode,
    /// The rights it has, or where it waits, asks for.
    pub grants: Grants,
    /// Its budgets.
    pub limits: Limits,
    /// BLAKE3 of the component, as hex; empty where it could not be read.
    pub digest: String,
    /// Why it is not active.
    pub failure: Option<Failure>,
    /// Where a reload left the earlier version active: the new file's failure is in `failure`.
    pub kept: bool,
    /// Whether it runs without what it asks for, since only trust can give that.
    pub withheld: bool,
    /// One line from its author.
    pub description: String,
    /// What its manifest probably does not mean, in words.
    pub warnings: Vec<String>,
}

impl PluginStatus {
    /// Returns what a person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self.state {
            PluginState::Active if self.withheld => Some(format!("geode-hooks trust {}", self.name)),
            PluginState::Disabled => Some(format!("geode-hooks enable {}", self.name)),
            _ => self.failure.as_ref().map(|failure| failure.kind.hint(&self.name)),
        }
    }
}

/// Everything that a set is made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workshop<'a> {
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) linkers: &'a Linkers,
    pub(crate) cache: Option<&'a CompileCache>,
    pub(crate) limits: Limits,
    pub(crate) operator: &'a OperatorConfig,
}

/// A candidate, and what the trust record says of it.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) candidate: Candidate,
    pub(crate) record: Option<TrustRecord>,
    /// BLAKE3 of its component, where that could be read.
    digest: Option<blake3::Hash>,
    /// The hooks that it exports, where no record says which it serves.
    exported: Vec<Hook>,
    /// Its component, where it may run: a folder of what may not is hostile, and is not held in memory.
    bytes: Option<ComponentBytes>,
    pub(crate) verdict: Verdict,
}

#[derive(Debug)]
pub(crate) enum Verdict {
    /// It may run with these grants.
    Run(Grants),
    /// It may not.
    Not(PluginState, Failure),
}

impl Judged {
    fn name(&self) -> &str {
        &self.candidate.name
    }

    pub(crate) fn source(&self) -> Option<&Source> {
        self.candidate.source.as_ref().ok()
    }

    /// Returns the hooks as far as they are known without running it: the record's, else those of the file's exports that the manifest wants.
    pub(crate) fn hooks(&self) -> Vec<Hook> {
        if let Some(record) = &self.record {
            return record.hooks();
        }
        let wanted = self.source().and_then(|source| source.manifest.hooks.as_ref());
        self.exported.iter().copied().filter(|hook| wanted.is_none_or(|wanted| wanted.contains(hook))).collect()
    }

    /// Says whether it runs without grants that it asks for.
    pub(crate) fn withheld(&self) -> bool {
        let asked = self.source().map(|source| source.manifest.grants.clone()).unwrap_or_default();
        matches!(&self.verdict, Verdict::Run(given) if asked.exceed_default() && !given.exceed_default())
    }

    /// Returns the failure mode: the record's. In the user's own folder, where an edited plugin runs without being trusted anew, also the
    /// manifest's, where that is stricter.
    fn mode(&self) -> FailureMode {
        let recorded = self.record.as_ref().map(TrustRecord::mode).unwrap_or_default();
        let asked = self.source().filter(|_| !self.is_recorded()).map(|source| source.manifest.on_failure).unwrap_or_default();
        match self.candidate.level {
            Level::User if asked == FailureMode::Closed => asked,
            _ => recorded,
        }
    }

    /// Says whether the record is of these very bytes.
    fn is_recorded(&self) -> bool {
        let (Some(record), Some(source), Some(digest)) = (&self.record, self.source(), &self.digest) else { return false };
        is_same(record, source, digest)
    }

    fn priority(&self) -> i64 {
        let asked = self.source().map(|source| source.manifest.priority);
        asked.or(self.record.as_ref().map(|record| record.priority)).unwrap_or(100)
    }
}

/// Lists the roots and judges what they hold; records without a file are judged as vanished.
pub(crate) fn judge_all(roots: &[Root], trust: &TrustStore) -> std::io::Result<(Vec<Judged>, usize)> {
    let mut all = Vec::new();
    let mut unread = 0;
    for root in roots {
        let project = project_key(root);
        let Listing { candidates, unread: more } = discover(root)?;
        unread += more;
        let mut judged: Vec<_> = candidates.into_iter().map(|candidate| judge(candidate, &project, trust)).collect();
        // Where two files bear one name, the one that was vouched for counts.
        judged.sort_by(|a, b| a.name().cmp(b.name()).then_with(|| is_not(a).cmp(&is_not(b))));
        mark_duplicates(&mut judged);
        let vanished = trust.records(&project).filter(|record| !judged.iter().any(|one| one.name() == record.name));
        let vanished: Vec<_> =
            vanished.map(|record| judge_vanished(record, root.level, trust.is_disabled(&project, &record.name))).collect();
        judged.extend(vanished);
        judged.sort_by(|a, b| a.name().cmp(b.name()));
        all.extend(judged);
    }
    Ok((all, unread))
}

/// Returns the key of a root in the trust record.
pub(crate) fn project_key(root: &Root) -> String {
    match root.level {
        Level::User => String::new(),
        Level::Project => root.base.to_string_lossy().into_owned(),
    }
}

fn is_not(judged: &Judged) -> bool {
    matches!(judged.verdict, Verdict::Not(..))
}

fn mark_duplicates(judged: &mut [Judged]) {
    let mut earlier: Option<(String, String)> = None;
    for one in judged {
        if let Some((name, place)) = &earlier
            && name == one.name()
        {
            let failure = Failure::new(FailureKind::DuplicateName, format!("`{place}` bears the same name"));
            one.verdict = Verdict::Not(PluginState::Invalid, failure);
            one.record = None;
            continue;
        }
        earlier = Some((one.name().to_owned(), one.candidate.place.clone()));
    }
}

fn judge(candidate: Candidate, project: &str, trust: &TrustStore) -> Judged {
    let record = trust.record(project, &candidate.name).cloned();
    let read = candidate.source.as_ref().map_err(Clone::clone).and_then(|source| load::read(&source.component));
    let verdict = if trust.is_disabled(project, &candidate.name) {
        switched_off()
    } else {
        match (&candidate.source, &read) {
            (Ok(source), Ok(bytes)) => judge_bytes(source, &bytes.digest, record.as_ref(), candidate.level),
            (_, Err(failure)) | (Err(failure), _) => Verdict::Not(PluginState::Invalid, failure.clone()),
        }
    };
    let read = read.ok();
    let exported = read.as_ref().filter(|_| record.is_none()).and_then(|read| Inspection::read(&read.bytes).ok());
    let exported = exported.map(|inspection| inspection.hooks()).unwrap_or_default();
    let digest = read.as_ref().map(|read| read.digest);
    let bytes = read.filter(|_| matches!(verdict, Verdict::Run(_)));
    Judged { candidate, record, digest, exported, bytes, verdict }
}

fn switched_off() -> Verdict {
    Verdict::Not(PluginState::Disabled, Failure::new(FailureKind::Untrusted, "it was switched off"))
}

fn judge_bytes(source: &Source, digest: &blake3::Hash, record: Option<&TrustRecord>, level: Level) -> Verdict {
    let off = |verdict| if source.manifest.enabled { verdict } else { switched_off() };
    match record {
        Some(record) if is_same(record, source, digest) => off(Verdict::Run(record.grants())),
        Some(record) if level == Level::Project || record.closed => {
            Verdict::Not(PluginState::Changed, Failure::new(FailureKind::Changed, what_changed(record, source, digest)))
        }
        None if level == Level::Project => {
            off(Verdict::Not(PluginState::New, Failure::new(FailureKind::Untrusted, "nobody has trusted it yet")))
        }
        // The user's own folder runs as it lies there, but without what only trust can give.
        _ => off(Verdict::Run(source.manifest.grants.without_trust())),
    }
}

fn is_same(record: &TrustRecord, source: &Source, digest: &blake3::Hash) -> bool {
    record.component == digest.to_hex().as_str() && record.manifest == source.manifest_digest.to_hex().as_str()
}

fn what_changed(record: &TrustRecord, source: &Source, digest: &blake3::Hash) -> String {
    let component = record.component != digest.to_hex().as_str();
    let manifest = record.manifest != source.manifest_digest.to_hex().as_str();
    let what = match (component, manifest) {
        (true, true) => "its component and its hook.yaml",
        (true, false) => "its component",
        _ => "its hook.yaml",
    };
    format!("the plugin `{}` changed since it was trusted: {what}", record.name)
}

fn judge_vanished(record: &TrustRecord, level: Level, off: bool) -> Judged {
    let failure = Failure::new(FailureKind::Vanished, format!("the plugin `{}` was trusted and is gone", record.name));
    let verdict = if off { switched_off() } else { Verdict::Not(PluginState::Vanished, failure.clone()) };
    let candidate = Candidate { level, name: record.name.clone(), place: "-".into(), source: Err(failure) };
    Judged { candidate, record: Some(record.clone()), digest: None, exported: Vec::new(), bytes: None, verdict }
}

/// Makes the set. `earlier` is the set that is active now: where a new file is bad, its plugin stays.
pub(crate) fn assemble(workshop: Workshop<'_>, roots: &[Root], trust: &TrustStore, earlier: &PluginSet) -> std::io::Result<PluginSet> {
    let (judged, unread) = judge_all(roots, trust)?;
    let (mut slots, mut statuses) = (Vec::new(), Vec::new());
    let mut seen: Seen = earlier.handlers().map(|(hook, name)| ((hook, name.to_owned()), String::new())).collect();
    for one in judged {
        let (slot, status) = make(workshop, &one, earlier, &mut seen);
        statuses.push(status);
        slots.extend(slot);
    }
    let unmatched = |name: &&str| !statuses.iter().any(|status| status.name == *name);
    let mut unmatched_overrides: Vec<_> = workshop.operator.names().filter(unmatched).map(str::to_owned).collect();
    unmatched_overrides.sort_unstable();
    let mut set = PluginSet::new(slots, earlier);
    (set.statuses, set.unread, set.unmatched_overrides) = (statuses, unread, unmatched_overrides);
    Ok(set)
}

/// Names that are taken, by hook and name, and what is called under them; empty for a native handler.
type Seen = HashMap<(Hook, String), String>;

fn make(workshop: Workshop<'_>, one: &Judged, earlier: &PluginSet, seen: &mut Seen) -> (Option<Arc<Slot>>, PluginStatus) {
    let mut status = status_of(workshop, one);
    let bound = match &one.verdict {
        Verdict::Run(grants) => run(workshop, one, grants).and_then(|plugin| unique(plugin, one, &status, seen)),
        Verdict::Not(_, failure) => Err(failure.clone()),
    };
    match bound {
        Ok(plugin) => {
            status.hooks = plugin.hooks().collect();
            let slot = slot(one, &status, Ok(plugin));
            (Some(slot), status)
        }
        Err(failure) => {
            if status.state == PluginState::Active {
                status.state = PluginState::Invalid;
            }
            status.failure = Some(failure.clone());
            if let Some(kept) = kept(one, earlier, &status) {
                status.kept = true;
                status.state = PluginState::Active;
                return (Some(kept), status);
            }
            let answers = status.on_failure == FailureMode::Closed && answers_closed(one, &failure, status.state);
            let slot = answers.then(|| slot(one, &status, Err(failure)));
            (slot, status)
        }
    }
}

/// A plugin that a person switched off does not answer; nor does one whose name another took, unless a person vouched for it.
fn answers_closed(one: &Judged, failure: &Failure, state: PluginState) -> bool {
    let displaced = failure.kind == FailureKind::DuplicateName && one.record.is_none();
    state != PluginState::Disabled && state != PluginState::New && !displaced
}

fn run(workshop: Workshop<'_>, one: &Judged, grants: &Grants) -> Result<Plugin, Failure> {
    let (Some(source), Some(bytes)) = (one.source(), one.bytes.as_ref()) else {
        return Err(Failure::new(FailureKind::Unreadable, "its file was not read"));
    };
    let asked = Grants { unavailable: source.manifest.grants.unavailable.clone(), ..grants.clone() };
    let component = load::load(&workshop.sandbox.engine, workshop.cache, bytes)?;
    let digest = bytes.digest.to_hex().to_string();
    bind(workshop.linkers, &component, digest, &source.manifest, &asked, workshop.limits)
}

/// Refuses a plugin whose name another has on the same hook. Where the other is the same in all that matters, it is called once: this one
/// serves the rest of its hooks.
fn unique(mut plugin: Plugin, one: &Judged, status: &PluginStatus, seen: &mut Seen) -> Result<Plugin, Failure> {
    let duplicate = |what: &str| Failure::new(FailureKind::DuplicateName, what);
    let identity = format!("{} {} {:?} {:?} {:?}", plugin.digest, plugin.settings, plugin.matcher, status.on_failure, status.mode);
    let name = one.name();
    let earlier = |hook: Hook, seen: &Seen| seen.get(&(hook, name.to_owned())).cloned();
    if plugin.hooks().filter_map(|hook| earlier(hook, seen)).any(|earlier| earlier != identity) {
        return Err(duplicate("a plugin of the user's folder, or a native handler, bears the same name"));
    }
    plugin.exports.retain(|(hook, _)| earlier(*hook, seen).is_none());
    if plugin.exports.is_empty() {
        return Err(duplicate("the same plugin is in the user's folder, and is called once"));
    }
    for hook in plugin.hooks() {
        seen.insert((hook, name.to_owned()), identity.clone());
    }
    Ok(plugin)
}

/// Returns the active plugin of an earlier set where a new file is bad: as long as it has no more rights than the record gives now, and in
/// the mode that counts now.
fn kept(one: &Judged, earlier: &PluginSet, status: &PluginStatus) -> Option<Arc<Slot>> {
    if matches!(status.state, PluginState::Disabled | PluginState::Vanished | PluginState::New) {
        return None;
    }
    let slot = earlier.plugin_of(one.candidate.level, one.name())?;
    let vouched = one.record.as_ref().is_some_and(|record| record.component == *slot.digest && record.manifest == *slot.manifest);
    let harmless = one.candidate.level == Level::User && slot.plugin().is_some_and(|plugin| !plugin.exceeds_default());
    let target = slot.ready.as_ref().ok().filter(|_| vouched || harmless)?;
    Some(Arc::new(Slot {
        mode: status.on_failure,
        monitored: status.mode == PluginMode::Monitor,
        name: Arc::clone(&slot.name),
        digest: Arc::clone(&slot.digest),
        manifest: Arc::clone(&slot.manifest),
        hooks: slot.hooks.clone(),
        ready: Ok(Arc::clone(target)),
        ..**slot
    }))
}

fn slot(one: &Judged, status: &PluginStatus, ready: Result<Plugin, Failure>) -> Arc<Slot> {
    Arc::new(Slot {
        level: Some(one.candidate.level),
        name: status.name.as_str().into(),
        priority: status.priority,
        mode: status.on_failure,
        monitored: status.mode == PluginMode::Monitor,
        digest: status.digest.as_str().into(),
        hooks: status.hooks.clone(),
        manifest: one.source().map(|source| source.manifest_digest.to_hex().to_string()).unwrap_or_default().into(),
        ready: ready.map(|plugin| Arc::new(Target::Plugin(Box::new(plugin)))),
    })
}

fn status_of(workshop: Workshop<'_>, one: &Judged) -> PluginStatus {
    let manifest: Option<&Manifest> = one.source().map(|source| &source.manifest);
    let asked = manifest.map(|manifest| manifest.grants.clone()).unwrap_or_default();
    let (state, grants) = match &one.verdict {
        Verdict::Run(grants) => (PluginState::Active, grants.clone()),
        Verdict::Not(state, _) => (*state, asked),
    };
    let overridden = workshop.operator.of(one.name());
    // Of what waits, what it asks for is shown; it does not answer.
    let on_failure = manifest.filter(|_| state == PluginState::New).map_or_else(|| one.mode(), |manifest| manifest.on_failure);
    let recorded = one.record.as_ref().map(TrustRecord::plugin_mode).unwrap_or_default();
    PluginStatus {
        name: one.candidate.name.clone(),
        level: one.candidate.level,
        place: one.candidate.place.clone(),
        state,
        hooks: one.hooks(),
        priority: one.priority(),
        on_failure: overridden.on_failure.unwrap_or(on_failure),
        mode: overridden.mode.unwrap_or(recorded),
        grants,
        limits: manifest.map_or(workshop.limits, |manifest| workshop.limits.narrowed(&manifest.limits)),
        digest: one.digest.map(|digest| digest.to_hex().to_string()).unwrap_or_default(),
        failure: None,
        kept: false,
        withheld: one.withheld(),
        description: manifest.map(|manifest| manifest.description.clone()).unwrap_or_default(),
        warnings: manifest.map(|manifest| manifest.warnings.clone()).unwrap_or_default(),
    }
}
