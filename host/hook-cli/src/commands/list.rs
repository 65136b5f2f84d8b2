//! `list`: every plugin file with its state and the next command to type.

use super::{folder, grant_words};
use crate::args::{Cli, ListArgs};
use crate::exit::{Exit, Fail};
use crate::render;
use hook_runtime::{Host, PluginMode, PluginState, PluginStatus};
use serde_json::{Value, json};

pub(crate) fn run(cli: &Cli, args: &ListArgs) -> Result<Exit, Fail> {
    let host = Host::builder().project(folder(cli)).without_store().build()?;
    let plugins = host.plugins();
    for name in host.unmatched_overrides() {
        let shown = hook_runtime::contract::display::plain(&name, 64);
        render::remark(&format!("config.yaml overrides something for `{shown}`, and no plugin here bears that name"));
    }
    if render::wants_json(cli) {
        let plugins: Vec<_> = plugins.iter().map(document).collect();
        let project = host.project().map(|project| project.to_string_lossy());
        render::document(&json!({"project": project, "plugins": plugins, "unread_entries": host.unread_entries()}));
    } else {
        show(&host, &plugins);
    }
    let all_active = plugins.iter().all(|plugin| plugin.state == PluginState::Active && !plugin.kept);
    Ok(if args.exit_code && !all_active { Exit::NotAllActive } else { Exit::Ok })
}

fn hooks(plugin: &PluginStatus) -> Vec<&'static str> {
    plugin.hooks.iter().map(|hook| hook.name()).collect()
}

fn document(plugin: &PluginStatus) -> Value {
    json!({
        "name": plugin.name,
        "level": plugin.level.word(),
        "place": plugin.place,
        "state": plugin.state.word(),
        "hooks": hooks(plugin),
        "priority": plugin.priority,
        "on_failure": plugin.on_failure.word(),
        "mode": plugin.mode.word(),
        "grants": grant_words(&plugin.grants),
        "limits": {
            "fuel": plugin.limits.fuel(),
            "deadline_ms": u64::try_from(plugin.limits.deadline().as_millis()).unwrap_or(u64::MAX),
            "memory_bytes": plugin.limits.memory(),
        },
        "digest": plugin.digest,
        "description": plugin.description,
        "code": plugin.failure.as_ref().map(|failure| failure.kind.code()),
        "problem": plugin.failure.as_ref().map(|failure| failure.message.clone()),
        "next": plugin.hint(),
        "warnings": plugin.warnings,
    })
}

fn show(host: &Host, plugins: &[PluginStatus]) {
    if plugins.is_empty() {
        render::line("no plugins: drop a .wasm file into .geode/hooks of your project, or into ~/.geode/hooks");
        return;
    }
    let rows: Vec<_> = plugins.iter().map(row).collect();
    render::table(&["NAME", "STATE", "FROM", "HOOKS", "PRIO", "FAILS", "GRANTS", "FUEL", "TIME", "MEMORY", "DIGEST"], &rows);
    for plugin in plugins {
        explain(plugin);
    }
    if host.unread_entries() > 0 {
        render::line(&format!("{} more entries were not looked at: a folder may have 256", host.unread_entries()));
    }
}

fn row(plugin: &PluginStatus) -> Vec<String> {
    let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    vec![
        plugin.name.clone(),
        if plugin.mode == PluginMode::Monitor {
            format!("{}, {}", plugin.state.word(), plugin.mode.word())
        } else {
            plugin.state.word().to_owned()
        },
        plugin.level.word().to_owned(),
        or_dash(hooks(plugin).join(",")),
        plugin.priority.to_string(),
        plugin.on_failure.word().to_owned(),
        or_dash(grant_words(&plugin.grants).join(",")),
        format!("{:e}", plugin.limits.fuel()),
        format!("{:?}", plugin.limits.deadline()),
        render::bytes(plugin.limits.memory()),
        or_dash(plugin.digest.chars().take(12).collect()),
    ]
}

/// Says why a plugin is not active, and what to type.
fn explain(plugin: &PluginStatus) {
    if plugin.withheld {
        render::line(&format!("\n{} ({}): it runs without the grants it asks for", plugin.name, plugin.place));
    }
    plugin.warnings.iter().for_each(|warning| render::line(&format!("\n{} ({}): {warning}", plugin.name, plugin.place)));
    let kept = if plugin.kept { " (the earlier version stays active)" } else { "" };
    if let Some(failure) = &plugin.failure {
        render::line(&format!("\n{} ({}): {}{kept} [{}]", plugin.name, plugin.place, failure.message, failure.kind.code()));
    }
    if let Some(hint) = plugin.hint() {
        render::line(&format!("  next: {hint}"));
    }
}
