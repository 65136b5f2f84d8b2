//! What a plugin may ask about the input it was given.
//!
//! A payload is bounded and redacted before a plugin sees it; the context lists where, as JSON pointers from the payload's root.

use crate::{Context, Failure, no_verdict};

impl Context {
    /// Whether the field at `pointer` (`/arguments/command`), something in it, or something that holds it was cut.
    pub fn is_reduced(&self, pointer: &str) -> bool {
        self.reduced.iter().any(|cut| covers(cut, pointer))
    }

    /// Whether a secret was removed from the field at `pointer`, from something in it, or from something that holds it.
    pub fn is_redacted(&self, pointer: &str) -> bool {
        self.redacted.iter().any(|removed| covers(removed, pointer))
    }

    /// Returns at once where the field at `pointer` was seen whole: a gate cannot judge what was cut away.
    ///
    /// # Errors
    ///
    /// [`Failure::NoVerdict`] where the field was reduced.
    pub fn require_whole(&self, pointer: &str) -> Result<(), Failure> {
        if self.is_reduced(pointer) {
            return Err(no_verdict(format!("`{pointer}` was cut, so it cannot be judged")));
        }
        Ok(())
    }
}

/// Whether two JSON pointers are equal or one leads to a parent of the other. The empty pointer is the whole payload.
pub fn covers(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn a_pointer_covers_itself_its_parents_and_its_children() {
        let cases = [
            ("/arguments", "/arguments", true),
            ("/arguments", "/arguments/command", true),
            ("/arguments/command", "/arguments", true),
            ("", "/arguments", true),
            ("/arguments/comm", "/arguments/command", false),
            ("/arguments/command", "/arguments/cwd", false),
        ];
        for (one, other, expected) in cases {
            assert_eq!(covers(one, other), expected, "`{one}` and `{other}`");
        }
    }
}
