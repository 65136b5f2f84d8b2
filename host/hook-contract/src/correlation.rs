//! Who and what a call belongs to.
//!
//! Separate because it travels beside every payload, and is neither redacted nor bounded there (spec 1.6).

use crate::hook::{Object, Version};
use serde_json::Value;

/// The identifiers of a call. Empty text and zero mean "not set".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields bear the names of the public JSON Schema and mean just that")]
pub struct Correlation {
    pub session_id: String,
    pub turn_id: String,
    pub step_id: String,
    pub run_id: String,
    pub session_generation: i64,
    pub verify_attempt: i64,
    pub tool_call_id: String,
    pub llm_call_id: String,
    pub llm_attempt_id: String,
}

/// The most bytes that an identifier may have; longer ones are refused where they come in, since they are never cut.
pub const MAX_ID_BYTES: usize = 64 * 1024;

/// Why a correlation document was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCorrelation {
    /// The document is no JSON object.
    #[error("expected an object")]
    NotAnObject,
    /// A key that the schema does not know.
    #[error("unknown field `{0}`")]
    UnknownField(String),
    /// A value of another type, or too long.
    #[error("field `{0}` must be {1}")]
    WrongType(&'static str, &'static str),
}

impl Correlation {
    /// The field names in the order of the schema; whether each is an integer.
    pub(crate) const fn fields(version: Version) -> &'static [(&'static str, bool)] {
        match version {
            Version::V1 => &[
                ("session_id", false),
                ("turn_id", false),
                ("run_id", false),
                ("session_generation", true),
                ("verify_attempt", true),
                ("tool_call_id", false),
                ("llm_call_id", false),
                ("llm_attempt_id", false),
            ],
            Version::V2 => &[
                ("session_id", false),
                ("turn_id", false),
                ("step_id", false),
                ("run_id", false),
                ("session_generation", true),
                ("verify_attempt", true),
                ("tool_call_id", false),
                ("llm_call_id", false),
                ("llm_attempt_id", false),
            ],
        }
    }

    /// Reads a JSON object; absent fields keep their defaults.
    ///
    /// # Errors
    /// [`InvalidCorrelation`] where the value is no object, has an unknown key, or a value of the wrong type.
    pub fn from_json(value: &Value) -> Result<Self, InvalidCorrelation> {
        let object = value.as_object().ok_or(InvalidCorrelation::NotAnObject)?;
        let mut correlation = Self::default();
        for (key, value) in object {
            let Some((name, integer)) = Self::fields(Version::V2).iter().find(|(name, _)| name == key) else {
                return Err(InvalidCorrelation::UnknownField(key.chars().take(128).collect()));
            };
            if *integer {
                let number = value.as_i64().ok_or(InvalidCorrelation::WrongType(name, "an integer of 64 bits"))?;
                *correlation.integer_mut(name) = number;
            } else {
                let text = value.as_str().filter(|text| text.len() <= MAX_ID_BYTES);
                let text = text.ok_or(InvalidCorrelation::WrongType(name, "text of at most 64 KiB"))?;
                text.clone_into(correlation.text_mut(name));
            }
        }
        Ok(correlation)
    }

    /// Returns the object of that version, every field present.
    pub fn to_json(&self, version: Version) -> Object {
        Self::fields(version)
            .iter()
            .map(|(name, integer)| {
                let value = if *integer { Value::from(self.integer(name)) } else { Value::from(self.text(name)) };
                ((*name).to_owned(), value)
            })
            .collect()
    }

    fn integer(&self, name: &str) -> i64 {
        if name == "session_generation" { self.session_generation } else { self.verify_attempt }
    }

    fn integer_mut(&mut self, name: &str) -> &mut i64 {
        if name == "session_generation" { &mut self.session_generation } else { &mut self.verify_attempt }
    }

    fn text(&self, name: &str) -> &str {
        match name {
            "session_id" => &self.session_id,
            "turn_id" => &self.turn_id,
            "step_id" => &self.step_id,
            "run_id" => &self.run_id,
            "tool_call_id" => &self.tool_call_id,
            "llm_call_id" => &self.llm_call_id,
            _ => &self.llm_attempt_id,
        }
    }

    fn text_mut(&mut self, name: &str) -> &mut String {
        match name {
            "session_id" => &mut self.session_id,
            "turn_id" => &mut self.turn_id,
            "step_id" => &mut self.step_id,
            "run_id" => &mut self.run_id,
            "tool_call_id" => &mut self.tool_call_id,
            "llm_call_id" => &mut self.llm_call_id,
            _ => &mut self.llm_attempt_id,
        }
    }
}
