//! What the activity store keeps of a runtime event: identifiers, status, and the details that its kind has (spec 6.1 and 6.3).
//!
//! Separate because what is never stored is decided here, whatever an event's data holds. Invariant: nothing but typed details and identifiers
//! is kept, no key that may bear private text, and at most 8 KiB.

use crate::bound::char_offset;
use crate::canonical::{object_size, sha256_hex_of};
use crate::correlation::Correlation;
use crate::event::{Detail, DetailType, EventSpec};
use crate::hook::Object;
use crate::redact::redact;
use serde_json::{Value, json};

/// The most bytes of a stored payload.
pub const MAX_ROW_BYTES: usize = 8 * 1024;
const MAX_ITEMS: usize = 32;
const MAX_DEPTH: usize = 6;
const MAX_STRING_CHARS: usize = 512;
const MAX_KEY_CHARS: usize = 128;
const MAX_NUMBER_CHARS: usize = 1024;
/// The most characters of an identifier.
pub const MAX_ID_CHARS: usize = 256;

/// Keys that are never stored: their values may be what a person or a model wrote, or a secret. Compared in lower case.
const NEVER_STORED: [&str; 39] = [
    "api_key",
    "args_preview",
    "authorization",
    "base64",
    "body",
    "cognitive_state",
    "comment",
    "content",
    "cookie",
    "detail",
    "error",
    "error_msg",
    "headers",
    "image",
    "input",
    "kwargs",
    "message",
    "messages",
    "outcome",
    "output",
    "password",
    "prompt",
    "query",
    "raw_input",
    "reason",
    "response",
    "result",
    "screenshot",
    "secret",
    "subject",
    "system_prompt",
    "text",
    "token",
    "tool_input",
    "user_input",
    "access_token",
    "client_secret",
    "private_key",
    "refresh_token",
];

/// How an event's row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStatus {
    /// Nothing went wrong.
    Ok,
    /// The event tells of a failure.
    Failed,
    /// An observer failed.
    HandlerError,
}

impl RowStatus {
    /// Returns the word that is stored.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::HandlerError => "handler_error",
        }
    }
}

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    /// The event.
    pub event: &'static EventSpec,
    /// How it ended.
    pub status: RowStatus,
    /// Who did it: the session where there is one.
    pub actor_id: String,
    /// What it was done to.
    pub entity_id: String,
    /// The task, where the event names one.
    pub task_id: Option<String>,
    /// The details that this kind of event has, bounded.
    pub payload: Object,
}

/// Returns what is stored of an event, or `None` of one that is never stored.
pub fn activity(event: &'static EventSpec, data: &Object, correlation: &Correlation) -> Option<Activity> {
    if event.canonical.is_some() {
        return None;
    }
    let entity_id = entity_id(event, data, correlation);
    let mut payload: Object =
        event.details.iter().filter_map(|detail| Some((detail.name.to_owned(), detail_value(detail, data, &entity_id)?))).collect();
    for (name, id) in [
        ("session_id", &correlation.session_id),
        ("turn_id", &correlation.turn_id),
        ("step_id", &correlation.step_id),
        ("tool_call_id", &correlation.tool_call_id),
        ("llm_call_id", &correlation.llm_call_id),
        ("llm_attempt_id", &correlation.llm_attempt_id),
    ] {
        if !id.is_empty() {
            payload.insert(name.to_owned(), cut(id, MAX_ID_CHARS).into());
        }
    }
    let session = first_of(&[&correlation.session_id, text(data, "session_id")]);
    Some(Activity {
        event,
        status: status(event, data),
        actor_id: cut(session.unwrap_or(event.actor_type), MAX_ID_CHARS),
        entity_id,
        task_id: Some(text(data, "task_id")).filter(|id| !id.is_empty()).map(|id| cut(id, MAX_ID_CHARS)),
        payload: bound_row(&payload),
    })
}

fn text<'a>(data: &'a Object, key: &str) -> &'a str {
    data.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn first_of<'a>(texts: &[&'a str]) -> Option<&'a str> {
    texts.iter().copied().find(|text| !text.is_empty())
}

