//! Secret key names and secret text patterns (spec 1.6).
//!
//! Separate because payloads, decisions and every sink use the same set. Invariant: redaction only removes text, and comes before any cut.

use regex::{Regex, RegexSet};
use std::borrow::Cow;
use std::sync::LazyLock;

/// What stands in place of a secret.
pub const PLACEHOLDER: &str = "[REDACTED]";

/// Key names whose value is removed: an exact match after lower-casing.
const SECRET_KEYS: [&str; 16] = [
    "access_token",
    "api_key",
    "authorization",
    "base64",
    "client_secret",
    "cookie",
    "credential",
    "credentials",
    "headers",
    "password",
    "private_key",
    "raw_request",
    "refresh_token",
    "screenshot",
    "secret",
    "token",
];

/// The patterns in the order of the spec, but for the fourth, [`HEX_KEY`]: searching for it costs more than all the others.
const PATTERNS: [&str; 9] = [
    r"sk-ant-[A-Za-z0-9\-_]{20,}",
    r"sk-proj-[A-Za-z0-9\-_]{20,}",
    r"sk-[A-Za-z0-9]{20,}",
    r"ghp_[A-Za-z0-9]{36,}",
    r"gho_[A-Za-z0-9]{36,}",
    r"eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+",
    r"xoxb-[A-Za-z0-9\-]+",
    r"xoxp-[A-Za-z0-9\-]+",
    r"xapp-[A-Za-z0-9\-]+",
];

/// 32 lower-case hex digits, a dot, 16 or more letters or digits. It runs after the first three patterns.
const HEX_KEY: &str = r"[0-9a-f]{32}\.[A-Za-z0-9]{16,}";
const BEFORE_HEX_KEY: usize = 3;

/// What each of [`PATTERNS`] begins with. A search for literals alone is many times faster than one for the patterns, and mostly says no.
const BEGINNINGS: &str = "sk-|ghp_|gho_|eyJ|xoxb-|xoxp-|xapp-";

/// The compiled patterns.
struct Patterns {
    beginnings: Regex,
    set: RegexSet,
    each: Vec<Regex>,
    hex_key: Regex,
}

#[expect(clippy::expect_used, reason = "the patterns are constants, and every test compiles them")]
static COMPILED: LazyLock<Patterns> = LazyLock::new(|| Patterns {
    beginnings: Regex::new(BEGINNINGS).expect("constant pattern"),
    set: RegexSet::new(PATTERNS).expect("constant patterns"),
    each: PATTERNS.iter().map(|pattern| Regex::new(pattern).expect("constant pattern")).collect(),
    hex_key: Regex::new(HEX_KEY).expect("constant pattern"),
});

/// Says whether the value of a key is removed because of the key's name.
pub fn is_secret_key(key: &str) -> bool {
    // No secret name is longer: a long key needs no lower-casing.
    key.len() <= 32 && SECRET_KEYS.iter().any(|secret| unicode_lower_eq(key, secret))
}

fn unicode_lower_eq(key: &str, secret: &str) -> bool {
    if key.is_ascii() { key.eq_ignore_ascii_case(secret) } else { key.to_lowercase() == *secret }
}

/// Returns the text with every secret replaced by [`PLACEHOLDER`]; borrowed where there was none.
pub fn redact(text: &str) -> Cow<'_, str> {
    let patterns = &*COMPILED;
    let hex_key = may_hold_hex_key(text) && patterns.hex_key.is_match(text);
    let others = patterns.beginnings.is_match(text) && patterns.set.is_match(text);
    if !others && !hex_key {
        return Cow::Borrowed(text);
    }
    let hits = patterns.set.matches(text);
    let mut out = text.to_owned();
    for (index, pattern) in patterns.each.iter().enumerate() {
        if index == BEFORE_HEX_KEY && hex_key {
            out = patterns.hex_key.replace_all(&out, PLACEHOLDER).into_owned();
        }
        if hits.matched(index) {
            out = pattern.replace_all(&out, PLACEHOLDER).into_owned();
        }
    }
    Cow::Owned(out)
}

/// Looks for a dot with 32 hex digits before it: a cheap search that almost always says no.
fn may_hold_hex_key(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'.').any(|(dot, _)| {
        let before = dot.checked_sub(32).and_then(|start| bytes.get(start..dot));
        before.is_some_and(|before| before.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_has_a_smallest_match() {
        let twenty = "a".repeat(20);
        let cases = [
            (format!("sk-ant-{twenty}"), true),
            (format!("sk-proj-{twenty}"), true),
            (format!("sk-{twenty}"), true),
            (format!("{}.{}", "0123456789abcdef".repeat(2), "Z".repeat(16)), true),
            (format!("{}.{}", "0123456789abcdef".repeat(2), "Z".repeat(15)), false),
            (format!("{}.{}", "0123456789ABCDEF".repeat(2), "Z".repeat(16)), false),
            (format!("ghp_{}", "d".repeat(36)), true),
            (format!("gho_{}", "d".repeat(35)), false),
            ("eyJaaaaaaaa.bbbbbbbb.c".to_owned(), true),
            ("xoxb-1".to_owned(), true),
            ("xapp-".to_owned(), false),
        ];
        for (text, secret) in cases {
            let expected = if secret { format!("a {PLACEHOLDER} z") } else { format!("a {text} z") };
            assert_eq!(redact(&format!("a {text} z")), expected, "{text}");
        }
    }

    #[test]
    fn secret_keys_match_whole_and_in_any_case() {
        assert!(is_secret_key("TOKEN") && is_secret_key("Api_Key"));
        assert!(!is_secret_key("tokens") && !is_secret_key(" token") && !is_secret_key("api-key"));
    }
}
