//! The house rules that neither compiler nor linter holds.

use crate::support::repository;
use hook_runtime::Hook;
use std::path::{Path, PathBuf};

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, out: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                out.push((path, text));
            }
        }
    }
    let mut out = Vec::new();
    walk(&repository().join(folder), &mut out);
    assert!(!out.is_empty(), "{folder}");
    out
}

/// The part of a file that is no test.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap()
}

#[test]
fn a_stage_never_imports_another_stage() {
    const STAGES: [&str; 5] = ["discover", "load", "bind", "invoke", "audit"];
    for stage in STAGES {
        let text = std::fs::read_to_string(repository().join(format!("host/hook-runtime/src/{stage}.rs"))).unwrap();
        for other in STAGES.into_iter().chain(["pipeline", "host"]).filter(|other| *other != stage) {
            assert!(!code(&text).contains(&format!("crate::{other}")), "{stage} imports {other}");
        }
    }
}

#[test]
fn the_contract_reaches_no_file_clock_or_environment() {
    for (path, text) in sources("host/hook-contract/src") {
        for banned in [
            "std::fs",
            "std::env",
            "std::io",
            "std::net",
            "std::process",
            "std::time",
            "SystemTime",
            "Instant::now",
            "wasmtime",
            "unsafe {",
        ] {
            assert!(!code(&text).contains(banned), "{} names {banned}", path.display());
        }
    }
}

#[test]
fn every_file_says_what_it_is_and_stays_readable() {
    for folder in ["host/hook-contract/src", "host/hook-runtime/src", "host/hook-cli/src", "tests/it"] {
        for (path, text) in sources(folder) {
            assert!(text.starts_with("//! "), "{} has no header", path.display());
            assert!(code(&text).lines().count() <= 600, "{} is too long", path.display());
        }
    }
}

#[test]
fn no_test_is_left_out() {
    for folder in ["host", "tests/it"] {
        for (path, text) in sources(folder) {
            let word = ["#[ign", "ore"].concat();
            assert!(!text.contains(&word), "{}", path.display());
        }
    }
}

/// The table of hooks is the WIT's: one interface for each, with a field for each of the payload's and a case for each action.
#[test]
fn the_table_is_the_wits() {
    let mut resolve = wit_parser::Resolve::default();
    let (package, _) = resolve.push_dir(repository().join("wit")).unwrap();
    let kebab = |name: &str| name.replace('_', "-");
    for hook in Hook::all() {
        let spec = hook.spec();
        let interface = &resolve.interfaces[resolve.packages[package].interfaces[spec.interface]];
        let wit_parser::TypeDefKind::Record(payload) = &resolve.types[interface.types["payload"]].kind else { panic!("{hook}") };
        let mut fields: Vec<_> = payload.fields.iter().map(|field| field.name.clone()).collect();
        let mut expected: Vec<_> = spec.fields.iter().map(|field| kebab(field.name)).collect();
        fields.sort();
        expected.sort();
        assert_eq!(fields, expected, "{hook}");
        let actions: Vec<_> = match interface.types.get("action").map(|action| &resolve.types[*action].kind) {
            Some(wit_parser::TypeDefKind::Variant(variant)) => variant.cases.iter().map(|case| case.name.clone()).collect(),
            Some(wit_parser::TypeDefKind::Enum(words)) => words.cases.iter().map(|case| case.name.clone()).collect(),
            _ => vec!["continue".to_owned()],
        };
        assert_eq!(actions, spec.actions.iter().map(|action| kebab(action.word())).collect::<Vec<_>>(), "{hook}");
    }
}

#[test]
fn every_failure_code_is_documented() {
    let text = std::fs::read_to_string(repository().join("host/docs/failure.md")).unwrap();
    for kind in hook_runtime::FailureKind::ALL {
        assert!(text.contains(&format!("`{}`", kind.code())), "{}", kind.code());
    }
}
