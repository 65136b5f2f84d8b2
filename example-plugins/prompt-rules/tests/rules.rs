//! Settings and a prompt in, an answer out. No I/O.

use geode_hook_sdk::{prelude::*, testing, user_prompt_submit::Action};
use prompt_rules::PromptRules;
use serde_json::{Value, json};

/// What a case expects: the action's essence, or a part of the failure's text.
#[derive(Debug, PartialEq)]
enum Answer {
    Pass,
    Feedback(&'static str),
    Block(&'static str),
    Rewrite(&'static str),
    NoVerdict(&'static str),
    Failed(&'static str),
}
use Answer::{Block, Failed, Feedback, NoVerdict, Pass, Rewrite};

fn check(name: &str, rules: &Value, ctx: &Context, prompt: &str, expected: &Answer) {
    testing::settings(json!({ "rules": rules }));
    let answer = PromptRules::user_prompt_submit(ctx, &user_prompt_submit::Payload::new(prompt));
    let as_expected = match (&answer, expected) {
        (Err(Failure::Failed(why)), Failed(part)) | (Err(Failure::NoVerdict(why)), NoVerdict(part)) => why.contains(part),
        (Ok(reply), expected) => match (&reply.action, expected) {
            (None, Pass) => reply.extras.feedback.is_none(),
            (None, Feedback(text)) => reply.extras.feedback.as_deref() == Some(*text),
            (Some(Action::Block), Block(part)) => reply.note.reason.contains(part),
            (Some(Action::Rewrite(updates)), Rewrite(text)) => updates.user_input == *text,
            _ => false,
        },
        _ => false,
    };
    assert!(as_expected, "{name}: expected {expected:?}, found {answer:?}");
}

fn rule(name: &str, part: &Value, then: &Value) -> Value {
    json!({ "name": name, "match": part, "then": then })
}

#[test]
fn rules_apply_in_order() {
    let production = rule("prod", &json!({ "contains": "production" }), &json!({ "block": "use staging" }));
    let staging = rule("to-staging", &json!({ "contains": "production" }), &json!({ "rewrite": "staging" }));
    let ticket = rule("ticket", &json!({ "regex": r"\bT-(\d+)\b" }), &json!({ "rewrite": "https://tickets/$1" }));
    let polite = rule("polite", &json!({ "starts_with": "fix" }), &json!({ "feedback": "Run the tests." }));
    let end = rule("end", &json!({ "ends_with": "!" }), &json!({ "rewrite": "." }));
    let whole = rule("whole", &json!({ "equals": " /reset " }), &json!({ "block": "not here" }));
    let money = rule("money", &json!({ "contains": "cost" }), &json!({ "rewrite": "$1" }));
    let shout = json!({ "name": "shout", "match": { "contains": "HELP" }, "ignore_case": true, "then": { "rewrite": "help" } });
    let cases = [
        ("no rules", json!([]), "anything", Pass),
        ("no match", json!([production]), "list files", Pass),
        ("block", json!([production]), "drop the production table", Block("rule `prod`: use staging")),
        ("rewrite", json!([staging]), "production, production", Rewrite("staging, staging")),
        ("a rewrite hides from a later block", json!([staging, production]), "production", Rewrite("staging")),
        ("an earlier block wins", json!([production, staging]), "production", Block("prod")),
        ("groups", json!([ticket]), "see T-12, not AT-12", Rewrite("see https://tickets/12, not AT-12")),
        ("literal replacement", json!([money]), "the cost", Rewrite("the $1")),
        ("feedback", json!([polite]), "fix it", Feedback("Run the tests.")),
        ("feedback only at the start", json!([polite]), "do fix it", Pass),
        ("two feedbacks", json!([polite, polite]), "fix", Feedback("Run the tests.\nRun the tests.")),
        ("end", json!([end]), "stop! now!", Rewrite("stop! now.")),
        ("equals ignores white space around", json!([whole]), "/reset\n", Block("whole")),
        ("equals is not contains", json!([whole]), "/reset now", Pass),
        ("ignore case", json!([shout]), "hElp me", Rewrite("help me")),
        ("a rewrite to the same text is none", json!([shout]), "help", Pass),
        ("unicode", json!([staging]), "ü production \u{202e}é\u{0}", Rewrite("ü staging \u{202e}é\u{0}")),
    ];
    for (name, rules, prompt, expected) in cases {
        check(name, &rules, &testing::context(), prompt, &expected);
    }
}

#[test]
fn wrong_settings_fail_with_the_rule_s_name() {
    let then = json!({ "block": "no" });
    let cases = [
        ("bad regex", json!([rule("open", &json!({ "regex": "(" }), &then)]), "rule `open`"),
        ("empty", json!([rule("all", &json!({ "contains": "" }), &then)]), "rule `all`"),
        ("unknown match", json!([rule("odd", &json!({ "like": "x" }), &then)]), "rule `odd`"),
        ("unknown then", json!([rule("odd", &json!({ "contains": "x" }), &json!({ "drop": "x" }))]), "rule `odd`"),
        ("two matches", json!([rule("two", &json!({ "contains": "x", "equals": "y" }), &then)]), "rule `two`"),
        ("unknown key", json!([{ "name": "k", "match": { "contains": "x" }, "then": then, "when": 1 }]), "rule `k`"),
        ("no name", json!([{ "match": { "contains": "x" }, "then": then }]), "rule `number 1`"),
        ("not a rule", json!(["x"]), "rule `number 1`"),
        ("not a list", json!("x"), "settings"),
        ("too many", json!(vec![rule("r", &json!({ "contains": "x" }), &then); 257]), "at most 256"),
    ];
    for (name, rules, part) in cases {
        check(name, &rules, &testing::context(), "prompt", &Failed(part));
    }
}

#[test]
fn a_prompt_that_was_not_seen_whole() {
    let block = rule("prod", &json!({ "contains": "production" }), &json!({ "block": "no" }));
    let change = rule("change", &json!({ "contains": "staging" }), &json!({ "rewrite": "test" }));
    let feedback = rule("hint", &json!({ "contains": "staging" }), &json!({ "feedback": "hint" }));
    let cut = Context { reduced: vec!["/user_input".to_owned()], ..testing::context() };
    let masked = Context { redacted: vec!["/user_input".to_owned()], ..testing::context() };
    let cases = [
        ("a block on what was seen", json!([block]), &cut, "production", Block("prod")),
        ("a block rule cannot clear the rest", json!([block]), &cut, "staging", NoVerdict("`prod`")),
        ("no rewrite of a cut text", json!([change]), &cut, "staging", NoVerdict("change")),
        ("no rewrite of a masked text", json!([change]), &masked, "staging", NoVerdict("change")),
        ("a block rule judges a masked text", json!([block]), &masked, "staging", Pass),
        ("feedback needs no whole text", json!([feedback]), &cut, "staging", Feedback("hint")),
    ];
    for (name, rules, ctx, prompt, expected) in cases {
        check(name, &rules, ctx, prompt, &expected);
    }
}

#[test]
fn hostile_input_ends_in_an_answer() {
    let nested = rule("nested", &json!({ "regex": "(a*)*b" }), &json!({ "block": "no" }));
    check("backtracking bait", &json!([nested]), &testing::context(), &"a".repeat(50_000), &Pass);

    let grow = rule("grow", &json!({ "contains": "a" }), &json!({ "rewrite": "a".repeat(64) }));
    check("growth", &json!([grow, grow, grow, grow]), &testing::context(), "aaaa", &Failed("rule `grow`"));
}
