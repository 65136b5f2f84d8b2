//! A plugin for tests: does what its settings say, the bad things included.
//!
//! Settings: `fuel` and `memory` are used up first; then comes `act` (see [`misbehave`]; `echo` logs what it was shown); then `decide`, a
//! decision document, or an action's word for one whose reason and instruction are `text`; `feedback` stands beside it.

use geode_hook_sdk::prelude::*;
use geode_hook_sdk::{EvidenceKind, EvidenceRef, Reply};
use serde::Deserialize;
use serde_json::Value;
use std::hint::black_box;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Script {
    fuel: u64,
    memory: usize,
    act: String,
    decide: Value,
    text: String,
    feedback: Option<String>,
}

/// The public contract's decision, as JSON has it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Document {
    action: Option<String>,
    reason: String,
    updates: Value,
    instruction: String,
    additional_misses: Vec<String>,
    evidence_refs: Vec<Evidence>,
}

#[derive(Deserialize)]
struct Evidence {
    kind: String,
    schema_id: String,
    authority: String,
    reference: String,
}

struct Scripted;

/// Does what the settings say; `typed` makes an action of the document, or nothing where the hook has no such action.
fn perform<A>(
    ctx: &Context,
    payload: &impl std::fmt::Debug,
    typed: impl FnOnce(&Document) -> Option<Reply<A>>,
) -> Result<Reply<A>, Failure> {
    let script: Script = geode_hook_sdk::settings()?;
    let hoard = black_box(vec![1_u8; script.memory]);
    spin(script.fuel);
    drop(hoard);
    misbehave(&script.act)?;
    if script.act == "echo" {
        log::info(format!("{payload:?} cwd={} workspace={} reduced={:?} redacted={:?}", ctx.cwd, ctx.workspace, ctx.reduced, ctx.redacted));
    }
    let reply = match script.decide {
        Value::Null => pass(),
        Value::String(action) => {
            let misses = vec![script.text.clone()];
            answer(
                Document {
                    action: Some(action),
                    reason: script.text.clone(),
                    instruction: script.text,
                    additional_misses: misses,
                    ..Document::default()
                },
                typed,
            )?
        }
        document => answer(serde_json::from_value(document).map_err(|error| failed(error.to_string()))?, typed)?,
    };
    Ok(match script.feedback {
        Some(text) => reply.feedback(text),
        None => reply,
    })
}

fn answer<A>(document: Document, typed: impl FnOnce(&Document) -> Option<Reply<A>>) -> Result<Reply<A>, Failure> {
    let reply = typed(&document).ok_or_else(|| failed("this hook has no such action"))?;
    document.evidence_refs.into_iter().try_fold(reply.reason(document.reason), |reply, evidence| {
        let kind = match evidence.kind.as_str() {
            "crucible_evidence" => EvidenceKind::CrucibleEvidence,
            "legacy" => EvidenceKind::Legacy,
            "native_receipt" => EvidenceKind::NativeReceipt,
            "runtime_event" => EvidenceKind::RuntimeEvent,
            "sil_eval" => EvidenceKind::SilEval,
            _ => return Err(failed("no such kind of evidence")),
        };
        let Evidence { schema_id, authority, reference, .. } = evidence;
        Ok(reply.evidence(EvidenceRef { kind, schema_id, authority, reference }))
    })
}

/// Uses about that much fuel.
fn spin(fuel: u64) {
    for step in 0..fuel / 8 {
        black_box(step);
    }
}

/// Does something that a plugin should not, or reports what it can reach.
fn misbehave(act: &str) -> Result<(), Failure> {
    match act {
        "loop" => loop {
            black_box(());
        },
        "memory" => {
            let mut hoard = Vec::new();
            loop {
                hoard.push(black_box(vec![1_u8; 1024 * 1024]));
            }
        }
        // Frames of the machine's stack, and of the guest's own in its memory.
        "stack" => Err(failed(deeper(black_box(1)).to_string())),
        "shadow-stack" => Err(failed(hoarding(1).to_string())),
        "panic" => panic!("boom \u{1b}[31m sk-{}", "A".repeat(24)),
        "no-verdict" => Err(no_verdict("cannot judge this\u{1b}[2J")),
        "failed" => Err(failed("went wrong")),
        "log" => {
            for number in 0..500 {
                log::info(format!("line {number} \u{202e} {}", "x".repeat(2000)));
            }
            Ok(())
        }
        "state" => match state::get("key") {
            Err(state::Error::Denied) => Err(failed("state is denied")),
            _ => Err(failed("state is not denied")),
        },
        "reach" => Err(failed(reach())),
        "escapes" => Err(failed("\u{1b}]0;owned\u{7}\u{202e}")),
        _ => Ok(()),
    }
}

