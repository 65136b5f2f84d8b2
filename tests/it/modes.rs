//! Monitor mode, and what the operator overrides.

use crate::support::{World, ask, rows, summary};
use hook_runtime::{FailureMode, Hook, HostError, PluginMode, review, trust};
use serde_json::{Value, json};

/// Trusts a plugin by the word of a person.
fn trust_as(world: &World, name: &str, mode: PluginMode, on_failure: Option<FailureMode>) {
    let reviews = review(&world.directories(), Some(&world.project())).unwrap();
    let one = reviews.open.into_iter().find(|one| one.name == name).unwrap().in_mode(mode);
    trust(&world.directories(), &on_failure.map_or(one.clone(), |on_failure| one.failing(on_failure))).unwrap();
}

fn operator(world: &World, text: &str) {
    std::fs::create_dir_all(world.directories().config).unwrap();
    std::fs::write(world.directories().config.join("config.yaml"), text).unwrap();
}

/// What a plugin would do on PreToolUse -> the row's status, code and decision.
#[test]
fn in_monitor_mode_everything_is_evaluated_and_nothing_applied() {
    let arguments = json!({"action": "rewrite", "updates": {"arguments": {"a": 2}}});
    let cases = [
        (json!({"decide": "block", "text": "no"}), "", ("ok", "", "block")),
        (json!({"decide": arguments}), "", ("ok", "", "rewrite")),
        (json!({"decide": "request_permission", "feedback": "careful"}), "", ("ok", "", "request_permission")),
        (json!({"act": "panic"}), "on_failure: closed", ("error", "hook::invoke::trap", "block")),
        (json!({"act": "panic"}), "", ("error", "hook::invoke::trap", "")),
        (json!({}), "", ("ok", "", "")),
    ];
    for (settings, manifest, (status, code, decision)) in cases {
        let world = World::new();
        world.scripted("p", settings.clone(), &format!("priority: 1\n{manifest}"));
        world.scripted("next", json!({"decide": "continue"}), "");
        trust_as(&world, "p", PluginMode::Monitor, None);
        let host = world.host();
        let invoked = ask(&host, Hook::PreToolUse);
        assert_eq!(summary(&invoked), (vec!["next=continue".into()], vec![]), "{settings}");
        assert_eq!(json!(invoked.outcome.payload.effective()), Value::Object(crate::support::payload(Hook::PreToolUse)));
        assert!(invoked.outcome.feedback.is_empty());
        let call = &invoked.calls[0];
        assert_eq!((call.decision.map(|action| action.word()).unwrap_or_default(), call.applied), (decision, false));
        host.flush().unwrap();
        assert_eq!(rows(&world)[0], ("p".into(), status.into(), code.into(), decision.into(), false), "{settings}");
    }
}

#[test]
fn who_trusts_decides_what_failing_means() {
    let world = World::new();
    world.scripted("p", json!({"act": "panic"}), "");
    trust_as(&world, "p", PluginMode::Enforce, Some(FailureMode::Closed));
    assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)).0, ["p=block"]);
    std::fs::remove_dir_all(world.hooks().join("p")).unwrap();
    assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)).0, ["p=block"], "a closed gate that is gone stays closed");
}

#[test]
fn the_operator_has_the_last_word() {
    let world = World::new();
    world.scripted("open", json!({"act": "panic"}), "priority: 1");
    world.scripted("shut", json!({"act": "panic"}), "priority: 2\non_failure: closed");
    world.scripted("guard", json!({"decide": "block"}), "priority: 3");
    let decisions = |config: &str| {
        operator(&world, config);
        summary(&ask(&world.host(), Hook::PreToolUse)).0
    };
    assert_eq!(decisions(""), ["shut=block"]);
    assert_eq!(decisions("plugins: {shut: {on_failure: open}}"), ["guard=block"]);
    assert_eq!(decisions("plugins: {open: {on_failure: closed}}"), ["open=block"]);
    assert_eq!(decisions("plugins: {'*': {mode: monitor}}"), [""; 0]);
    assert_eq!(decisions("plugins: {'*': {mode: monitor}, guard: {mode: enforce}}"), ["guard=block"]);
    let host = world.host();
    let modes: Vec<_> = host.plugins().into_iter().map(|plugin| (plugin.name, plugin.mode)).collect();
    let expected = [("guard", PluginMode::Enforce), ("open", PluginMode::Monitor), ("shut", PluginMode::Monitor)];
    assert_eq!(modes, expected.map(|(name, mode)| (name.to_owned(), mode)));
}

#[test]
fn a_configuration_with_a_typing_error_is_refused_and_a_running_host_keeps_its_set() {
    let world = World::new();
    world.scripted("guard", json!({"decide": "block"}), "");
    let host = world.host();
    operator(&world, "plugins: {guard: {on_fialure: closed}}");
    let error = world.builder().build().unwrap_err();
    assert!(matches!(error, HostError::Config(_)) && error.to_string().contains("plugins.guard.on_failure"), "{error}");
    assert!(host.reload().is_err());
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)).0, ["guard=block"]);
}

#[test]
fn an_untrusted_plugin_gains_nothing_by_an_override() {
    let world = World::new();
    world.drop_plugin("p", crate::support::scripted(), "settings: {act: panic}");
    operator(&world, "plugins: {p: {on_failure: closed}}");
    assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)), (vec![], vec![]));
}
