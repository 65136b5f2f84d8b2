//! Secrets in text: fixed prefixes with a body of known letters and length, and a few shapes that need more than that.
//!
//! Searching for prefixes instead of running regular expressions keeps the component small, and the time linear in the text.

use std::fmt;

use serde_json::Value;

/// What kind of secret was seen. Severe kinds first: the order is the one in which texts are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    PrivateKey,
    Cloud(&'static str),
    Token(&'static str),
    PasswordInUrl,
    /// Removed by the host before the plugin saw the text.
    Masked,
}

impl Kind {
    /// Whether a tool's result with it is withheld: it opens more than one service, or cannot be replaced quickly.
    pub(crate) fn is_severe(self) -> bool {
        matches!(self, Self::PrivateKey | Self::Cloud(_))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PrivateKey => formatter.write_str("a private key"),
            Self::Cloud(name) | Self::Token(name) => formatter.write_str(name),
            Self::PasswordInUrl => formatter.write_str("a password in a URL"),
            Self::Masked => formatter.write_str("a secret that the host has masked"),
        }
    }
}

/// A token: a prefix that no letter or digit comes before, and a body of at least `least` bytes.
struct Shape {
    kind: Kind,
    prefix: &'static str,
    /// Whether `=` or `:` stands between prefix and body, with quotes and blanks around it.
    assigned: bool,
    least: usize,
    body: fn(u8) -> bool,
}

const fn shape(kind: Kind, prefix: &'static str, least: usize, body: fn(u8) -> bool) -> Shape {
    Shape { kind, prefix, assigned: false, least, body }
}

const fn aws_secret(name: &'static str) -> Shape {
    Shape { kind: Kind::Cloud("an AWS secret key"), prefix: name, assigned: true, least: 40, body: is_base64 }
}

const AWS_ID: Kind = Kind::Cloud("an AWS access key");
const GITHUB: Kind = Kind::Token("a GitHub token");
const SLACK: Kind = Kind::Token("a Slack token");
const STRIPE: Kind = Kind::Token("a Stripe key");
const API_KEY: Kind = Kind::Token("an API key");

const SHAPES: &[Shape] = &[
    shape(AWS_ID, "AKIA", 16, is_upper),
    shape(AWS_ID, "ASIA", 16, is_upper),
    aws_secret("aws_secret_access_key"),
    aws_secret("AWS_SECRET_ACCESS_KEY"),
    aws_secret("SecretAccessKey"),
    aws_secret("secretAccessKey"),
    shape(Kind::Cloud("an Azure account key"), "AccountKey=", 40, is_base64),
    shape(Kind::Cloud("a Google API key"), "AIza", 35, is_word),
    shape(Kind::Cloud("a DigitalOcean token"), "dop_v1_", 64, is_alphanumeric),
    shape(GITHUB, "ghp_", 36, is_alphanumeric),
    shape(GITHUB, "gho_", 36, is_alphanumeric),
    shape(GITHUB, "ghu_", 36, is_alphanumeric),
    shape(GITHUB, "ghs_", 36, is_alphanumeric),
    shape(GITHUB, "ghr_", 36, is_alphanumeric),
    shape(GITHUB, "github_pat_", 22, is_word),
    shape(Kind::Token("a GitLab token"), "glpat-", 20, is_word),
    shape(SLACK, "xoxb-", 10, is_word),
    shape(SLACK, "xoxp-", 10, is_word),
    shape(SLACK, "xoxa-", 10, is_word),
    shape(SLACK, "xapp-", 10, is_word),
    shape(Kind::Token("a Slack webhook"), "hooks.slack.com/services/", 20, is_base64),
    shape(STRIPE, "sk_live_", 16, is_alphanumeric),
    shape(STRIPE, "rk_live_", 16, is_alphanumeric),
    shape(Kind::Token("an Anthropic key"), "sk-ant-", 20, is_word),
    shape(API_KEY, "sk-proj-", 20, is_word),
    shape(API_KEY, "sk-", 20, is_alphanumeric),
    shape(Kind::Token("an npm token"), "npm_", 36, is_alphanumeric),
    shape(Kind::Token("a PyPI token"), "pypi-", 50, is_word),
];

