//! `trust`, `untrust`, `enable`, `disable`: what a person decides about plugins.

use super::places;
use crate::args::{Cli, NameArgs, TrustArgs};
use crate::exit::{Exit, Fail};
use crate::render;
use hook_runtime::{Broken, FailureMode, HostError, Level, PluginMode, Review, ReviewError, Reviews, TrustError, review};
use serde_json::json;
use std::io::{BufRead as _, IsTerminal as _, Write as _};

pub(crate) fn trust(cli: &Cli, args: &TrustArgs) -> Result<Exit, Fail> {
    let (directories, project) = places(cli)?;
    let reviews = review(&directories, Some(&project)).map_err(review_failed)?;
    let (chosen, exit) = choose(&reviews, &args.names)?;
    let mut exit = exit;
    let mut trusted = Vec::new();
    for one in chosen.into_iter().cloned().map(|one| by_word(one, args)) {
        show(&one);
        if !args.yes && !confirmed(&one.name)? {
            render::remark(&format!("`{}` was not trusted", one.name));
            exit = Exit::Unchanged;
            continue;
        }
        hook_runtime::trust(&directories, &one).map_err(record_failed)?;
        trusted.push(one);
    }
    if cli.json {
        let names: Vec<_> =
            trusted.iter().map(|one| json!({"name": one.name, "level": one.level.word(), "digest": one.inspection.digest})).collect();
        render::document(&json!({"trusted": names}));
    } else {
        for one in trusted {
            match one.obstacles.first() {
                None => render::line(&format!("trusted `{}`: it runs from now on, until a byte of it changes", one.name)),
                Some(obstacle) => render::line(&format!("trusted `{}`, but it will not run: {obstacle}", one.name)),
            }
        }
    }
    Ok(exit)
}

/// Adds what the person's own flags say.
fn by_word(one: Review, args: &TrustArgs) -> Review {
    let one = match args.mode.as_deref().and_then(PluginMode::from_word) {
        Some(mode) => one.in_mode(mode),
        None => one,
    };
    match args.on_failure.as_deref() {
        Some("closed") => one.failing(FailureMode::Closed),
        Some(_) => one.failing(FailureMode::Open),
        None => one,
    }
}

/// Returns the plugins to ask about: the named ones, else all that wait.
fn choose<'a>(reviews: &'a Reviews, names: &[String]) -> Result<(Vec<&'a Review>, Exit), Fail> {
    for name in names {
        if reviews.open.iter().any(|one| one.name == *name) {
            continue;
        }
        return Err(match reviews.broken.iter().find(|broken| broken.name == *name) {
            Some(broken) => Fail::not_a_plugin(&broken.failure, name),
            None => unknown(name, reviews),
        });
    }
    if !names.is_empty() {
        return Ok((reviews.open.iter().filter(|one| names.contains(&one.name)).collect(), Exit::Ok));
    }
    for Broken { name, failure, .. } in &reviews.broken {
        render::remark(&format!("`{name}` is left out: {failure} [{}]", failure.kind.code()));
    }
    let waiting: Vec<_> = reviews.open.iter().filter(|one| one.waits).collect();
    if waiting.is_empty() {
        render::remark("nothing waits for trust");
    }
    let exit = if reviews.broken.is_empty() { Exit::Ok } else { Exit::Unchanged };
    Ok((waiting, exit))
}

fn unknown(name: &str, reviews: &Reviews) -> Fail {
    let known: Vec<_> = reviews.open.iter().map(|one| one.name.as_str()).collect();
    let shown = hook_runtime::contract::display::plain(name, 64);
    let error = anyhow::anyhow!(
        "there is no plugin `{shown}` here; there is {}",
        if known.is_empty() { "none".to_owned() } else { known.join(", ") }
    );
    Fail::new(Exit::Usage, "cli::unknown_plugin", error).hint("geode-hooks list")
}

