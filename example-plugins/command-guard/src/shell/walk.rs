//! Follows the syntax tree with the state of the shell.
//!
//! Separate from the calls because control flow is here and danger is not. Invariant: every command in the tree is visited at least once, or a
//! finding says that it was not.

use std::collections::BTreeMap;
use std::rc::Rc;

use rable::{ListOperator, Node, NodeKind};

use super::env::Env;
use super::{Feed, UNKNOWN, word};
use crate::bounds;
use crate::paths::Place;
use crate::settings::Settings;
use crate::verdict::{Finding, Level};

/// The most commands, calls and substitutions that are followed for one tool call.
const MAX_STEPS: usize = 2_000;
/// The most shells inside shells.
const MAX_SHELLS: usize = 5;
/// The most values of a loop variable that are tried one by one.
const MAX_LOOP: usize = 16;
/// The most findings that are kept.
const MAX_FINDINGS: usize = 64;

/// Walks commands and gathers what the rules find.
#[derive(Debug)]
pub struct Walker<'a> {
    /// The surroundings of the tool call.
    pub place: &'a Place,
    /// The plugin's settings.
    pub settings: &'a Settings,
    /// What was found so far.
    pub findings: Vec<Finding>,
    /// The strictest level that is given at the moment.
    pub ceiling: Level,
    /// Process substitutions that read what the current command writes.
    pub(crate) sinks: Vec<String>,
    /// What process substitutions yield, by file name.
    pub(crate) kept: BTreeMap<String, Feed>,
    /// What is in files that this command made, in whatever subshell.
    pub(crate) files: BTreeMap<String, Feed>,
    /// How many calls are around the current one.
    pub(crate) calls: usize,
    steps: usize,
}

impl<'a> Walker<'a> {
    /// Returns a walker that has found nothing.
    #[must_use]
    pub const fn new(place: &'a Place, settings: &'a Settings) -> Self {
        Self {
            place,
            settings,
            findings: Vec::new(),
            ceiling: Level::Block,
            sinks: Vec::new(),
            kept: BTreeMap::new(),
            files: BTreeMap::new(),
            calls: 0,
            steps: 0,
        }
    }

    /// Records a finding.
    pub fn find(&mut self, level: Level, part: &str, what: impl Into<String>, instead: &'static str) {
        let finding = Finding { level: level.min(self.ceiling), part: part.to_owned(), what: what.into(), instead };
        if self.findings.contains(&finding) {
            return;
        }
        if self.findings.len() >= MAX_FINDINGS {
            if level == Level::Ask {
                return;
            }
            self.findings.pop();
        }
        self.findings.push(finding);
    }

    /// Holds the findings made since `from` down to a question.
    pub fn demote(&mut self, from: usize) {
        for finding in self.findings.iter_mut().skip(from) {
            finding.level = Level::Ask;
        }
    }

    /// Judges shell text and returns what it writes.
    pub fn text(&mut self, text: &str, env: &mut Env, feed: &Feed) -> Feed {
        if env.depth > MAX_SHELLS {
            self.find(Level::Ask, text, "is a shell inside more shells than this guard follows", "run the inner command directly");
            return Feed::Unknown;
        }
        if let Some(why) = bounds::refuse(text) {
            self.find(Level::Ask, text, why, "run it in smaller parts");
            return Feed::Unknown;
        }
        let Some(nodes) = word::parse(text) else {
            self.find(Level::Ask, text, "cannot be parsed as shell", "check quotes and brackets, or run it in smaller parts");
            return Feed::Unknown;
        };
        env.depth = env.depth.saturating_add(1);
        let mut out = Feed::None;
        for node in &nodes {
            out = out.and(self.node(node, env, feed));
        }
        env.depth = env.depth.saturating_sub(1);
        out
    }

