//! The host of geode-hooks: lets anyone drop a `.wasm` file into `.geode/hooks` and so change what an AI agent may do.
//!
//! ```no_run
//! use hook_runtime::{Hook, Host, Invocation};
//!
//! let host = Host::builder().project(".").build()?;
//! let payload = serde_json::json!({"tool_name": "Bash", "arguments": {"command": "ls"}});
//! let invocation = Invocation::new(Hook::PreToolUse, payload.as_object().cloned().unwrap_or_default());
//! let invoked = host.invoke_blocking(invocation)?;
//! if let Some((decision, plugin)) = invoked.outcome.blocking() {
//!     println!("{plugin} says no: {}", decision.reason);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The stages of a call are modules of their own; `pipeline` alone knows their order. No type of the engine stands in this API.

pub mod guide;

mod audit;
mod bind;
mod bus;
mod cache;
mod directories;
mod discover;
mod engine;
mod files;
mod guest;
mod handler;
mod host;
mod inspect;
mod invoke;
mod limits;
mod load;
mod manifest;
mod operator;
mod pipeline;
mod plugin;
mod plugins;
mod review;
mod row;
mod set;
mod store;
mod trust;
mod wasi;
mod wit;
mod yaml;

pub use bus::{Events, Observed, Observer, Occurrence, Subject, SubscribeError, Subscription, UnknownEvent};
pub use directories::{Directories, NoHome};
pub use discover::Level;
pub use engine::Allocator;
pub use guest::{LogLevel, LogLine};
pub use handler::{Handler, HandlerCall};
pub use hook_contract as contract;
pub use hook_contract::{
    Action, ChainMode, ChainPolicy, Correlation, Decision, Failure, FailureKind, FailureMode, Hook, InvalidPayload, Outcome, Version,
};
pub use host::{Host, HostBuilder, HostError, RegisterError, project_of};
pub use inspect::{Inspection, MAX_COMPONENT_BYTES};
pub use invoke::CancelFlag;
pub use limits::{Limits, MAX_DEADLINE, MAX_FUEL, MAX_MEMORY, MIN_DEADLINE};
pub use manifest::{Grants, Manifest};
pub use operator::{ConfigError, PluginMode};
pub use pipeline::{CallReport, Invocation, InvokeError, Invoked};
pub use plugins::{PluginState, PluginStatus};
pub use review::{Broken, Review, ReviewError, Reviews, review, set_enabled, trust, untrust};
pub use row::Status;
pub use store::{LogFilter, LogRow, StoreError, read_log};
pub use trust::TrustError;
pub use yaml::InvalidYaml;
