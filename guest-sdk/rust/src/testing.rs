//! A stand-in for the host, for native tests of a plugin. Each thread, and so each test, has its own.

use serde::Serialize;

use crate::{Context, Correlation, host::side, log::Level};

/// A context as the host gives it for a payload that was seen whole: nothing redacted, nothing reduced.
pub fn context() -> Context {
    Context {
        schema_version: "geode.public-hook.v2".to_owned(),
        correlation: correlation(),
        cwd: "/home/user/project".to_owned(),
        workspace: "/home/user/project".to_owned(),
        redacted: Vec::new(),
        reduced: Vec::new(),
        refire: None,
        more: Vec::new(),
    }
}

fn correlation() -> Correlation {
    Correlation {
        session_id: "session".to_owned(),
        turn_id: "turn".to_owned(),
        step_id: String::new(),
        run_id: String::new(),
        session_generation: 0,
        verify_attempt: 0,
        tool_call_id: String::new(),
        llm_call_id: String::new(),
        llm_attempt_id: String::new(),
    }
}

/// Sets the manifest's settings.
///
/// # Panics
///
/// Panics if `settings` has no form in JSON, such as a map whose keys are not text.
#[expect(clippy::expect_used, reason = "a test should stop here")]
pub fn settings(settings: impl Serialize) {
    let json = serde_json::to_string(&settings).expect("settings have a form in JSON");
    side::with(|host| host.settings = json);
}

/// Takes the lines logged so far, oldest first.
pub fn logs() -> Vec<(Level, String)> {
    side::with(|host| std::mem::take(&mut host.lines))
}

/// Makes every call of `state` answer `denied`, as without the grant, or grants it again.
pub fn deny_state(denied: bool) {
    side::with(|host| host.state_denied = denied);
}

/// Forgets settings, lines and state.
pub fn reset() {
    side::with(|host| *host = side::StandIn::default());
}
