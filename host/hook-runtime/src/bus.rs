//! Runtime events: what an agent tells, and who listens (spec 4.1).
//!
//! Separate because it is the surface that can never steer. Invariant: an observer sees an event and cannot change it, one that fails fails
//! alone, and every event that is to be stored is, whoever listens.

use crate::manifest::{check_name, no_event};
use crate::row::EventRow;
use crate::store::Writer;
use crate::yaml::InvalidYaml;
use hook_contract::activity::activity;
use hook_contract::event::{EVENTS, EventSpec, OBSERVER_SCHEMA, event};
use hook_contract::hook::Object;
use hook_contract::{Correlation, display};
use regex::Regex;
use serde_json::Value;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, Location};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Instant, SystemTime};

/// The events that an observer is told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject(Wanted);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    All,
    Event(&'static str),
    Prefix(String),
}

impl Subject {
    /// Returns every event.
    pub fn all() -> Self {
        Self(Wanted::All)
    }

    /// Returns one event, by its name or an older spelling of it.
    ///
    /// # Errors
    /// [`SubscribeError::UnknownEvent`], with what to write instead.
    pub fn event(name: &str) -> Result<Self, SubscribeError> {
        event(name).map(|event| Self(Wanted::Event(event.name))).ok_or_else(|| UnknownEvent(no_event(name)).into())
    }

    /// Returns the event of that name, and those whose names go on after it with `_`.
    ///
    /// # Errors
    /// [`SubscribeError::BadPrefix`] where no event is among them.
    pub fn prefix(prefix: &str) -> Result<Self, SubscribeError> {
        let subject = Self(Wanted::Prefix(prefix.trim().to_lowercase()));
        let matches_any = EVENTS.iter().any(|event| subject.holds(event.name));
        if matches_any { Ok(subject) } else { Err(SubscribeError::BadPrefix(display::plain(prefix, 64))) }
    }

    fn holds(&self, name: &str) -> bool {
        match &self.0 {
            Wanted::All => true,
            Wanted::Event(wanted) => *wanted == name,
            Wanted::Prefix(prefix) => name.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('_')),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        EVENTS.iter().any(|event| self.holds(event.name) && other.holds(event.name))
    }
}

/// One event, as an observer has it.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence<'a> {
    /// What happened.
    pub event: &'static EventSpec,
    /// The event's data, whole, with `schema_version`.
    pub data: &'a Object,
    /// Who and what it belongs to.
    pub correlation: &'a Correlation,
    /// When.
    pub occurred_at: SystemTime,
}

type Function = dyn Fn(Occurrence<'_>) -> Result<(), String> + Send + Sync;

/// A closure that is told of events, on the thread of whoever emits them. Clones are the same observer.
#[derive(Clone)]
pub struct Observer {
    name: Arc<str>,
    priority: i64,
    tools: Option<Regex>,
    function: Arc<Function>,
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("name", &self.name).field("priority", &self.priority).finish_non_exhaustive()
    }
}

impl Observer {
    /// Returns an observer of priority 100.
    pub fn new(name: impl Into<Arc<str>>, function: impl Fn(Occurrence<'_>) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), priority: 100, tools: None, function: Arc::new(function) }
    }

    /// Sets its place: lower runs first.
    #[must_use]
    pub fn priority(self, priority: i64) -> Self {
        Self { priority, ..self }
    }

    /// Has it told of a tool's events only where the tool's name holds a match of a regular expression.
    ///
    /// # Errors
    /// [`SubscribeError::BadPattern`].
    pub fn tools(self, pattern: &str) -> Result<Self, SubscribeError> {
        let tools = Regex::new(pattern).map_err(|error| SubscribeError::BadPattern(display::plain(&error.to_string(), 200)))?;
        Ok(Self { tools: Some(tools), ..self })
    }

    fn is(&self, other: &Self) -> bool {
        let pattern = |observer: &Self| observer.tools.as_ref().map(|tools| tools.as_str().to_owned());
        Arc::ptr_eq(&self.function, &other.function) && self.priority == other.priority && pattern(self) == pattern(other)
    }

    /// Says whether its pattern lets an event pass; it counts for what tools do, and needs a name.
    fn wants(&self, event: &EventSpec, data: &Object) -> bool {
        let Some(tools) = self.tools.as_ref().filter(|_| event.name.starts_with("tool_exec_") || event.name == "tool_result_transform")
        else {
            return true;
        };
        data.get("tool_name").and_then(Value::as_str).is_some_and(|tool| !tool.is_empty() && tools.is_match(tool))
    }
}

/// Why an observer was not subscribed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// Another observer of that name is told of the same events.
    #[error("`{0}` already observes some of these events: names are unique for each event, choose another")]
    DuplicateName(String),
    /// The name could not stand in tables and logs.
    #[error(transparent)]
    BadName(#[from] InvalidYaml),
    /// No event bears that name.
    #[error(transparent)]
    UnknownEvent(#[from] UnknownEvent),
    /// No event's name begins so.
    #[error("no runtime event's name begins with `{0}`: expected whole words, such as `tool_exec`")]
    BadPrefix(String),
    /// No regular expression.
    #[error("the pattern of tools is no regular expression: {0}")]
    BadPattern(String),
    /// The bus was closed.
    #[error("the bus of events is closed")]
    Closed,
}

/// No event bears that name.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UnknownEvent(String);

/// How an observer fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The observer.
    pub observer: Arc<str>,
    /// Why it failed.
    pub error: Option<String>,
}

/// An observer's place on the bus.
#[derive(Clone, Debug)]
struct Place {
    number: u64,
    subject: Subject,
    observer: Observer,
}

#[derive(Debug, Default)]
struct Register {
    places: Arc<Vec<Place>>,
    next: u64,
    closed: bool,
}

/// The bus of runtime events. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Events {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    register: RwLock<Register>,
    /// Where required keys were found missing: each place in the code is warned once.
    warned: Mutex<HashSet<(&'static str, &'static Location<'static>)>>,
    writer: Arc<Writer>,
    project: Arc<str>,
}

/// A subscription; it stays until it is cancelled, dropped handle or not.
#[derive(Clone, Debug)]
pub struct Subscription {
    number: u64,
    events: Events,
}

impl Subscription {
    /// Ends it; says whether it still was. Events under way are told to the end.
    pub fn cancel(&self) -> bool {
        self.events.change(|register| {
            let before = register.places.len();
            let left = register.places.iter().filter(|place| place.number != self.number).cloned().collect();
            register.places = Arc::new(left);
            register.places.len() < before
        })
    }
}

impl Events {
    pub(crate) fn new(writer: Arc<Writer>, project: Arc<str>) -> Self {
        Self { inner: Arc::new(Inner { register: RwLock::default(), warned: Mutex::default(), writer, project }) }
    }

