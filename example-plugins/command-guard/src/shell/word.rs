//! Splits one word into pieces: quoted and plain text, parameters, substitutions, braces.
//!
//! Separate because the parser keeps quotes and leaves deep substitutions unparsed. Invariant: the pieces are checked against the word's raw text
//! piece by piece, and where the two disagree the rest is [`Piece::Opaque`].

use rable::{Node, NodeKind};

/// One piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Literal text.
    Text {
        /// Without quotes and escapes.
        text: String,
        /// Whether it stood in quotes or behind a backslash.
        quoted: bool,
    },
    /// `$name` or `${name op arg}`.
    Param {
        /// The parameter's name, with its subscript.
        name: String,
        /// The operator, empty when there is none.
        op: String,
        /// The operator's argument.
        arg: String,
        /// Whether it stood in double quotes.
        quoted: bool,
    },
    /// `${!name}`, or another form whose value is never known; the text may hold substitutions.
    Unknown(String),
    /// A command or process substitution.
    Script {
        /// The commands.
        text: String,
        /// Whether the commands read what the outer command writes, as in `>(...)`.
        sink: bool,
        /// Whether it is a process substitution and so stands for a file.
        file: bool,
    },
    /// `{a,b}`, with its braces.
    Brace(String),
    /// What could not be taken apart.
    Opaque(String),
}

/// The most closing brackets that are tried as the end of one substitution.
const MAX_ENDS: usize = 200;

/// Parses shell text. The plain grammar goes first, then the one with extended patterns.
#[must_use]
pub fn parse(text: &str) -> Option<Vec<Node>> {
    rable::parse(text, false).or_else(|_| rable::parse(text, true)).ok()
}

/// Returns the pieces of a word node.
#[must_use]
pub fn pieces(node: &Node) -> Vec<Piece> {
    match &node.kind {
        NodeKind::Word { value, parts, .. } => Splitter::run(value, parts),
        _ => vec![Piece::Opaque(String::new())],
    }
}

/// Returns the pieces of raw word text that has no node of its own.
#[must_use]
pub fn pieces_of_text(raw: &str) -> Vec<Piece> {
    if raw.is_empty() {
        return Vec::new();
    }
    let opaque = || vec![Piece::Opaque(raw.to_owned())];
    let Some(nodes) = parse(&format!(": {raw}")) else { return opaque() };
    match nodes.as_slice() {
        [Node { kind: NodeKind::Command { words, redirects, .. }, .. }] if redirects.is_empty() => match words.as_slice() {
            [_, word] => pieces(word),
            _ => opaque(),
        },
        _ => opaque(),
    }
}

struct Splitter<'a> {
    rest: &'a str,
    double: bool,
    out: Vec<Piece>,
}

impl<'a> Splitter<'a> {
    fn run(value: &'a str, parts: &[Node]) -> Vec<Piece> {
        let mut splitter = Self { rest: value, double: false, out: Vec::new() };
        for part in parts {
            if splitter.part(part).is_none() {
                splitter.out.push(Piece::Opaque(splitter.rest.to_owned()));
                return splitter.out;
            }
        }
        if !splitter.rest.is_empty() || splitter.double {
            splitter.out.push(Piece::Opaque(splitter.rest.to_owned()));
        }
        splitter.out
    }

    /// Takes one part off the raw text; nothing when the two do not agree.
    fn part(&mut self, part: &Node) -> Option<()> {
        match &part.kind {
            NodeKind::WordLiteral { value } => {
                self.rest = self.rest.strip_prefix(value.as_str())?;
                self.literal(value)
            }
            NodeKind::AnsiCQuote { content, decoded } => {
                self.eat("$'")?;
                self.eat(content)?;
                self.eat("'")?;
                self.text(decoded, true);
                Some(())
            }
            NodeKind::LocaleString { content, inner } => {
                self.eat("$")?;
                self.eat(content)?;
                self.text(inner, true);
                (!inner.contains(['$', '`', '\\'])).then_some(())
            }
            NodeKind::BraceExpansion { content } => {
                self.eat(content)?;
                self.out.push(Piece::Brace(content.clone()));
                Some(())
            }
            NodeKind::CommandSubstitution { command, .. } => self.substitution(command),
            NodeKind::ProcessSubstitution { direction, command } => {
                self.eat(direction)?;
                self.bracketed(command, direction == ">", true)
            }
            NodeKind::ArithmeticExpansion { .. } => self.arithmetic(),
            _ => self.parameter(&part.kind),
        }
    }

