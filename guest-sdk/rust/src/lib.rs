//! Write sandboxed hook plugins for AI agents in Rust.
//!
//! A plugin implements one trait for each hook it handles and names those traits once in [`export!`]. A whole guard:
//!
//! ```
//! use geode_hook_sdk::prelude::*;
//! struct Guard;
//! impl PreToolUse for Guard {
//!     fn pre_tool_use(ctx: &Context, call: &pre_tool_use::Payload) -> Result<pre_tool_use::Reply, Failure> {
//!         ctx.require_whole("/arguments/command")?;
//!         let deletes = call.text("/arguments/command")?.contains("rm -rf /");
//!         Ok(if deletes { block("this deletes the whole disk") } else { pass() })
//!     }
//! }
//! geode_hook_sdk::export!(Guard: PreToolUse);
//! ```
//!
//! The component exports exactly the hooks named in [`export!`] and imports at most `log`, `settings` and `state`: no files, no
//! network, no clock. The build is described in the README.
//!
//! # Answers
//!
//! Every trait method returns `Ok` with a reply or `Err` with a [`Failure`]. A reply is made by a free function ([`pass`], [`block`],
//! [`rewrite`], ...) and refined by methods ([`Reply::feedback`], [`Reply::reason`], [`Reply::evidence`]). An action that the hook does
//! not have does not compile:
//!
//! ```compile_fail,E0277
//! use geode_hook_sdk::prelude::*;
//! struct Recorder;
//! impl SessionEnd for Recorder {
//!     fn session_end(_: &Context, _: &session_end::Payload) -> Result<session_end::Reply, Failure> {
//!         Ok(block("a session cannot be kept from ending")) // the hook only observes
//!     }
//! }
//! ```
//!
//! # Tests
//!
//! Plugins run natively under `cargo test`: the trait methods are ordinary functions, and the module `testing` stands in for the host.
//!
//! ```
//! use geode_hook_sdk::{prelude::*, testing};
//! use serde_json::json;
//! # struct Guard;
//! # impl PreToolUse for Guard {
//! #     fn pre_tool_use(_: &Context, _: &pre_tool_use::Payload) -> Result<pre_tool_use::Reply, Failure> { Ok(block("no")) }
//! # }
//! let call = pre_tool_use::Payload::new("Bash", &json!({ "command": "rm -rf /" }));
//! let reply = Guard::pre_tool_use(&testing::context(), &call).unwrap();
//! assert_eq!(reply.action, Some(pre_tool_use::Action::Block));
//! ```

#[cfg(all(target_family = "wasm", not(target_feature = "atomics"), feature = "allocator"))]
mod allocator;
#[allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unsafe_code,
    clippy::all,
    clippy::pedantic,
    reason = "generated code; the contract documents what it binds"
)]
#[doc(hidden)]
pub mod bindings;
mod context;
mod failure;
mod hooks;
mod host;
mod panics;
mod payload;
mod reply;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;

pub use bindings::host::geode::hooks::types::{
    Context, Correlation, EvidenceKind, EvidenceRef, Extras, Note, Refire, Rewake, RewakeTrigger,
};
pub use context::covers;
pub use failure::{Failure, failed, no_verdict};
pub use hooks::*;
pub use host::{log, settings, state};
pub use reply::{
    CanBlock, CanContinue, CanRewrite, Observed, Reply, accept, add_context, allow, ask, block, defer, deny, escalate, finalize, pass,
    proceed, request_permission, revise, rewrite, send_back, strengthen,
};

/// The README's examples, compiled as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Everything that a plugin names: the hooks' traits and modules, the replies, the context and the host's services.
pub mod prelude {
    pub use crate::{
        Context, Failure, accept, add_context, allow, ask, block, defer, deny, escalate, failed, finalize, hooks::*, log, no_verdict, pass,
        proceed, request_permission, revise, rewrite, send_back, settings, state, strengthen,
    };
}

/// Exports a plugin: `export!(MyPlugin: PreToolUse, Stop);`.
///
/// The plugin must implement each trait that is named; only these hooks appear in the component. Off wasm32 it only checks that.
/// The expansion holds `unsafe` exports, so a crate that uses it can `deny` the lint `unsafe_code` but not `forbid` it.
#[macro_export]
macro_rules! export {
    ($plugin:ident: $($hook:ident),+ $(,)?) => {
        $($crate::__export_hook!($plugin $hook);)+
    };
}

/// Exports one hook. The names of modules cannot be made from the names of traits, so they are listed.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_hook {
    ($plugin:ident UserPromptSubmit) => { $crate::__export_from!($plugin UserPromptSubmit user_prompt_submit); };
    ($plugin:ident PreToolUse) => { $crate::__export_from!($plugin PreToolUse pre_tool_use); };
    ($plugin:ident PermissionRequest) => { $crate::__export_from!($plugin PermissionRequest permission_request); };
    ($plugin:ident PostToolUse) => { $crate::__export_from!($plugin PostToolUse post_tool_use); };
    ($plugin:ident PreCompact) => { $crate::__export_from!($plugin PreCompact pre_compact); };
    ($plugin:ident PostCompact) => { $crate::__export_from!($plugin PostCompact post_compact); };
    ($plugin:ident SessionStart) => { $crate::__export_from!($plugin SessionStart session_start); };
    ($plugin:ident SessionEnd) => { $crate::__export_from!($plugin SessionEnd session_end); };
    ($plugin:ident SubagentStart) => { $crate::__export_from!($plugin SubagentStart subagent_start); };
    ($plugin:ident SubagentStop) => { $crate::__export_from!($plugin SubagentStop subagent_stop); };
    ($plugin:ident PreVerify) => { $crate::__export_from!($plugin PreVerify pre_verify); };
    ($plugin:ident PostVerify) => { $crate::__export_from!($plugin PostVerify post_verify); };
    ($plugin:ident Stop) => { $crate::__export_from!($plugin Stop stop); };
    ($plugin:ident PermissionDenied) => { $crate::__export_from!($plugin PermissionDenied permission_denied); };
    ($plugin:ident TurnEnd) => { $crate::__export_from!($plugin TurnEnd turn_end); };
    ($plugin:ident ConfigReload) => { $crate::__export_from!($plugin ConfigReload config_reload); };
    ($plugin:ident $other:ident) => { compile_error!(concat!("`", stringify!($other), "` is not a hook")); };
}

/// Exports one hook from the module of its bindings.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_from {
    ($plugin:ident $hook:ident $module:ident) => {
        #[allow(unsafe_code, clippy::pedantic, reason = "a component's exports are foreign functions")]
        const _: () = {
            const fn implements<Plugin: $crate::$hook>() {}
            implements::<$plugin>();
            #[cfg(target_arch = "wasm32")]
    $crate::bindings::$module::export!($plugin with_types_in $crate::bindings::$module);
        };
    };
}
