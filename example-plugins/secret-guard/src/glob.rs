//! Patterns over paths: `?` is one character, `*` any number, both within one part; `**` crosses parts.
//!
//! Invariant: time grows with the pattern times the text at worst, and nothing recurses.

/// Whether `pattern` matches all of `text`. Both are compared as they are, so callers fold case first.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    // Which ends of the pattern the text read so far can have reached; one more than characters, the last is "all of it".
    let mut reached = vec![false; pattern.len() + 1];
    set(&mut reached, 0);
    skip_stars(&pattern, &mut reached);
    for character in text.chars() {
        reached = step(&pattern, &reached, character);
        skip_stars(&pattern, &mut reached);
    }
    reached.last().copied().unwrap_or_default()
}

fn step(pattern: &[char], reached: &[bool], character: char) -> Vec<bool> {
    let mut next = vec![false; reached.len()];
    for (at, element) in pattern.iter().enumerate() {
        if !reached.get(at).copied().unwrap_or_default() {
            continue;
        }
        match element {
            '*' if character != '/' || crosses_parts(pattern, at) => set(&mut next, at),
            '*' => {}
            '?' if character != '/' => set(&mut next, at + 1),
            plain if *plain == character => set(&mut next, at + 1),
            _ => {}
        }
    }
    next
}

/// A star may match nothing.
fn skip_stars(pattern: &[char], reached: &mut [bool]) {
    for (at, element) in pattern.iter().enumerate() {
        if *element == '*' && reached.get(at).copied().unwrap_or_default() {
            set(reached, at + 1);
        }
    }
}

fn crosses_parts(pattern: &[char], at: usize) -> bool {
    let star = |at: Option<usize>| at.and_then(|at| pattern.get(at)) == Some(&'*');
    star(at.checked_sub(1)) || star(at.checked_add(1))
}

fn set(reached: &mut [bool], at: usize) {
    if let Some(state) = reached.get_mut(at) {
        *state = true;
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stay_in_their_part_and_double_stars_do_not() {
        let cases = [
            ("*.env", "prod.env", true),
            ("*.env", "a/prod.env", false),
            ("**/prod.env", "a/b/prod.env", true),
            ("secrets/**", "secrets/a/b", true),
            ("secrets/*", "secrets/a/b", false),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
            ("é*", "éa", true),
            ("", "", true),
            ("*", "", true),
            ("a", "", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern, text), expected, "`{pattern}` on `{text}`");
        }
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        assert!(!matches(&"*a".repeat(50), &"a".repeat(49)));
        assert!(!matches(&"*a".repeat(30), &"b".repeat(20_000)));
    }
}
