//! Rules as the settings state them, and their compiled form.
//!
//! Every kind of match becomes one regular expression, so there is one way to search and to replace. The engine (`regex-lite`) runs in
//! linear time, so no prompt and no rule can make it hang.

use geode_hook_sdk::{Failure, failed};
use regex_lite::{NoExpand, Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

/// More would be a mistake, and each is compiled for each call.
const MOST_RULES: usize = 256;

/// The settings: rules as raw JSON, so that an error can name its rule.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    #[serde(default)]
    rules: Vec<Value>,
}

/// One rule of the settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// Stands in reasons and errors.
    name: String,
    /// Which prompts.
    r#match: Match,
    /// Whether `a` matches `A`; ASCII letters only.
    #[serde(default)]
    ignore_case: bool,
    /// What happens to them.
    then: Then,
}

/// Which part of a prompt a rule is about.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Match {
    /// The text anywhere.
    Contains(String),
    /// The whole prompt, but for white space around it.
    Equals(String),
    /// The prompt's beginning.
    StartsWith(String),
    /// The prompt's end.
    EndsWith(String),
    /// A regular expression of `regex-lite`, anywhere.
    Regex(String),
}

/// What a rule does to a prompt that matches.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Then {
    /// Blocks it for this reason.
    Block(String),
    /// Replaces each part that matched; a regular expression's groups are `$1`, `$name`, and `$$` is a dollar.
    Rewrite(String),
    /// Leaves it and adds a message for the model.
    Feedback(String),
}

/// A rule ready to run.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) name: String,
    pub(crate) then: Then,
    pattern: Regex,
    literal: bool,
    /// Text that is in every prompt that matches, where that is known.
    needle: Option<String>,
}

impl Compiled {
    /// Whether `text` matches. Looking for the needle first saves the much slower expression for most prompts.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.needle.as_ref().is_none_or(|needle| text.contains(needle)) && self.pattern.is_match(text)
    }

    /// Replaces each part of `text` that matches. Only for rules that rewrite; others leave it.
    pub(crate) fn rewrite(&self, text: &str) -> String {
        match &self.then {
            Then::Rewrite(with) if self.literal => self.pattern.replace_all(text, NoExpand(with)).into_owned(),
            Then::Rewrite(with) => self.pattern.replace_all(text, with.as_str()).into_owned(),
            Then::Block(_) | Then::Feedback(_) => text.to_owned(),
        }
    }
}

/// Compiles all rules.
///
/// # Errors
///
/// [`Failure::Failed`] with the name of the first rule that is wrong, or its place where it has no name.
pub(crate) fn compile(settings: Settings) -> Result<Vec<Compiled>, Failure> {
    if settings.rules.len() > MOST_RULES {
        return Err(failed(format!("settings: expected at most {MOST_RULES} rules, found {}", settings.rules.len())));
    }
    settings.rules.into_iter().enumerate().map(|(index, rule)| compile_one(index, rule)).collect()
}

fn compile_one(index: usize, rule: Value) -> Result<Compiled, Failure> {
    let name = rule.get("name").and_then(Value::as_str).map_or_else(|| format!("number {}", index + 1), str::to_owned);
    let wrong = |error: &dyn std::fmt::Display| failed(format!("rule `{name}`: {error}"));
    let rule: Rule = serde_json::from_value(rule).map_err(|error| wrong(&error))?;
    let source = source(&rule.r#match).ok_or_else(|| wrong(&"an empty match is in every prompt"))?;
    let pattern = RegexBuilder::new(&source).case_insensitive(rule.ignore_case).build().map_err(|error| wrong(&error))?;
    let literal = literal(rule.r#match);
    let needle = literal.clone().filter(|_| !rule.ignore_case);
    Ok(Compiled { name: rule.name, then: rule.then, pattern, literal: literal.is_some(), needle })
}

/// The text that a match looks for, where it is not an expression.
fn literal(part: Match) -> Option<String> {
    match part {
        Match::Contains(text) | Match::StartsWith(text) | Match::EndsWith(text) => Some(text),
        Match::Equals(text) => Some(text.trim().to_owned()),
        Match::Regex(_) => None,
    }
}

/// The regular expression of a match; `None` where it is empty.
fn source(part: &Match) -> Option<String> {
    let (Match::Contains(text) | Match::Equals(text) | Match::StartsWith(text) | Match::EndsWith(text) | Match::Regex(text)) = part;
    let escaped = regex_lite::escape(text);
    let source = match part {
        Match::Contains(_) => escaped,
        Match::Equals(_) => format!(r"\A\s*{}\s*\z", regex_lite::escape(text.trim())),
        Match::StartsWith(_) => format!(r"\A{escaped}"),
        Match::EndsWith(_) => format!(r"{escaped}\z"),
        Match::Regex(_) => text.clone(),
    };
    (!text.is_empty()).then_some(source)
}
