//! The plugin's settings, all of them optional.

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// Files that are no secret whatever else says so.
    pub(crate) allow: Vec<String>,
    /// Files that are secret beside the built-in ones.
    pub(crate) deny: Vec<String>,
    pub(crate) on_prompt: OnPrompt,
}

/// What happens to a prompt that holds a secret.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnPrompt {
    #[default]
    Block,
    Warn,
}
