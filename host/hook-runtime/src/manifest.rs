//! `hook.yaml`: read, bounded and checked before anything of it is used.
//!
//! Separate because it is text of unknown origin. Invariant: a key or value that is not understood is an error, never ignored.

use crate::limits::Asked;
use crate::yaml::{self, InvalidYaml, boolean, expected, failure_mode, invalid, known_keys, mapping, text};
use hook_contract::aimon::MAX_ASKED;
use hook_contract::event::{EVENTS, GONE, event};
use hook_contract::hook::{Action, Hook, Object};
use hook_contract::matcher::Matcher;
use hook_contract::{FailureMode, display};
use serde_json::Value;
use std::time::Duration;

/// The most bytes of a manifest.
pub(crate) const MAX_BYTES: u64 = 64 * 1024;
/// The most bytes of a plugin's settings as JSON.
const MAX_SETTINGS_BYTES: usize = 48 * 1024;

/// What a plugin asks for and how it wants to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The plugin's name: letters, digits, `-`, `_`, `.`; at most 64.
    pub name: String,
    /// The component's path inside the plugin's folder.
    pub component: String,
    /// The hooks to serve; `None` means all that it exports.
    pub hooks: Option<Vec<Hook>>,
    /// Which tool calls wake it; `None` means all.
    pub matcher: Option<Matcher>,
    /// Lower runs first.
    pub priority: i64,
    /// Whether it is to run at all.
    pub enabled: bool,
    /// What it answers when it fails.
    pub on_failure: FailureMode,
    /// Its own budgets.
    pub limits: Asked,
    /// The rights it asks for.
    pub grants: Grants,
    /// Handed to the plugin as JSON.
    pub settings: Object,
    /// One line for people.
    pub description: String,
    /// What is probably not meant, in words.
    pub warnings: Vec<String>,
}

/// The rights that a plugin asks for, or has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The actions it may return; `None` means every action of its hooks but `allow`.
    pub actions: Option<Vec<Action>>,
    /// Whether it is shown the real payload.
    pub full_payload: bool,
    /// What it asks for that this host cannot give, by name.
    pub unavailable: Vec<String>,
}

impl Grants {
    /// Says whether a plugin with these grants may return an action.
    pub fn allows(&self, action: Action) -> bool {
        self.actions.as_ref().map_or(action != Action::Allow, |actions| actions.contains(&action))
    }

    /// Says whether these grants ask for more than a plugin has without asking.
    pub fn exceed_default(&self) -> bool {
        self.full_payload || self.allows(Action::Allow)
    }

    /// Returns the part that needs nobody's word: what narrows stays, `allow` and the rest go.
    #[must_use]
    pub fn without_trust(&self) -> Self {
        let actions = self.actions.as_ref().map(|actions| actions.iter().copied().filter(|action| *action != Action::Allow).collect());
        Self { actions, full_payload: false, unavailable: Vec::new() }
    }
}

const KEYS: [&str; 14] = [
    "name",
    "component",
    "handler",
    "hooks",
    "events",
    "match",
    "priority",
    "enabled",
    "on_failure",
    "limits",
    "grants",
    "settings",
    "description",
    "requires",
];
const LIMIT_KEYS: [&str; 3] = ["deadline", "fuel", "memory"];
const GRANT_KEYS: [&str; 6] = ["actions", "state", "http", "full_payload", "middleware", "llm_cache_invalidation"];

