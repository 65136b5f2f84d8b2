//! Makes the plugins' view of a payload: redacted, cut to the contract's bounds, and marked (spec 1.6).
//!
//! Separate because the view is made from the real value, once for every change of it. Invariant: the result has at most 32 KiB of canonical
//! JSON, depth 8 and 64 entries a level, never splits a character, and every loss stands in `reduced` or `redacted`.

use crate::canonical::{canonical, extra_bytes, object_size, sha256_hex, size, string_size};
use crate::hook::Object;
use crate::redact::{is_secret_key, redact};
use serde_json::{Number, Value, json};

/// The most bytes of canonical JSON that a plugin is shown.
pub const MAX_PAYLOAD_BYTES: usize = 32_768;
/// The depth at which values are replaced; the payload itself is at 0.
pub const MAX_DEPTH: usize = 8;
/// The most entries of an object or array.
pub const MAX_ITEMS: usize = 64;
/// The most characters of a string.
pub const MAX_STRING_CHARS: usize = 4096;
/// The most characters of a key.
pub const MAX_KEY_CHARS: usize = 128;
/// The most characters of a number's text; a longer one is no number that a plugin could use.
const MAX_NUMBER_CHARS: usize = 1024;
/// The most pointers in a list of marks; beyond it the marks name top-level fields only.
const MAX_MARKS: usize = 64;
/// The key under which an object lists the secret keys that were removed from it.
pub const REDACTED_FIELDS: &str = "_redacted_fields";
/// The key under which an object counts the entries that were cut.
pub(crate) const TRUNCATED_ITEMS: &str = "_truncated_items";

/// A payload as plugins see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounded {
    /// The bounded, redacted payload.
    pub payload: Object,
    /// JSON pointers of what was cut.
    pub reduced: Vec<String>,
    /// JSON pointers of values that were removed as secret, and of strings with a masked part.
    pub redacted: Vec<String>,
}

/// Returns the plugins' view of a payload.
pub fn bound(payload: &Object) -> Bounded {
    let mut bounded = sanitise(payload);
    fit(&mut bounded);
    bounded.reduced = collapse(bounded.reduced);
    bounded.redacted = collapse(bounded.redacted);
    bounded
}

/// Redacts and cuts without the bound on the whole: what the `updates` of a decision get.
pub(crate) fn sanitise(object: &Object) -> Bounded {
    let mut walk = Walk::default();
    let payload = walk.object(object, 0);
    Bounded { payload, reduced: walk.reduced, redacted: walk.redacted }
}

/// The state of one walk: where it is, and the marks so far.
#[derive(Default)]
struct Walk {
    pointer: String,
    reduced: Vec<String>,
    redacted: Vec<String>,
}

