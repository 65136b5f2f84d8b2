//! The conformance cases: each passes, or differs on purpose in just the way that `fixtures/differences.json` says and
//! `fixtures/DIFFERENCES.md` explains. Each area prints one line of counts (`scripts/test conformance` shows them).

mod chain;
mod discovery;
mod events;
mod registry;
mod results;

use crate::support::repository;
use hook_runtime::contract::schema::schema_text;
use hook_runtime::{Hook, Version};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

fn fixture(name: &str) -> String {
    let path = repository().join("tests/fixtures").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn fixture_json(name: &str) -> Value {
    serde_json::from_str(&fixture(name)).unwrap()
}

/// What we expect instead, by `area/case`: a JSON pointer into the case's expected value, and the value that stands there with us.
fn differences() -> Map<String, Value> {
    fixture_json("differences.json").as_object().unwrap().clone()
}

/// Returns the cases of an area of the second system.
fn aimon(area: &str) -> Vec<Value> {
    let cases = fixture_json("aimon.json")["cases"].as_array().unwrap().clone();
    let cases: Vec<_> = cases.into_iter().filter(|case| case["area"] == area).collect();
    assert!(!cases.is_empty(), "{area}");
    cases
}

/// The counts of one area.
struct Area {
    name: &'static str,
    differences: Map<String, Value>,
    cases: usize,
    explained: usize,
    wrong: Vec<String>,
}

impl Area {
    fn new(name: &'static str) -> Self {
        Self { name, differences: differences(), cases: 0, explained: 0, wrong: Vec::new() }
    }

    /// Compares what came out of a case with what is expected of it, differences applied.
    fn compare(&mut self, area: &str, id: &str, theirs: &Value, got: &Value) {
        self.compare_without(&[], area, id, theirs, got);
    }

    /// Compares all but some members of a case.
    fn compare_without(&mut self, members: &[&str], area: &str, id: &str, theirs: &Value, got: &Value) {
        self.cases += 1;
        let ours = self.expected(area, id, theirs);
        let [ours, theirs, got] = [&ours, theirs, got].map(|value| without(members, value));
        self.explained += usize::from(ours != theirs);
        if got != ours {
            self.wrong.push(format!("{id}\n  got      {}\n  expected {}", start_of(&got), start_of(&ours)));
        }
    }

    /// Returns what we expect of a case.
    fn expected(&mut self, area: &str, id: &str, theirs: &Value) -> Value {
        let mut expected = theirs.clone();
        if let Some(ours) = self.differences.get(&format!("{area}/{id}")) {
            for (pointer, value) in ours.as_object().unwrap() {
                set(&mut expected, pointer, value.clone());
            }
            if expected == *theirs {
                self.wrong.push(format!("{id}: differences.json changes nothing"));
            }
        }
        expected
    }

    #[expect(clippy::print_stdout, reason = "`scripts/test conformance` reads this line")]
    fn finish(self) {
        let Self { name, cases, explained, wrong, .. } = self;
        let passed = cases - explained - wrong.len().min(cases - explained);
        println!("conformance: {name:<34} {cases:>4} cases {passed:>4} passed {explained:>3} explained {:>3} wrong", wrong.len());
        assert!(cases > 0 && wrong.is_empty(), "{name}: {} differ in silence:\n{}", wrong.len(), wrong.join("\n"));
    }
}

fn without(members: &[&str], value: &Value) -> Value {
    let mut value = value.clone();
    if let Value::Object(object) = &mut value {
        object.retain(|key, _| !members.contains(&key.as_str()));
    }
    value
}

fn start_of(value: &Value) -> String {
    value.to_string().chars().take(2000).collect()
}

/// Sets the value at a JSON pointer; an object gets the last key where it lacks it, and `{"same_as": pointer}` copies.
fn set(document: &mut Value, pointer: &str, value: Value) {
    let value = match value["same_as"].as_str() {
        Some(other) => document.pointer(other).unwrap().clone(),
        None => value,
    };
    if pointer.is_empty() {
        *document = value;
        return;
    }
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}")) {
        Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
        parent => parent[key] = value,
    }
}

#[test]
fn schemas() {
    let mut area = Area::new("schemas");
    for (version, folder) in [(Version::V1, "v1"), (Version::V2, "v2")] {
        for hook in Hook::PUBLIC {
            let path = format!("schemas/{folder}/{hook}.json");
            // Byte for byte, but for the newline at the end of the file.
            let theirs = fixture(&path).trim_end_matches('\n').to_owned();
            area.compare("schemas", &format!("{folder}/{hook}"), &theirs.into(), &schema_text(hook, version).into());
        }
    }
    area.finish();
}

#[test]
fn every_difference_has_a_reason_and_every_reason_a_difference() {
    let text = fixture("DIFFERENCES.md");
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let explained: BTreeSet<_> = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)).collect();
    let differences = differences();
    let listed: BTreeSet<_> = differences.keys().map(String::as_str).collect();
    assert_eq!(explained, listed);
}
