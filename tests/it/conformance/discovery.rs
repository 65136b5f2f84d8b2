//! The discovery cases that apply: manifests in a folder, and what is loaded of them. A Python file of a case stands for a component.

use super::{Area, fixture_json};
use crate::support::{World, component, scripted};
use hook_runtime::PluginState;
use serde_json::{Value, json};

#[test]
fn discovery() {
    let mut area = Area::new("discovery");
    for case in fixture_json("discovery.json").as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        // A Python file alone is no plugin of ours.
        if !id.starts_with("py-") {
            area.compare("discovery", id, &comparable(case), &run(&case["files"]));
        }
    }
    area.finish();
}

/// What is loaded, with its priority where the fixture knows it.
fn comparable(case: &Value) -> Value {
    let known = case["discover"].as_array();
    let priority =
        |name: &Value| known.into_iter().flatten().find(|one| one["name"] == *name).map_or(json!(100), |one| one["priority"].clone());
    case["loaded"].as_array().unwrap().iter().map(|name| json!({"name": name, "priority": priority(name)})).collect()
}

fn run(files: &Value) -> Value {
    let world = World::new();
    for (path, text) in files.as_object().unwrap() {
        let text = text.as_str().unwrap();
        let path = world.user_hooks().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let bytes = match path.extension().and_then(|end| end.to_str()) {
            Some("py") if text.contains("def handle") => scripted().to_vec(),
            Some("py") => component("(component)"),
            // A plugin that observes stands for one that subscribes to an event.
            _ => with_hooks(text).into_bytes(),
        };
        std::fs::write(path, bytes).unwrap();
    }
    let plugins = world.builder().without_store().build().unwrap().plugins();
    let active = plugins.iter().filter(|plugin| plugin.state == PluginState::Active);
    active.map(|plugin| json!({"name": plugin.name, "priority": plugin.priority})).collect()
}

fn with_hooks(manifest: &str) -> String {
    let line = |line: &str| if line.starts_with("events: [turn_completed") { "hooks: [SessionStart]".to_owned() } else { line.to_owned() };
    manifest.lines().map(line).collect::<Vec<_>>().join("\n")
}
