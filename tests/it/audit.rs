//! Every call leaves one row; the file is its owner's alone, and holds nothing of what was said.

use crate::support::{World, accept_rows, ask, object, refuse_rows, rows};
use hook_runtime::{Correlation, Hook, Invocation, LogFilter, read_log};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn dropping_the_host_loses_no_row() {
    let world = World::new();
    world.scripted("p", json!({"decide": "continue"}), "");
    let host = world.host();
    for _ in 0..300 {
        ask(&host, Hook::PreToolUse);
    }
    drop(host);
    assert_eq!(rows(&world).len(), 300);
}

#[test]
fn the_row_has_the_columns_of_the_spec_and_ours() {
    let world = World::new();
    world.scripted("p", json!({"decide": "block", "text": "because"}), "");
    let host = world.host();
    let correlation = json!({"session_id": "s", "turn_id": "t", "step_id": "st", "run_id": "r", "session_generation": 2, "verify_attempt": 1,
        "tool_call_id": "tc", "llm_call_id": "lc", "llm_attempt_id": "la"});
    let invocation = Invocation::new(Hook::PreToolUse, object(json!({"tool_name": "t", "arguments": {}})));
    host.invoke_blocking(invocation.correlation(Correlation::from_json(&correlation).unwrap())).unwrap();
    host.flush().unwrap();
    let connection = rusqlite::Connection::open(world.store()).unwrap();
    let mut statement = connection.prepare("SELECT * FROM hook_events").unwrap();
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let row = statement
        .query_row([], |row| {
            let cell = |index| match row.get_ref(index).unwrap() {
                rusqlite::types::ValueRef::Integer(number) => json!(number),
                rusqlite::types::ValueRef::Real(number) => json!(number),
                rusqlite::types::ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
                _ => Value::Null,
            };
            Ok(names.iter().enumerate().map(|(index, name)| (name.clone(), cell(index))).collect::<serde_json::Map<_, _>>())
        })
        .unwrap();
    let expected = json!({
        "schema_version": 3, "session_key": "s", "run_id": "r", "session_id": "s", "turn_id": "t", "step_id": "st", "tool_call_id": "tc",
        "llm_call_id": "lc", "llm_attempt_id": "la", "event": "extension_invoked", "dispatch_mode": "observe", "status": "ok",
        "retention_class": "audit", "handler_count": 0, "handler_error_count": 0, "blocked": 0, "block_reason": "", "actor_type": "plugin",
        "actor_id": "s", "action": "extension.invoked", "entity_type": "extension", "entity_id": "p", "task_id": null, "level": "info",
        "failure_code": "", "decision": "block", "applied": 1, "ignored": "", "project": world.project().to_string_lossy(),
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&row[name], value, "{name}");
    }
    assert!(row["fuel"].as_i64().unwrap() > 0 && row["memory_bytes"].as_i64().unwrap() > 0);
    assert!(row["queue_us"].as_i64().unwrap() >= 0 && row["guest_us"].as_i64().unwrap() > 0);
    assert_eq!(row["component_digest"].as_str().unwrap().len(), 64);
    let payload: Value = serde_json::from_str(row["payload_json"].as_str().unwrap()).unwrap();
    assert_eq!((&payload["status"], &payload["surface"], &payload["verify_attempt"]), (&json!("block"), &json!("hook"), &json!(1)));
}

#[test]
fn the_file_is_private_and_holds_no_private_text() {
    let world = World::new();
    world.scripted("p", json!({"decide": "block", "text": "PRIVATE-REASON"}), "");
    world.scripted("q", json!({"act": "panic"}), "priority: 1");
    let host = world.host();
    let payload = object(json!({"tool_name": "PRIVATE-TOOL", "arguments": {"PRIVATE-KEY": "PRIVATE-VALUE"}}));
    host.invoke_blocking(Invocation::new(Hook::PreToolUse, payload)).unwrap();
    drop(host);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&world.store()), mode(world.store().parent().unwrap())), (0o600, 0o700));
    let bytes = std::fs::read(world.store()).unwrap();
    assert!(!bytes.windows(7).any(|window| window == b"PRIVATE"));
}

