//! Every way in which a plugin can fail, and what its failure mode makes of it.
//!
//! Separate because control flow reads [`FailureKind`] and never an error's text. Invariant: the set is closed, every kind has a stable code,
//! and no failure ever becomes a permission.

use crate::correlation::Correlation;
use crate::decision::Decision;
use crate::hook::{Action, Hook, Object};

/// What a failing plugin answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureMode {
    /// Nothing: the failure is recorded and the chain goes on.
    #[default]
    Open,
    /// The strictest answer its hook has.
    Closed,
}

impl FailureMode {
    /// Returns the word in manifests.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}

macro_rules! failure_kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $code:literal, $hint:literal;)+) => {
        /// The closed set of failures.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum FailureKind { $($(#[doc = $doc])+ $variant,)+ }

        impl FailureKind {
            /// Every kind, in the order of the stages.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the stable code.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// Returns what a person can do about it; `{}` stands for the plugin's name.
            const fn hint_template(self) -> &'static str {
                match self { $(Self::$variant => $hint,)+ }
            }

            /// Returns one sentence of documentation.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+),)+ }
            }
        }
    };
}

failure_kinds! {
    /// The entry is a link, a device, a pipe, or leads out of its folder.
    UnsafeEntry = "hook::discover::unsafe_entry", "put the plugin itself there: a plain file, no link";
    /// The manifest cannot be read: bad YAML, an unknown key, a bad value.
    BadManifest = "hook::discover::bad_manifest", "correct hook.yaml, then `geode-hooks list`";
    /// The component that the manifest names is not there.
    MissingComponent = "hook::discover::missing_component", "put the component beside hook.yaml, or correct `component:`";
    /// Another plugin of that name already serves the hook.
    DuplicateName = "hook::discover::duplicate_name", "rename one of the two plugins";
    /// The plugin was never trusted.
    Untrusted = "hook::load::untrusted", "review it and run `geode-hooks trust {}`";
    /// The plugin changed since it was trusted.
    Changed = "hook::load::changed", "review the change and run `geode-hooks trust {}`, or `geode-hooks untrust {}`";
    /// The plugin was trusted and is gone.
    Vanished = "hook::load::vanished", "put it back, or run `geode-hooks untrust {}`";
    /// The file cannot be read.
    Unreadable = "hook::load::unreadable", "check the file and its rights, then `geode-hooks list`";
    /// The file is larger than a plugin may be.
    TooLarge = "hook::load::too_large", "build it smaller: strip it, optimise for size";
    /// The file is no WebAssembly.
    NotWasm = "hook::load::not_wasm", "build a component: see `geode-hooks inspect --help`";
    /// The file is a core module, not a component.
    CoreModule = "hook::load::core_module", "make it a component: `geode-hooks componentize FILE -o OUT`";
    /// The file ends early or is no valid component.
    Malformed = "hook::load::malformed", "copy or build it again, then `geode-hooks inspect FILE`";
    /// The component could not be compiled.
    CompileFailed = "hook::load::compile_failed", "build it with a supported toolchain, then `geode-hooks inspect FILE`";
    /// The component exports none of the hook interfaces.
    WrongWorld = "hook::bind::wrong_world", "export a hook of geode:hooks@2.0.0: see `geode-hooks inspect FILE`";
    /// The component imports something that this host does not give.
    UnknownImport = "hook::bind::unknown_import", "see what it lacks with `geode-hooks inspect FILE`";
    /// An import or export has another type than the interface of that name.
    WrongType = "hook::bind::wrong_type", "build it against geode:hooks@2.0.0";
    /// The manifest asks for a grant that this host cannot give.
    GrantUnavailable = "hook::bind::grant_unavailable", "remove that grant from hook.yaml, or use a host that serves it";
    /// The manifest lists a hook that the component does not export.
    MissingHook = "hook::bind::missing_hook", "export it, or remove it from `hooks:`";
    /// The call used up its fuel.
    OutOfFuel = "hook::invoke::out_of_fuel", "look for an endless loop; `limits.fuel` in hook.yaml may be too low";
    /// The call used up its time.
    Deadline = "hook::invoke::deadline", "look for an endless loop; `limits.deadline` in hook.yaml may be too low";
    /// The call asked for more memory than it may have.
    OutOfMemory = "hook::invoke::out_of_memory", "use less memory; `limits.memory` in hook.yaml may be too low";
    /// The call ran out of stack.
    StackOverflow = "hook::invoke::stack_overflow", "look for endless recursion";
    /// The guest trapped: a panic, an abort, or an illegal operation.
    Trap = "hook::invoke::trap", "read its last log lines: `geode-hooks invoke HOOK --json`";
    /// The guest broke a rule of the component model, or moved more data than it may.
    AbiViolation = "hook::invoke::abi_violation", "return less data; build it with a current toolchain";
    /// The host could not make an instance.
    HostBusy = "hook::invoke::host_busy", "try again; raise the number of instances if it stays";
    /// The call was cancelled.
    Cancelled = "hook::invoke::cancelled", "nothing to do";
    /// The plugin cannot judge this input.
    NoVerdict = "hook::invoke::no_verdict", "read its message; `full_payload` shows it more";
    /// The plugin says that it went wrong.
    PluginFailed = "hook::invoke::plugin_failed", "read its message and log lines";
    /// The decision breaks a rule of the contract.
    BadDecision = "hook::check::bad_decision", "see `geode-hooks schema HOOK`";
    /// The hook or the plugin's grants do not allow that action.
    ActionNotAllowed = "hook::check::action_not_allowed", "see the actions in `geode-hooks list`; `allow` needs a grant";
    /// The rewritten payload breaks the hook's schema.
    BadRewrite = "hook::check::bad_rewrite", "see `geode-hooks schema HOOK`";
    /// The rewrite changes something that the plugin did not see whole.
    BlindRewrite = "hook::check::blind_rewrite", "leave what `context.reduced` and `context.redacted` name, or ask for `full_payload`";
}

