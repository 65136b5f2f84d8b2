//! The command line of geode-hooks. The only crate that knows arguments, terminals and exit codes.

mod args;
mod commands;
mod exit;
mod render;

use args::{Cli, Command};
use clap::Parser as _;
use exit::{Exit, Fail};

fn main() -> std::process::ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; all else is wrong usage.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Ok.into() };
        }
    };
    start_tracing();
    match run(&cli) {
        Ok(exit) => exit.into(),
        Err(fail) => {
            render::error(&fail, cli.json);
            fail.exit.into()
        }
    }
}

fn run(cli: &Cli) -> Result<Exit, Fail> {
    match &cli.command {
        Command::List(args) => commands::list::run(cli, args),
        Command::Trust(args) => commands::trust::trust(cli, args),
        Command::Untrust(args) => commands::trust::untrust(cli, args),
        Command::Enable(args) => commands::trust::set_enabled(cli, args, true),
        Command::Disable(args) => commands::trust::set_enabled(cli, args, false),
        Command::Inspect(args) => commands::inspect::run(cli, args),
        Command::Schema(args) => commands::schema::run(cli, args),
        Command::Invoke(args) => commands::invoke::run(cli, args),
        Command::Log(args) => commands::log::run(cli, args),
        Command::Componentize(args) => commands::componentize::run(cli, args),
        Command::Completions(args) => Ok(commands::completions::run(args)),
    }
}

/// Shows the stages on standard error where `GEODE_LOG` asks for it.
fn start_tracing() {
    let level = std::env::var("GEODE_LOG").ok().and_then(|text| text.parse::<tracing_subscriber::filter::LevelFilter>().ok());
    if let Some(level) = level {
        let _ = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
            .with_writer(std::io::stderr)
            .try_init();
    }
}
