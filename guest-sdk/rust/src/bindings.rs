//! Bindings generated from the WIT contract: one module for what the host offers, one for each hook.
//!
//! Separate because nothing here is written by hand. Each hook has its own world, and its component type is written only where
//! [`export!`](crate::export) names the hook, so a component never exports a hook that its author did not ask for.

/// What the host offers, and the words that every hook shares.
pub mod host {
    wit_bindgen::generate!({
        path: ["../../wit", "wit"],
        world: "geode:rust-sdk/host",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq],
    });
}

macro_rules! hook {
    ($module:ident, $world:literal) => {
        #[doc = concat!("The bindings of world `", $world, "`.")]
        pub mod $module {
            wit_bindgen::generate!({
                path: ["../../wit", "wit"],
                world: $world,
                pub_export_macro: true,
                additional_derives: [PartialEq],
                generate_all,
                with: {
                    "geode:hooks/types@2.0.0": crate::bindings::host::geode::hooks::types,
                    "geode:hooks/log@2.0.0": crate::bindings::host::geode::hooks::log,
                    "geode:hooks/settings@2.0.0": crate::bindings::host::geode::hooks::settings,
                    "geode:hooks/state@2.0.0": crate::bindings::host::geode::hooks::state,
                },
            });
        }
    };
}

hook!(user_prompt_submit, "geode:rust-sdk/user-prompt-submit");
hook!(pre_tool_use, "geode:rust-sdk/pre-tool-use");
hook!(permission_request, "geode:rust-sdk/permission-request");
hook!(post_tool_use, "geode:rust-sdk/post-tool-use");
hook!(pre_compact, "geode:rust-sdk/pre-compact");
hook!(post_compact, "geode:rust-sdk/post-compact");
hook!(session_start, "geode:rust-sdk/session-start");
hook!(session_end, "geode:rust-sdk/session-end");
hook!(subagent_start, "geode:rust-sdk/subagent-start");
hook!(subagent_stop, "geode:rust-sdk/subagent-stop");
hook!(pre_verify, "geode:rust-sdk/pre-verify");
hook!(post_verify, "geode:rust-sdk/post-verify");
hook!(stop, "geode:rust-sdk/stop");
hook!(permission_denied, "geode:rust-sdk/permission-denied");
hook!(turn_end, "geode:rust-sdk/turn-end");
hook!(config_reload, "geode:rust-sdk/config-reload");
