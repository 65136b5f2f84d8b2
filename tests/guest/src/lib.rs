//! A plugin for tests: does what its settings say, the bad things included.
//!
//! Settings: `act` (see [`misbehave`]) comes first; then `decide` names an answer, with `text` or `arguments` where it needs one.

use geode_hook_sdk::Reply;
use geode_hook_sdk::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use std::hint::black_box;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Script {
    act: String,
    decide: String,
    text: String,
    arguments: Value,
    feedback: Option<String>,
}

struct Scripted;

fn script() -> Result<Script, Failure> {
    let script: Script = geode_hook_sdk::settings()?;
    misbehave(&script.act)?;
    Ok(script)
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
    let random = { use std::hash::BuildHasher as _; std::hash::RandomState::new().hash_one(1) };
    format!(
        "slept={slept} year={year} env={} args={} file_denied={file} socket_denied={socket} random={random}",
        std::env::vars().count(),
        std::env::args().count(),
    )
}

fn with_feedback<A>(reply: Reply<A>, script: &Script) -> Reply<A> {
    match &script.feedback {
        Some(text) => reply.feedback(text.as_str()),
        None => reply,
    }
}

impl UserPromptSubmit for Scripted {
    fn user_prompt_submit(_: &Context, _: &user_prompt_submit::Payload) -> Result<user_prompt_submit::Reply, Failure> {
        let script = script()?;
        let reply = match script.decide.as_str() {
            "block" => block(script.text.as_str()),
            "rewrite" => rewrite(script.text.as_str()),
            "continue" => proceed(),
            _ => pass(),
        };
        Ok(with_feedback(reply, &script))
    }
}

impl PreToolUse for Scripted {
    fn pre_tool_use(ctx: &Context, call: &pre_tool_use::Payload) -> Result<pre_tool_use::Reply, Failure> {
        let script = script()?;
        let reply = match script.decide.as_str() {
            "block" => block(script.text.as_str()),
            "ask" => request_permission(script.text.as_str()),
            "continue" => proceed(),
            "rewrite" => rewrite(script.arguments.clone()),
            "bad-json" => rewrite(pre_tool_use::Updates { tool_name: None, arguments: Some("{".into()) }),
            // Tells what it was shown.
            "echo" => block(format!("tool={} arguments={} cwd={} workspace={} reduced={:?} redacted={:?}", call.tool_name, call.arguments, ctx.cwd, ctx.workspace, ctx.reduced, ctx.redacted)),
            _ => pass(),
        };
        Ok(with_feedback(reply, &script))
    }
}

impl PermissionRequest for Scripted {
    fn permission_request(_: &Context, _: &permission_request::Payload) -> Result<permission_request::Reply, Failure> {
        let script = script()?;
        Ok(match script.decide.as_str() {
            "allow" => allow(script.text.as_str()),
            "deny" => deny(script.text.as_str()),
            "ask" => ask(script.text.as_str()),
            _ => pass(),
        })
    }
}

impl PostToolUse for Scripted {
    fn post_tool_use(_: &Context, _: &post_tool_use::Payload) -> Result<post_tool_use::Reply, Failure> {
        let script = script()?;
        Ok(match script.decide.as_str() {
            "block" => block(script.text.as_str()),
            "context" => add_context(script.text.as_str()),
            _ => pass(),
        })
    }
}

impl PreCompact for Scripted {
    fn pre_compact(_: &Context, payload: &pre_compact::Payload) -> Result<pre_compact::Reply, Failure> {
        let script = script()?;
        Ok(match script.decide.as_str() {
            "defer" => defer(script.text.as_str()),
            "rewrite" => rewrite(payload.keep_recent + 1),
            _ => pass(),
        })
    }
}

impl PreVerify for Scripted {
    fn pre_verify(_: &Context, _: &pre_verify::Payload) -> Result<pre_verify::Reply, Failure> {
        let script = script()?;
        Ok(match script.decide.as_str() {
            "strengthen" => strengthen(["missed"], script.text.as_str()),
            _ => pass(),
        })
    }
}

impl PostVerify for Scripted {
    fn post_verify(_: &Context, _: &post_verify::Payload) -> Result<post_verify::Reply, Failure> {
        let script = script()?;
        Ok(match script.decide.as_str() {
            "accept" => accept(),
            "revise" => revise(script.text.as_str()),
            "escalate" => escalate(script.text.as_str()),
            _ => pass(),
        })
    }
}

impl Stop for Scripted {
    fn stop(_: &Context, payload: &stop::Payload) -> Result<stop::Reply, Failure> {
        let script = script()?;
        Ok(match script.decide.as_str() {
            "finalize" => finalize(),
            "continue" => send_back(format!("{} ({} refs)", script.text, payload.evidence_refs.len())),
            _ => pass(),
        })
    }
}

macro_rules! observe {
    ($($hook:ident::$module:ident),*) => {$(
        impl $hook for Scripted {
            fn $module(_: &Context, _: &$module::Payload) -> Result<$module::Reply, Failure> {
                let script = script()?;
                let reply = if script.decide == "continue" { proceed() } else { pass() };
                Ok(with_feedback(reply, &script))
            }
        }
    )*};
}

observe!(PostCompact::post_compact, SessionStart::session_start, SessionEnd::session_end, SubagentStart::subagent_start, SubagentStop::subagent_stop);

geode_hook_sdk::export!(
    Scripted: UserPromptSubmit, PreToolUse, PermissionRequest, PostToolUse, PreCompact, PostCompact, SessionStart, SessionEnd, SubagentStart,
    SubagentStop, PreVerify, PostVerify, Stop
);
