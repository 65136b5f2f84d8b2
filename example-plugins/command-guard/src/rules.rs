//! What is destructive, by subject.
//!
//! Separate from the shell because rules see calls with known words, never text. Invariant: a rule only adds findings; none can take one back.
//!
//! | file | subject |
//! |---|---|
//! | `delete.rs` | `rm`, `find`, moving trees away |
//! | `git.rs` | history, work tree, hooks |
//! | `disk.rs` | devices, file systems, truncation, permissions |
//! | `pipe.rs` | what programs write, so that pipes into a shell are seen |
//! | `infra.rs` | clouds, clusters, databases, the machine itself |
//! | `config.rs` | hook, trust and agent configuration |
//! | `interpreters.rs` | programs in other languages, PowerShell, `cmd` |

pub mod config;
pub mod delete;
pub mod disk;
pub mod git;
pub mod infra;
pub mod interpreters;
pub mod pipe;

use crate::shell::Feed;
use crate::shell::env::Env;
use crate::shell::simple::Call;
use crate::shell::walk::Walker;
use crate::shell::wrappers;
use crate::verdict::Level;

/// Judges one call by every rule and returns what it writes.
pub fn judge(walker: &mut Walker<'_>, call: &Call, env: &mut Env) -> Feed {
    config::judge_cli(walker, call);
    run_options(walker, call, env);
    run_made_file(walker, call, env);
    if let Some(out) = wrappers::judge(walker, call, env) {
        return out;
    }
    if let Some(out) = interpreters::judge(walker, call, env) {
        return out;
    }
    delete::judge(walker, call, env);
    git::judge(walker, call, env);
    disk::judge(walker, call, env);
    infra::judge(walker, call);
    config::judge_writes(walker, call, env);
    pipe::output(walker, call, env)
}

/// Options of common programs whose value is a command line.
const RUN_OPTIONS: &[&str] = &[
    "--to-command=",
    "--checkpoint-action=exec=",
    "--use-compress-program=",
    "--rsh=",
    "ProxyCommand=",
    "LocalCommand=",
    "-oProxyCommand=",
];

fn run_options(walker: &mut Walker<'_>, call: &Call, env: &Env) {
    for text in call.texts() {
        if let Some(line) = RUN_OPTIONS.iter().find_map(|option| text.strip_prefix(option)) {
            walker.text(line, &mut env.clone(), &Feed::None);
        }
    }
}

/// Running a file that the same command wrote or downloaded.
fn run_made_file(walker: &mut Walker<'_>, call: &Call, env: &Env) {
    if !call.path.contains('/') {
        return;
    }
    match walker.file(&call.path, env) {
        Feed::Text(text) => {
            walker.text(&text, &mut env.clone(), &Feed::None);
        }
        Feed::Remote => walker.find(Level::Block, &call.shown(), "runs a file that was downloaded just now", "read it before it runs"),
        Feed::None | Feed::Unknown => {}
    }
}

/// Returns whether `arg` is the long option `name`, possibly shortened to no less than `least` letters, with or without a value.
#[must_use]
pub fn is_long(arg: &str, name: &str, least: usize) -> bool {
    let Some(given) = arg.strip_prefix("--") else { return false };
    let given = given.split('=').next().unwrap_or(given);
    given.len() >= least && name.starts_with(given)
}

/// Returns whether `arg` is a cluster of short options that holds `letter`.
#[must_use]
pub fn has_short(arg: &str, letter: char) -> bool {
    arg.starts_with('-') && !arg.starts_with("--") && arg.chars().skip(1).any(|c| c == letter)
}