    fn change<R>(&self, change: impl FnOnce(&mut Register) -> R) -> R {
        change(&mut self.inner.register.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has an observer told of events. The same observer subscribed twice to the same events is told once.
    ///
    /// # Errors
    /// [`SubscribeError`] where another observer of that name is told of some of these events, or the bus is closed.
    pub fn subscribe(&self, subject: Subject, observer: Observer) -> Result<Subscription, SubscribeError> {
        check_name(&observer.name)?;
        self.change(|register| {
            if register.closed {
                return Err(SubscribeError::Closed);
            }
            let overlaps = |place: &&Place| place.observer.name == observer.name && place.subject.overlaps(&subject);
            if let Some(place) = register.places.iter().find(overlaps) {
                let same = place.subject == subject && place.observer.is(&observer);
                let again = Subscription { number: place.number, events: self.clone() };
                return if same { Ok(again) } else { Err(SubscribeError::DuplicateName(observer.name.to_string())) };
            }
            register.next += 1;
            let number = register.next;
            let mut places = register.places.to_vec();
            places.push(Place { number, subject, observer });
            // Stable: equal priorities keep the order of subscribing.
            places.sort_by_key(|place| place.observer.priority);
            register.places = Arc::new(places);
            Ok(Subscription { number, events: self.clone() })
        })
    }

    /// Tells an event to its observers, one after another, and stores what its kind keeps. Returns how each observer fared.
    ///
    /// # Errors
    /// [`UnknownEvent`] where the catalogue has no event of that name.
    #[track_caller]
    pub fn emit(&self, name: &str, data: Object, correlation: &Correlation) -> Result<Vec<Observed>, UnknownEvent> {
        let caller = Location::caller();
        let event = event(name).ok_or_else(|| UnknownEvent(no_event(name)))?;
        let (places, closed) = {
            let register = self.inner.register.read().unwrap_or_else(PoisonError::into_inner);
            (Arc::clone(&register.places), register.closed)
        };
        if closed {
            return Ok(Vec::new());
        }
        self.warn_of_missing_keys(event, &data, caller);
        let (occurred_at, start) = (SystemTime::now(), Instant::now());
        let mut data = data;
        data.entry("schema_version").or_insert_with(|| OBSERVER_SCHEMA.into());
        let occurrence = Occurrence { event, data: &data, correlation, occurred_at };
        let told = places.iter().filter(|place| place.subject.holds(event.name) && place.observer.wants(event, &data));
        let observed: Vec<_> = told.map(|place| tell(&place.observer, occurrence)).collect();
        if let Some(activity) = activity(event, &data, correlation) {
            let project = Arc::clone(&self.inner.project);
            let (correlation, duration) = (correlation.clone(), start.elapsed());
            let failed = observed.iter().filter(|one| one.error.is_some()).map(|one| Arc::clone(&one.observer)).collect();
            let row = EventRow { occurred_at, project, correlation, activity, observers: observed.len(), failed, duration };
            self.inner.writer.write_event(row);
        }
        Ok(observed)
    }

    fn warn_of_missing_keys(&self, event: &'static EventSpec, data: &Object, caller: &'static Location<'static>) {
        let missing: Vec<_> = event.required.iter().filter(|key| !data.contains_key(**key)).collect();
        if missing.is_empty() {
            return;
        }
        let mut warned = self.inner.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.insert((event.name, caller)) {
            tracing::warn!(event = event.name, ?missing, %caller, "an event lacks keys that it should have");
        }
    }

    /// Ends every subscription. Afterwards nothing is told, stored or subscribed.
    pub fn close(&self) {
        self.change(|register| *register = Register { closed: true, ..Register::default() });
    }
}

/// Tells one observer; its panic is its failure.
fn tell(observer: &Observer, occurrence: Occurrence<'_>) -> Observed {
    let told = std::panic::catch_unwind(AssertUnwindSafe(|| (observer.function)(occurrence)));
    let error = told.unwrap_or_else(|_| Err("it panicked".to_owned())).err();
    Observed { observer: Arc::clone(&observer.name), error: error.map(|error| display::plain(&error, 512)) }
}
