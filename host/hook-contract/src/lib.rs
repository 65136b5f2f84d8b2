//! The rules of geode-hooks: what a hook may be given and what it may answer.
//!
//! Separate so that nothing here can reach wasm, a file, a clock or the environment: every function is a pure function of its arguments.
//! Everything is generated from, or checked against, one table of hooks ([`Hook::spec`]).
//!
//! The way of one call: [`bound()`] makes the plugins' view of a payload, [`validate()`] holds it against the schema, a plugin answers with a
//! [`Reply`], [`check()`] turns that into a [`Checked`] answer or a [`Failure`], and [`apply`] folds it into the [`Chain`].

pub mod activity;
pub mod aimon;
pub mod apply;
pub mod bound;
pub mod canonical;
pub mod check;
mod command;
pub mod correlation;
pub mod decision;
pub mod display;
pub mod event;
pub mod failure;
pub mod feedback;
pub mod hook;
pub mod matcher;
mod patch;
pub mod policy;
pub mod redact;
pub mod schema;
pub mod validate;

pub use apply::{Chain, Flow, Outcome, Payload, Scope};
pub use bound::{Bounded, bound};
pub use check::{Checked, Terms, check};
pub use correlation::Correlation;
pub use decision::{Decision, EvidenceKind, EvidenceRef, Reply};
pub use failure::{Failure, FailureKind, FailureMode};
pub use hook::{Action, Hook, Version};
pub use policy::{ChainMode, ChainPolicy};
pub use schema::schema;
pub use validate::{InvalidPayload, validate};
