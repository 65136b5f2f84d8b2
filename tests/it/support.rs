//! What tests share: guests built once, and a scratch world with a user and a project.

use hook_runtime::contract::hook::Object;
use hook_runtime::{Directories, Hook, Host, HostBuilder, Invocation, Invoked};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the folder that guests are built in: beside the host's own artefacts, warm between runs.
fn guest_target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from);
    target.join("guests")
}

/// Builds a cargo workspace of guests, and returns where its artefacts are.
fn build(manifest: &Path, target: &str, packages: &[&str]) -> PathBuf {
    let mut command = Command::new(env!("CARGO"));
    // The folder decides which `.cargo/config.toml` counts.
    command.current_dir(manifest).args(["build", "--release", "--locked", "--target", target]).env("CARGO_TARGET_DIR", guest_target());
    for package in packages {
        command.args(["-p", package]);
    }
    command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    guest_target().join(target).join("release")
}

fn encode(core: &Path) -> Vec<u8> {
    let module = std::fs::read(core).unwrap();
    wit_component::ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
}

/// Returns the scripted guest, without any WASI import.
pub(crate) fn scripted() -> &'static [u8] {
    static GUEST: OnceLock<Vec<u8>> = OnceLock::new();
    GUEST.get_or_init(|| encode(&build(&repository().join("tests/guest"), "wasm32-unknown-unknown", &[]).join("scripted_guest.wasm")))
}

/// Returns the scripted guest as `wasm32-wasip2` makes it.
pub(crate) fn scripted_wasi() -> &'static [u8] {
    static GUEST: OnceLock<Vec<u8>> = OnceLock::new();
    GUEST.get_or_init(|| std::fs::read(build(&repository().join("tests/guest"), "wasm32-wasip2", &[]).join("scripted_guest.wasm")).unwrap())
}

/// Returns an example plugin.
pub(crate) fn example(name: &str) -> Vec<u8> {
    let folder = repository().join("example-plugins");
    encode(&build(&folder, "wasm32-unknown-unknown", &[name]).join(format!("{}.wasm", name.replace('-', "_"))))
}

/// Returns a component from its text form.
pub(crate) fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// A user and a project in a scratch folder.
pub(crate) struct World {
    root: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("project/.geode/hooks")).unwrap();
        std::fs::create_dir_all(root.path().join("project/.git")).unwrap();
        std::fs::create_dir_all(root.path().join("home/hooks")).unwrap();
        Self { root }
    }

    pub(crate) fn project(&self) -> PathBuf {
        std::fs::canonicalize(self.root.path()).unwrap().join("project")
    }

    pub(crate) fn hooks(&self) -> PathBuf {
        self.project().join(".geode/hooks")
    }

    pub(crate) fn user_hooks(&self) -> PathBuf {
        self.root.path().join("home/hooks")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn directories(&self) -> Directories {
        Directories::below(self.root.path())
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.directories().store()
    }

    /// Drops a plugin folder with a manifest into the project.
    pub(crate) fn drop_plugin(&self, name: &str, component: &[u8], manifest: &str) {
        drop_plugin(&self.hooks(), name, component, manifest);
    }

    /// Drops the scripted guest with settings, and trusts it.
    pub(crate) fn scripted(&self, name: &str, settings: Value, more: &str) {
        self.drop_plugin(name, scripted(), &format!("settings: {settings}\n{more}"));
        self.trust(name);
    }

    pub(crate) fn trust(&self, name: &str) {
        let reviews = hook_runtime::review(&self.directories(), Some(&self.project())).unwrap();
        let review = reviews.open.iter().find(|review| review.name == name).unwrap_or_else(|| panic!("{name}: {:?}", reviews.broken));
        hook_runtime::trust(&self.directories(), review).unwrap();
    }

    pub(crate) fn builder(&self) -> HostBuilder {
        Host::builder().directories(self.directories()).project(self.project())
    }

    pub(crate) fn host(&self) -> Host {
        self.builder().build().unwrap()
    }
}

pub(crate) fn drop_plugin(hooks: &Path, name: &str, component: &[u8], manifest: &str) {
    let folder = hooks.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("plugin.wasm"), component).unwrap();
    std::fs::write(folder.join("hook.yaml"), manifest).unwrap();
}

