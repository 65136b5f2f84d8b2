//! Nothing of a project runs before somebody said yes, and one changed byte takes that back.

use crate::support::{World, ask, drop_plugin, scripted, summary};
use hook_runtime::{Hook, PluginState};
use serde_json::json;

const BLOCK: &str = "settings: {decide: block, text: policy}\n";
const BLOCK_CLOSED: &str = "settings: {decide: block, text: policy}\non_failure: closed\n";

fn state(world: &World, name: &str) -> PluginState {
    world.host().plugins().iter().find(|plugin| plugin.name == name).unwrap().state
}

/// Adds a custom section that says nothing: the component does the same with other bytes.
fn change_one_byte(world: &World, name: &str) {
    let path = world.hooks().join(name).join("plugin.wasm");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend([0x00, 0x02, 0x01, b'x']);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_plugin_that_was_never_trusted_has_no_effect_and_waits() {
    let world = World::new();
    world.drop_plugin("guard", scripted(), BLOCK_CLOSED);
    let invoked = ask(&world.host(), Hook::PreToolUse);
    assert_eq!(summary(&invoked), (vec![], vec![]));
    assert_eq!(invoked.waiting, [("guard".to_owned(), "review it and run `geode-hooks trust guard`".to_owned())]);
    world.trust("guard");
    assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)).0, ["guard=block"]);
}

#[test]
fn one_changed_byte_of_component_or_manifest_undoes_trust() {
    for of_manifest in [false, true] {
        let world = World::new();
        world.drop_plugin("guard", scripted(), BLOCK);
        world.trust("guard");
        if of_manifest {
            std::fs::write(world.hooks().join("guard/hook.yaml"), format!("{BLOCK}#")).unwrap();
        } else {
            change_one_byte(&world, "guard");
        }
        assert_eq!(state(&world, "guard"), PluginState::Changed);
        assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)), (vec![], vec![]), "open: it does not run");
        let review = hook_runtime::review(&world.directories(), Some(&world.project())).unwrap();
        let change = &review.open[0].changes();
        assert_eq!((change.len(), change[0].starts_with(if of_manifest { "hook.yaml: " } else { "component: " })), (1, true), "{change:?}");
        world.trust("guard");
        assert_eq!(state(&world, "guard"), PluginState::Active);
    }
}

#[test]
fn a_trusted_closed_plugin_that_cannot_run_answers_closed() {
    type Harm = fn(&World);
    let cases: [(&str, Harm); 5] = [
        ("hook::load::changed", |world| change_one_byte(world, "guard")),
        ("hook::load::vanished", |world| std::fs::remove_dir_all(world.hooks().join("guard")).unwrap()),
        ("hook::discover::bad_manifest", |world| std::fs::write(world.hooks().join("guard/hook.yaml"), "on_failure: [").unwrap()),
        ("hook::discover::missing_component", |world| std::fs::remove_file(world.hooks().join("guard/plugin.wasm")).unwrap()),
        // A manifest that nobody vouched for cannot open the gate.
        ("hook::load::changed", |world| {
            std::fs::write(world.hooks().join("guard/hook.yaml"), "enabled: false\non_failure: open\n").unwrap()
        }),
    ];
    for (code, harm) in cases {
        let world = World::new();
        world.drop_plugin("guard", scripted(), BLOCK_CLOSED);
        world.trust("guard");
        harm(&world);
        let invoked = ask(&world.host(), Hook::PreToolUse);
        assert_eq!(summary(&invoked), (vec!["guard=block".into()], vec![format!("guard={code}")]));
        let reason = &invoked.outcome.decisions[0].reason;
        assert!(
            reason.starts_with(&format!("hook_failed:{code}")) && reason.contains("geode-hooks") || reason.contains("hook.yaml"),
            "{reason}"
        );
        hook_runtime::untrust(&world.directories(), Some(&world.project()), "guard").unwrap();
        assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)), (vec![], vec![]), "without trust it has no effect");
    }
}

#[test]
fn deleting_the_whole_folder_hides_no_gate_from_a_subfolder() {
    let world = World::new();
    world.drop_plugin("guard", scripted(), BLOCK_CLOSED);
    world.trust("guard");
    let below = world.project().join("src/deep");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::remove_dir_all(world.project().join(".geode")).unwrap();
    std::fs::remove_dir_all(world.project().join(".git")).unwrap();
    let host = world.builder().project(below).build().unwrap();
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)).1, ["guard=hook::load::vanished"]);
}

