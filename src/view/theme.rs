//! Colours and characters. Colour never says anything alone: a word or a sign always stands beside it.

use crate::rules::Severity;
use ratatui::style::{Color, Modifier, Style};
use widgets::Symbols;

/// What a terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    /// Whether colours are used.
    pub colours: Colours,
    /// Which characters are used.
    pub symbols: Symbols,
}

/// Whether colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colours {
    /// The terminal's own sixteen, so that its theme holds.
    #[default]
    Terminal,
    /// None; bold and reversed only.
    None,
}

impl Theme {
    /// What the environment asks for: `NO_COLOR` (no-color.org), `TERM=dumb`, and the locale's character set.
    ///
    /// `variable` looks up an environment variable.
    #[must_use]
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let no_colour = set("NO_COLOR").is_some() || set("TERM").as_deref() == Some("dumb");
        // locale(7): LC_ALL overrides LC_CTYPE overrides LANG
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        let utf8 = locale.ends_with("utf-8") || locale.ends_with("utf8") || locale.contains("utf-8@");
        Self {
            colours: if no_colour { Colours::None } else { Colours::Terminal },
            symbols: if utf8 { Symbols::Unicode } else { Symbols::Ascii },
        }
    }

    fn colour(self, style: Style, colour: Color) -> Style {
        match self.colours {
            Colours::Terminal => style.fg(colour),
            Colours::None => style,
        }
    }

    /// Ordinary text.
    #[must_use]
    pub fn plain(self) -> Style {
        Style::new()
    }

    /// Text that matters most.
    #[must_use]
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Text that matters less.
    #[must_use]
    pub fn dim(self) -> Style {
        // not the terminal's dark grey: some palettes make that the background
        Style::new().add_modifier(Modifier::DIM)
    }

    /// A bar of a rail about which nothing bad was found.
    #[must_use]
    pub fn good(self) -> Style {
        self.colour(Style::new(), Color::Green)
    }

    /// A limit on a bar.
    #[must_use]
    pub fn mark(self) -> Style {
        self.colour(Style::new().add_modifier(Modifier::BOLD), Color::Cyan)
    }

    /// A word on a ground of its own, such as `SIMULATED`.
    #[must_use]
    pub fn sign(self) -> Style {
        self.colour(Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED), Color::Cyan)
    }

    /// The recording sign.
    #[must_use]
    pub fn recording(self) -> Style {
        self.colour(Style::new().add_modifier(Modifier::BOLD), Color::Red)
    }

    /// A word or bar as bad as this.
    #[must_use]
    pub fn severity(self, severity: Severity) -> Style {
        match severity {
            Severity::Info => self.colour(Style::new(), Color::Cyan),
            Severity::Warning => self.colour(Style::new().add_modifier(Modifier::BOLD), Color::Yellow),
            Severity::Error => self.colour(Style::new().add_modifier(Modifier::BOLD), Color::Red),
        }
    }

    /// The text in characters that the terminal can show.
    #[must_use]
    pub fn text(self, text: &str) -> String {
        match self.symbols {
            Symbols::Unicode => text.to_owned(),
            Symbols::Ascii => text
                .replace('×', "x")
                .replace('→', "->")
                .replace('µ', "u")
                .replace(|c: char| !c.is_ascii(), "?"),
        }
    }

    /// One text or the other, as the characters go.
    #[must_use]
    pub fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self.symbols {
            Symbols::Unicode => unicode,
            Symbols::Ascii => ascii,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Colours, Theme};
    use widgets::Symbols;

    fn theme(pairs: &[(&str, &str)]) -> Theme {
        Theme::of_environment(|name| pairs.iter().find(|p| p.0 == name).map(|p| p.1.to_owned()))
    }

    #[test]
    fn the_locale_decides_on_characters() {
        assert_eq!(theme(&[("LANG", "C.UTF-8")]).symbols, Symbols::Unicode);
        assert_eq!(theme(&[("LANG", "de_DE.utf8@euro"), ("LC_ALL", "en_US.utf8")]).symbols, Symbols::Unicode);
        assert_eq!(theme(&[("LANG", "C.UTF-8"), ("LC_ALL", "C")]).symbols, Symbols::Ascii);
        assert_eq!(theme(&[("LANG", "C.UTF-8"), ("LC_ALL", "")]).symbols, Symbols::Unicode);
        assert_eq!(theme(&[]).symbols, Symbols::Ascii);
    }

    #[test]
    fn no_color_is_obeyed_when_it_is_not_empty() {
        assert_eq!(theme(&[("NO_COLOR", "1")]).colours, Colours::None);
        assert_eq!(theme(&[("NO_COLOR", "")]).colours, Colours::Terminal);
        assert_eq!(theme(&[("TERM", "dumb")]).colours, Colours::None);
    }
}
