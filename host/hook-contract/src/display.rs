//! Makes text of unknown origin safe to show.
//!
//! Separate because plugins write reasons and messages, and terminals, logs and models obey control characters.

/// Returns the text on one line, at most `max` characters, control and direction characters replaced by visible escapes.
pub fn plain(text: &str, max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max));
    let mut count = 0;
    for character in text.chars() {
        let shown = if is_unsafe(character) { character.escape_default().count() } else { 1 };
        count += shown;
        if count > max {
            out.push('…');
            break;
        }
        if shown > 1 {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// Returns the text with control characters but newline and tab, and direction characters, replaced by visible escapes.
pub fn lines(text: &str) -> String {
    if !text.chars().any(|character| is_unsafe(character) && !matches!(character, '\n' | '\t')) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) && !matches!(character, '\n' | '\t') {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// Returns JSON text with the same characters as JSON escapes: it stays the same document, and can be shown.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) && character != '\n' {
            let mut units = [0; 2];
            out.extend(character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(character);
        }
    }
    out
}

/// Says whether a character can move the cursor, hide text or turn its direction.
fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_visible_and_cut() {
        assert_eq!(plain("a\u{1b}[31mb\nc\u{202e}d", 100), "a\\u{1b}[31mb\\nc\\u{202e}d");
        assert_eq!(plain("a\u{61c}\u{ad}\u{fff9}b", 100), "a\\u{61c}\\u{ad}\\u{fff9}b");
        assert_eq!(plain("abcdef", 3), "abc…");
        assert_eq!(lines("a\n\tb\u{7}"), "a\n\tb\\u{7}");
        assert_eq!(json("[\"\u{9b}2J\u{e0001}é\",\n1]"), "[\"\\u009b2J\\udb40\\udc01é\",\n1]");
    }
}