    /// Returns whether the budget of steps is used up.
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.steps > MAX_STEPS
    }

    /// Counts the work on a call's arguments.
    pub(crate) fn weigh(&mut self, args: usize) {
        self.steps = self.steps.saturating_add(args.checked_div(16).unwrap_or_default());
    }

    /// Counts one step; false once the budget is used up.
    pub(crate) fn step(&mut self) -> bool {
        self.steps = self.steps.saturating_add(1);
        if self.steps > MAX_STEPS {
            self.find(Level::Ask, "this command", "has more parts than this guard follows", "run it in smaller parts");
            return false;
        }
        true
    }

    /// Judges one node of the tree and returns what it writes.
    pub(crate) fn node(&mut self, node: &Node, env: &mut Env, feed: &Feed) -> Feed {
        if !self.step() {
            return Feed::Unknown;
        }
        match &node.kind {
            NodeKind::Command { assignments, words, redirects } => self.simple(assignments, words, redirects, env, feed),
            NodeKind::Pipeline { commands, .. } => self.pipeline(commands, env, feed),
            NodeKind::List { .. } => self.list(node, env, feed),
            NodeKind::Subshell { body, redirects } => {
                let feed = self.redirected(redirects, env, feed);
                self.node(body, &mut env.clone(), &feed)
            }
            NodeKind::BraceGroup { body, redirects } => {
                let feed = self.redirected(redirects, env, feed);
                self.node(body, env, &feed)
            }
            NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => self.node(pipeline, env, feed),
            NodeKind::Coproc { command, .. } => self.node(command, &mut env.clone(), feed),
            NodeKind::Function { name, body } => self.function(name, body, env),
            NodeKind::Empty | NodeKind::Comment { .. } => Feed::None,
            _ => self.compound(node, env, feed),
        }
    }

    fn compound(&mut self, node: &Node, env: &mut Env, feed: &Feed) -> Feed {
        match &node.kind {
            NodeKind::If { condition, then_body, else_body, redirects } => {
                let feed = self.redirected(redirects, env, feed);
                let out = self.node(condition, env, &feed);
                let mut other = env.clone();
                let out = out.and(self.node(then_body, env, &feed));
                let out = match else_body {
                    Some(body) => out.and(self.node(body, &mut other, &feed)),
                    None => out,
                };
                env.merge(&other);
                out
            }
            NodeKind::While { condition, body, redirects } | NodeKind::Until { condition, body, redirects } => {
                let feed = self.redirected(redirects, env, feed);
                let out = self.node(condition, env, &feed);
                out.and(self.repeat(body, env, &feed))
            }
            NodeKind::For { var, words, body, redirects } | NodeKind::Select { var, words, body, redirects } => {
                let feed = self.redirected(redirects, env, feed);
                let values = words.as_deref().map(|words| words.iter().flat_map(|w| self.fields(w, env)).map(|a| a.text).collect());
                self.each(var, values, body, env, &feed)
            }
            NodeKind::ForArith { init, cond, incr, body, redirects } => {
                let feed = self.redirected(redirects, env, feed);
                for text in [init, cond, incr] {
                    self.embedded(text, env);
                    env.forget(text.split(['=', '+', '-', '<', '>', ' ']).next().unwrap_or_default());
                }
                self.repeat(body, env, &feed)
            }
            NodeKind::Case { word, patterns, redirects } => {
                let feed = self.redirected(redirects, env, feed);
                self.fields(word, env);
                let before = env.clone();
                let mut out = Feed::None;
                for arm in patterns {
                    for pattern in &arm.patterns {
                        self.fields(pattern, env);
                    }
                    if let Some(body) = &arm.body {
                        let mut inner = before.clone();
                        out = out.and(self.node(body, &mut inner, &feed));
                        env.merge(&inner);
                    }
                }
                out
            }
            _ => self.expression(node, env, feed),
        }
    }

    /// Arithmetic and conditional commands: only their substitutions do something.
    fn expression(&mut self, node: &Node, env: &mut Env, feed: &Feed) -> Feed {
        match &node.kind {
            NodeKind::ArithmeticCommand { raw_content, redirects, .. } => {
                self.redirected(redirects, env, feed);
                self.embedded(raw_content, env);
            }
            NodeKind::ConditionalExpr { body, redirects } => {
                self.redirected(redirects, env, feed);
                self.expression(body, env, feed);
            }
            NodeKind::UnaryTest { operand, .. } | NodeKind::CondNot { operand } => {
                self.expression(operand, env, feed);
            }
            NodeKind::BinaryTest { left, right, .. } | NodeKind::CondAnd { left, right } | NodeKind::CondOr { left, right } => {
                self.expression(left, env, feed);
                self.expression(right, env, feed);
            }
            NodeKind::CondParen { inner } => {
                self.expression(inner, env, feed);
            }
            NodeKind::CondTerm { value, .. } | NodeKind::Word { value, .. } => self.embedded(value, env),
            NodeKind::Empty | NodeKind::Comment { .. } => {}
            _ => self.find(Level::Ask, "this command", "holds a construct that this guard does not know", "write it in plain commands"),
        }
        Feed::None
    }

    fn pipeline(&mut self, commands: &[Node], env: &Env, feed: &Feed) -> Feed {
        let mut flow = feed.clone();
        for command in commands {
            flow = self.node(command, &mut env.clone(), &flow);
        }
        flow
    }

    /// Lists lean to the left as deep as they are long, so they are unrolled, not descended.
    fn list(&mut self, node: &Node, env: &mut Env, feed: &Feed) -> Feed {
        let start = env.clone();
        let mut out = Feed::None;
        for (command, before, after) in unroll(node) {
            let skipped = (before == Some(ListOperator::Or)).then(|| env.clone());
            out = out.and(self.node(command, env, feed));
            if let Some(skipped) = skipped {
                env.merge(&skipped);
            }
            if after == Some(ListOperator::Background) {
                env.merge(&start);
            }
        }
        out
    }

    /// A body that runs any number of times: a second look with what the first one left.
    fn repeat(&mut self, body: &Node, env: &mut Env, feed: &Feed) -> Feed {
        let before = env.clone();
        let out = self.node(body, env, feed);
        env.merge(&before);
        if env.same_values(&before) { out } else { out.and(self.node(body, env, feed)) }
    }

    fn each(&mut self, var: &str, values: Option<Vec<String>>, body: &Node, env: &mut Env, feed: &Feed) -> Feed {
        let values = values.filter(|v| v.len() <= MAX_LOOP).unwrap_or_else(|| vec![UNKNOWN.to_string()]);
        let before = env.clone();
        let mut out = Feed::None;
        for value in values {
            env.set(var, value);
            out = out.and(self.node(body, env, feed));
        }
        env.merge(&before);
        out
    }

    fn function(&mut self, name: &str, body: &Node, env: &mut Env) -> Feed {
        if calls_itself(name, body, 0) {
            self.find(Level::Block, name, "is a function that starts copies of itself (a fork bomb)", "");
            return Feed::None;
        }
        env.functions.insert(name.to_owned(), Rc::new(body.clone()));
        let mut inner = env.clone();
        inner.args = None;
        inner.running.push(name.to_owned());
        self.node(body, &mut inner, &Feed::Unknown);
        Feed::None
    }
}