/// Shows what a person is asked to vouch for, on standard error: standard output is for the answer.
fn show(one: &Review) {
    let mut text = vec![format!("\n{} ({}, {} folder, {})", one.name, one.place, one.level.word(), one.state.word())];
    text.push(format!("  component   {} {}", render::bytes(one.inspection.bytes as u64), one.inspection.digest));
    if !one.inspection.producers.is_empty() {
        text.push(format!("  made with   {}", one.inspection.producers.join("; ")));
    }
    let imports = if one.inspection.imports.is_empty() { "nothing".to_owned() } else { one.inspection.imports.join(", ") };
    text.push(format!("  imports     {imports}"));
    text.push("  it could:".to_owned());
    text.extend(one.asks.iter().map(|ask| format!("    - {ask}")));
    text.extend(one.obstacles.iter().map(|obstacle| format!("  it will not run: {obstacle}")));
    let changes = one.changes();
    if !changes.is_empty() {
        text.push("  changed since it was trusted:".to_owned());
        text.extend(changes.iter().map(|change| format!("    ! {change}")));
    }
    let shown = text.iter().map(|line| hook_runtime::contract::display::lines(line)).collect::<Vec<_>>().join("\n");
    let _ = writeln!(std::io::stderr(), "{shown}");
}

/// Asks a person.
fn confirmed(name: &str) -> Result<bool, Fail> {
    if !std::io::stdin().is_terminal() {
        let error = anyhow::anyhow!("nobody can be asked: standard input is no terminal");
        return Err(Fail::new(Exit::Unchanged, "cli::nobody_to_ask", error).hint(format!("geode-hooks trust {name} --yes")));
    }
    let _ = write!(std::io::stderr(), "trust `{name}`? [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

pub(crate) fn untrust(cli: &Cli, args: &NameArgs) -> Result<Exit, Fail> {
    let (directories, project) = places(cli)?;
    // In the project first, and else in the user's folder.
    let untrust = |name: &str| -> Result<bool, TrustError> {
        Ok(hook_runtime::untrust(&directories, Some(&project), name)? || hook_runtime::untrust(&directories, None, name)?)
    };
    change(cli, args, "untrusted", untrust)
}

pub(crate) fn set_enabled(cli: &Cli, args: &NameArgs, enabled: bool) -> Result<Exit, Fail> {
    let (directories, project) = places(cli)?;
    let reviews = review(&directories, Some(&project)).map_err(review_failed)?;
    let levels = |name: &str| {
        let open = reviews.open.iter().filter(|one| one.name == name).map(|one| one.level);
        let broken = reviews.broken.iter().filter(|one| one.name == name).map(|one| one.level);
        open.chain(broken).collect::<Vec<_>>()
    };
    if let Some(name) = args.names.iter().find(|name| levels(name).is_empty()) {
        return Err(unknown(name, &reviews));
    }
    // The user's own plugin of that name counts only where the project has none.
    let scope = |name: &str| Some(project.as_path()).filter(|_| levels(name).contains(&Level::Project));
    let what = if enabled { "enabled" } else { "disabled" };
    change(cli, args, what, |name| hook_runtime::set_enabled(&directories, scope(name), name, enabled))
}

/// Makes a change for each name, and says of which it was one.
fn change(cli: &Cli, args: &NameArgs, what: &str, make: impl Fn(&str) -> Result<bool, TrustError>) -> Result<Exit, Fail> {
    let mut exit = Exit::Ok;
    let mut changed = Vec::new();
    for name in &args.names {
        if make(name).map_err(record_failed)? {
            changed.push(name.as_str());
        } else {
            render::remark(&format!(
                "`{}` is not {what} by this: it was so already, or nothing is recorded of it",
                hook_runtime::contract::display::plain(name, 64)
            ));
            exit = Exit::Unchanged;
        }
    }
    if cli.json {
        render::document(&json!({what: changed}));
    } else {
        for name in changed {
            render::line(&format!("{what} `{name}`"));
        }
    }
    Ok(exit)
}

fn review_failed(error: ReviewError) -> Fail {
    match error {
        ReviewError::Trust(error) => record_failed(error),
        error @ ReviewError::Io(_) => Fail::new(Exit::NoInput, "host::folder", error),
    }
}

fn record_failed(error: TrustError) -> Fail {
    HostError::from(error).into()
}