/// The worst secret in any string of a JSON value, names of fields included.
pub(crate) fn worst(value: &Value) -> Option<Kind> {
    let mut found: Option<Kind> = None;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let mut judge = |text: &str| found = worse(found, find(text));
        match value {
            Value::String(text) => judge(text),
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                fields.keys().for_each(|name| judge(name));
                open.extend(fields.values());
                found = worse(found, in_fields(fields));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

fn worse(one: Option<Kind>, other: Option<Kind>) -> Option<Kind> {
    let severe = other.filter(|kind| kind.is_severe());
    match one {
        Some(kind) if kind.is_severe() || severe.is_none() => one,
        _ => severe.or(other),
    }
}

/// `{"SecretAccessKey": "..."}`: name and value are apart, so they are judged together.
fn in_fields(fields: &serde_json::Map<String, Value>) -> Option<Kind> {
    let names = SHAPES.iter().filter(|shape| shape.assigned).map(|shape| shape.prefix);
    names.filter_map(|name| Some(format!("{name}={}", fields.get(name)?.as_str()?))).find_map(|text| find(&text))
}

/// The worst secret in `text`.
pub(crate) fn find(text: &str) -> Option<Kind> {
    if holds_private_key(text) {
        return Some(Kind::PrivateKey);
    }
    let token = SHAPES.iter().find(|shape| holds(text, shape)).map(|shape| shape.kind);
    token
        .or_else(|| holds_signed_token(text).then_some(Kind::Token("a signed token (JWT)")))
        .or_else(|| holds_password_in_url(text).then_some(Kind::PasswordInUrl))
}

fn holds_private_key(text: &str) -> bool {
    text.match_indices("-----BEGIN ").any(|(at, begin)| {
        let label = text.as_bytes().get(at + begin.len()..).unwrap_or_default();
        let label = label.get(..label.len().min(64)).unwrap_or_default();
        let label = String::from_utf8_lossy(label);
        label.split("-----").next().is_some_and(|label| label.contains("PRIVATE KEY"))
    })
}

fn holds(text: &str, shape: &Shape) -> bool {
    starts(text, shape.prefix).any(|rest| {
        let rest = if shape.assigned { value_of(rest) } else { rest };
        rest.get(..shape.least).is_some_and(|body| body.iter().all(|byte| (shape.body)(*byte)) && is_real(body))
    })
}

/// What follows each `prefix` that no letter or digit comes before.
fn starts<'text>(text: &'text str, prefix: &str) -> impl Iterator<Item = &'text [u8]> {
    let bytes = text.as_bytes();
    text.match_indices(prefix).filter_map(move |(at, prefix)| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let bounded = before.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        bytes.get(at + prefix.len()..).filter(|_| bounded)
    })
}

/// The longest beginning of `bytes` of which `wanted` takes each byte, in at most 8 KiB.
fn leading(bytes: &[u8], wanted: fn(u8) -> bool) -> &[u8] {
    let length = bytes.iter().take(8192).take_while(|byte| wanted(**byte)).count();
    bytes.get(..length).unwrap_or_default()
}

/// What stands behind `=` or `:`; empty where neither comes first.
fn value_of(rest: &[u8]) -> &[u8] {
    let gap = leading(rest, |byte| matches!(byte, b' ' | b'"' | b'\'' | b'=' | b':' | b'>'));
    let assigns = gap.iter().any(|byte| matches!(byte, b'=' | b':'));
    if assigns { rest.get(gap.len()..).unwrap_or_default() } else { &[] }
}

/// Three parts with dots between, the first a JSON object in base64.
fn holds_signed_token(text: &str) -> bool {
    starts(text, "eyJ").any(|rest| {
        let token = leading(rest, |byte| is_word(byte) || byte == b'.');
        let mut parts = token.split(|byte| *byte == b'.');
        let mut long = |least: usize| parts.next().is_some_and(|part| part.len() >= least);
        long(8) && long(8) && long(1)
    })
}

/// Documentation uses `...EXAMPLE` and rows of one letter.
fn is_real(body: &[u8]) -> bool {
    let mut seen = [false; 256];
    for byte in body {
        if let Some(seen) = seen.get_mut(usize::from(*byte)) {
            *seen = true;
        }
    }
    let different = seen.iter().filter(|seen| **seen).count();
    different >= 6 && !body.windows(7).any(|window| window.eq_ignore_ascii_case(b"example"))
}

/// `scheme://user:password@host`, but not where the password is a variable or a word that stands for one.
fn holds_password_in_url(text: &str) -> bool {
    text.match_indices("://").any(|(at, mark)| {
        let rest = text.get(at + mark.len()..).unwrap_or_default();
        let authority = rest.split(|character: char| character.is_whitespace() || matches!(character, '/' | '"' | '\'' | '`')).next();
        let login = authority.and_then(|authority| authority.rsplit_once('@')).and_then(|(login, _host)| login.split_once(':'));
        login.is_some_and(|(_user, password)| password.len() >= 4 && !stands_for_one(password))
    })
}

fn stands_for_one(password: &str) -> bool {
    let word = password.to_ascii_lowercase();
    let known = ["password", "passwd", "pass", "secret", "changeme", "example", "redacted", "postgres", "token"];
    password.starts_with(['$', '<', '{', '%', '[', '*']) || known.contains(&word.as_str()) || word.bytes().all(|byte| byte == b'x')
}

fn is_upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}
