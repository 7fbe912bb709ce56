//! How much of the past trends and strips show.

/// A length of time that ends with what is on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Zoom {
    /// 30 seconds.
    HalfMinute,
    /// A minute.
    #[default]
    Minute,
    /// Two minutes.
    TwoMinutes,
    /// Ten minutes.
    TenMinutes,
    /// The whole session up to there.
    All,
}

impl Zoom {
    const ALL: [Self; 5] = [Self::HalfMinute, Self::Minute, Self::TwoMinutes, Self::TenMinutes, Self::All];

    /// More of the past; the longest stays.
    #[must_use]
    pub fn wider(self) -> Self {
        Self::ALL.into_iter().find(|zoom| *zoom > self).unwrap_or(Self::All)
    }

    /// Less of the past; the shortest stays.
    #[must_use]
    pub fn narrower(self) -> Self {
        Self::ALL.into_iter().rfind(|zoom| *zoom < self).unwrap_or(Self::HalfMinute)
    }

    /// Its length, nanoseconds; `None` of the whole session.
    #[must_use]
    pub fn length_ns(self) -> Option<u64> {
        let seconds = match self {
            Self::HalfMinute => 30,
            Self::Minute => 60,
            Self::TwoMinutes => 120,
            Self::TenMinutes => 600,
            Self::All => return None,
        };
        Some(seconds * 1_000_000_000)
    }

    /// In words: `last 60 s`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::HalfMinute => "last 30 s",
            Self::Minute => "last 60 s",
            Self::TwoMinutes => "last 2 min",
            Self::TenMinutes => "last 10 min",
            Self::All => "all so far",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Zoom;

    #[test]
    fn zooming_ends_at_the_shortest_and_at_all() {
        let mut zoom = Zoom::default();
        let wide: Vec<_> = (0..4)
            .map(|_| {
                zoom = zoom.wider();
                zoom.word()
            })
            .collect();
        assert_eq!(wide, ["last 2 min", "last 10 min", "all so far", "all so far"]);
        assert_eq!(Zoom::HalfMinute.narrower(), Zoom::HalfMinute);
        assert_eq!(Zoom::All.narrower().narrower().narrower(), Zoom::Minute);
    }
}