#[inline(never)]
fn deeper(number: u64) -> u64 {
    if number == 0 { 0 } else { deeper(number.wrapping_mul(3) | 1).wrapping_mul(number) ^ deeper(number.wrapping_add(2) | 1) }
}

#[inline(never)]
fn hoarding(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    if black_box(true) { hoarding(depth + 1) + frame[7] } else { frame[0] }
}

/// Tries everything that a program of the machine could do, and says what came of it.
fn reach() -> String {
    use std::time::{Duration, Instant, SystemTime};
    println!("to standard output");
    eprintln!("to standard error");
    let start = Instant::now();
    std::thread::sleep(Duration::from_secs(3600));
    let slept = start.elapsed() >= Duration::from_secs(3600);
    let year = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |age| 1970 + age.as_secs() / 31_556_952);
    let file = std::fs::read("/etc/passwd").is_err() && std::fs::write("out.txt", "x").is_err();
    let socket = std::net::TcpStream::connect("127.0.0.1:1").is_err() && std::net::UdpSocket::bind("127.0.0.1:0").is_err();
    let random = {
        use std::hash::BuildHasher as _;
        std::hash::RandomState::new().hash_one(1)
    };
    format!(
        "slept={slept} year={year} env={} args={} file_denied={file} socket_denied={socket} random={random}",
        std::env::vars().count(),
        std::env::args().count(),
    )
}

/// Implements a hook: its trait, its module, and what makes an action of a document.
macro_rules! scripted {
    ($hook:ident, $module:ident, |$document:ident| { $($word:pat => $reply:expr),+ $(,)? }) => {
        impl $hook for Scripted {
            fn $module(ctx: &Context, payload: &$module::Payload) -> Result<$module::Reply, Failure> {
                perform(ctx, payload, |$document| Some(match $document.action.as_deref().unwrap_or("continue") {
                    $($word => $reply,)+
                    _ => return None,
                }))
            }
        }
    };
}

scripted!(UserPromptSubmit, user_prompt_submit, |d| {
    "continue" => proceed(),
    "rewrite" => rewrite(d.updates["user_input"].as_str()?),
    "block" => block(""),
});
scripted!(PreToolUse, pre_tool_use, |d| {
    "continue" => proceed(),
    "rewrite" => rewrite(pre_tool_use::Updates {
        tool_name: d.updates["tool_name"].as_str().map(str::to_owned),
        // Text goes as it is, so that it need not be JSON.
        arguments: d.updates.get("arguments").map(|arguments| arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned)),
    }),
    "block" => block(""),
    "request_permission" => request_permission(""),
});
scripted!(PermissionRequest, permission_request, |d| {
    "allow" => allow(""),
    "deny" => deny(""),
    "ask" => ask(""),
});
scripted!(PostToolUse, post_tool_use, |d| {
    "continue" => proceed(),
    "add_context" => add_context(d.instruction.as_str()),
    "block" => block(""),
});
scripted!(PreCompact, pre_compact, |d| {
    "continue" => proceed(),
    "rewrite" => rewrite(d.updates["keep_recent"].as_i64()?),
    "defer" => defer(""),
});
scripted!(PreVerify, pre_verify, |d| {
    "continue" => proceed(),
    "strengthen" => strengthen(d.additional_misses.clone(), d.instruction.as_str()),
});
scripted!(PostVerify, post_verify, |d| {
    "accept" => accept(),
    "revise" => revise(d.instruction.as_str()),
    "escalate" => escalate(""),
});
scripted!(Stop, stop, |d| {
    "finalize" => finalize(),
    "continue" => send_back(d.instruction.as_str()),
});
scripted!(PostCompact, post_compact, |d| { "continue" => proceed() });
scripted!(SessionStart, session_start, |d| { "continue" => proceed() });
scripted!(SessionEnd, session_end, |d| { "continue" => proceed() });
scripted!(SubagentStart, subagent_start, |d| { "continue" => proceed() });
scripted!(SubagentStop, subagent_stop, |d| { "continue" => proceed() });
scripted!(PermissionDenied, permission_denied, |d| { "continue" => proceed() });
scripted!(TurnEnd, turn_end, |d| { "continue" => proceed() });
scripted!(ConfigReload, config_reload, |d| { "continue" => proceed() });

geode_hook_sdk::export!(
    Scripted: UserPromptSubmit, PreToolUse, PermissionRequest, PostToolUse, PreCompact, PostCompact, SessionStart, SessionEnd, SubagentStart,
    SubagentStop, PreVerify, PostVerify, Stop, PermissionDenied, TurnEnd, ConfigReload
);
