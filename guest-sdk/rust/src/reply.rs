//! Replies: one type for all hooks, made by free functions that name an action.
//!
//! The action's type is the hook's own, so a function only compiles where the hook has that action.

use crate::{
    EvidenceRef, Extras, Note, Rewake, bindings::host::geode::hooks::types::Observation, permission_request, post_tool_use, post_verify,
    pre_compact, pre_tool_use, pre_verify, stop, user_prompt_submit,
};

/// A plugin's answer to one call of a hook whose actions are `A`.
#[derive(Debug, Clone)]
#[must_use]
pub struct Reply<A> {
    /// What is decided. `None` is no decision: the host records `ok` and nothing else, never a permission.
    pub action: Option<A>,
    /// Reason and evidence of the decision. The host cuts a reason to 1,024 characters. Ignored without a decision.
    pub note: Note,
    /// What is legal beside any decision, and without one.
    pub extras: Extras,
}

/// The only action of a hook where a plugin looks on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed;

impl<A> Reply<A> {
    /// Adds one message for the model. The host routes it, or records that this hook has no route for it.
    pub fn feedback(mut self, message: impl Into<String>) -> Self {
        self.extras.feedback = Some(message.into());
        self
    }

    /// Sets the decision's reason, for people and for the record.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.note.reason = reason.into();
        self
    }

    /// Joins the decision to something outside it. The host keeps the first 32.
    pub fn evidence(mut self, evidence: EvidenceRef) -> Self {
        self.note.evidence.push(evidence);
        self
    }

    /// Asks to be called again. A host that does not serve this says so in the record.
    pub fn rewake(mut self, rewake: Rewake) -> Self {
        self.extras.rewakes.push(rewake);
        self
    }
}

/// Gives no decision.
pub fn pass<A>() -> Reply<A> {
    let extras = Extras { feedback: None, rewakes: Vec::new(), more: Vec::new() };
    Reply { action: None, note: Note { reason: String::new(), evidence: Vec::new() }, extras }
}

fn decide<A>(action: A) -> Reply<A> {
    Reply { action: Some(action), ..pass() }
}

/// Actions that hold `continue`.
#[diagnostic::on_unimplemented(message = "this hook has no action `continue` without an instruction")]
pub trait CanContinue {
    /// The action `continue`.
    const CONTINUE: Self;
}

/// Actions that hold `block`.
#[diagnostic::on_unimplemented(message = "this hook cannot block")]
pub trait CanBlock {
    /// The action `block`.
    const BLOCK: Self;
}

/// Actions that hold `rewrite`.
#[diagnostic::on_unimplemented(message = "this hook cannot rewrite")]
pub trait CanRewrite {
    /// What can be rewritten.
    type Updates;
    /// The action `rewrite`.
    fn rewrite(updates: Self::Updates) -> Self;
}

macro_rules! actions {
    ($trait:ident $constant:ident = $variant:ident: $($module:ident),+) => {
        $(impl $trait for $module::Action {
            const $constant: Self = Self::$variant;
        })+
    };
    (CanRewrite: $($module:ident),+) => {
        $(impl CanRewrite for $module::Action {
            type Updates = $module::Updates;
            fn rewrite(updates: Self::Updates) -> Self {
                Self::Rewrite(updates)
            }
        })+
    };
}

actions!(CanContinue CONTINUE = Continue: user_prompt_submit, pre_tool_use, post_tool_use, pre_compact, pre_verify);
actions!(CanBlock BLOCK = Block: user_prompt_submit, pre_tool_use, post_tool_use);
actions!(CanRewrite: user_prompt_submit, pre_tool_use, pre_compact);

impl CanContinue for Observed {
    const CONTINUE: Self = Self;
}

/// Decides to continue, which is recorded as a decision. [`pass`] decides nothing.
pub fn proceed<A: CanContinue>() -> Reply<A> {
    decide(A::CONTINUE)
}

/// Blocks a prompt or a tool call, or withholds a tool's result. The chain stops here.
pub fn block<A: CanBlock>(reason: impl Into<String>) -> Reply<A> {
    decide(A::BLOCK).reason(reason)
}

/// Rewrites a prompt (text), a tool's arguments (a JSON value), `keep_recent` (an integer), or the hook's `Updates`.
pub fn rewrite<A: CanRewrite>(updates: impl Into<A::Updates>) -> Reply<A> {
    decide(A::rewrite(updates.into()))
}

/// Asks for a person's approval of a tool call.
pub fn request_permission(reason: impl Into<String>) -> pre_tool_use::Reply {
    decide(pre_tool_use::Action::RequestPermission).reason(reason)
}

/// Approves a call in a person's place. The plugin's manifest must list `allow`, and whoever trusts the plugin must have granted it.
pub fn allow(reason: impl Into<String>) -> permission_request::Reply {
    decide(permission_request::Action::Allow).reason(reason)
}

/// Refuses a call that needs approval. The chain stops here.
pub fn deny(reason: impl Into<String>) -> permission_request::Reply {
    decide(permission_request::Action::Deny).reason(reason)
}

/// Leaves approval to a person.
pub fn ask(reason: impl Into<String>) -> permission_request::Reply {
    decide(permission_request::Action::Ask).reason(reason)
}

/// Adds text for the model beside the tool's result, at most 4,096 characters.
pub fn add_context(text: impl Into<String>) -> post_tool_use::Reply {
    decide(post_tool_use::Action::AddContext(text.into()))
}

/// Puts the compaction off.
pub fn defer(reason: impl Into<String>) -> pre_compact::Reply {
    decide(pre_compact::Action::Defer).reason(reason)
}

/// Makes the verification stricter by rubric misses, of which the host keeps 32 with 128 characters each; at least one is needed.
pub fn strengthen<M: Into<String>>(misses: impl IntoIterator<Item = M>, instruction: impl Into<String>) -> pre_verify::Reply {
    let additional_misses = misses.into_iter().map(Into::into).collect();
    decide(pre_verify::Action::Strengthen(pre_verify::Stricter { additional_misses, instruction: instruction.into() }))
}

/// Accepts the verification. It does not turn a failed one into a pass.
pub fn accept() -> post_verify::Reply {
    decide(post_verify::Action::Accept)
}

/// Sends the agent back with an instruction, which must not be blank.
pub fn revise(instruction: impl Into<String>) -> post_verify::Reply {
    decide(post_verify::Action::Revise(instruction.into()))
}

/// Hands the verification to a person.
pub fn escalate(reason: impl Into<String>) -> post_verify::Reply {
    decide(post_verify::Action::Escalate).reason(reason)
}

/// Lets the agent finish.
pub fn finalize() -> stop::Reply {
    decide(stop::Action::Finalize)
}

/// Keeps the agent from finishing: it goes on with an instruction, which must not be blank.
pub fn send_back(instruction: impl Into<String>) -> stop::Reply {
    decide(stop::Action::Continue(instruction.into()))
}

impl From<Reply<Observed>> for Observation {
    fn from(reply: Reply<Observed>) -> Self {
        Self { continue_: reply.action.map(|Observed| reply.note), extras: reply.extras }
    }
}