impl Walk {
    fn value(&mut self, value: &Value, depth: usize) -> Value {
        if depth >= MAX_DEPTH {
            self.mark_reduced();
            return json!({"_truncated": "max_depth"});
        }
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) => self.number(number, depth),
            Value::String(text) => Value::String(self.string(text)),
            Value::Array(items) => self.array(items, depth),
            Value::Object(object) => Value::Object(self.object(object, depth)),
        }
    }

    fn number(&mut self, number: &Number, depth: usize) -> Value {
        let text = number.as_str();
        let too_long = text.len() > MAX_NUMBER_CHARS;
        let float = if too_long || !crate::canonical::is_integer_text(text) { text.parse::<f64>().ok() } else { None };
        if !too_long && float.is_none_or(f64::is_finite) {
            return Value::Number(number.clone());
        }
        // A field of the payload stays a number, or a valid payload would fail its schema.
        if depth == 1 {
            self.mark_reduced();
            return float.unwrap_or_default().clamp(f64::MIN, f64::MAX).into();
        }
        match float {
            _ if too_long => {
                self.mark_reduced();
                json!({"_omitted_type": "number"})
            }
            Some(f64::NEG_INFINITY) => json!("-inf"),
            _ => json!("inf"),
        }
    }

    fn string(&mut self, text: &str) -> String {
        let clean = redact(text);
        if matches!(clean, std::borrow::Cow::Owned(_)) {
            self.mark_redacted();
        }
        let Some(end) = char_offset(&clean, MAX_STRING_CHARS) else { return clean.into_owned() };
        self.mark_reduced();
        let (kept, rest) = clean.split_at(end);
        format!("{kept}…[truncated:{}]", rest.chars().count())
    }

    fn array(&mut self, items: &[Value], depth: usize) -> Value {
        if items.len() > MAX_ITEMS {
            self.mark_reduced();
        }
        let kept = items.iter().take(MAX_ITEMS).enumerate();
        Value::Array(kept.map(|(index, item)| self.below(&index.to_string(), |walk| walk.value(item, depth + 1))).collect())
    }

    fn object(&mut self, object: &Object, depth: usize) -> Object {
        let mut out = Object::with_capacity(object.len().min(MAX_ITEMS));
        let mut removed = Vec::new();
        for (key, value) in object.iter().take(MAX_ITEMS) {
            if is_secret_key(key) {
                removed.push(key.as_str());
                self.below(key, Self::mark_redacted);
                continue;
            }
            let short = char_offset(key, MAX_KEY_CHARS).map_or(key.as_str(), |end| key.split_at(end).0);
            if short.len() < key.len() {
                self.mark_reduced();
            }
            let value = self.below(short, |walk| walk.value(value, depth + 1));
            out.insert(short.to_owned(), value);
        }
        if let Some(beyond) = object.len().checked_sub(MAX_ITEMS).filter(|beyond| *beyond > 0) {
            self.mark_reduced();
            out.insert(TRUNCATED_ITEMS.to_owned(), beyond.into());
        }
        if !removed.is_empty() {
            removed.sort_unstable();
            out.insert(REDACTED_FIELDS.to_owned(), removed.into());
        }
        out
    }

    /// Runs `f` one level down, at `segment`.
    fn below<R>(&mut self, segment: &str, f: impl FnOnce(&mut Self) -> R) -> R {
        let length = self.pointer.len();
        self.pointer.push('/');
        push_segment(&mut self.pointer, segment);
        let result = f(self);
        self.pointer.truncate(length);
        result
    }

    fn mark_reduced(&mut self) {
        mark(&mut self.reduced, &self.pointer);
    }

    fn mark_redacted(&mut self) {
        mark(&mut self.redacted, &self.pointer);
    }
}

/// Adds a mark. Past [`MAX_MARKS`] it names the top-level field only, which [`collapse`] would make of it: a payload could be nothing but marks.
fn mark(marks: &mut Vec<String>, pointer: &str) {
    let pointer = if marks.len() > MAX_MARKS { pointer.split_at(top_level(pointer)).0 } else { pointer };
    if marks.last().is_none_or(|last| last != pointer) {
        marks.push(pointer.to_owned());
    }
}

/// Returns the length of a pointer's first segment.
fn top_level(pointer: &str) -> usize {
    pointer.get(1..).and_then(|rest| rest.find('/')).map_or(pointer.len(), |slash| slash + 1)
}

