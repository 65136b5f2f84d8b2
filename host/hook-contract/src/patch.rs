//! Applies a rewrite of what a plugin saw to the real value.
//!
//! Separate because it is where a bounded copy meets the truth. Invariant: what the plugin never saw keeps its value, and what it saw only
//! in part it cannot change.

use crate::bound::{REDACTED_FIELDS, TRUNCATED_ITEMS};
use crate::hook::Object;
use crate::redact::{PLACEHOLDER, redact};
use serde_json::Value;

/// The JSON pointer of a place that the plugin changed without having seen it whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Blind(pub(crate) String);

/// Returns `real` with the difference between `seen` and `answer` applied.
pub(crate) fn patch(real: &Value, seen: &Value, answer: &Value) -> Result<Value, Blind> {
    if seen == answer {
        return Ok(real.clone());
    }
    if real == seen {
        return Ok(answer.clone());
    }
    match (real, seen, answer) {
        (Value::Object(real), Value::Object(seen), Value::Object(answer)) => patch_object(real, seen, answer).map(Value::Object),
        (Value::Array(real), Value::Array(seen), Value::Array(answer)) if real.len() == seen.len() && seen.len() == answer.len() => {
            let items = real.iter().zip(seen).zip(answer).enumerate();
            items
                .map(|(index, ((real, seen), answer))| at(&index.to_string(), patch(real, seen, answer)))
                .collect::<Result<_, _>>()
                .map(Value::Array)
        }
        // A masked string may be replaced by one that holds no mask; a cut one may not be touched.
        (Value::String(real), Value::String(seen), Value::String(answer)) if !is_cut(real, seen) && !answer.contains(PLACEHOLDER) => {
            Ok(Value::String(answer.clone()))
        }
        _ => Err(Blind(String::new())),
    }
}

fn patch_object(real: &Object, seen: &Object, answer: &Object) -> Result<Object, Blind> {
    let mut out = real.clone();
    for (key, before) in seen {
        let after = answer.get(key);
        if after == Some(before) || is_host_mark(key, real, before) {
            continue;
        }
        match (real.get(key), after) {
            (Some(now), Some(after)) => {
                let value = at(key, patch(now, before, after))?;
                out.insert(key.clone(), value);
            }
            (Some(now), None) if now == before => {
                out.shift_remove(key);
            }
            // It was cut, masked, or stands for something else: what would be lost was never seen.
            _ => return at(key, Err(Blind(String::new()))),
        }
    }
    for (key, value) in answer {
        if !seen.contains_key(key) && !real.contains_key(key) && !is_mark(key) {
            out.insert(key.clone(), value.clone());
        }
    }
    Ok(out)
}

/// Says whether an entry is a mark that the host made, not one of the real value.
fn is_host_mark(key: &str, real: &Object, before: &Value) -> bool {
    is_mark(key) && real.get(key) != Some(before)
}

fn is_mark(key: &str) -> bool {
    key == REDACTED_FIELDS || key == TRUNCATED_ITEMS
}

/// Says whether the plugin saw a cut string, not only a masked one.
fn is_cut(real: &str, seen: &str) -> bool {
    redact(real) != seen
}

fn at<T>(segment: &str, result: Result<T, Blind>) -> Result<T, Blind> {
    result.map_err(|Blind(below)| Blind(format!("/{segment}{below}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::bound;
    use serde_json::json;

    /// Patches what a plugin saw of `real` after `change` was made to it.
    fn rewritten(real: &Value, change: impl FnOnce(&mut Value)) -> Result<Value, Blind> {
        let seen = Value::Object(bound(real.as_object().unwrap()).payload);
        let mut answer = seen.clone();
        change(&mut answer);
        patch(real, &seen, &answer)
    }

    #[test]
    fn what_was_not_seen_keeps_its_value() {
        let real = json!({"url": "u", "token": "s", "inner": {"password": "p", "n": 1}, "list": [{"secret": "x", "k": 1}, 2]});
        let result = rewritten(&real, |answer| {
            answer["url"] = json!("v");
            answer["inner"]["n"] = json!(2);
            answer["list"][0]["k"] = json!(3);
            answer["new"] = json!(true);
        });
        let expected =
            json!({"url": "v", "token": "s", "inner": {"password": "p", "n": 2}, "list": [{"secret": "x", "k": 3}, 2], "new": true});
        assert_eq!(result, Ok(expected));
    }

    #[test]
    fn a_key_that_was_seen_can_be_removed_and_marks_do_not_count() {
        let real = json!({"a": 1, "token": "s"});
        let result = rewritten(&real, |answer| *answer = json!({}));
        assert_eq!(result, Ok(json!({"token": "s"})));
    }

    #[test]
    fn a_hidden_key_cannot_be_overwritten() {
        let real = json!({"a": 1, "token": "s"});
        assert_eq!(rewritten(&real, |answer| answer["token"] = json!("mine")), Ok(real.clone()));
    }

    #[test]
    fn what_was_seen_in_part_cannot_be_changed() {
        type Case = (&'static str, Value, fn(&mut Value));
        let long = "x".repeat(5000);
        let many: Vec<u32> = (0..70).collect();
        let secret = format!("echo sk-{}", "A".repeat(24));
        let deep = json!({"d": {"d": {"d": {"d": {"d": {"d": {"d": {"d": 1}}}}}}}});
        let cases: [Case; 6] = [
            ("/long", json!({"long": long}), |a| a["long"] = json!("short")),
            ("/many", json!({"many": many}), |a| a["many"] = json!([1])),
            ("/cmd", json!({"cmd": secret}), |a| a["cmd"] = json!("echo [REDACTED] more")),
            ("/in", json!({"in": {"token": 1, "b": 2}}), |a| a["in"] = json!(5)),
            ("/in", json!({"in": {"token": 1, "b": 2}}), |a| drop(a.as_object_mut().unwrap().remove("in"))),
            ("/d/d/d/d/d/d/d/d", deep, |a| a["d"]["d"]["d"]["d"]["d"]["d"]["d"]["d"] = json!(2)),
        ];
        for (place, real, change) in cases {
            assert_eq!(rewritten(&real, change), Err(Blind(place.to_owned())), "{place}");
        }
    }

    #[test]
    fn a_masked_string_can_be_replaced_whole() {
        let real = json!({"cmd": format!("echo sk-{}", "A".repeat(24))});
        assert_eq!(rewritten(&real, |answer| answer["cmd"] = json!("echo no")), Ok(json!({"cmd": "echo no"})));
    }
}