impl Manifest {
    /// Returns what a lone `NAME.wasm` is run with.
    pub(crate) fn of_lone_component(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            component: format!("{name}.wasm"),
            hooks: None,
            matcher: None,
            priority: 100,
            enabled: true,
            on_failure: FailureMode::Open,
            limits: Asked::default(),
            grants: Grants::default(),
            settings: Object::new(),
            description: String::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads a manifest; `folder` is the name it has by default.
    ///
    /// # Errors
    /// [`InvalidYaml`] for broken YAML, an unknown key (with the nearest known one), or a value that is not understood.
    pub fn parse(text: &str, folder: &str) -> Result<Self, InvalidYaml> {
        let Value::Object(object) = yaml::parse(text)? else { return Err(invalid("expected a mapping of keys")) };
        known_keys(&object, &KEYS, "")?;
        let mut manifest = Self { component: "plugin.wasm".into(), ..Self::of_lone_component(folder) };
        for (key, value) in &object {
            manifest.read(key, value)?;
        }
        check_name(&manifest.name)?;
        manifest.warnings.extend(manifest.matcher.as_ref().and_then(Matcher::doubt).map(|doubt| format!("`match.tool`: {doubt}")));
        if manifest.limits.deadline.is_some_and(|asked| asked > MAX_ASKED) {
            manifest.warnings.push("`limits.deadline`: more than 10 minutes, which is cut".to_owned());
        }
        Ok(manifest)
    }

    /// Returns what it says of settings, matcher, limits and being switched on, in words; what it leaves out is not named.
    pub(crate) fn terms(&self) -> Vec<String> {
        let settings = Value::Object(self.settings.clone()).to_string();
        let Asked { deadline, fuel, memory } = self.limits;
        let terms = [
            self.matcher.as_ref().map(|matcher| format!("match.tool: {}", display::plain(&matcher.to_string(), 200))),
            (!self.enabled).then(|| "enabled: false".to_owned()),
            deadline.map(|deadline| format!("limits.deadline: {deadline:?}")),
            fuel.map(|fuel| format!("limits.fuel: {fuel}")),
            memory.map(|memory| format!("limits.memory: {memory} bytes")),
            (!self.settings.is_empty()).then(|| {
                // What does not fit is told apart by its digest.
                let digest = blake3::hash(settings.as_bytes()).to_hex();
                let more = if settings.len() > 300 {
                    format!(" ({} bytes, {})", settings.len(), digest.chars().take(12).collect::<String>())
                } else {
                    String::new()
                };
                format!("settings: {}{more}", display::plain(&settings, 300))
            }),
        ];
        terms.into_iter().flatten().collect()
    }

    fn read(&mut self, key: &str, value: &Value) -> Result<(), InvalidYaml> {
        match key {
            "name" => self.name = text(key, value)?,
            "component" | "handler" => self.component = inner_path(key, &text(key, value)?)?,
            "hooks" => self.hooks = Some(list(key, value, hook)?),
            "match" => self.matcher = matcher(value)?,
            "priority" => self.priority = priority(value)?,
            "enabled" => self.enabled = boolean(key, value)?,
            "on_failure" => self.on_failure = failure_mode(value)?,
            "limits" => self.limits = limits(value)?,
            "grants" => self.grants.read(value)?,
            "settings" => self.settings = settings(value)?,
            "description" => self.description = display::plain(&text(key, value)?, 200),
            "events" => {
                list(key, value, |name| Some(name.to_owned()))?.iter().try_for_each(|name| known_event(name))?;
                self.grants.unavailable.push("events".to_owned());
            }
            // `requires` is shown by the author's tools and not checked.
            _ => {}
        }
        Ok(())
    }
}

impl Grants {
    fn read(&mut self, value: &Value) -> Result<(), InvalidYaml> {
        let object = mapping("grants", value)?;
        known_keys(object, &GRANT_KEYS, "grants.")?;
        for (key, value) in object {
            match key.as_str() {
                "actions" => self.actions = Some(list("grants.actions", value, action)?),
                "full_payload" => self.full_payload = boolean("grants.full_payload", value)?,
                "llm_cache_invalidation" if *value == Value::Bool(false) => {}
                other => self.unavailable.push(other.to_owned()),
            }
        }
        Ok(())
    }
}

/// Checks a plugin's name: it stands in paths, commands and tables.
pub(crate) fn check_name(name: &str) -> Result<(), InvalidYaml> {
    let legal = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    if name.is_empty() || name.len() > 64 || name.starts_with(['.', '-']) || !name.chars().all(legal) {
        return Err(invalid(format!("the name `{}` is none: expected up to 64 letters, digits, `-`, `_`, `.`", display::plain(name, 64))));
    }
    Ok(())
}

fn list<T>(key: &str, value: &Value, read: fn(&str) -> Option<T>) -> Result<Vec<T>, InvalidYaml> {
    let items = value.as_array().ok_or_else(|| expected(key, "a list", value))?;
    items.iter().map(|item| item.as_str().and_then(read).ok_or_else(|| unknown_item(key, item))).collect()
}

fn unknown_item(key: &str, item: &Value) -> InvalidYaml {
    let known: Vec<_> = if key == "hooks" { Hook::all().map(Hook::name).collect() } else { Action::ALL.map(Action::word).to_vec() };
    expected(key, &format!("one of {}", known.join(", ")), item)
}

fn hook(name: &str) -> Option<Hook> {
    Hook::from_name(name)
}

fn action(word: &str) -> Option<Action> {
    Action::from_word(word)
}

/// Checks the name of a runtime event, or a prefix of names that ends in `*`.
fn known_event(name: &str) -> Result<(), InvalidYaml> {
    let wanted = name.trim().to_lowercase();
    let prefix = wanted.strip_suffix('*');
    if event(&wanted).is_some() || prefix.is_some_and(|prefix| EVENTS.iter().any(|event| event.name.starts_with(prefix))) {
        return Ok(());
    }
    Err(invalid(format!("`events`: {}", no_event(name))))
}

/// Says what a name is that is no event of today, and what to write instead.
pub(crate) fn no_event(name: &str) -> String {
    let shown = display::plain(name, 64);
    match GONE.iter().find(|(gone, _)| *gone == name.trim().to_lowercase()) {
        Some((_, Some(now))) => format!("`{shown}` no longer exists; `{now}` took its place"),
        Some((_, None)) => format!("`{shown}` no longer exists, and nothing took its place"),
        None => {
            let nearest = EVENTS.iter().map(|event| event.name).min_by_key(|known| strsim::damerau_levenshtein(known, &shown));
            format!("`{shown}` is no event; the nearest is `{}`", nearest.unwrap_or_default())
        }
    }
}

/// Reads a path that stays inside the plugin's folder.
fn inner_path(key: &str, path: &str) -> Result<String, InvalidYaml> {
    use std::path::{Component, Path};
    let inside = !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if inside { Ok(path.to_owned()) } else { Err(invalid(format!("`{key}`: `{}` leaves the plugin's folder", display::plain(path, 80)))) }
}

fn matcher(value: &Value) -> Result<Option<Matcher>, InvalidYaml> {
    let object = mapping("match", value)?;
    known_keys(object, &["tool"], "match.")?;
    let Some(pattern) = object.get("tool") else { return Ok(None) };
    let pattern = text("match.tool", pattern)?;
    Matcher::parse(&pattern).map(Some).map_err(|error| invalid(format!("`match.tool`: {error}, found `{}`", display::plain(&pattern, 80))))
}

fn priority(value: &Value) -> Result<i64, InvalidYaml> {
    let number = value.as_i64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()));
    number.ok_or_else(|| expected("priority", "an integer", value))
}