    fn parameter(&mut self, kind: &NodeKind) -> Option<()> {
        match kind {
            NodeKind::ParamExpansion { param, op, arg } => {
                let op = op.clone().unwrap_or_default();
                let arg = arg.clone().unwrap_or_default();
                if self.rest.starts_with("${") {
                    self.eat(&format!("${{{param}{op}{arg}}}"))?;
                } else {
                    self.eat(&format!("${param}"))?;
                }
                if !is_parameter(param) {
                    return None;
                }
                self.out.push(Piece::Param { name: param.clone(), op, arg, quoted: self.double });
                Some(())
            }
            NodeKind::ParamLength { param } => {
                self.eat(&format!("${{#{param}}}"))?;
                self.out.push(Piece::Unknown(param.clone()));
                Some(())
            }
            NodeKind::ParamIndirect { param, op, arg } => {
                let inner = format!("{param}{}{}", op.as_deref().unwrap_or_default(), arg.as_deref().unwrap_or_default());
                self.eat(&format!("${{!{inner}}}"))?;
                self.out.push(Piece::Unknown(inner));
                Some(())
            }
            _ => None,
        }
    }

    fn eat(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    fn text(&mut self, text: &str, quoted: bool) {
        if let Some(Piece::Text { text: last, quoted: q }) = self.out.last_mut()
            && *q == quoted
        {
            last.push_str(text);
        } else {
            self.out.push(Piece::Text { text: text.to_owned(), quoted });
        }
    }

    fn substitution(&mut self, command: &Node) -> Option<()> {
        if self.rest.starts_with('`') { self.backticks() } else { self.eat("$").and_then(|()| self.bracketed(command, false, false)) }
    }

    /// Finds the end of `(...)`: the first closing bracket up to which the text parses to the very tree that the parser found.
    fn bracketed(&mut self, command: &Node, sink: bool, file: bool) -> Option<()> {
        let body = self.rest.strip_prefix('(')?;
        let ends: Vec<usize> = body.match_indices(')').map(|(i, _)| i).take(MAX_ENDS).collect();
        let last = ends.last().copied();
        let order = last.into_iter().chain(ends.iter().copied());
        for end in order {
            let text = body.get(..end)?;
            let Ok(nodes) = rable::parse(text, false) else { continue };
            if same(&nodes, command) {
                self.rest = body.get(end.checked_add(1)?..)?;
                self.out.push(Piece::Script { text: text.to_owned(), sink, file });
                return Some(());
            }
        }
        None
    }

    fn backticks(&mut self) -> Option<()> {
        let body = self.rest.strip_prefix('`')?;
        let mut text = String::new();
        let mut chars = body.char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '`' => {
                    self.rest = body.get(i.checked_add(1)?..)?;
                    self.out.push(Piece::Script { text, sink: false, file: false });
                    return Some(());
                }
                '\\' => match chars.next()?.1 {
                    c @ ('`' | '\\' | '$') => text.push(c),
                    '"' if self.double => text.push('"'),
                    c => text.extend(['\\', c]),
                },
                c => text.push(c),
            }
        }
        None
    }

    fn arithmetic(&mut self) -> Option<()> {
        let body = self.rest.strip_prefix("$((")?;
        let mut depth = 2_usize;
        for (i, c) in body.char_indices() {
            match c {
                '(' => depth = depth.saturating_add(1),
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                let inner = body.get(..i)?;
                self.rest = body.get(i.checked_add(1)?..)?;
                self.out.push(Piece::Unknown(inner.strip_suffix(')')?.to_owned()));
                return Some(());
            }
        }
        None
    }

    fn literal(&mut self, text: &str) -> Option<()> {
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            match c {
                '"' => {
                    self.double = !self.double;
                    self.text("", true);
                }
                '\'' if !self.double => {
                    let mut quoted = String::new();
                    loop {
                        match chars.next()? {
                            '\'' => break,
                            c => quoted.push(c),
                        }
                    }
                    self.text(&quoted, true);
                }
                '\\' => self.escaped(chars.next()),
                '`' => return None,
                '$' if matches!(next, Some('(' | '{' | '[')) => return None,
                '<' | '>' if !self.double && next == Some('(') => return None,
                c => self.text(c.encode_utf8(&mut [0; 4]), self.double),
            }
        }
        Some(())
    }

    fn escaped(&mut self, c: Option<char>) {
        match c {
            None => self.text("\\", true),
            Some('\n') => {}
            Some(c) if self.double && !matches!(c, '$' | '`' | '"' | '\\') => {
                self.text("\\", true);
                self.text(c.encode_utf8(&mut [0; 4]), true);
            }
            Some(c) => self.text(c.encode_utf8(&mut [0; 4]), true),
        }
    }
}

