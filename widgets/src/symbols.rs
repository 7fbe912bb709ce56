//! Which characters a terminal can show.

/// The characters that bars and trends are painted with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Symbols {
    /// Block elements and arrows.
    #[default]
    Unicode,
    /// Seven-bit characters only, for a locale that is not UTF-8.
    Ascii,
}

impl Symbols {
    /// Cells of a bar: full first, then the parts of a cell from one step up to one step short of full.
    pub(crate) fn bar(self) -> (char, &'static [char]) {
        match self {
            Self::Unicode => ('█', &['▏', '▎', '▍', '▌', '▋', '▊', '▉']),
            Self::Ascii => ('#', &['-']),
        }
    }

    /// The part of a bar that is not filled.
    pub(crate) fn track(self) -> char {
        match self {
            Self::Unicode => '·',
            Self::Ascii => '.',
        }
    }

    /// At the end of a bar that is longer than its scale.
    pub(crate) fn beyond(self) -> char {
        match self {
            Self::Unicode => '▶',
            Self::Ascii => '>',
        }
    }

    /// How high a share of a scale is, 0 to 1, in one cell; `None` where it is not known, or is no number.
    pub(crate) fn height(self, share: Option<f64>) -> Option<char> {
        let heights: &[char] = match self {
            Self::Unicode => &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
            Self::Ascii => &['_', '.', '-', '=', '+', '*', '#'],
        };
        let share = share.filter(|share| share.is_finite())?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to 0..=1, so at most the count of heights"
        )]
        let step = (share.clamp(0.0, 1.0) * heights.len() as f64) as usize;
        Some(heights[step.min(heights.len() - 1)])
    }

    /// Stands for a value that there is not.
    pub(crate) fn absent(self) -> char {
        match self {
            Self::Unicode => '·',
            Self::Ascii => ' ',
        }
    }

    /// Cells of a scrubber: not looked at, nothing, a warning, an error.
    pub(crate) fn levels(self) -> [char; 4] {
        match self {
            Self::Unicode => ['·', '─', '━', '═'],
            Self::Ascii => ['.', '-', '=', '#'],
        }
    }

    /// Ticks of a scrubber: a note, a warning, an error, an event, a mark.
    pub(crate) fn ticks(self) -> [char; 5] {
        match self {
            Self::Unicode => ['i', '!', '✗', '▾', '◆'],
            Self::Ascii => ['i', '!', 'X', 'v', 'M'],
        }
    }

    /// Where one is on a scrubber.
    pub(crate) fn cursor(self) -> char {
        match self {
            Self::Unicode => '┃',
            Self::Ascii => '|',
        }
    }

    /// Before a row of a tree: one that others follow, the last one, and a line that goes on beside deeper rows.
    pub(crate) fn branches(self) -> [char; 3] {
        match self {
            Self::Unicode => ['├', '└', '│'],
            Self::Ascii => ['|', '`', '|'],
        }
    }

    /// A frame: side, across, upper corners, lower corners.
    pub(crate) fn frame(self) -> [char; 6] {
        match self {
            Self::Unicode => ['│', '─', '┌', '┐', '└', '┘'],
            Self::Ascii => ['|', '-', '+', '+', '+', '+'],
        }
    }

    /// Before an advice.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::Unicode => "→ ",
            Self::Ascii => "-> ",
        }
    }

    /// At the end of a text that was cut.
    pub(crate) fn cut(self) -> &'static str {
        match self {
            Self::Unicode => "…",
            Self::Ascii => "~",
        }
    }
}
