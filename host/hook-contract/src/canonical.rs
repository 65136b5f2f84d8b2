//! Canonical JSON: compact, keys sorted, non-ASCII raw (spec 1.6).
//!
//! Separate because sizes and hashes of payloads are taken over it, and nothing else may be.

use crate::hook::Object;
use serde_json::{Number, Value};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Returns the canonical text of a value.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

/// Returns the SHA-256 of the canonical text, as 64 hex digits.
pub fn sha256_hex(value: &Value) -> String {
    sha256_hex_of(&canonical(value))
}

/// Returns the SHA-256 of a text, as 64 hex digits.
pub fn sha256_hex_of(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Returns the length in bytes of the canonical text, without writing it.
pub fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number_text(number).len(),
        Value::String(text) => string_size(text),
        Value::Array(items) => 2 + items.iter().map(size).sum::<usize>() + items.len().saturating_sub(1),
        Value::Object(object) => object_size(object),
    }
}

/// Returns the length in bytes of an object's canonical text.
pub fn object_size(object: &Object) -> usize {
    let entries: usize = object.iter().map(|(key, value)| string_size(key) + 1 + size(value)).sum();
    2 + entries + object.len().saturating_sub(1)
}

/// Returns the length in bytes of a string's JSON text, quotes included.
pub(crate) fn string_size(text: &str) -> usize {
    // Two loops that the compiler turns into vector instructions; control characters are rare.
    let bytes = text.as_bytes();
    let least = bytes.iter().copied().fold(u8::MAX, u8::min);
    let escapes: usize = if least >= 0x20 {
        bytes.iter().filter(|byte| matches!(byte, b'"' | b'\\')).count()
    } else {
        bytes.iter().copied().map(extra_bytes).sum()
    };
    text.len() + escapes + 2
}

/// Returns how many bytes escaping adds to a byte.
pub(crate) fn extra_bytes(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..=0x1f => 5,
        _ => 0,
    }
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(out, index);
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                separate(out, index);
                let _ = write!(out, "{}:", Value::from(key.as_str()));
                write_value(out, value);
            }
            out.push('}');
        }
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}

fn separate(out: &mut String, index: usize) {
    if index > 0 {
        out.push(',');
    }
}

/// Returns a number as the original system prints it: integers of any size as they stand, others as the shortest text of their `f64`.
fn number_text(number: &Number) -> String {
    let text = number.as_str();
    if is_integer_text(text) {
        return text.to_owned();
    }
    let Ok(value) = text.parse::<f64>() else { return text.to_owned() };
    let magnitude = value.abs();
    if value != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        return exponent_text(value);
    }
    format!("{value:?}")
}

/// Returns `1e+16` and `1e-05` forms: at least two digits of exponent, always signed.
fn exponent_text(value: f64) -> String {
    let text = format!("{value:e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// Says whether a number's text has neither fraction nor exponent.
pub(crate) fn is_integer_text(text: &str) -> bool {
    !text.contains(['.', 'e', 'E'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_the_original_prints_them() {
        let cases = [
            ("1.0", "1.0"),
            ("1.50", "1.5"),
            ("1e2", "100.0"),
            ("1e16", "1e+16"),
            ("0.00001", "1e-05"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
        ];
        for (text, expected) in cases {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(canonical(&value), expected, "{text}");
        }
    }

    #[test]
    fn size_is_the_length_of_the_text() {
        let text = r#"{"b":[1,2.5,null,true,false],"a":{"k\"\n":"\u0001é😀\\"},"e":[],"o":{}}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(size(&value), canonical(&value).len());
        assert_eq!(canonical(&value), "{\"a\":{\"k\\\"\\n\":\"\\u0001é😀\\\\\"},\"b\":[1,2.5,null,true,false],\"e\":[],\"o\":{}}");
    }
}
