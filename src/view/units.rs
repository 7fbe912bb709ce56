//! Numbers become text here and nowhere else on the screen.

use serde::Deserialize;
use std::str::FromStr;
use std::time::Duration;

/// Unit that rates are shown in. Rates themselves are always held in GB/s, 10^9 bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum RateUnit {
    /// 10^9 bytes per second.
    #[default]
    #[serde(rename = "GB/s")]
    GigabytesPerS,
    /// 10^9 bits per second.
    #[serde(rename = "Gb/s")]
    GigabitsPerS,
    /// 2^30 bytes per second.
    #[serde(rename = "GiB/s")]
    GibibytesPerS,
}

impl RateUnit {
    /// The one that the units key goes to.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::GigabytesPerS => Self::GigabitsPerS,
            Self::GigabitsPerS => Self::GibibytesPerS,
            Self::GibibytesPerS => Self::GigabytesPerS,
        }
    }

    /// Every unit, in the order of the units key.
    const ALL: [Self; 3] = [Self::GigabytesPerS, Self::GigabitsPerS, Self::GibibytesPerS];

    /// As it is written after a number, by prefix: kilo, mega, giga.
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::GigabytesPerS => ["kB/s", "MB/s", "GB/s"],
            Self::GigabitsPerS => ["kb/s", "Mb/s", "Gb/s"],
            Self::GibibytesPerS => ["KiB/s", "MiB/s", "GiB/s"],
        }
    }

    /// The rate in this unit, by prefix.
    fn numbers(self, gb_per_s: f64) -> [f64; 3] {
        let giga = match self {
            Self::GigabytesPerS => gb_per_s,
            Self::GigabitsPerS => gb_per_s * 8.0,
            Self::GibibytesPerS => return [10, 20, 30].map(|bits| gb_per_s * 1e9 / f64::from(1_u32 << bits)),
        };
        [giga * 1e6, giga * 1e3, giga]
    }
}

/// How rates are written on one screen: all in one unit with one prefix, so that columns compare.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    unit: RateUnit,
    /// 0 kilo, 1 mega, 2 giga.
    prefix: usize,
}

impl Rates {
    /// The largest prefix in which the largest rate of the screen is at least 1.
    #[must_use]
    pub fn up_to(largest_gb_per_s: f64, unit: RateUnit) -> Self {
        let prefix = unit.numbers(largest_gb_per_s).iter().rposition(|number| *number >= 1.0).unwrap_or(0);
        Self { unit, prefix }
    }

    /// The unit as it is written after a number.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.unit.words()[self.prefix]
    }

    /// The number alone.
    #[must_use]
    pub fn number(self, gb_per_s: f64) -> f64 {
        self.unit.numbers(gb_per_s)[self.prefix]
    }

    /// Whether findings, which are always told in GB/s, are told in another unit.
    #[must_use]
    pub fn is_unlike_findings(self) -> bool {
        self.word() != "GB/s"
    }

    /// The number without its unit: `48.7`, `0.035`; at most four digits that count; a trickle is `<0.001`, never 0.
    #[must_use]
    pub fn text(self, gb_per_s: f64) -> String {
        let number = self.number(gb_per_s);
        match number {
            _ if number <= 0.0 => "0.0".to_owned(),
            _ if number < 0.001 => "<0.001".to_owned(),
            _ if number < 0.1 => format!("{number:.3}"),
            _ if number < 1.0 => format!("{number:.2}"),
            _ if number < 999.95 => format!("{number:.1}"),
            _ => format!("{number:.0}"),
        }
    }
}

impl FromStr for RateUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is no unit of rates; write GB/s, Gb/s or GiB/s");
        Self::ALL.into_iter().find(|unit| unit.words()[2] == text).ok_or_else(bad)
    }
}

/// A share in whole percent: `99%`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// Memory as it is sold: `1.1 TiB`, `512 GiB`.
#[must_use]
pub fn memory(bytes: u64) -> String {
    const NAMES: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut number = bytes as f64 / 1024.0;
    let mut names = NAMES.iter();
    let mut name = names.next().copied().unwrap_or_default();
    for next in names {
        if number < 1024.0 {
            break;
        }
        number /= 1024.0;
        name = next;
    }
    if number < 10.0 && bytes > 0 { format!("{number:.1} {name}") } else { format!("{number:.0} {name}") }
}