/// Appends a key as a JSON pointer's segment (RFC 6901).
fn push_segment(pointer: &mut String, segment: &str) {
    for character in segment.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Returns the byte offset of the character with that index, or `None` where the text is not longer.
pub(crate) fn char_offset(text: &str, chars: usize) -> Option<usize> {
    if text.len() <= chars {
        return None;
    }
    text.char_indices().nth(chars).map(|(offset, _)| offset)
}

/// Cuts top-level fields, keeping their types, until the whole fits [`MAX_PAYLOAD_BYTES`]. Every pass starts from the sanitised fields.
fn fit(bounded: &mut Bounded) {
    if object_size(&bounded.payload) <= MAX_PAYLOAD_BYTES || bounded.payload.is_empty() {
        return;
    }
    let sanitised = std::mem::take(&mut bounded.payload);
    let mut budget = (MAX_PAYLOAD_BYTES / sanitised.len()).max(512);
    loop {
        let (payload, cut) = fit_fields(&sanitised, |value| reduce(value, budget), budget);
        let fits = object_size(&payload) <= MAX_PAYLOAD_BYTES;
        if fits || budget <= 128 {
            let (payload, cut) = if fits { (payload, cut) } else { fit_fields(&sanitised, minimal, 2) };
            bounded.payload = payload;
            replace_marks(&mut bounded.reduced, cut);
            return;
        }
        budget /= 2;
    }
}

fn fit_fields(fields: &Object, reduce: impl Fn(&Value) -> Value, budget: usize) -> (Object, Vec<String>) {
    let mut cut = Vec::new();
    let out = fields.iter().map(|(key, value)| {
        if size(value) <= budget {
            return (key.clone(), value.clone());
        }
        let reduced = match value {
            // Whole items are dropped, or a valid payload would fail its schema.
            Value::Array(items) if key == "evidence_refs" => whole_items(items, budget),
            value => reduce(value),
        };
        if reduced != *value {
            let mut pointer = "/".to_owned();
            push_segment(&mut pointer, key);
            cut.push(pointer);
        }
        (key.clone(), reduced)
    });
    let out = out.collect();
    (out, cut)
}

/// A field that was cut as a whole makes the marks below it pointless.
fn replace_marks(marks: &mut Vec<String>, cut: Vec<String>) {
    marks.retain(|mark| !cut.iter().any(|field| covers(field, mark)));
    marks.extend(cut);
}

fn covers(field: &str, pointer: &str) -> bool {
    pointer.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns a value of the same JSON type within `budget` bytes where it was longer.
fn reduce(value: &Value, budget: usize) -> Value {
    if size(value) <= budget {
        return value.clone();
    }
    match value {
        Value::String(text) => Value::String(reduce_string(text, budget)),
        Value::Object(object) => reduce_object(value, object, budget),
        Value::Array(items) => reduce_array(items, budget),
        other => other.clone(),
    }
}

const CUT: &str = "…[truncated]";

fn reduce_string(text: &str, budget: usize) -> String {
    // The spec reserves 19 bytes for the marker and 2 for the quotes.
    let limit = budget.saturating_sub(21);
    let mut used = 0;
    let end = text.char_indices().find_map(|(offset, character)| {
        let length = character.len_utf8();
        let escaped = if length == 1 { 1 + extra_bytes(u8::try_from(character).unwrap_or(0)) } else { length };
        used += escaped;
        (used > limit).then_some(offset)
    });
    let kept = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    format!("{kept}{CUT}")
}

fn reduce_object(value: &Value, object: &Object, budget: usize) -> Value {
    let mut keys = Vec::new();
    let mut used = size(&json!({"_truncated": true, "payload_sha256": "0".repeat(64), "keys": []}));
    for key in object.keys() {
        let key = char_offset(key, MAX_KEY_CHARS).map_or(key.as_str(), |end| key.split_at(end).0);
        used += string_size(key) + usize::from(!keys.is_empty());
        if used > budget {
            break;
        }
        keys.push(key);
    }
    json!({"_truncated": true, "payload_sha256": sha256_hex(value), "keys": keys})
}

fn reduce_array(items: &[Value], budget: usize) -> Value {
    let share = (budget / items.len().clamp(1, MAX_ITEMS)).max(32);
    let mut used = 2;
    let mut out = Vec::new();
    for item in items {
        let reduced = reduce(item, share);
        used += size(&reduced) + usize::from(!out.is_empty());
        if used > budget {
            break;
        }
        out.push(reduced);
    }
    Value::Array(out)
}

fn whole_items(items: &[Value], budget: usize) -> Value {
    let mut used = 2;
    let fits = |item: &&Value| {
        used += size(item) + 1;
        used <= budget
    };
    items.iter().take_while(fits).cloned().collect()
}

fn minimal(value: &Value) -> Value {
    match value {
        Value::String(_) => json!(""),
        Value::Object(_) => json!({}),
        Value::Array(_) => json!([]),
        other => other.clone(),
    }
}

/// Bounds a list of marks: past [`MAX_MARKS`] entries, or where the text is long, each stands for its top-level field.
fn collapse(mut marks: Vec<String>) -> Vec<String> {
    let bytes: usize = marks.iter().map(String::len).sum();
    if marks.len() > MAX_MARKS || bytes > 8 * 1024 {
        for mark in &mut marks {
            mark.truncate(top_level(mark));
        }
    }
    marks.sort_unstable();
    marks.dedup();
    marks.truncate(MAX_MARKS);
    marks
}

/// Returns the SHA-256 of a payload's canonical text and its size in bytes.
pub fn digest(payload: &Object) -> (String, usize) {
    let value = Value::Object(payload.clone());
    (sha256_hex(&value), canonical(&value).len())
}