/// Returns the smallest payload of a hook.
pub(crate) fn payload(hook: Hook) -> Object {
    let verify = json!({"passed": true, "mode": "rule_based", "score": 1.0, "rubric_misses": [], "termination_reason": "natural", "rounds": 1,
        "tool_call_count": 0, "candidate_summary": "c"});
    let value = match hook {
        Hook::UserPromptSubmit => json!({"user_input": "hello"}),
        Hook::PreToolUse => json!({"tool_name": "run", "arguments": {"a": 1}}),
        Hook::PermissionRequest => json!({"tool_name": "run", "safety_level": "write", "detail": "d"}),
        Hook::PostToolUse => json!({"tool_name": "run", "arguments": {}, "result": {"ok": true}, "has_error": false, "executed": true}),
        Hook::PreCompact => {
            json!({"model": "m", "provider": "p", "message_count": 20, "keep_recent": 6, "trigger": "ceiling", "hard": false})
        }
        Hook::PostCompact => json!({"model": "m", "provider": "p", "original_message_count": 20, "new_message_count": 6, "keep_recent": 6,
            "trigger": "ceiling", "persisted": true}),
        Hook::SessionStart => json!({"model": "m", "provider": "p", "resumed": false, "status": "active"}),
        Hook::SessionEnd => json!({"reason": "completed", "status": "completed"}),
        Hook::SubagentStart => {
            json!({"task_id": "t", "task_type": "analyze", "description": "d", "child_session_key": "c", "parent_session_key": "p"})
        }
        Hook::SubagentStop => {
            json!({"task_id": "t", "task_type": "analyze", "success": true, "status": "completed", "duration_ms": 12.5, "error": "",
            "child_session_key": "c"})
        }
        Hook::PermissionDenied => {
            json!({"tool_name": "run", "arguments": {"a": 1}, "deny_reason": "r", "principal_id": "me", "principal_type": "user"})
        }
        Hook::TurnEnd => json!({"success": true, "iteration_count": 3, "final_answer": "a", "input_tokens": 10, "output_tokens": 20,
            "started_at_ms": 1_700_000_000_000_i64, "ended_at_ms": 1_700_000_000_500_i64}),
        Hook::ConfigReload => json!({"reload_counter": 1, "config_source": "/p", "success": false, "failure_reason": "f"}),
        Hook::PreVerify => json!({"termination_reason": "natural", "rounds": 1, "tool_call_count": 0, "candidate_summary": "c"}),
        Hook::PostVerify => verify,
        Hook::Stop => {
            let mut stop = verify;
            stop["policy_action"] = json!("accept");
            stop["evidence_refs"] = json!([{"kind": "legacy", "schema_id": "s", "authority": "a", "reference": "r"}]);
            stop
        }
    };
    object(value)
}

pub(crate) fn object(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

/// Sends the smallest payload of a hook.
pub(crate) fn ask(host: &Host, hook: Hook) -> Invoked {
    host.invoke_blocking(Invocation::new(hook, payload(hook))).unwrap()
}

/// Returns the decided actions with their sources, and the failures' codes with theirs.
pub(crate) fn summary(invoked: &Invoked) -> (Vec<String>, Vec<String>) {
    let outcome = &invoked.outcome;
    let decisions =
        outcome.decisions.iter().zip(&outcome.sources).map(|(decision, source)| format!("{source}={}", decision.action)).collect();
    let errors = outcome.errors.iter().map(|error| format!("{}={}", error.source, error.code.unwrap_or_default())).collect();
    (decisions, errors)
}

/// Returns the stored rows of a world: plugin, payload status, failure code, decision, applied.
pub(crate) fn rows(world: &World) -> Vec<(String, String, String, String, bool)> {
    let connection = rusqlite::Connection::open(world.store()).unwrap();
    let query = "SELECT entity_id, json_extract(payload_json, '$.status'), failure_code, decision, applied FROM hook_events ORDER BY id";
    let mut statement = connection.prepare(query).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Makes a store refuse every row, until [`accept_rows`].
pub(crate) fn refuse_rows(store: &Path) {
    let connection = rusqlite::Connection::open(store).unwrap();
    connection.execute_batch("CREATE TRIGGER full BEFORE INSERT ON hook_events BEGIN SELECT RAISE(ABORT, 'full'); END").unwrap();
}

pub(crate) fn accept_rows(store: &Path) {
    rusqlite::Connection::open(store).unwrap().execute_batch("DROP TRIGGER full").unwrap();
}