fn entity_id(event: &EventSpec, data: &Object, correlation: &Correlation) -> String {
    // What a person judged is their own text.
    if event.name == "result_feedback" {
        let digest = sha256_hex_of(text(data, "subject"));
        return digest.chars().take(16).collect();
    }
    let of_call = match event.entity_key {
        "tool_call_id" => &correlation.tool_call_id,
        "turn_id" => &correlation.turn_id,
        "session_id" => &correlation.session_id,
        _ => "",
    };
    cut(first_of(&[text(data, event.entity_key), of_call]).unwrap_or(event.name), MAX_ID_CHARS)
}

fn status(event: &EventSpec, data: &Object) -> RowStatus {
    let says_so = data.get("has_error").and_then(Value::as_bool).unwrap_or_default();
    let has_error = data.get("error").is_some_and(|error| !matches!(error, Value::Null | Value::Bool(false)) && error.as_str() != Some(""));
    let fails = event.name.ends_with("_failed") || event.name.ends_with("_error");
    if fails || says_so || has_error { RowStatus::Failed } else { RowStatus::Ok }
}

/// Returns the value of a detail, where the data has one of its type, or it can be derived without keeping private text.
fn detail_value(detail: &Detail, data: &Object, entity_id: &str) -> Option<Value> {
    let given = data.get(detail.name).filter(|value| fits(detail.detail_type, value));
    match (detail.name, given) {
        (_, Some(value)) => Some(value.clone()),
        ("identifier", None) => Some(entity_id.into()),
        ("success", None) => data.get("has_error").and_then(Value::as_bool).map(|has_error| Value::from(!has_error)),
        ("input_len", None) => data.get("user_input").and_then(Value::as_str).map(|input| Value::from(input.chars().count())),
        _ => None,
    }
}

fn fits(detail_type: DetailType, value: &Value) -> bool {
    match detail_type {
        DetailType::Text => value.is_string(),
        DetailType::Integer => value.as_number().is_some_and(crate::validate::is_integer),
        DetailType::Number => value.is_number(),
        DetailType::Boolean => value.is_boolean(),
        DetailType::Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
        DetailType::Object => value.is_object(),
    }
}

/// Returns a payload as a row keeps it: no key that is never stored, redacted, cut with markers, at most [`MAX_ROW_BYTES`].
pub fn bound_row(payload: &Object) -> Object {
    let bounded = row_object(payload, 0);
    let bytes = object_size(&bounded);
    if bytes <= MAX_ROW_BYTES {
        return bounded;
    }
    let keys: Vec<_> = bounded.keys().collect();
    let whole = json!({"_truncated": true, "original_bytes": bytes, "keys": keys});
    whole.as_object().cloned().unwrap_or_default()
}

fn row_object(object: &Object, depth: usize) -> Object {
    let mut out = Object::new();
    let mut removed = Vec::new();
    for (key, value) in object.iter().take(MAX_ITEMS) {
        if NEVER_STORED.contains(&key.to_lowercase().as_str()) {
            removed.push(cut(key, MAX_KEY_CHARS));
        } else {
            out.insert(cut(key, MAX_KEY_CHARS), row_value(value, depth + 1));
        }
    }
    if object.len() > MAX_ITEMS {
        out.insert("_truncated_items".to_owned(), (object.len() - MAX_ITEMS).into());
    }
    if !removed.is_empty() {
        removed.sort_unstable();
        out.insert("_redacted_fields".to_owned(), removed.into());
    }
    out
}

fn row_value(value: &Value, depth: usize) -> Value {
    if depth >= MAX_DEPTH {
        return json!({"_truncated": "max_depth"});
    }
    match value {
        Value::String(text) => cut(text, MAX_STRING_CHARS).into(),
        Value::Number(number) if number.as_str().len() > MAX_NUMBER_CHARS => json!({"_omitted_type": "number"}),
        Value::Object(object) => Value::Object(row_object(object, depth)),
        Value::Array(items) => {
            let beyond = items.len().saturating_sub(MAX_ITEMS);
            let more = (beyond > 0).then(|| json!({"_truncated_items": beyond}));
            items.iter().take(MAX_ITEMS).map(|item| row_value(item, depth + 1)).chain(more).collect()
        }
        scalar => scalar.clone(),
    }
}

/// Redacts a text, and cuts it to that many characters with a marker that counts the rest.
pub fn cut(text: &str, max: usize) -> String {
    let clean = redact(text);
    match char_offset(&clean, max) {
        None => clean.into_owned(),
        Some(end) => {
            let (kept, rest) = clean.split_at(end);
            format!("{kept}…[truncated:{}]", rest.chars().count())
        }
    }
}