/// Time since the session began: `0:42`, `1:02:03`.
#[must_use]
pub fn position(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// The same with as many digits as frames so far apart need: `0:42.3`.
#[must_use]
pub fn exact_position(ns: u64, interval_ns: u64) -> String {
    let whole = position(ns);
    match interval_ns {
        1_000_000_000.. if ns.is_multiple_of(1_000_000_000) => whole,
        10_000_000.. if interval_ns.is_multiple_of(100_000_000) => {
            format!("{whole}.{}", ns / 100_000_000 % 10)
        }
        _ => format!("{whole}.{:03}", ns / 1_000_000 % 1000),
    }
}

/// Time of day, so that the screen can be held against a log: `03:04:05 UTC`.
#[must_use]
pub fn time_of_day(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000 % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Day and minute, as a list of sessions has it: `2025-11-29 03:04`, UTC.
///
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
#[must_use]
pub fn day_and_minute(unix_ms: u64) -> String {
    let minutes = unix_ms / 60_000;
    let days = minutes / 1440 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}", minutes / 60 % 24, minutes % 60)
}

/// A time as people say it: `3 min 20 s`.
#[must_use]
pub fn time_in_words(time: Duration) -> String {
    let seconds = (time + Duration::from_millis(500)).as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// What is said, on the screen and without one, of work that takes so long yet: `3 min 20 s left`.
#[must_use]
pub fn time_left(left: Duration) -> String {
    if left < Duration::from_secs(1) {
        "nearly done".to_owned()
    } else {
        format!("{} left", time_in_words(left))
    }
}

/// A short time in seconds, whole from ten on: `2.5`, `12`.
#[must_use]
pub fn seconds(s: f64) -> String {
    if s < 10.0 && s.fract() >= 0.05 { format!("{s:.1}") } else { format!("{s:.0}") }
}

#[cfg(test)]
mod tests {
    use super::{
        RateUnit, Rates, day_and_minute, exact_position, memory, percent, position, seconds, time_in_words,
        time_left, time_of_day,
    };
    use std::time::Duration;

    #[test]
    fn times_are_said_as_people_say_them() {
        let second = Duration::from_secs;
        assert_eq!([9, 200, 7260].map(|s| time_in_words(second(s))), ["9 s", "3 min 20 s", "2 h 1 min"]);
        let left = [Duration::from_millis(900), second(1), second(68)].map(time_left);
        assert_eq!(left, ["nearly done", "1 s left", "1 min 8 s left"]);
    }

    /// A rate on a screen whose largest rate it is.
    fn alone(gb_per_s: f64, unit: RateUnit) -> String {
        let rates = Rates::up_to(gb_per_s, unit);
        format!("{} {}", rates.text(gb_per_s), rates.word())
    }

    #[test]
    fn one_rate_in_three_units() {
        let unit = RateUnit::default();
        let units = [unit, unit.next(), unit.next().next()];
        assert_eq!(units.map(|unit| alone(49.0, unit)), ["49.0 GB/s", "392.0 Gb/s", "45.6 GiB/s"]);
        assert_eq!(units.map(|unit| alone(0.02, unit)), ["20.0 MB/s", "160.0 Mb/s", "19.1 MiB/s"]);
        assert_eq!(units.map(|unit| alone(0.000_02, unit)), ["20.0 kB/s", "160.0 kb/s", "19.5 KiB/s"]);
        assert_eq!(unit.next().next().next(), unit);
    }

    #[test]
    fn rates_of_one_screen_have_one_unit() {
        let rates = Rates::up_to(0.35, RateUnit::GigabytesPerS);
        assert_eq!([0.35, 0.0123, 0.000_05, 0.0].map(|gb| rates.text(gb)), ["350.0", "12.3", "0.050", "0.0"]);
        assert_eq!(rates.word(), "MB/s");
        assert_eq!(Rates::up_to(0.0, RateUnit::GigabytesPerS).word(), "kB/s");
    }

    #[test]
    fn a_trickle_is_not_nothing() {
        let text = |gb| Rates::up_to(1000.0, RateUnit::GigabytesPerS).text(gb);
        let rates = [0.0, 0.000_2, 0.03, 0.5, 1.0, 413.24, 999.97, 3136.2];
        assert_eq!(rates.map(text), ["0.0", "<0.001", "0.030", "0.50", "1.0", "413.2", "1000", "3136"]);
    }

    #[test]
    fn sizes_times_and_shares_are_short() {
        assert_eq!(memory(1_209_462_790_553), "1.1 TiB");
        assert_eq!(memory(512 << 30), "512 GiB");
        assert_eq!(memory(0), "0 KiB");
        assert_eq!(position(42_900_000_000), "0:42");
        assert_eq!(exact_position(42_930_000_000, 100_000_000), "0:42.9");
        assert_eq!(exact_position(42_930_000_000, 10_000_000), "0:42.930");
        assert_eq!(exact_position(42_000_000_000, 1_000_000_000), "0:42");
        assert_eq!(position(3_723_000_000_000), "1:02:03");
        assert_eq!(time_of_day(1_764_385_445_000), "03:04:05 UTC");
        assert_eq!(day_and_minute(1_764_385_445_000), "2025-11-29 03:04");
        assert_eq!(day_and_minute(951_782_340_000), "2000-02-28 23:59");
        assert_eq!(day_and_minute(951_868_740_000), "2000-02-29 23:59");
        assert_eq!(day_and_minute(1_798_761_600_000), "2027-01-01 00:00");
        assert_eq!(percent(0.994), "99%");
        assert_eq!([2.0, 2.5, 12.7].map(seconds), ["2", "2.5", "13"]);
    }
}
