//! `completions`: prints what a shell needs.

use crate::args::{Cli, CompletionsArgs, Shell};
use crate::exit::Exit;
use crate::render;
use clap::CommandFactory as _;

pub(crate) fn run(args: &CompletionsArgs) -> Exit {
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Elvish => clap_complete::Shell::Elvish,
        Shell::Fish => clap_complete::Shell::Fish,
        Shell::Powershell => clap_complete::Shell::PowerShell,
        Shell::Zsh => clap_complete::Shell::Zsh,
    };
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "geode-hooks", &mut out);
    render::raw(&out);
    Exit::Ok
}
