//! What a plugin answers: the reply as it came, and the decision as it is recorded.
//!
//! Separate because WIT plugins, JSON documents and native handlers all arrive here. Invariant: a [`Decision`] is normalised and bounded;
//! only [`mod@crate::check`] makes one.

use crate::failure::{Failure, FailureKind};
use crate::hook::{Action, Object};
use crate::validate::type_name;
use serde_json::{Value, json};
use std::borrow::Cow;

/// What an evidence reference points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants bear the words of the public JSON Schema and mean just that")]
pub enum EvidenceKind {
    CrucibleEvidence,
    Legacy,
    NativeReceipt,
    RuntimeEvent,
    SilEval,
}

impl EvidenceKind {
    /// Every kind, in the order of the schema.
    pub const ALL: [Self; 5] = [Self::CrucibleEvidence, Self::Legacy, Self::NativeReceipt, Self::RuntimeEvent, Self::SilEval];

    /// Returns the word in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::CrucibleEvidence => "crucible_evidence",
            Self::Legacy => "legacy",
            Self::NativeReceipt => "native_receipt",
            Self::RuntimeEvent => "runtime_event",
            Self::SilEval => "sil_eval",
        }
    }

    /// Returns the kind of a word, or `None` for any other text.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// A join from a decision to something outside it. Texts are redacted and have at most 512 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields bear the names of the public JSON Schema and mean just that")]
pub struct EvidenceRef {
    pub kind: EvidenceKind,
    pub schema_id: String,
    pub authority: String,
    pub reference: String,
}

impl EvidenceRef {
    /// Returns the evidence object of the schema.
    pub fn to_json(&self) -> Value {
        json!({"kind": self.kind.word(), "schema_id": self.schema_id, "authority": self.authority, "reference": self.reference})
    }
}

/// A decision that passed every check.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What was decided.
    pub action: Action,
    /// Why; redacted, at most 1024 characters.
    pub reason: String,
    /// The fields that a rewrite changes, as plugins may see them; empty for every other action.
    pub updates: Object,
    /// Text for the agent; redacted, at most 4096 characters.
    pub instruction: String,
    /// What verification must also miss; at most 32 texts of at most 128 characters.
    pub additional_misses: Vec<String>,
    /// At most 32 joins to something outside.
    pub evidence_refs: Vec<EvidenceRef>,
}

impl Decision {
    /// Returns a decision of that action and reason, and nothing else.
    pub fn new(action: Action, reason: impl Into<String>) -> Self {
        Self {
            action,
            reason: reason.into(),
            updates: Object::new(),
            instruction: String::new(),
            additional_misses: Vec::new(),
            evidence_refs: Vec::new(),
        }
    }

    /// Returns the decision object of the schema, every field present.
    pub fn to_json(&self) -> Value {
        json!({
            "action": self.action.word(),
            "reason": self.reason,
            "updates": self.updates,
            "instruction": self.instruction,
            "additional_misses": self.additional_misses,
            "evidence_refs": self.evidence_refs.iter().map(EvidenceRef::to_json).collect::<Vec<_>>(),
        })
    }
}

/// A decision as it came from a plugin: nothing of it is trusted yet.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields bear the names of the public JSON Schema and mean just that")]
pub struct RawDecision {
    /// The action's word; `None` means `continue`.
    pub action: Option<Cow<'static, str>>,
    pub reason: String,
    pub updates: Option<Object>,
    pub instruction: String,
    pub additional_misses: Vec<String>,
    pub evidence_refs: Vec<RawEvidence>,
}

/// An evidence reference as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields bear the names of the public JSON Schema and mean just that")]
pub enum RawEvidence {
    /// An evidence object; absent fields are empty, unknown keys dropped.
    Object { kind: Cow<'static, str>, schema_id: String, authority: String, reference: String },
    /// A plain string: a legacy handle.
    Text(String),
    /// A value of another JSON type, by its name.
    Other(&'static str),
}

/// Everything a plugin answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The decision; `None` is "no decision", never a permission.
    pub decision: Option<RawDecision>,
    /// One message for the model.
    pub feedback: Option<String>,
    /// What the reply asks for that this host does not serve.
    pub unsupported: Vec<&'static str>,
}

impl RawDecision {
    /// Returns a raw decision of that action and reason.
    pub fn new(action: Action, reason: impl Into<String>) -> Self {
        Self { action: Some(action.word().into()), reason: reason.into(), ..Self::default() }
    }

    /// Reads a decision document.
    ///
    /// # Errors
    /// [`FailureKind::BadDecision`] where the value is no decision object: another JSON type, an unknown key, a field of another type.
    pub fn from_json(value: &Value) -> Result<Self, Failure> {
        let Value::Object(object) = value else {
            return Err(bad(format!("expected a decision object, found {}", type_name(value))));
        };
        let mut raw = Self::default();
        for (key, value) in object {
            raw.read_field(key, value)?;
        }
        Ok(raw)
    }

    fn read_field(&mut self, key: &str, value: &Value) -> Result<(), Failure> {
        match (key, value) {
            ("action", Value::String(word)) => self.action = Some(Cow::Owned(word.clone())),
            ("reason", Value::String(text)) => self.reason.clone_from(text),
            ("instruction", Value::String(text)) => self.instruction.clone_from(text),
            ("updates", Value::Object(updates)) => self.updates = Some(updates.clone()),
            ("additional_misses", Value::Array(items)) => self.additional_misses = items.iter().take(32).map(text_of).collect(),
            ("evidence_refs", Value::Array(items)) => self.evidence_refs = items.iter().take(32).map(RawEvidence::from_json).collect(),
            ("action" | "reason" | "instruction" | "updates" | "additional_misses" | "evidence_refs", _) => {
                return Err(bad(format!("`{key}` of the decision has the wrong type: {}", type_name(value))));
            }
            _ => return Err(bad(format!("unknown field `{}` in the decision", key.chars().take(128).collect::<String>()))),
        }
        Ok(())
    }
}

impl RawEvidence {
    fn from_json(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Object(object) => {
                let field = |name: &str| object.get(name).map(text_of).unwrap_or_default();
                Self::Object {
                    kind: field("kind").into(),
                    schema_id: field("schema_id"),
                    authority: field("authority"),
                    reference: field("reference"),
                }
            }
            other => Self::Other(type_name(other)),
        }
    }
}

/// Returns a string as it stands, any other value as its JSON text.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(crate) fn bad(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::BadDecision, message)
}