#[test]
fn trust_is_of_one_project() {
    let world = World::new();
    world.drop_plugin("guard", scripted(), BLOCK);
    world.trust("guard");
    let other = world.path("other");
    drop_plugin(&other.join(".geode/hooks"), "guard", scripted(), BLOCK);
    let host = world.builder().project(&other).build().unwrap();
    assert_eq!(host.plugins()[0].state, PluginState::New);
}

#[test]
fn allow_must_be_granted() {
    let world = World::new();
    world.scripted("greedy", json!({"decide": "allow"}), "priority: 1");
    world.scripted("granted", json!({"decide": "allow"}), "priority: 2\ngrants: {actions: [allow]}");
    // The user's own folder runs as it lies there, but `allow` needs trust there too.
    drop_plugin(&world.user_hooks(), "own", scripted(), "settings: {decide: allow}\ngrants: {actions: [allow, deny]}\n");
    let invoked = ask(&world.host(), Hook::PermissionRequest);
    let refused = "hook::check::action_not_allowed";
    assert_eq!(summary(&invoked), (vec!["granted=allow".into()], vec![format!("greedy={refused}"), format!("own={refused}")]));
    let review = hook_runtime::review(&world.directories(), Some(&world.project())).unwrap();
    let granted = review.open.iter().find(|one| one.name == "granted").unwrap();
    assert!(granted.asks[0].starts_with("ALLOW"), "{:?}", granted.asks);
}

#[test]
fn what_the_users_own_plugin_asks_for_waits_and_is_listed() {
    let world = World::new();
    drop_plugin(&world.user_hooks(), "own", scripted(), "settings: {decide: allow}\ngrants: {actions: [allow]}\n");
    let plugins = world.host().plugins();
    assert_eq!((plugins[0].state, plugins[0].hint().unwrap().as_str()), (PluginState::Active, "geode-hooks trust own"));
    world.trust("own");
    let host = world.host();
    assert_eq!(summary(&ask(&host, Hook::PermissionRequest)).0, ["own=allow"]);
    assert!(!host.plugins()[0].withheld);
}

#[test]
fn in_the_users_home_the_two_folders_are_one() {
    let world = World::new();
    std::fs::rename(world.path("home"), world.project().join(".geode2")).unwrap();
    std::fs::remove_dir_all(world.project().join(".geode")).unwrap();
    std::fs::rename(world.project().join(".geode2"), world.project().join(".geode")).unwrap();
    std::fs::write(world.hooks().join("p.wasm"), scripted()).unwrap();
    let directories = hook_runtime::Directories { geode_home: world.project().join(".geode"), ..world.directories() };
    let host = world.builder().directories(directories).build().unwrap();
    assert_eq!(host.plugins().iter().map(|plugin| plugin.level).collect::<Vec<_>>(), [hook_runtime::Level::User]);
}

#[test]
fn what_serves_no_hook_cannot_be_trusted() {
    let world = World::new();
    world.drop_plugin("none", &crate::support::component("(component)"), "{}");
    world.drop_plugin("more", scripted(), "hooks: [PreToolUse]\n");
    let reviews = hook_runtime::review(&world.directories(), Some(&world.project())).unwrap();
    assert_eq!((reviews.open.len(), reviews.broken[0].failure.kind.code()), (1, "hook::bind::wrong_world"));
}

#[test]
fn a_manifest_narrows_actions_and_hooks() {
    let world = World::new();
    world.scripted("narrow", json!({"decide": "block"}), "hooks: [PreToolUse]\ngrants: {actions: [request_permission]}");
    let host = world.host();
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)).1, ["narrow=hook::check::action_not_allowed"]);
    assert!(ask(&host, Hook::PostToolUse).calls.is_empty());
}

#[test]
fn switched_off_and_on_again() {
    let world = World::new();
    world.drop_plugin("guard", scripted(), BLOCK_CLOSED);
    world.trust("guard");
    let set = |on| hook_runtime::set_enabled(&world.directories(), Some(&world.project()), "guard", on).unwrap();
    assert!(set(false));
    assert_eq!(state(&world, "guard"), PluginState::Disabled);
    assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)), (vec![], vec![]));
    assert!(set(true) && !set(true));
    assert_eq!(state(&world, "guard"), PluginState::Active);
}

