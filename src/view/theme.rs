//! Colours and characters. Colour never says anything alone: a word or a sign always stands beside it.

use crate::printable::{is_utf8_locale, seven_bits, spelt};
use crate::rules::Severity;
use clap::ValueEnum;
use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Colours {
    /// The terminal's own sixteen, so that its theme holds.
    #[default]
    Terminal,
    /// Light on dark; people who see no red or no green tell all of them apart.
    Dark,
    /// The same, dark on light.
    Light,
    /// None; bold and reversed only.
    None,
}

impl Colours {
    /// The one that the colours key goes to.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Terminal => Self::Dark,
            Self::Dark => Self::Light,
            Self::Light => Self::None,
            Self::None => Self::Terminal,
        }
    }

    /// As the config file names it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Dark => "dark",
            Self::Light => "light",
            Self::None => "none",
        }
    }
}

/// What a colour stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Good,
    Mark,
    Info,
    Warning,
    Error,
}

impl Role {
    /// The terminal's own, that of the dark theme and of the light one: blue and orange with their neighbours, after
    /// Okabe and Ito, as far from the ground as text has to be.
    fn colours(self) -> [Color; 3] {
        match self {
            Self::Good => [Color::Green, Color::Rgb(86, 180, 233), Color::Rgb(0, 98, 155)],
            Self::Mark => [Color::Cyan, Color::Rgb(245, 240, 220), Color::Rgb(60, 60, 60)],
            Self::Info => [Color::Cyan, Color::Rgb(64, 200, 165), Color::Rgb(0, 110, 80)],
            Self::Warning => [Color::Yellow, Color::Rgb(240, 178, 50), Color::Rgb(150, 86, 0)],
            Self::Error => [Color::Red, Color::Rgb(255, 120, 90), Color::Rgb(178, 24, 24)],
        }
    }
}

impl Theme {
    /// What the environment asks for: `NO_COLOR` (no-color.org), `TERM=dumb`, and the locale's character set; the fonts of the
    /// kernel's own console (`TERM=linux`, `console_codes(4)`) lack most bars and signs.
    ///
    /// `variable` looks up an environment variable.
    #[must_use]
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let no_colour = set("NO_COLOR").is_some() || set("TERM").as_deref() == Some("dumb");
        let is_console = set("TERM").as_deref() == Some("linux");
        Self {
            colours: if no_colour { Colours::None } else { Colours::Terminal },
            symbols: if is_utf8_locale(&variable) && !is_console { Symbols::Unicode } else { Symbols::Ascii },
        }
    }

    fn colour(self, style: Style, role: Role) -> Style {
        let [terminal, dark, light] = role.colours();
        match self.colours {
            Colours::Terminal => style.fg(terminal),
            Colours::Dark => style.fg(dark),
            Colours::Light => style.fg(light),
            Colours::None => style,
        }
    }

    /// Colours of ordinary text and of the ground, where they are not the terminal's own.
    #[must_use]
    pub fn ground(self) -> Option<(Color, Color)> {
        match self.colours {
            Colours::Dark => Some((Color::Rgb(216, 220, 226), Color::Rgb(18, 22, 28))),
            Colours::Light => Some((Color::Rgb(32, 36, 42), Color::Rgb(250, 250, 247))),
            Colours::Terminal | Colours::None => None,
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
        match self.colours {
            Colours::Dark => Style::new().fg(Color::Rgb(140, 148, 158)),
            Colours::Light => Style::new().fg(Color::Rgb(96, 102, 110)),
            // not the terminal's dark grey: some palettes make that the background
            Colours::Terminal | Colours::None => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// A bar of a rail about which nothing bad was found.
    #[must_use]
    pub fn good(self) -> Style {
        self.colour(Style::new(), Role::Good)
    }

    /// A limit on a bar.
    #[must_use]
    pub fn mark(self) -> Style {
        self.colour(Style::new().add_modifier(Modifier::BOLD), Role::Mark)
    }

    /// A word on a ground of its own, such as `SIMULATED`.
    #[must_use]
    pub fn sign(self) -> Style {
        self.colour(Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED), Role::Info)
    }

    /// The recording sign.
    #[must_use]
    pub fn recording(self) -> Style {
        self.colour(Style::new().add_modifier(Modifier::BOLD), Role::Error)
    }

    /// A word or bar as bad as this.
    #[must_use]
    pub fn severity(self, severity: Severity) -> Style {
        match severity {
            Severity::Info => self.colour(Style::new(), Role::Info),
            Severity::Warning => self.colour(Style::new().add_modifier(Modifier::BOLD), Role::Warning),
            Severity::Error => self.colour(Style::new().add_modifier(Modifier::BOLD), Role::Error),
        }
    }

    /// The text in characters that the terminal can show, with what it would obey spelt out.
    #[must_use]
    pub fn text(self, text: &str) -> String {
        let text = spelt(text);
        match self.symbols {
            Symbols::Unicode => text.into_owned(),
            Symbols::Ascii => seven_bits(&text),
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
        assert_eq!(theme(&[("LANG", "C.UTF-8"), ("TERM", "linux")]).symbols, Symbols::Ascii);
    }

    #[test]
    fn no_color_is_obeyed_when_it_is_not_empty() {
        assert_eq!(theme(&[("NO_COLOR", "1")]).colours, Colours::None);
        assert_eq!(theme(&[("NO_COLOR", "")]).colours, Colours::Terminal);
        assert_eq!(theme(&[("TERM", "dumb")]).colours, Colours::None);
    }
}
