//! Durations and sizes as people and perftest write them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A duration: `100ms`, `5s`, `2m`, `1h`; a bare number is seconds, as in perftest's `-D`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Period(pub Duration);

impl Period {
    /// The same for a time that may also be none at all: a warm-up of `0s`.
    ///
    /// # Errors
    ///
    /// The text is no duration.
    pub fn or_none(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is no duration; write 100ms, 5s, 2m or 1h");
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number: f64 = text[..digits].parse().map_err(|_| bad())?;
        let seconds = match &text[digits..] {
            "ms" => number / 1e3,
            "" | "s" => number,
            "m" | "min" => number * 60.0,
            "h" => number * 3600.0,
            _ => return Err(bad()),
        };
        Duration::try_from_secs_f64(seconds).map(Self).map_err(|_| bad())
    }
}

impl FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let period = Self::or_none(text)?;
        if period.0.is_zero() {
            return Err(format!("`{text}`: a duration must be longer than nothing"));
        }
        Ok(period)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        if ms.is_multiple_of(1000) { write!(f, "{}s", ms / 1000) } else { write!(f, "{ms}ms") }
    }
}

impl TryFrom<String> for Period {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Period> for String {
    fn from(period: Period) -> Self {
        period.to_string()
    }
}

/// Bytes of a file: `500K`, `200M`, `2G`; powers of two. At least 64K, in which a header and a few blocks find room.
///
/// # Errors
///
/// The text is no size, or a smaller one.
pub fn file_bytes(text: &str) -> Result<u64, String> {
    const LEAST: u64 = 64 << 10;
    let bad = || format!("`{text}` is no size; write 500K, 200M or 2G");
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().map_err(|_| bad())?;
    let shift = match &text[digits..] {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        _ => return Err(bad()),
    };
    let bytes = number.checked_mul(1 << shift).ok_or_else(bad)?;
    if bytes < LEAST { Err(format!("`{text}`: a recording needs 64K at least")) } else { Ok(bytes) }
}

/// A message size in bytes: `65536`, `64K`, `1M`; K and M are powers of two, as in perftest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is no size; write 65536, 64K or 1M");
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let number: u64 = text[..digits].parse().map_err(|_| bad())?;
        let shift = match text[digits..].to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
            "" => 0,
            "k" => 10,
            "m" => 20,
            "g" => 30,
            _ => return Err(bad()),
        };
        let bytes = number.checked_mul(1 << shift).ok_or_else(bad)?;
        // 2^31 is the largest message of an InfiniBand queue pair (IBTA 1.4, 9.7.3)
        if bytes == 0 || bytes > 1 << 31 {
            return Err(format!("`{text}`: a message has 1 byte to 2G"));
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n >= 1 << 20 && n % (1 << 20) == 0 => write!(f, "{}M", n >> 20),
            n if n >= 1 << 10 && n % (1 << 10) == 0 => write!(f, "{}K", n >> 10),
            n => write!(f, "{n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Period, Size};

    #[test]
    fn durations_are_read_as_people_write_them() {
        let ms = |text: &str| text.parse::<Period>().map(|p| p.0.as_millis());
        assert_eq!(ms("100ms"), Ok(100));
        assert_eq!(ms("5s"), Ok(5000));
        assert_eq!(ms("1.5s"), Ok(1500));
        assert_eq!(ms("2m"), Ok(120_000));
        assert_eq!(ms("15"), Ok(15_000));
        for bad in ["", "s", "5 s", "-1s", "0s", "5x", "1e9h"] {
            assert!(ms(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_a_warm_up_may_take_no_time() {
        assert_eq!(Period::or_none("0s").map(|p| p.0.as_millis()), Ok(0));
        assert_eq!(Period::or_none("500ms").map(|p| p.0.as_millis()), Ok(500));
        assert!(Period::or_none("-1s").is_err());
        assert!("0s".parse::<Period>().is_err());
    }

    #[test]
    fn sizes_are_powers_of_two_as_in_perftest() {
        let bytes = |text: &str| text.parse::<Size>().map(|s| s.0);
        assert_eq!(bytes("65536"), Ok(65536));
        assert_eq!(bytes("64K"), Ok(65536));
        assert_eq!(bytes("64k"), Ok(65536));
        assert_eq!(bytes("1M"), Ok(1 << 20));
        assert_eq!(bytes("1MiB"), Ok(1 << 20));
        for bad in ["", "K", "0", "3G", "1.5M", "64X", "99999999999999999999"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