fn settings(value: &Value) -> Result<Object, InvalidYaml> {
    let object = mapping("settings", value)?;
    if value.to_string().len() > MAX_SETTINGS_BYTES {
        return Err(invalid(format!("`settings`: more than {MAX_SETTINGS_BYTES} bytes of JSON")));
    }
    Ok(object.clone())
}

fn limits(value: &Value) -> Result<Asked, InvalidYaml> {
    let object = mapping("limits", value)?;
    known_keys(object, &LIMIT_KEYS, "limits.")?;
    let mut asked = Asked::default();
    for (key, value) in object {
        match key.as_str() {
            "fuel" => {
                asked.fuel =
                    Some(value.as_u64().filter(|fuel| *fuel > 0).ok_or_else(|| expected("limits.fuel", "a positive integer", value))?);
            }
            "deadline" => asked.deadline = Some(duration(value)?),
            _ => asked.memory = Some(bytes(value)?),
        }
    }
    Ok(asked)
}

fn duration(value: &Value) -> Result<Duration, InvalidYaml> {
    let units = [("ms", 1), ("s", 1000), ("m", 60_000)];
    let millis = with_unit(value, &units).map(Duration::from_millis).filter(|duration| *duration >= crate::limits::MIN_DEADLINE);
    millis.ok_or_else(|| expected("limits.deadline", "a time with its unit, at least 10ms, such as `500ms`, `2s` or `1m`", value))
}

