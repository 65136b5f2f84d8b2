//! The hooks: for each a trait to implement and a module with its payload, actions and reply.
//!
//! Separate because it is the list of what a plugin can be. Everything that implements a hook's trait implements the generated one; only
//! [`export!`](crate::export) makes it an export.

use crate::{
    Failure,
    bindings::{
        self,
        host::geode::hooks::types::{Context, HookError, Observation},
    },
    panics,
};

macro_rules! decides {
    ($(#[$doc:meta])* $trait:ident, $module:ident, { $($updates:ident),* }) => {
        #[doc = concat!("The types of [`", stringify!($trait), "`].")]
        pub mod $module {
            pub use crate::bindings::$module::exports::geode::hooks::$module::{Action, Payload $(, $updates)*};

            /// The answer to this hook.
            pub type Reply = crate::Reply<Action>;
        }

        $(#[$doc])*
        pub trait $trait {
            /// Answers one call.
            ///
            /// # Errors
            ///
            /// A [`Failure`] where the plugin has no verdict; the host applies the plugin's failure mode.
            fn $module(ctx: &Context, payload: &$module::Payload) -> Result<$module::Reply, Failure>;
        }

        impl<Plugin: $trait> bindings::$module::exports::geode::hooks::$module::Guest for Plugin {
            fn handle(
                ctx: Context,
                payload: $module::Payload,
            ) -> Result<bindings::$module::exports::geode::hooks::$module::Reply, HookError> {
                use bindings::$module::exports::geode::hooks::$module::{Decision, Reply};
                panics::report();
                let reply = Plugin::$module(&ctx, &payload)?;
                let decision = reply.action.map(|action| Decision { action, note: reply.note });
                Ok(Reply { decision, extras: reply.extras })
            }
        }
    };
}

macro_rules! observes {
    ($(#[$doc:meta])* $trait:ident, $module:ident) => {
        #[doc = concat!("The types of [`", stringify!($trait), "`].")]
        pub mod $module {
            pub use crate::bindings::$module::exports::geode::hooks::$module::Payload;

            /// The answer to this hook.
            pub type Reply = crate::Reply<crate::Observed>;
        }

        $(#[$doc])*
        pub trait $trait {
            /// Looks at one call.
            ///
            /// # Errors
            ///
            /// A [`Failure`] where the plugin went wrong. It is recorded and changes nothing.
            fn $module(ctx: &Context, payload: &$module::Payload) -> Result<$module::Reply, Failure>;
        }

        impl<Plugin: $trait> bindings::$module::exports::geode::hooks::$module::Guest for Plugin {
            fn handle(ctx: Context, payload: $module::Payload) -> Result<Observation, HookError> {
                panics::report();
                Ok(Plugin::$module(&ctx, &payload)?.into())
            }
        }
    };
}

decides! {
    /// A user's prompt, before planning.
    UserPromptSubmit, user_prompt_submit, { Updates }
}
decides! {
    /// A tool call that passed policy, before permission.
    PreToolUse, pre_tool_use, { Updates }
}
decides! {
    /// A call that needs approval. No decision is never a permission.
    PermissionRequest, permission_request, {}
}
decides! {
    /// A tool call that returned. The effect stands whatever is decided here.
    PostToolUse, post_tool_use, {}
}
decides! {
    /// Before the context is compacted.
    PreCompact, pre_compact, { Updates }
}
observes! {
    /// After the context was compacted.
    PostCompact, post_compact
}
observes! {
    /// A session began or was resumed.
    SessionStart, session_start
}
observes! {
    /// A session ended.
    SessionEnd, session_end
}
observes! {
    /// A subagent began.
    SubagentStart, subagent_start
}
observes! {
    /// A subagent ended.
    SubagentStop, subagent_stop
}
decides! {
    /// Before the built-in verification, which can only be made stricter.
    PreVerify, pre_verify, { Stricter }
}
decides! {
    /// After the built-in verification. A failed one cannot be turned into a pass.
    PostVerify, post_verify, {}
}
decides! {
    /// The last gate before delivery.
    Stop, stop, {}
}
observes! {
    /// A tool call was refused, by a plugin or by approval.
    PermissionDenied, permission_denied
}
observes! {
    /// A turn ended, also where it failed.
    TurnEnd, turn_end
}
observes! {
    /// The plugins and the host's configuration were loaded again on request.
    ConfigReload, config_reload
}
