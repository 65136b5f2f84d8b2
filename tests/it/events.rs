//! The bus of runtime events and its rows: the cases `bus/*` and `st/*` of spec 7.19.

use crate::support::{World, object};
use hook_runtime::{Correlation, Events, Observed, Observer, Occurrence, Subject, SubscribeError};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

type Notes = Arc<Mutex<Vec<String>>>;

/// An observer that notes its name and the tool's.
fn notes(name: &'static str, notes: &Notes) -> Observer {
    let notes = Arc::clone(notes);
    Observer::new(name, move |occurrence: Occurrence<'_>| {
        let tool = occurrence.data.get("tool_name").and_then(Value::as_str).unwrap_or("-");
        notes.lock().unwrap().push(format!("{name} {} {tool}", occurrence.event.name));
        Ok(())
    })
}

fn emit(events: &Events, name: &str, data: Value) -> Vec<Observed> {
    events.emit(name, object(data), &Correlation::default()).unwrap()
}

fn names(observed: &[Observed]) -> Vec<&str> {
    observed.iter().map(|one| &*one.observer).collect()
}

/// The stored rows: event, status, level, observers, failed observers, payload.
fn rows(world: &World) -> Vec<Value> {
    let connection = rusqlite::Connection::open(world.store()).unwrap();
    let query =
        "SELECT event, status, retention_class, handler_count, handler_error_count, entity_id, payload_json FROM hook_events ORDER BY id";
    let mut statement = connection.prepare(query).unwrap();
    let rows = statement.query_map([], |row| {
        let payload: Value = serde_json::from_str(&row.get::<_, String>(6)?).unwrap();
        Ok(json!({
            "event": row.get::<_, String>(0)?, "status": row.get::<_, String>(1)?, "retention": row.get::<_, String>(2)?,
            "observers": row.get::<_, i64>(3)?, "failed": row.get::<_, i64>(4)?, "entity": row.get::<_, String>(5)?, "payload": payload,
        }))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn observers_are_told_in_order_and_fail_alone() {
    let world = World::new();
    let host = world.host();
    let events = host.events();
    let told = Notes::default();
    events.subscribe(Subject::all(), notes("star", &told).priority(2)).unwrap();
    events.subscribe(Subject::event("turn_complete").unwrap(), notes("second", &told).priority(2)).unwrap();
    events
        .subscribe(Subject::event("turn_completed").unwrap(), Observer::new("fails", |_| Err("went wrong\u{1b}".into())).priority(1))
        .unwrap();
    events.subscribe(Subject::event("turn_completed").unwrap(), Observer::new("panics", |_| panic!("boom")).priority(1)).unwrap();
    events.subscribe(Subject::prefix("TURN").unwrap(), notes("prefix", &told).priority(0)).unwrap();
    let observed = emit(events, "turn_completed", json!({"success": true}));
    assert_eq!(names(&observed), ["prefix", "fails", "panics", "star", "second"]);
    let errors: Vec<_> = observed.iter().filter_map(|one| one.error.as_deref()).collect();
    assert_eq!(errors, ["went wrong\\u{1b}", "it panicked"]);
    assert_eq!(told.lock().unwrap().len(), 3);
    host.flush().unwrap();
    let row = &rows(&world)[0];
    let expected = (&json!("handler_error"), &json!(5), &json!(2), &json!(["fails", "panics"]));
    assert_eq!((&row["status"], &row["observers"], &row["failed"], &row["payload"]["_failed_handlers"]), expected);
}

#[test]
fn a_name_is_told_of_an_event_once() {
    let world = World::new();
    let host = world.host();
    let events = host.events();
    let told = Notes::default();
    let one = notes("one", &told);
    let tools = Subject::prefix("tool_exec").unwrap();
    let first = events.subscribe(tools.clone(), one.clone()).unwrap();
    events.subscribe(tools, one).unwrap();
    assert_eq!(emit(events, "tool_exec_started", json!({})).len(), 1, "the same twice is once");
    for subject in [Subject::event("tool_exec_ended").unwrap(), Subject::all(), Subject::prefix("tool").unwrap()] {
        assert!(matches!(events.subscribe(subject, notes("one", &told)), Err(SubscribeError::DuplicateName(_))));
    }
    events.subscribe(Subject::event("turn_completed").unwrap(), notes("one", &told)).unwrap();
    assert!(first.cancel() && !first.cancel(), "cancelling again does nothing");
    assert_eq!(emit(events, "tool_exec_started", json!({})).len(), 0);
    for wrong in ["", "tool_", "tool_exec_", "nothing"] {
        assert!(matches!(Subject::prefix(wrong), Err(SubscribeError::BadPrefix(_))), "{wrong:?}");
    }
    assert!(matches!(Subject::event("pipeline_end"), Err(SubscribeError::UnknownEvent(_))));
}

#[test]
fn a_pattern_of_tools_counts_for_what_tools_do() {
    let world = World::new();
    let host = world.host();
    let told = Notes::default();
    host.events().subscribe(Subject::all(), notes("reads", &told).tools("^read").unwrap()).unwrap();
    for (event, data) in [
        ("tool_exec_started", json!({"tool_name": "read_file"})),
        ("tool_exec_started", json!({"tool_name": "write"})),
        ("tool_exec_started", json!({})),
        ("turn_completed", json!({})),
    ] {
        emit(host.events(), event, data);
    }
    assert_eq!(*told.lock().unwrap(), ["reads tool_exec_started read_file", "reads turn_completed -"]);
    assert!(matches!(notes("x", &told).tools("("), Err(SubscribeError::BadPattern(_))));
}

#[test]
fn a_closed_bus_tells_and_takes_nothing() {
    let world = World::new();
    let host = world.host();
    let told = Notes::default();
    host.events().subscribe(Subject::all(), notes("one", &told)).unwrap();
    host.events().close();
    assert_eq!(emit(host.events(), "turn_completed", json!({})), []);
    assert!(matches!(host.events().subscribe(Subject::all(), notes("two", &told)), Err(SubscribeError::Closed)));
    assert!(host.events().emit("no_such_event", object(json!({})), &Correlation::default()).is_err());
    host.flush().unwrap();
    assert_eq!(rows(&world).len(), 0);
}

/// What an observer is given, and what the store keeps of it.
#[test]
fn an_event_is_told_whole_and_stored_typed() {
    let world = World::new();
    let host = world.host();
    let seen = Arc::new(Mutex::new(Value::Null));
    let sees = Arc::clone(&seen);
    let observer = Observer::new("sees", move |occurrence| {
        *sees.lock().unwrap() = json!(occurrence.data);
        Ok(())
    });
    host.events().subscribe(Subject::all(), observer).unwrap();
    let correlation = Correlation { session_id: "S".into(), turn_id: "T".into(), tool_call_id: "TC".into(), ..Correlation::default() };
    let data =
        json!({"tool_name": "run", "has_error": true, "duration_ms": 2, "result": {"text": "PRIVATE-RESULT"}, "error": "PRIVATE-ERROR"});
    host.events().emit("tool_exec_end", object(data.clone()), &correlation).unwrap();
    let mut whole = data;
    whole["schema_version"] = json!("geode.observer.v1");
    assert_eq!(*seen.lock().unwrap(), whole, "older spellings are today's events");
    for transient in ["tool_exec_failed", "session_ended", "llm_call_failed", "tool_result_transform", "tool_approval_requested"] {
        emit(host.events(), transient, json!({}));
    }
    host.flush().unwrap();
    let rows = rows(&world);
    assert_eq!(rows.len(), 1, "the compatible five are never stored");
    let mut row = rows[0].clone();
    assert!(row["payload"]["_dispatch_duration_ms"].is_number());
    row["payload"].as_object_mut().unwrap().remove("_dispatch_duration_ms");
    let kept = json!({"duration_ms": 2, "success": false, "session_id": "S", "turn_id": "T", "tool_call_id": "TC"});
    let whole = json!({"event": "tool_exec_ended", "status": "failed", "retention": "high_volume", "observers": 1, "failed": 0, "entity": "TC", "payload": kept});
    assert_eq!(row, whole);
    let bytes: Vec<u8> =
        ["", "-wal"].iter().flat_map(|end| std::fs::read(format!("{}{end}", world.store().display())).unwrap_or_default()).collect();
    for private in ["PRIVATE-RESULT", "PRIVATE-ERROR"] {
        assert!(!bytes.windows(private.len()).any(|window| window == private.as_bytes()), "{private}");
    }
    assert_eq!(*seen.lock().unwrap(), json!({"schema_version": "geode.observer.v1"}), "the last event, whole");
}

/// Rows of a class and an age in days -> whether they stay when old rows are removed.
#[test]
fn rows_are_kept_as_long_as_their_class_says() {
    let world = World::new();
    drop(world.host());
    let connection = rusqlite::Connection::open(world.store()).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    let cases = [("standard", 31, false), ("audit", 31, true), ("high_volume", 8, false), ("audit", 181, false), ("high_volume", 6, true)];
    for (class, days, _) in cases {
        let age = now - f64::from(days) * 86_400.0;
        let insert =
            "INSERT INTO hook_events (schema_version, occurred_at, session_key, run_id, event, dispatch_mode, status, retention_class,
            actor_type, actor_id, action, entity_type, entity_id, level, payload_json, payload_hash)
            VALUES (3, ?1, '', '', 'old', 'observe', 'ok', ?2, '', '', '', '', ?3, 'info', '{}', '')";
        connection.execute(insert, rusqlite::params![age, class, format!("{class}{days}")]).unwrap();
    }
    let host = world.host();
    emit(host.events(), "turn_completed", json!({}));
    host.flush().unwrap();
    let left: Vec<_> = rows(&world).into_iter().filter(|row| row["event"] == "old").map(|row| row["entity"].clone()).collect();
    let expected: Vec<_> = cases.iter().filter(|(.., stays)| *stays).map(|(class, days, _)| format!("{class}{days}")).collect();
    assert_eq!(left, expected);
}
