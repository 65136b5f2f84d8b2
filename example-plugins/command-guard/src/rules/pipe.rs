//! What programs write: text, downloads, or something unknown.
//!
//! Separate because whether a pipe ends in a shell is seen elsewhere; here only the flow is followed. Invariant: what came from the network stays
//! [`Feed::Remote`] through every filter.

use crate::shell::env::Env;
use crate::shell::simple::Call;
use crate::shell::walk::Walker;
use crate::shell::{Feed, REMOTE, UNKNOWN};

const DOWNLOADS: &[&str] = &[
    "curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx", "links", "w3m", "nc", "ncat", "netcat", "socat", "ftp", "sftp",
    "tftp",
];
const SAME: &[&str] = &["cat", "tee", "pv", "sponge", "bat", "less", "more", "tac"];

/// Returns what a call writes; decoded text is as good as downloaded, for nobody can read it in the command. Remembers files that it makes.
pub fn output(walker: &mut Walker<'_>, call: &Call, env: &mut Env) -> Feed {
    let name = call.program.as_str();
    if DOWNLOADS.contains(&name) {
        for path in saved(call) {
            walker.remember(&path, &Feed::Remote, env);
        }
        return Feed::Remote;
    }
    if call.args.iter().any(|a| a.text.contains(REMOTE)) && !matches!(name, "test" | "[") {
        return Feed::Remote;
    }
    let texts: Vec<&str> = call.texts().collect();
    match name {
        "echo" => echo(&texts),
        "printf" => printf(&texts),
        "pwd" => env.cwds.first().filter(|_| env.cwds.len() == 1).map_or(Feed::Unknown, |cwd| Feed::Text(cwd.clone())),
        "mktemp" => mktemp(&texts),
        "basename" | "dirname" | "realpath" | "readlink" => Feed::Unknown,
        "git" if texts == ["rev-parse", "--show-toplevel"] && !walker.place.workspace.is_empty() => {
            Feed::Text(walker.place.workspace.clone())
        }
        "base64" | "xxd" | "uudecode" | "openssl" | "gpg" | "base32" if decodes(name, &texts) => Feed::Remote,
        "rev" | "tr" | "rot13" if matches!(call.feed, Feed::Text(_)) => Feed::Unknown,
        name if SAME.contains(&name) => same(walker, call, env),
        "true" | "false" | ":" | "test" | "[" | "rm" | "mkdir" | "touch" | "cp" | "mv" | "sleep" | "exit" | "return" | "break"
        | "continue" => Feed::None,
        _ if call.feed == Feed::Remote => Feed::Remote,
        _ => Feed::Unknown,
    }
}

fn echo(texts: &[&str]) -> Feed {
    let escapes = texts.first().is_some_and(|t| *t == "-e" || *t == "-ne" || *t == "-en");
    let words: Vec<&str> = texts.iter().skip_while(|t| matches!(**t, "-e" | "-n" | "-ne" | "-en" | "-E")).copied().collect();
    let line = words.join(" ");
    let line = if escapes { unescape(&line) } else { line };
    Feed::Text(line + "\n")
}

/// `printf` with what its directives become; anything but `%s` and `%b` makes the text unknown in that place.
fn printf(texts: &[&str]) -> Feed {
    let texts = if texts.first() == Some(&"--") { texts.get(1..).unwrap_or_default() } else { texts };
    let Some((format, args)) = texts.split_first() else { return Feed::None };
    if *format == "-v" {
        return Feed::None;
    }
    let format = unescape(format);
    let mut args = args.iter();
    let mut out = String::new();
    loop {
        let left = args.len();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            match chars.next() {
                Some('s') => out.push_str(args.next().copied().unwrap_or_default()),
                Some('b') => out.push_str(&unescape(args.next().copied().unwrap_or_default())),
                Some('%') => out.push('%'),
                _ => out.push(UNKNOWN),
            }
        }
        if args.len() == 0 || args.len() == left || out.len() > 8192 {
            return Feed::Text(out);
        }
    }
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('x') => out.push(code(&mut chars, 16, 2)),
            Some('u') => out.push(code(&mut chars, 16, 4)),
            Some('0') => out.push(code(&mut chars, 8, 3)),
            Some(d) if d.is_digit(8) => {
                let rest: String = std::iter::from_fn(|| chars.next_if(|c| c.is_digit(8))).take(2).collect();
                out.push(u32::from_str_radix(&format!("{d}{rest}"), 8).ok().and_then(char::from_u32).unwrap_or(UNKNOWN));
            }
            Some(c) => out.extend((c != '\\').then_some('\\').into_iter().chain([c])),
            None => out.push('\\'),
        }
    }
    out
}

fn code(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize) -> char {
    let mut digits = String::new();
    while digits.len() < most {
        match chars.next_if(|c| c.is_digit(radix)) {
            Some(c) => digits.push(c),
            None => break,
        }
    }
    u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32).unwrap_or(UNKNOWN)
}

/// A new name below temp, as long as no other directory is asked for.
fn mktemp(texts: &[&str]) -> Feed {
    let elsewhere = texts.iter().any(|t| t.starts_with("-p") || t.starts_with("--tmpdir") || t.contains('/'));
    if elsewhere { Feed::Unknown } else { Feed::Text("/tmp/tmp.new".to_owned()) }
}

fn decodes(name: &str, texts: &[&str]) -> bool {
    match name {
        "base64" | "base32" => texts.iter().any(|t| super::is_long(t, "decode", 1) || super::has_short(t, 'd') || super::has_short(t, 'D')),
        "xxd" => texts.iter().any(|t| super::has_short(t, 'r')),
        "openssl" => texts.contains(&"-d"),
        "gpg" => texts.iter().any(|t| super::has_short(t, 'd') || super::is_long(t, "decrypt", 3)),
        _ => true,
    }
}

fn same(walker: &mut Walker<'_>, call: &Call, env: &Env) -> Feed {
    let operands: Vec<&str> = call.operands().filter(|t| *t != "-").collect();
    if call.program == "tee" {
        for path in &operands {
            walker.remember(path, &call.feed, env);
        }
    }
    if call.program == "tee" || operands.is_empty() {
        return call.feed.clone();
    }
    operands.iter().fold(Feed::None, |out, path| out.and(walker.file(path, env)))
}

/// The files a download is written to.
fn saved(call: &Call) -> Vec<String> {
    let texts: Vec<&str> = call.texts().collect();
    let mut out = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        let next = texts.get(i.saturating_add(1)).map(|s| (*s).to_owned());
        match *text {
            "-o" | "--output" | "--output-document" => out.extend(next),
            "-O" if call.program == "wget" => out.extend(next),
            t if t.starts_with("--output=") || t.starts_with("--output-document=") => {
                out.extend(t.split_once('=').map(|(_, v)| v.to_owned()));
            }
            t if super::has_short(t, 'o') && t.ends_with('o') => out.extend(next),
            t if t.contains("://") => out.push(t.rsplit('/').next().unwrap_or(t).to_owned()),
            _ => {}
        }
    }
    out
}