#[test]
fn a_second_file_of_the_same_name_never_displaces_the_trusted_one() {
    let world = World::new();
    world.drop_plugin("guard", scripted(), BLOCK);
    world.trust("guard");
    world.drop_plugin("aaa", scripted(), "name: guard\nsettings: {}\n");
    std::fs::write(world.hooks().join("guard.wasm"), b"no").unwrap();
    assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)).0, ["guard=block"]);
    let states: Vec<_> = world.host().plugins().iter().map(|plugin| plugin.state).collect();
    assert_eq!(states, [PluginState::Active, PluginState::Invalid, PluginState::Invalid]);
}

#[test]
fn the_same_plugin_in_both_folders_is_called_once() {
    let world = World::new();
    world.drop_plugin("guard", scripted(), BLOCK);
    world.trust("guard");
    drop_plugin(&world.user_hooks(), "guard", scripted(), BLOCK);
    assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)).0, ["guard=block"]);
    assert_eq!(ask(&world.host(), Hook::PreToolUse).calls.len(), 1);
}

#[test]
fn a_damaged_record_is_an_error_and_no_yes() {
    let world = World::new();
    world.drop_plugin("guard", scripted(), BLOCK);
    world.trust("guard");
    let record = world.path("data/trust.json");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&record).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    std::fs::write(&record, "{\"version\": 1").unwrap();
    let error = world.builder().build().unwrap_err().to_string();
    assert!(error.contains("damaged") && error.contains("geode-hooks trust"), "{error}");
}

#[test]
fn a_grant_that_this_host_cannot_give_is_named() {
    let world = World::new();
    world.drop_plugin("wants", scripted(), "grants: {http: [a.example]}\n");
    world.trust("wants");
    let plugins = world.host().plugins();
    let failure = plugins[0].failure.as_ref().unwrap();
    assert_eq!((failure.kind.code(), failure.message.as_str()), ("hook::bind::grant_unavailable", "`http` is not served by this host"));
}

#[test]
fn a_closed_guard_whose_name_is_taken_answers_closed() {
    let world = World::new();
    world.scripted("guard", json!({"decide": "block"}), "hooks: [PreToolUse, SessionStart]\non_failure: closed");
    drop_plugin(&world.user_hooks(), "guard", scripted(), "hooks: [SessionStart]\nsettings: {other: 1}\n");
    assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)).0, ["guard=block"]);
    // The same plugin in both folders is called once for each hook.
    drop_plugin(&world.user_hooks(), "guard", scripted(), "hooks: [SessionStart]\non_failure: closed\nsettings: {decide: block}\n");
    let host = world.host();
    assert_eq!(summary(&ask(&host, Hook::PreToolUse)), (vec!["guard=block".into()], vec![]));
    assert_eq!(ask(&host, Hook::SessionStart).calls.len(), 1);
}

#[test]
fn an_edited_guard_of_the_user_is_as_closed_as_it_says() {
    let world = World::new();
    drop_plugin(&world.user_hooks(), "own", scripted(), "settings: {act: panic}\n");
    world.trust("own");
    drop_plugin(&world.user_hooks(), "own", scripted(), "settings: {act: panic}\non_failure: closed\n");
    assert_eq!(summary(&ask(&world.host(), Hook::PreToolUse)).0, ["own=block"]);
}

#[test]
fn what_a_manifest_says_is_shown_and_compared() {
    let world = World::new();
    world.scripted("p", json!({"deny": ["rm"]}), "");
    world.drop_plugin("p", scripted(), "enabled: false\nmatch: {tool: NoSuchTool}\nlimits: {fuel: 5}\n");
    let reviews = hook_runtime::review(&world.directories(), Some(&world.project())).unwrap();
    let (changes, asks) = (reviews.open[0].changes().join("\n"), reviews.open[0].asks.join("\n"));
    for expected in ["match.tool: NoSuchTool", "enabled: false", "limits.fuel: 5", "settings: {\"deny\":[\"rm\"]} -> gone"] {
        assert!(changes.contains(expected), "{expected}: {changes}");
    }
    assert!(asks.contains("with match.tool: NoSuchTool"), "{asks}");
    assert!(reviews.open[0].obstacles[0].contains("enabled: false"));
}
