//! Shell patterns: `*`, `?`, `[...]`.
//!
//! Separate because paths, settings and unknown text all need the same match. Invariant: linear in pattern times text, no recursion.

/// Returns whether `pattern` matches the whole of `text`. A bracket that is not closed is a plain character.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0_usize, 0_usize);
    let mut star: Option<(usize, usize)> = None;
    while let Some(&c) = text.get(t) {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, t));
            p = p.saturating_add(1);
        } else if let Some(next) = one(&pattern, p, c) {
            p = next;
            t = t.saturating_add(1);
        } else if let Some((sp, st)) = star {
            star = Some((sp, st.saturating_add(1)));
            p = sp.saturating_add(1);
            t = st.saturating_add(1);
        } else {
            return false;
        }
    }
    pattern.get(p..).is_none_or(|rest| rest.iter().all(|c| *c == '*'))
}

/// Returns the pattern position after the element at `p`, when it matches `c`.
fn one(pattern: &[char], p: usize, c: char) -> Option<usize> {
    match pattern.get(p)? {
        '?' => Some(p.saturating_add(1)),
        '[' => bracket(pattern, p, c),
        '\\' if pattern.get(p.saturating_add(1)) == Some(&c) => Some(p.saturating_add(2)),
        x => (*x == c).then_some(p.saturating_add(1)),
    }
}

fn bracket(pattern: &[char], p: usize, c: char) -> Option<usize> {
    let start = p.saturating_add(1);
    let negated = matches!(pattern.get(start), Some('!' | '^'));
    let start = if negated { start.saturating_add(1) } else { start };
    let rest = pattern.get(start..)?;
    let Some(close) = rest.iter().skip(1).position(|x| *x == ']').map(|i| i.saturating_add(1)) else {
        return (c == '[').then_some(p.saturating_add(1));
    };
    let set = rest.get(..close)?;
    let mut found = false;
    for (i, x) in set.iter().enumerate() {
        found |= *x == c;
        if let (Some('-'), Some(hi)) = (set.get(i.saturating_add(1)), set.get(i.saturating_add(2))) {
            found |= *x <= c && c <= *hi;
        }
    }
    (found != negated).then_some(start.saturating_add(close).saturating_add(1))
}
