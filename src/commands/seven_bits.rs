//! A terminal whose locale has no UTF-8 gets seven-bit text, as the screen does there. What goes into a file or a pipe is UTF-8
//! whatever the locale is: it is read elsewhere.

use crate::printable::{is_utf8_locale, seven_bits};
use std::io::{self, IsTerminal, Stdout, Write};

/// stdout, as its reader can show it.
#[derive(Debug)]
pub struct Shown<W = Stdout> {
    out: W,
    is_seven_bits: bool,
    /// The begin of a character whose rest comes with the next write.
    begun: Vec<u8>,
}

impl Shown {
    /// stdout.
    #[must_use]
    pub fn new() -> Self {
        let out = io::stdout();
        let is_utf8 = || is_utf8_locale(|name| std::env::var(name).ok());
        Self { is_seven_bits: out.is_terminal() && !is_utf8(), out, begun: Vec::new() }
    }
}

impl Default for Shown {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_seven_bits {
            return self.out.write(bytes);
        }
        self.begun.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.begun) {
            Ok(text) => text.len(),
            // no text at all goes out as it is, character by character
            Err(error) if error.error_len().is_some() => self.begun.len(),
            Err(error) => error.valid_up_to(),
        };
        let rest = self.begun.split_off(whole);
        let text = String::from_utf8_lossy(&self.begun).into_owned();
        self.begun = rest;
        self.out.write_all(seven_bits(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::Shown;
    use std::io::Write;

    #[test]
    fn a_character_that_comes_in_two_writes_is_one() {
        let mut shown = Shown { out: Vec::new(), is_seven_bits: true, begun: Vec::new() };
        let text = "READ 64K × 4, 3.1 µs → 2 ± 1 …".as_bytes();
        for byte in text {
            shown.write_all(&[*byte]).unwrap();
        }
        assert_eq!(String::from_utf8(shown.out).unwrap(), "READ 64K x 4, 3.1 us -> 2 +- 1 ~");
        let mut plain = Shown { out: Vec::new(), is_seven_bits: false, begun: Vec::new() };
        plain.write_all(text).unwrap();
        assert_eq!(plain.out, text);
    }
}
