//! The catalogue of runtime events against its fixture, and the names under which history knows them.

use super::{Area, fixture_json};
use hook_runtime::contract::event::{
    COLLAPSED, DetailType, EVENTS, EventSpec, FAMILIES, FAMILY_ALIASES, GONE, LEGACY_NAMES, event, stored_names,
};
use serde_json::{Map, Value, json};

fn type_name(detail_type: DetailType) -> &'static str {
    match detail_type {
        DetailType::Text => "str",
        DetailType::Integer => "int",
        DetailType::Number => "float",
        DetailType::Boolean => "bool",
        DetailType::Texts => "tuple[str, ...]",
        DetailType::Object => "dict[str, typing.Any]",
    }
}

/// A row of the table, as the fixture has it.
fn printed(spec: &EventSpec) -> Value {
    let mut details: Vec<_> = spec.details.iter().map(|detail| detail.name).collect();
    details.sort_unstable();
    json!({
        "action": spec.action(), "family": spec.family(), "retention": spec.retention.word(), "canonical": spec.canonical,
        "required": spec.required, "actor": spec.actor_type, "entity": spec.entity_type, "level": spec.level, "details": details,
    })
}

#[test]
fn catalogue() {
    let mut area = Area::new("events");
    let fixture = fixture_json("events.json");
    let events = fixture["events"].as_array().unwrap();
    assert_eq!(events.iter().map(|event| event["value"].as_str().unwrap()).collect::<Vec<_>>(), EVENTS.each_ref().map(|event| event.name));
    for (theirs, ours) in events.iter().zip(&EVENTS) {
        let row = &theirs["row"];
        let expected = json!({
            "action": row["action"], "family": theirs["family"], "retention": theirs["retention"], "canonical": theirs["canonical"],
            "required": theirs["required_keys"], "actor": row["actor_type"], "entity": row["entity_type"], "level": row["level"],
            "details": theirs["details_keys_for_sample"],
        });
        area.compare("events", ours.name, &expected, &printed(ours));
        for (name, field) in theirs["typed_details_fields"].as_object().unwrap() {
            let detail = ours.details.iter().find(|detail| detail.name == name).unwrap();
            assert!(field["type"].as_str().unwrap().starts_with(type_name(detail.detail_type)), "{} {name}", ours.name);
        }
    }
    let pairs = |pairs: &[(&str, &str)]| Value::Object(pairs.iter().map(|(a, b)| ((*a).to_owned(), json!(b))).collect::<Map<_, _>>());
    area.compare("events", "legacy_aliases", &fixture["legacy_aliases"], &pairs(&LEGACY_NAMES));
    area.compare("events", "family_aliases", &fixture["family_aliases"], &pairs(&FAMILY_ALIASES));
    area.compare("events", "families", &fixture["families"], &json!(FAMILIES));
    let collapsed: Map<_, _> = COLLAPSED.iter().map(|(now, names)| ((*now).to_owned(), json!(names))).collect();
    area.compare("events", "collapsed", &fixture["collapsed"], &Value::Object(collapsed));
    area.finish();
}

/// The names of the older system (spec 4.3): each is an event of today, or known to be gone.
#[test]
fn no_older_event_is_unknown() {
    let older = "pipeline_start pipeline_end pipeline_error node_bootstrap node_enter node_exit node_error analyst_complete evaluator_complete \
        scoring_complete verification_pass verification_fail drift_detected outcome_collected model_promoted snapshot_captured trigger_fired \
        post_analysis memory_saved rule_created rule_updated rule_deleted prompt_assembled prompt_drift_detected subagent_started \
        subagent_completed subagent_failed tool_recovery_attempted tool_recovery_succeeded tool_recovery_failed gateway_message_received \
        gateway_response_sent mcp_server_started mcp_server_stopped turn_complete context_warning context_critical context_overflow_action \
        session_start session_end llm_call_start llm_call_end tool_approval_requested tool_approval_granted tool_approval_denied";
    let older: Vec<_> = older.split_whitespace().collect();
    assert_eq!(older.len(), 45);
    for name in older {
        let gone = GONE.iter().find(|(gone, _)| *gone == name);
        assert!(event(name).is_some() != gone.is_some(), "{name}");
        assert!(gone.and_then(|(_, now)| *now).is_none_or(|now| event(now).is_some()), "{name}: what replaced it exists");
    }
    assert_eq!(event(" Turn_Completed ").unwrap().name, "turn_completed");
    assert_eq!(stored_names("session_start"), ["session_started", "session_start"]);
    assert_eq!(stored_names("rule_changed"), ["rule_changed", "rule_created", "rule_updated", "rule_deleted"]);
    assert_eq!(stored_names("rule_created"), ["rule_created"]);
}
