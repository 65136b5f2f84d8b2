//! Holds a payload against its hook's schema (spec 1.1 and 1.4).
//!
//! Separate from [`mod@crate::schema`], which prints the same table for people; a test holds both against a JSON Schema validator.

use crate::bound::REDACTED_FIELDS;
use crate::canonical::is_integer_text;
use crate::decision::EvidenceKind;
use crate::hook::{FieldType, Hook, Object};
use serde_json::{Number, Value};

/// Why a payload does not fit its hook's schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid {hook} payload: {problem}")]
pub struct InvalidPayload {
    /// The hook.
    pub hook: Hook,
    /// JSON pointer of the place.
    pub pointer: String,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a place of a payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A required field is absent.
    #[error("`{0}` is required")]
    Missing(&'static str),
    /// A field that the hook does not have.
    #[error("unknown field `{0}`")]
    Unknown(String),
    /// A value of another JSON type.
    #[error("`{field}`: expected {expected}, found {found}")]
    Type {
        /// The field.
        field: String,
        /// The type in the schema.
        expected: &'static str,
        /// The type in the payload.
        found: &'static str,
    },
}

/// Checks a payload.
///
/// # Errors
/// The first problem by JSON path, as the spec orders them: problems of the whole object first, then those of fields by name.
pub fn validate(hook: Hook, payload: &Object) -> Result<(), InvalidPayload> {
    let spec = hook.spec();
    let fail = |pointer: &str, problem| Err(InvalidPayload { hook, pointer: pointer.to_owned(), problem });
    if let Some(missing) = spec.fields.iter().find(|field| field.required && !payload.contains_key(field.name)) {
        return fail("", Problem::Missing(missing.name));
    }
    if let Some(unknown) = payload.keys().find(|key| spec.field(key).is_none() && *key != REDACTED_FIELDS) {
        return fail("", Problem::Unknown(unknown.chars().take(128).collect()));
    }
    let mut first: Option<(String, Problem)> = None;
    for (key, value) in payload {
        let field_type = spec.field(key).map_or(FieldType::Strings, |field| field.field_type);
        if let Some((place, problem)) = mismatch(key, field_type, value)
            && first.as_ref().is_none_or(|(earlier, _)| place < *earlier)
        {
            first = Some((place, problem));
        }
    }
    first.map_or(Ok(()), |(place, problem)| fail(&format!("/{place}"), problem))
}

/// Returns the place and kind of a value's first mismatch.
fn mismatch(place: &str, expected: FieldType, value: &Value) -> Option<(String, Problem)> {
    let typed = |place: String, expected, value: &Value| {
        let problem = Problem::Type { field: place.clone(), expected, found: type_name(value) };
        Some((place, problem))
    };
    match (expected, value) {
        (FieldType::String, Value::String(_))
        | (FieldType::Object, Value::Object(_))
        | (FieldType::Boolean, Value::Bool(_))
        | (FieldType::Number, Value::Number(_)) => None,
        (FieldType::Integer, Value::Number(number)) if is_integer(number) => None,
        (FieldType::Strings, Value::Array(items)) => {
            let (index, item) = items.iter().enumerate().find(|(_, item)| !item.is_string())?;
            typed(format!("{place}/{index}"), "a string", item)
        }
        (FieldType::Evidence, Value::Array(items)) if items.len() > 32 => typed(place.to_owned(), "at most 32 evidence objects", value),
        (FieldType::Evidence, Value::Array(items)) => {
            let (index, item) = items.iter().enumerate().find(|(_, item)| !is_evidence(item))?;
            typed(format!("{place}/{index}"), "an evidence object", item)
        }
        _ => typed(place.to_owned(), expected_name(expected), value),
    }
}

/// Says whether a number has no fraction: `3.0` has none (Draft 2020-12).
pub(crate) fn is_integer(number: &Number) -> bool {
    let text = number.as_str();
    is_integer_text(text) || text.parse::<f64>().is_ok_and(|value| value.is_finite() && value.fract() == 0.0)
}

/// The four fields of an evidence object.
pub(crate) const EVIDENCE_FIELDS: [&str; 4] = ["kind", "schema_id", "authority", "reference"];

fn is_evidence(value: &Value) -> bool {
    let Value::Object(object) = value else { return false };
    let kind = object.get("kind").and_then(Value::as_str).and_then(EvidenceKind::from_word);
    kind.is_some() && object.len() == 4 && EVIDENCE_FIELDS.iter().all(|field| object.get(*field).is_some_and(Value::is_string))
}

fn expected_name(field_type: FieldType) -> &'static str {
    match field_type {
        FieldType::String => "a string",
        FieldType::Object => "an object",
        FieldType::Boolean => "a boolean",
        FieldType::Integer => "an integer",
        FieldType::Number => "a number",
        FieldType::Strings => "an array of strings",
        FieldType::Evidence => "an array of evidence objects",
    }
}

pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