impl FailureKind {
    /// Returns the kind of a stable code, or `None`.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.code() == code)
    }

    /// Returns what a person can do about it.
    pub fn hint(self, plugin: &str) -> String {
        self.hint_template().replace("{}", plugin)
    }
}

/// A failure of one plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// What happened: a fragment for people, safe to show.
    pub message: String,
}

impl Failure {
    /// Returns a failure; the message is redacted and made safe to show.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: crate::display::plain(&crate::redact::redact(&message.into()), 512) }
    }
}

/// Returns what a closed plugin answers where it failed: the strictest way that its hook has, or `None` where it has none.
pub fn closed_answer(hook: Hook, payload: &Object, correlation: &Correlation, plugin: &str, failure: &Failure) -> Option<Decision> {
    // The agent that the plugin constrains reads this, so nothing of the failure's own message stands in it.
    let reason = format!("hook_failed:{}: {} Next: {}", failure.kind.code(), failure.kind.summary().trim(), failure.kind.hint(plugin));
    let marker = format!("hook_failed:{plugin}");
    let decision = |action| Some(Decision::new(action, reason.as_str()));
    match hook {
        Hook::UserPromptSubmit | Hook::PreToolUse | Hook::PostToolUse => decision(Action::Block),
        Hook::PermissionRequest => decision(Action::Deny),
        // A hard compaction cannot be put off.
        Hook::PreCompact if payload.get("hard").and_then(serde_json::Value::as_bool) == Some(false) => decision(Action::Defer),
        Hook::PreVerify => decision(Action::Strengthen).map(|answer| Decision { additional_misses: vec![marker], ..answer }),
        Hook::PostVerify => decision(Action::Escalate),
        // The budget of continuations is two.
        Hook::Stop if correlation.verify_attempt < 2 => decision(Action::Continue).map(|answer| Decision { instruction: marker, ..answer }),
        _ => None,
    }
}
