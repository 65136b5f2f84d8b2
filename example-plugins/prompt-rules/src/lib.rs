//! Rewrites and blocks prompts by rules from the plugin's settings.
//!
//! Rules run in the order of the settings, each on the text that the ones before it left. A wrong setting is a failure that names the
//! rule, never a rule that is passed over in silence.

mod rule;

use geode_hook_sdk::prelude::*;

use crate::rule::{Compiled, Then, compile};

/// The largest prompt that rules may make, in bytes: rules that feed each other can grow a text without end.
const LARGEST_PROMPT: usize = 256 * 1024;
const PROMPT: &str = "/user_input";

/// The plugin.
#[derive(Debug)]
pub struct PromptRules;

geode_hook_sdk::export!(PromptRules: UserPromptSubmit);

impl UserPromptSubmit for PromptRules {
    fn user_prompt_submit(ctx: &Context, prompt: &user_prompt_submit::Payload) -> Result<user_prompt_submit::Reply, Failure> {
        let rules = compile(settings()?)?;
        match apply(&rules, &prompt.user_input)? {
            Outcome::Blocked(reply) => Ok(reply),
            Outcome::Changed(changed) => {
                require_judgeable(ctx, &rules, &changed)?;
                Ok(reply(changed))
            }
        }
    }
}

enum Outcome {
    Blocked(user_prompt_submit::Reply),
    Changed(Changed),
}

/// What the rules that do not block left.
struct Changed {
    /// The new prompt, if a rule changed it.
    prompt: Option<String>,
    /// Names of the rules that changed it.
    by: Vec<String>,
    feedback: Vec<String>,
}

fn apply(rules: &[Compiled], prompt: &str) -> Result<Outcome, Failure> {
    let mut changed = Changed { prompt: None, by: Vec::new(), feedback: Vec::new() };
    for rule in rules {
        let text = changed.prompt.as_deref().unwrap_or(prompt);
        if !rule.matches(text) {
            continue;
        }
        match &rule.then {
            Then::Block(reason) => return Ok(Outcome::Blocked(block(format!("rule `{}`: {reason}", rule.name)))),
            Then::Feedback(text) => changed.feedback.push(text.clone()),
            Then::Rewrite(_) => {
                let rewritten = rule.rewrite(text);
                if rewritten.len() > LARGEST_PROMPT {
                    return Err(failed(format!("rule `{}` makes the prompt larger than {LARGEST_PROMPT} bytes", rule.name)));
                }
                changed.prompt = Some(rewritten);
                changed.by.push(rule.name.clone());
            }
        }
    }
    changed.prompt = changed.prompt.filter(|text| text != prompt);
    Ok(Outcome::Changed(changed))
}

/// A block on the part that was seen stands. Beyond that, what was not seen cannot be cleared by a block rule, and a text that was cut
/// or masked cannot be rewritten: the answer would replace the part that the host kept back.
fn require_judgeable(ctx: &Context, rules: &[Compiled], changed: &Changed) -> Result<(), Failure> {
    let cut = ctx.is_reduced(PROMPT);
    if let Some(rule) = rules.iter().find(|rule| cut && matches!(rule.then, Then::Block(_))) {
        return Err(no_verdict(format!("the prompt was cut, so rule `{}` cannot clear it", rule.name)));
    }
    if changed.prompt.is_some() && (cut || ctx.is_redacted(PROMPT)) {
        return Err(no_verdict(format!("the prompt was cut or masked, so it cannot be rewritten by: {}", changed.by.join(", "))));
    }
    Ok(())
}

fn reply(changed: Changed) -> user_prompt_submit::Reply {
    let reply = match changed.prompt {
        Some(prompt) => rewrite(prompt).reason(format!("rewritten by: {}", changed.by.join(", "))),
        None => pass(),
    };
    if changed.feedback.is_empty() { reply } else { reply.feedback(changed.feedback.join("\n")) }
}