#[test]
fn an_older_store_gets_the_missing_columns_and_keeps_its_rows() {
    let world = World::new();
    world.scripted("p", json!({}), "");
    std::fs::create_dir_all(world.store().parent().unwrap()).unwrap();
    let connection = rusqlite::Connection::open(world.store()).unwrap();
    let old = "CREATE TABLE hook_events (id INTEGER PRIMARY KEY AUTOINCREMENT, schema_version INTEGER NOT NULL, occurred_at REAL NOT NULL,
        session_key TEXT NOT NULL, run_id TEXT NOT NULL, session_id TEXT NOT NULL DEFAULT '', turn_id TEXT NOT NULL DEFAULT '', tool_call_id TEXT NOT
        NULL DEFAULT '', llm_call_id TEXT NOT NULL DEFAULT '', llm_attempt_id TEXT NOT NULL DEFAULT '', event TEXT NOT NULL, dispatch_mode TEXT NOT
        NULL, status TEXT NOT NULL, retention_class TEXT NOT NULL, handler_count INTEGER NOT NULL DEFAULT 0, handler_error_count INTEGER NOT NULL
        DEFAULT 0, blocked INTEGER NOT NULL DEFAULT 0, block_reason TEXT NOT NULL DEFAULT '', actor_type TEXT NOT NULL, actor_id TEXT NOT NULL, action
        TEXT NOT NULL, entity_type TEXT NOT NULL, entity_id TEXT NOT NULL, task_id TEXT NULL, level TEXT NOT NULL, payload_json TEXT NOT NULL,
        payload_hash TEXT NOT NULL);
        INSERT INTO hook_events (schema_version, occurred_at, session_key, run_id, event, dispatch_mode, status, retention_class, actor_type,
        actor_id, action, entity_type, entity_id, level, payload_json, payload_hash) VALUES (3, 4000000000, 's', 'r', 'turn_completed', 'observe', 'ok', 'standard', 'agent', 'a',
        'turn.completed', 'turn', 't', 'info', '{}', 'h');";
    connection.execute_batch(old).unwrap();
    drop(connection);
    let host = world.host();
    ask(&host, Hook::PreToolUse);
    drop(host);
    let connection = rusqlite::Connection::open(world.store()).unwrap();
    let count: i64 = connection
        .query_row("SELECT count(*) FROM hook_events WHERE project <> '' OR event = 'turn_completed'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 2);
}

#[test]
fn a_file_that_is_no_store_is_an_error_that_names_it() {
    let world = World::new();
    let path = world.path("not-a-store.db");
    std::fs::write(&path, vec![7; 8192]).unwrap();
    let error = world.builder().store(&path).build().unwrap_err().to_string();
    assert!(error.contains("not-a-store.db"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 8192], "it is left as it was");
}

#[test]
fn two_processes_worth_of_hosts_write_one_store() {
    let world = World::new();
    world.scripted("p", json!({}), "");
    let hosts = [world.host(), world.host()];
    std::thread::scope(|scope| {
        for host in &hosts {
            scope.spawn(|| (0..100).for_each(|_| drop(ask(host, Hook::PreToolUse))));
        }
    });
    drop(hosts);
    assert_eq!(rows(&world).len(), 200);
}

#[test]
fn the_log_is_newest_first_and_filters() {
    let world = World::new();
    world.scripted("a", json!({"decide": "continue"}), "priority: 1");
    world.scripted("b", json!({"decide": "block"}), "priority: 2");
    let host = world.host();
    ask(&host, Hook::PreToolUse);
    host.flush().unwrap();
    let read = |filter: LogFilter| read_log(&world.store(), &filter).unwrap().iter().map(|row| row.plugin.clone()).collect::<Vec<_>>();
    let all = LogFilter { limit: 10, ..LogFilter::default() };
    assert_eq!(read(all.clone()), ["b", "a"]);
    assert_eq!(read(LogFilter { blocked: true, ..all.clone() }), ["b"]);
    assert_eq!(read(LogFilter { plugin: Some("a".into()), ..all.clone() }), ["a"]);
    assert!(read(LogFilter { project: Some("/elsewhere".into()), ..all }).is_empty());
}

#[test]
fn rows_that_cannot_be_written_wait() {
    let world = World::new();
    world.scripted("p", json!({"decide": "continue"}), "");
    let host = world.host();
    refuse_rows(&world.store());
    ask(&host, Hook::PreToolUse);
    assert!(host.flush().is_err());
    ask(&host, Hook::PreToolUse);
    accept_rows(&world.store());
    host.flush().unwrap();
    assert_eq!(rows(&world).len(), 2);
}