/// Compares freshly parsed commands with the tree that the parser hung into the word. That tree leaves substitutions unparsed where they are deep,
/// so trees that differ are compared once more as they are printed, which does not show how far a word was taken apart.
fn same(nodes: &[Node], tree: &Node) -> bool {
    let alike = |a: &Node, b: &Node| a == b || (a.span == b.span && a.to_string() == b.to_string());
    match (nodes, &tree.kind) {
        ([], NodeKind::Empty) => true,
        ([one], _) => alike(one, tree),
        (many, NodeKind::List { items }) => {
            many.len() == items.len() && many.iter().zip(items).all(|(node, item)| alike(node, &item.command))
        }
        _ => false,
    }
}

fn is_parameter(name: &str) -> bool {
    let bare = name.split('[').next().unwrap_or(name);
    let mut chars = bare.chars();
    match chars.next() {
        Some('@' | '*' | '?' | '-' | '$' | '!' | '#') => chars.next().is_none(),
        Some(c) => (c.is_alphanumeric() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_'),
        None => false,
    }
}

/// Substitutions in text that is no word: here-documents, arithmetic, arguments of `${...}`. Returns nothing when an end cannot be told.
#[must_use]
pub fn embedded(text: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '`', '$', '<', '>']) {
        let tail = rest.get(at..)?;
        if tail.starts_with('\\') {
            let mut chars = tail.chars();
            chars.next();
            chars.next();
            rest = chars.as_str();
        } else if tail.starts_with('`') {
            let mut splitter = Splitter { rest: tail, double: false, out: Vec::new() };
            splitter.backticks()?;
            rest = splitter.rest;
            found.extend(splitter.out.into_iter().filter_map(|p| if let Piece::Script { text, .. } = p { Some(text) } else { None }));
        } else if let Some(body) = tail.strip_prefix("$(").or_else(|| tail.strip_prefix("<(")).or_else(|| tail.strip_prefix(">(")) {
            let end = first_end(body)?;
            found.push(body.get(..end)?.to_owned());
            rest = body.get(end.checked_add(1)?..)?;
        } else {
            rest = tail.get(1..)?;
        }
        if found.len() > MAX_ENDS {
            return None;
        }
    }
    Some(found)
}

/// The first closing bracket up to which the text is a script. Comments and here-documents could end it early, so they are refused.
fn first_end(body: &str) -> Option<usize> {
    for (end, _) in body.match_indices(')').take(MAX_ENDS) {
        let text = body.get(..end)?;
        if text.contains(" #") || text.contains("\n#") || text.contains("<<") {
            return None;
        }
        if parse(text).is_some() {
            return Some(end);
        }
    }
    None
}