type Unrolled<'n> = (&'n Node, Option<ListOperator>, Option<ListOperator>);

/// Returns the commands of a list in order, each with the operator before and after it.
fn unroll(node: &Node) -> Vec<Unrolled<'_>> {
    let mut out = Vec::new();
    let mut stack: Vec<Unrolled<'_>> = vec![(node, None, None)];
    while let Some((node, before, after)) = stack.pop() {
        let NodeKind::List { items } = &node.kind else {
            out.push((node, before, after));
            continue;
        };
        let mut inner: Vec<Unrolled<'_>> = Vec::new();
        let mut operator = before;
        for item in items {
            inner.push((&item.command, operator, item.operator));
            operator = item.operator;
        }
        if let Some(last) = inner.last_mut() {
            last.2 = last.2.or(after);
        }
        stack.extend(inner.into_iter().rev());
    }
    out
}

/// Whether a function's body pipes or backgrounds a call of itself.
fn calls_itself(name: &str, node: &Node, depth: usize) -> bool {
    let named = |node: &Node| match &node.kind {
        NodeKind::Command { words, .. } => words.first().is_some_and(|w| matches!(&w.kind, NodeKind::Word { value, .. } if value == name)),
        _ => false,
    };
    if depth > 8 {
        return false;
    }
    let deeper = depth.saturating_add(1);
    match &node.kind {
        NodeKind::Pipeline { commands, .. } => commands.iter().filter(|c| named(c)).count() > 1,
        NodeKind::List { .. } => unroll(node)
            .into_iter()
            .any(|(command, _, after)| (after == Some(ListOperator::Background) && named(command)) || calls_itself(name, command, deeper)),
        NodeKind::BraceGroup { body, .. } | NodeKind::Subshell { body, .. } => calls_itself(name, body, deeper),
        _ => false,
    }
}