fn bytes(value: &Value) -> Result<u64, InvalidYaml> {
    let units = [("KiB", 1024), ("MiB", 1024 * 1024)];
    let bytes = with_unit(value, &units).filter(|bytes| *bytes >= 65_536);
    bytes.ok_or_else(|| expected("limits.memory", "a size with its unit, at least 64KiB, such as `16MiB`", value))
}

/// Reads a positive whole number with a unit; a bare number is none.
fn with_unit(value: &Value, units: &[(&str, u64)]) -> Option<u64> {
    let text = value.as_str()?.trim();
    let digits = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let factor = units.iter().find(|(name, _)| *name == unit.trim_start())?.1;
    number.parse::<u64>().ok()?.checked_mul(factor).filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_grammar_reads() {
        let text = r#"
name: command-guard
component: plugin.wasm
hooks: [PreToolUse]
match: { tool: "Bash(git *)|Write" }
priority: "40"
enabled: true
on_failure: closed
limits: { deadline: 2s, fuel: 200000000, memory: 64MiB }
grants: { actions: [block, request_permission], full_payload: true }
settings: { deny: ["rm -rf /"] }
"#;
        let manifest = Manifest::parse(text, "folder").unwrap();
        assert_eq!((manifest.name.as_str(), manifest.priority, manifest.on_failure), ("command-guard", 40, FailureMode::Closed));
        assert_eq!(manifest.limits, Asked { deadline: Some(Duration::from_secs(2)), fuel: Some(200_000_000), memory: Some(64 << 20) });
        assert!(manifest.grants.full_payload && manifest.grants.allows(Action::Block) && !manifest.grants.allows(Action::Rewrite));
        assert_eq!(Manifest::parse("{}", "folder").unwrap().name, "folder");
    }

    #[test]
    fn what_is_not_understood_is_an_error_that_says_where() {
        let cases = [
            ("- 1", "mapping"),
            ("a: [", "broken YAML"),
            ("priorty: 3", "nearest known one is `priority`"),
            ("grants: {actoins: []}", "nearest known one is `grants.actions`"),
            ("component: ../x.wasm", "leaves the plugin's folder"),
            ("component: /x.wasm", "leaves the plugin's folder"),
            ("handler: ''", "leaves the plugin's folder"),
            ("limits: {deadline: 5}", "with its unit"),
            ("limits: {deadline: 0s}", "with its unit"),
            ("limits: {deadline: -1s}", "with its unit"),
            ("limits: {deadline: 1ms}", "at least 10ms"),
            ("limits: {memory: 64}", "with its unit"),
            ("limits: {fuel: 0}", "positive"),
            ("hooks: [PreTool]", "PreToolUse"),
            ("hooks: PreToolUse", "a list"),
            ("on_failure: maybe", "open or closed"),
            ("mode: monitor", "unknown key `mode`"),
            ("name: ../x", "none"),
            ("events: [pipeline_end]", "`turn_completed` took its place"),
            ("events: [drift_detected]", "nothing took its place"),
            ("events: [tool_exec_endde]", "nearest is `tool_exec_ended`"),
            ("events: turn_completed", "a list"),
            ("match: {tool: 'Bash('}", "match.tool"),
            ("name: a\nname: b", "broken YAML"),
        ];
        for (text, expected) in cases {
            let error = Manifest::parse(text, "folder").unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_grant_that_needs_a_later_host_is_named() {
        let manifest = Manifest::parse("grants: {state: 1MiB, http: [a.example]}", "p").unwrap();
        assert_eq!(manifest.grants.unavailable, ["state", "http"]);
    }
}
