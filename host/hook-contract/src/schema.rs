//! The public JSON Schema documents (Draft 2020-12), printed from the table of hooks.
//!
//! Separate because they are the public truth: v1 is byte-identical to what the original system prints, and a test holds it so.

use crate::bound::REDACTED_FIELDS;
use crate::correlation::Correlation;
use crate::decision::EvidenceKind;
use crate::hook::{Action, FieldType, Hook, Object, Version};
use crate::validate::EVIDENCE_FIELDS;
use serde_json::{Value, json};

/// Returns the schema document of a hook.
pub fn schema(hook: Hook, version: Version) -> Value {
    let name = hook.name();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_id(hook, version),
        "title": name,
        "type": "object",
        "properties": {
            "schema_version": {"const": hook.schema_version(version)},
            "name": {"const": name},
            "correlation": correlation_schema(version),
            "payload": payload_schema(hook),
            "decision": decision_schema(hook),
        },
        "required": ["schema_version", "name", "correlation", "payload"],
        "additionalProperties": false,
    })
}

fn schema_id(hook: Hook, version: Version) -> String {
    if Hook::LIFECYCLE.contains(&hook) {
        return format!("urn:{}:{hook}", hook.schema_version(version).replace('.', ":"));
    }
    format!("https://geode.dev/schemas/hooks/{}/{hook}.json", version.segment())
}

/// Returns the schema document as text, indented by two spaces, without a final newline.
pub fn schema_text(hook: Hook, version: Version) -> String {
    format!("{:#}", schema(hook, version))
}

fn correlation_schema(version: Version) -> Value {
    let fields = Correlation::fields(version);
    let types = fields.iter().map(|(name, integer)| (*name, json!({"type": if *integer { "integer" } else { "string" }})));
    let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
    closed(types, &names)
}

fn payload_schema(hook: Hook) -> Value {
    let fields = hook.spec().fields;
    let types = fields.iter().map(|field| (field.name, field_schema(field.field_type)));
    let types = types.chain([(REDACTED_FIELDS, field_schema(FieldType::Strings))]);
    let required: Vec<_> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    closed(types, &required)
}

fn field_schema(field_type: FieldType) -> Value {
    match field_type {
        FieldType::String => json!({"type": "string"}),
        FieldType::Object => json!({"type": "object"}),
        FieldType::Boolean => json!({"type": "boolean"}),
        FieldType::Integer => json!({"type": "integer"}),
        FieldType::Number => json!({"type": "number"}),
        FieldType::Strings => json!({"type": "array", "items": {"type": "string"}}),
        FieldType::Evidence => evidence_schema(),
    }
}

fn evidence_schema() -> Value {
    let kinds: Vec<_> = EvidenceKind::ALL.iter().map(|kind| kind.word()).collect();
    let types = EVIDENCE_FIELDS.map(|field| (field, if field == "kind" { json!({"enum": kinds}) } else { json!({"type": "string"}) }));
    json!({"type": "array", "items": closed(types, &EVIDENCE_FIELDS), "maxItems": 32})
}

fn decision_schema(hook: Hook) -> Value {
    let mut words: Vec<_> = hook.spec().actions.iter().copied().map(Action::word).collect();
    words.sort_unstable();
    let types = [
        ("action", json!({"enum": words})),
        ("reason", field_schema(FieldType::String)),
        ("updates", field_schema(FieldType::Object)),
        ("instruction", field_schema(FieldType::String)),
        ("additional_misses", field_schema(FieldType::Strings)),
        ("evidence_refs", evidence_schema()),
    ];
    closed(types, &["action"])
}

/// Returns the schema of an object that has no other properties.
fn closed<'a>(types: impl IntoIterator<Item = (&'a str, Value)>, required: &[&str]) -> Value {
    let properties: Object = types.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}
