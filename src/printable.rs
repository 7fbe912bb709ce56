//! Text that a terminal may be shown.
//!
//! Names and texts come from trees, recordings and peers that others made. A terminal obeys control characters
//! in them (ECMA-48), so they are spelt out before anything is printed.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Longest line that is told: what a hostile file is quoted with must not fill the screen.
const MOST_CHARS: usize = 2000;

/// Shows as `T` does, with control characters spelt out (`\u{1b}`); new lines and tabs stay.
#[derive(Clone, Copy, Debug)]
pub struct Printable<T>(pub T);

impl<T: fmt::Display> fmt::Display for Printable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Spelt(f), "{}", self.0)
    }
}

struct Spelt<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for Spelt<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, control)) = rest.char_indices().find(|(_, c)| is_obeyed(*c)) {
            self.0.write_str(&rest[..at])?;
            write!(self.0, "{}", control.escape_unicode())?;
            rest = &rest[at + control.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

/// Whether a terminal acts on it instead of showing it: control characters, and those that turn the direction
/// of what follows (Unicode Standard Annex 9).
fn is_obeyed(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with what a terminal would obey spelt out; as it is, where there is nothing of the kind.
#[must_use]
pub fn spelt(text: &str) -> Cow<'_, str> {
    if text.contains(is_obeyed) { Cow::Owned(Printable(text).to_string()) } else { Cow::Borrowed(text) }
}

/// The text in characters that any terminal can show.
#[must_use]
pub fn seven_bits(text: &str) -> String {
    let mut seven = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            _ if char.is_ascii() => seven.push(char),
            '×' => seven.push('x'),
            '→' => seven.push_str("->"),
            '±' => seven.push_str("+-"),
            'µ' => seven.push('u'),
            '…' => seven.push('~'),
            '·' => seven.push('.'),
            _ => seven.push('?'),
        }
    }
    seven
}

/// Whether the locale's characters are UTF-8: `LC_ALL` overrides `LC_CTYPE` overrides `LANG` (locale(7)); none set is C.
///
/// `variable` looks up an environment variable.
#[must_use]
pub fn is_utf8_locale(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.ends_with("utf-8")
        || locale.ends_with("utf8")
        || locale.contains("utf-8@")
        || locale.contains("utf8@")
}

/// A word as a shell reads it back, with quotes where it needs them.
#[must_use]
pub fn for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:+@%=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Tells the person at the terminal, on stderr; stdout is the report's.
///
/// stderr may be gone (closed terminal): nothing to do about it then.
pub fn tell(line: impl fmt::Display) {
    use std::io::{IsTerminal, Write};
    let mut line = Printable(line).to_string();
    if let Some((at, _)) = line.char_indices().nth(MOST_CHARS) {
        line.truncate(at);
        line.push('…');
    }
    if let Some(held) = &mut *HELD.lock().unwrap_or_else(PoisonError::into_inner) {
        held.push(line);
        return;
    }
    let mut stderr = std::io::stderr().lock();
    if stderr.is_terminal() && !is_utf8_locale(|name| std::env::var(name).ok()) {
        line = seven_bits(&line);
    }
    wipe(&mut stderr);
    let _ = writeln!(stderr, "railscope: {line}");
}

/// What is told while the screen has the terminal.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// From now on what is told waits for [`release`]: it would stand across the picture.
pub fn hold() {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// Tells what has waited, and from now on everything at once.
pub fn release() {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner).take();
    held.into_iter().flatten().for_each(tell);
}

/// Whether a line that is written over stands on stderr.
static LINE_STANDS: AtomicBool = AtomicBool::new(false);

/// Writes a line on the terminal at stderr, in place of the one that was written so before. What is told meanwhile
/// takes its place.
pub fn write_line(line: &str) {
    use std::io::Write;
    let mut stderr = std::io::stderr().lock();
    LINE_STANDS.store(true, Ordering::Relaxed);
    let _ = write!(stderr, "\r{line}\x1b[K").and_then(|()| stderr.flush());
}

/// Takes away what [`write_line`] wrote.
pub fn wipe_line() {
    wipe(&mut std::io::stderr().lock());
}

/// Under stderr's lock, so that no line comes between.
fn wipe(stderr: &mut impl std::io::Write) {
    if LINE_STANDS.swap(false, Ordering::Relaxed) {
        let _ = stderr.write_all(b"\r\x1b[K").and_then(|()| stderr.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::Printable;

    #[test]
    fn what_a_terminal_would_obey_is_spelt_out() {
        for (text, shown) in [
            ("mlx5_0", "mlx5_0"),
            ("two\n\tlines", "two\n\tlines"),
            ("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}"),
            ("c1 \u{9b}2J, delete \u{7f}", "c1 \\u{9b}2J, delete \\u{7f}"),
            ("back\r\u{8}wards \u{202e}", "back\\u{d}\\u{8}wards \\u{202e}"),
            ("×GB/s→µ", "×GB/s→µ"),
        ] {
            assert_eq!(Printable(text).to_string(), shown);
        }
    }
}
