//! What can be typed.
//!
//! Separate so that help, completions and parsing come from one definition.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
First steps:
  geode-hooks list                       what lies in .geode/hooks, and in what state
  geode-hooks trust                      review what waits, and say yes
  echo '{\"user_input\":\"hello\"}' | geode-hooks invoke UserPromptSubmit
  geode-hooks log --last-block           who refused last, and why that can be

Exit codes:
   0  done; `invoke`: an outcome was printed, blocked or not
   1  nothing was changed: a question was answered no, or nobody could be asked
   2  `invoke --exit-code`: a plugin blocked or denied
   3  `list --exit-code`: something waits, changed or is broken
  64  wrong usage
  65  the payload, correlation or file is not what it should be
  66  a file or folder cannot be read
  70  the host cannot run on this machine
  73  a file cannot be written

Files: plugins in ./.geode/hooks and ~/.geode/hooks (GEODE_HOME), trust in $XDG_DATA_HOME/geode-hooks, calls in
$XDG_STATE_HOME/geode-hooks/activity.db, your overrides in $XDG_CONFIG_HOME/geode-hooks/config.yaml. GEODE_LOG=debug shows every stage on standard error.";

/// Lets WebAssembly plugins decide what an AI agent may do, in a sandbox.
#[derive(Debug, Parser)]
#[command(name = "geode-hooks", version, after_help = AFTER_HELP, max_term_width = 110)]
pub(crate) struct Cli {
    /// Print JSON for programs, also on a terminal.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print text for people, also where nobody looks.
    #[arg(long, global = true, conflicts_with = "json")]
    pub(crate) text: bool,
    /// The folder to work in, instead of the current one.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show every plugin file with its state and what to type next.
    List(ListArgs),
    /// Review plugins and let them run.
    Trust(TrustArgs),
    /// Take trust back.
    Untrust(NameArgs),
    /// Switch plugins on again.
    Enable(NameArgs),
    /// Switch plugins off without taking trust back.
    Disable(NameArgs),
    /// Show what a component exports, imports and could do. It is not run.
    Inspect(InspectArgs),
    /// Print the JSON Schema of a hook; without a name, list the hooks.
    Schema(SchemaArgs),
    /// Send one event through the plugins, and print what comes out.
    Invoke(InvokeArgs),
    /// Show the calls of plugins, newest first.
    Log(LogArgs),
    /// Make a component of a core module that was built with the guest SDK.
    Componentize(ComponentizeArgs),
    /// Print completions for a shell.
    Completions(CompletionsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Exit with 3 where anything is not active.
    #[arg(long)]
    pub(crate) exit_code: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The plugins; without a name all that wait.
    pub(crate) names: Vec<String>,
    /// Say yes to what is shown, for scripts.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Only have it evaluated and audited, with nothing applied, or (by default) have its answers count.
    #[arg(long, value_name = "MODE", value_parser = ["enforce", "monitor"])]
    pub(crate) mode: Option<String>,
    /// What it answers when it fails, whatever its manifest says.
    #[arg(long, value_name = "MODE", value_parser = ["open", "closed"])]
    pub(crate) on_failure: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct NameArgs {
    /// The plugins.
    #[arg(required = true)]
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A `.wasm` file.
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// A hook, such as PreToolUse.
    pub(crate) hook: Option<String>,
    /// The older version of the contract.
    #[arg(long)]
    pub(crate) v1: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InvokeArgs {
    /// A hook, such as PreToolUse.
    pub(crate) hook: String,
    /// Read the payload from this file instead of standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) payload: Option<PathBuf>,
    /// Read the correlation (session_id, turn_id, ...) from this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) correlation: Option<PathBuf>,
    /// Exit with 2 where a plugin blocked or denied.
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// Write the call to this store instead of the user's.
    #[arg(long, value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,
    /// Speak the older version of the contract.
    #[arg(long)]
    pub(crate) v1: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only the last call that blocked or denied, explained.
    #[arg(long)]
    pub(crate) last_block: bool,
    /// Only this plugin.
    #[arg(long, value_name = "NAME")]
    pub(crate) plugin: Option<String>,
    /// Every project, not only the current one.
    #[arg(long)]
    pub(crate) all_projects: bool,
    /// The most rows.
    #[arg(long, short = 'n', default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Read this store instead of the user's.
    #[arg(long, value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ComponentizeArgs {
    /// The core module: `target/wasm32-unknown-unknown/release/NAME.wasm`.
    pub(crate) file: PathBuf,
    /// Where to write the component.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}
