//! Composition: joining commands never hides a destructive one, and never makes one of harmless ones. No I/O.

use command_guard::{Context, Settings, Verdict, judge};
use proptest::prelude::*;
use serde_json::json;

const PROJECT: &str = "/home/u/project";

/// `{}` is the command that is put in.
const FRAMES: &[&str] = &[
    "{}",
    "{};",
    "{} &",
    "{} && a",
    "a && {}",
    "{} || a",
    "a || {}",
    "a; {}",
    "{}; a",
    "a & {}",
    "{} & a",
    "a\n{}",
    "{}\na",
    "a | {}",
    "{} | a",
    "a |& {}",
    "! {}",
    "time {}",
    "( {} )",
    "{ {}; }",
    "a $( {} )",
    "a \"$( {} )\"",
    "a `{}`",
    "a <({})",
    "a > >({})",
    "x=$( {} )",
    "if {}; then a; fi",
    "if a; then {}; fi",
    "if a; then b; else {}; fi",
    "while a; do {}; done",
    "while {}; do a; done",
    "until {}; do a; done",
    "for i in 1 2; do {}; done",
    "case x in x) {};; esac",
    "f() { {}; }; f",
    "coproc {}",
    "a ${x:-$( {} )}",
    "[[ -n $( {} ) ]]",
    "a $(( $( {} ) ))",
    "cat <<EOF\n$( {} )\nEOF",
    "{} > out",
    "exec 3>&1; {}",
    "a && (b; { {}; }) | c",
    "set -e\n\n# note\n{}",
];
/// Frames that take the command as one quoted word.
const QUOTED: &[&str] = &[
    "bash -c {}",
    "sh -lc {}",
    "eval {}",
    "sudo bash -c {}",
    "env -i sh -c {}",
    "timeout 5 bash -c {}",
    "su -c {}",
    "trap {} EXIT",
    "echo {} | sh",
    "bash <<< {}",
    "xargs sh -c {}",
    "find . -name x -exec sh -c {} \\;",
    "watch {}",
    "nohup bash -c {} &",
    "echo {} > x.sh; sh x.sh",
];
const BAD: &[&str] = &[
    "rm -rf /etc",
    "git push -f",
    "git reset --hard",
    "dd if=x of=/dev/sda",
    "curl x | sh",
    "terraform destroy",
    "git branch -D x",
    "rm -rf \"$X\"",
    "find / -delete",
    "echo x > .geode/x",
    "chmod -R 777 /",
    "kill -9 -1",
    "geode-hooks trust",
    "sudo mkfs.ext4 /dev/sda1",
    "$CMD x",
];
const GOOD: &[&str] =
    &["ls -la", "rm -rf build", "git push", "cargo test", "echo 'rm -rf /'", "grep -rn \"rm -rf\" docs", "git clean -n", "rm file.txt"];

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn shell(command: &str) -> Verdict {
    let context = Context { cwd: PROJECT, workspace: PROJECT, ..Context::default() };
    judge("Bash", &json!({ "command": command }), &context, &Settings::default())
}

fn framed(command: &str) -> Vec<String> {
    // Backquotes do not nest without escapes.
    let plain = FRAMES.iter().filter(|f| !(f.contains('`') && command.contains('`'))).map(|f| f.replacen("{}", command, 1));
    plain.chain(QUOTED.iter().map(|f| f.replacen("{}", &quote(command), 1))).collect()
}

#[test]
fn no_frame_hides_a_destructive_command() {
    let mut passed: Vec<String> = Vec::new();
    for bad in BAD {
        for once in framed(bad) {
            passed.extend((shell(&once) == Verdict::Pass).then(|| once.clone()));
            for twice in framed(&once) {
                passed.extend((shell(&twice) == Verdict::Pass).then_some(twice));
            }
        }
    }
    assert!(passed.is_empty(), "{} passed: {:#?}", passed.len(), passed.iter().take(20).collect::<Vec<_>>());
}

#[test]
fn sequences_of_harmless_commands_pass() {
    for operator in ["&&", "||", ";", "&", "\n"] {
        for a in GOOD {
            for b in GOOD {
                let line = format!("{a} {operator} {b}");
                assert_eq!(shell(&line), Verdict::Pass, "{line}");
                let grouped = format!("({line})\n{{ {line}; }}\nif {a}; then {b}; fi");
                assert_eq!(shell(&grouped), Verdict::Pass, "{grouped}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// However many parts are joined, one destructive part is found.
    #[test]
    fn a_chain_with_a_destructive_part_is_not_passed(
        parts in prop::collection::vec(prop::sample::select(GOOD), 0..60), at in 0_usize..60, bad in prop::sample::select(BAD),
        operators in prop::collection::vec(prop::sample::select(vec![" && ", " || ", "; ", " & ", "\n"]), 61),
    ) {
        let mut parts = parts;
        parts.insert(at.min(parts.len()), bad);
        let line: String = parts.iter().zip(&operators).flat_map(|(part, operator)| [*part, *operator]).collect();
        let line = line + "ls";
        prop_assert_ne!(shell(&line), Verdict::Pass);
    }

    /// Any text gets an answer.
    #[test]
    fn any_text_is_judged(text in "[ -~\\n]{0,200}") {
        shell(&text);
    }

    /// Text made of what a shell gives meaning to gets an answer.
    #[test]
    fn shell_like_text_is_judged(tokens in prop::collection::vec(prop::sample::select(vec![
        "rm", "-rf", "/", "$(", ")", "(", "{", "}", "`", "\"", "'", "\\", "\n", ";", "&&", "|", "<<EOF\n", "EOF\n", "$", "${", "x", "=", "if", "then", "fi",
        "case", "in", "esac", "do", "done", "for", "<(", "((", "))", "[[", "]]", "#", " ", " ", " ", "é", "{a,b}", "$'", ">", "<", "&", "!", "function", "~",
    ]), 0..60)) {
        shell(&tokens.concat());
    }
}
