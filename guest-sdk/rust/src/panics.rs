//! A panic's message on its way to the host.
//!
//! A component that panics traps, and a trap carries no text; so the message goes to the log first. The line is built on the stack,
//! because the panic may come from a full heap.

/// Sends the message of a later panic to the host's log. Natively it leaves the test harness's own report alone.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn report() {}

/// Sends the message of a later panic to the host's log.
#[cfg(target_arch = "wasm32")]
pub(crate) fn report() {
    use std::{
        fmt::Write,
        panic,
        sync::atomic::{AtomicBool, Ordering},
    };

    static SET: AtomicBool = AtomicBool::new(false);
    if !SET.swap(true, Ordering::Relaxed) {
        panic::set_hook(Box::new(|info| {
            let mut line = Line::new();
            let _cut = write!(line, "{info}");
            crate::log::error(line.text());
        }));
    }
}

/// Text of at most 1,024 bytes on the stack. What does not fit is dropped, and the error says so.
#[cfg(any(target_arch = "wasm32", test))]
struct Line {
    bytes: [u8; 1024],
    used: usize,
}

#[cfg(any(target_arch = "wasm32", test))]
impl Line {
    fn new() -> Self {
        Self { bytes: [0; 1024], used: 0 }
    }

    fn text(&self) -> &str {
        self.bytes.get(..self.used).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

#[cfg(any(target_arch = "wasm32", test))]
impl std::fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.len() - self.used;
        let fitting = text.floor_char_boundary(room);
        let target = self.bytes.get_mut(self.used..self.used + fitting).ok_or(std::fmt::Error)?;
        target.copy_from_slice(text.get(..fitting).unwrap_or_default().as_bytes());
        self.used += fitting;
        if fitting < text.len() { Err(std::fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::Line;

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let mut line = Line::new();
        assert!(write!(line, "a{}", "é".repeat(600)).is_err());
        assert_eq!(line.text(), format!("a{}", "é".repeat(511)));
    }
}
