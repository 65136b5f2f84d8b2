//! Feedback: where a plugin's message for the model goes, and how it is wrapped there.
//!
//! Separate because embedders that assemble a model's input need just this. Invariant: no message can close or forge the wrapper. Routes:
//! contract; wrapper: spec aimon 3.2.

use crate::hook::Hook;

/// Where feedback goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Beside that tool call's result, a blank line between.
    ToolResult,
    /// A message of the user's turn, after the real one.
    UserMessage,
    /// Into the instructions of the summary.
    SummaryInstructions,
    /// A message at the start of the session.
    SessionMessage,
}

/// Returns a hook's route, or `None`: there feedback is dropped, and the audit row says so.
pub const fn route(hook: Hook) -> Option<Route> {
    match hook {
        Hook::PreToolUse | Hook::PermissionRequest | Hook::PostToolUse => Some(Route::ToolResult),
        Hook::UserPromptSubmit => Some(Route::UserMessage),
        Hook::PreCompact => Some(Route::SummaryInstructions),
        Hook::SessionStart => Some(Route::SessionMessage),
        _ => None,
    }
}

/// Returns the messages in one wrapper, a blank line between them; `None` where none says anything.
pub fn render<'a>(messages: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let messages: Vec<_> = messages.into_iter().filter(|message| !message.trim().is_empty()).collect();
    if messages.is_empty() {
        return None;
    }
    let body = messages.join("\n\n");
    let body = body.replace("</system-reminder>", "[/system-reminder]").replace("<system-reminder", "[system-reminder");
    let body = body.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    Some(format!("<system-reminder key=\"hook-feedback\">\n{body}\n</system-reminder>"))
}
