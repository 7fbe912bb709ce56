//! Moments of a session as people write them.

use super::Period;
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A moment of a session, counted from its start: `90s`, `2m`, `1:30`, `1:02:03.5`; a bare number is seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Moment(pub Duration);

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is no moment of a session; write 90s, 2m, 1:30 or 1:02:03");
        if !text.contains(':') {
            return Period::or_none(text).map(|period| Self(period.0)).map_err(|_| bad());
        }
        let mut parts = text.rsplit(':');
        let last = parts.next().unwrap_or_default();
        let is_plain = |part: &str| part.chars().all(|c| c.is_ascii_digit() || c == '.');
        let mut seconds: f64 = last.parse().ok().filter(|_| is_plain(last)).ok_or_else(bad)?;
        let mut unit = 1.0;
        let mut below = seconds;
        for part in parts {
            unit *= 60.0;
            let whole: u32 = part.parse().ok().filter(|_| is_plain(part)).ok_or_else(bad)?;
            // 1:75 is a slip of the hand, and nobody can say which one
            if below >= 60.0 || unit > 3600.0 {
                return Err(bad());
            }
            below = f64::from(whole);
            seconds += below * unit;
        }
        Duration::try_from_secs_f64(seconds).map(Self).map_err(|_| bad())
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Period(self.0).fmt(f)
    }
}

impl TryFrom<String> for Moment {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::Moment;

    #[test]
    fn a_moment_is_read_as_a_player_shows_it() {
        let ms = |text: &str| text.parse::<Moment>().map(|moment| moment.0.as_millis());
        assert_eq!(ms("90s"), Ok(90_000));
        assert_eq!(ms("90"), Ok(90_000));
        assert_eq!(ms("0"), Ok(0));
        assert_eq!(ms("1:30"), Ok(90_000));
        assert_eq!(ms("1:02:03.5"), Ok(3_723_500));
        assert_eq!(ms("90:00"), Ok(5_400_000));
        for bad in ["", ":", "1:75", "1:-5", "-1s", "1:2:3:4", "1:x", "1:1e3", "noon", "inf:1", "1:nan"] {
            assert!(ms(bad).is_err(), "{bad}");
        }
    }
}
