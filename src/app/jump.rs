//! A time that a person types, and where in the session it is.

use probes::times::nanoseconds;
use std::time::Duration;

/// Where a typed time is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Here {
    /// Time of what is on the screen, nanoseconds since the session began.
    pub at_ns: u64,
    /// First and last time of the session, as far as they are known.
    pub span_ns: (u64, u64),
    /// Wall clock at the session's start; `None` where the session has none.
    pub started_unix_ms: Option<u64>,
}

/// Forms of a time, for the prompt.
pub const FORMS: &str = "12:30  90s  -10s  +1m  50%  @14:03:05 (UTC)";

const DAY_S: u64 = 86_400;

/// The time that `text` means, nanoseconds since the session began.
///
/// # Errors
///
/// It is no time; the error says which forms there are.
pub fn target_ns(text: &str, here: Here) -> Result<u64, String> {
    let text = text.trim();
    let (first, last) = here.span_ns;
    if let Some(share) = text.strip_suffix('%') {
        let share = number(share.trim()).filter(|share| *share <= 100.0);
        let share = share.ok_or_else(|| format!("`{text}` is no share of the session; 0% to 100%"))?;
        return Ok(at_share(share / 100.0, first, last));
    }
    if text.rsplit(':').take(text.matches(':').count()).any(|part| whole(part).is_some_and(|n| n >= 60)) {
        return Err(format!("`{text}`: minutes and seconds go to 59"));
    }
    if let Some(clock) = text.strip_prefix('@') {
        let began_ms =
            here.started_unix_ms.ok_or("this session has no wall clock; say 12:30 from its start")?;
        let clock = clock.trim().trim_end_matches("UTC").trim();
        let of_day = colons(clock, Colons::OfDay).filter(|time| time.as_secs() < DAY_S);
        let of_day_ms = of_day.ok_or_else(|| refused(text))?.as_millis();
        let day_ms = u128::from(DAY_S) * 1000;
        let since_ms = (of_day_ms + day_ms - u128::from(began_ms) % day_ms) % day_ms;
        // of a session of days: the one that is nearest to what is on the screen, from the day of its start on
        let days = u128::from(here.at_ns / 1_000_000).saturating_sub(since_ms).div_ceil(day_ms);
        let candidates = [days.saturating_sub(1), days].map(|day| (since_ms + day * day_ms) * 1_000_000);
        let nearest = candidates.into_iter().min_by_key(|ns| ns.abs_diff(u128::from(here.at_ns)));
        return Ok(nearest.map_or(0, |ns| u64::try_from(ns).unwrap_or(u64::MAX)));
    }
    let (sign, time) = match text.split_at_checked(1) {
        Some((sign @ ("+" | "-"), time)) => (Some(sign), time),
        _ => (None, text),
    };
    let time = time.trim();
    let time = if time.contains(':') { colons(time, Colons::SinceStart) } else { units(time) };
    let ns = nanoseconds(time.ok_or_else(|| refused(text))?);
    Ok(match sign {
        Some("-") => here.at_ns.saturating_sub(ns),
        Some(_) => here.at_ns.saturating_add(ns),
        None => ns,
    })
}

/// The time at this share of the session's length.
#[must_use]
pub fn at_share(share: f64, first_ns: u64, last_ns: u64) -> u64 {
    let length = Duration::from_nanos(last_ns.saturating_sub(first_ns));
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    first_ns.saturating_add(nanoseconds(length.mul_f64(share)))
}

fn refused(text: &str) -> String {
    format!("`{text}` is no time; {FORMS}")
}

/// What two numbers with a colon are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colons {
    /// Minutes and seconds.
    SinceStart,
    /// Hours and minutes.
    OfDay,
}

/// `1:02:03.5`, or two of its parts.
fn colons(text: &str, two: Colons) -> Option<Duration> {
    let parts: Vec<&str> = text.split(':').collect();
    let (hours, minutes, seconds) = match (parts.as_slice(), two) {
        ([h, m, s], _) => (*h, *m, *s),
        ([h, m], Colons::OfDay) => (*h, *m, "0"),
        ([m, s], Colons::SinceStart) => ("0", *m, *s),
        _ => return None,
    };
    let whole = |text: &str| text.parse::<u32>().ok().map(f64::from);
    let s = whole(hours)? * 3600.0 + whole(minutes)? * 60.0 + number(seconds)?;
    Duration::try_from_secs_f64(s).ok()
}

/// `90`, `90s`, `1.5m`, `2h`, `500ms`.
fn units(text: &str) -> Option<Duration> {
    let at = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let (number_of, unit) = text.split_at(at);
    let seconds = match unit.trim() {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number(number_of)? * seconds).ok()
}

/// The digits before a point, or before what is no digit.
fn whole(text: &str) -> Option<u32> {
    let end = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Digits with at most one point; no sign, no exponent, no `inf`.
fn number(text: &str) -> Option<f64> {
    let is_plain = !text.is_empty() && text.chars().all(|char| char.is_ascii_digit() || char == '.');
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::{Here, target_ns};

    const SECOND: u64 = 1_000_000_000;

    /// Seconds that a text means at 0:42 of a session of 100 s that began at 03:04:05 UTC.
    fn means(text: &str) -> Result<f64, String> {
        let here =
            Here { at_ns: 42 * SECOND, span_ns: (0, 100 * SECOND), started_unix_ms: Some(1_764_385_445_000) };
        target_ns(text, here).map(|ns| ns as f64 / 1e9)
    }

    #[test]
    fn a_time_is_typed_as_people_write_it() {
        let texts = ["12:30", "1:02:03", "90s", "90", "1.5m", "500ms", "0:41.3", "2h", " 7 s "];
        let seconds = [750.0, 3723.0, 90.0, 90.0, 90.0, 0.5, 41.3, 7200.0, 7.0];
        assert_eq!(texts.map(|text| means(text).unwrap()), seconds);
    }

    #[test]
    fn a_sign_counts_from_what_is_on_the_screen() {
        assert_eq!(
            ["-10s", "+1m", "-1:00", "- 2 s"].map(|text| means(text).unwrap()),
            [32.0, 102.0, 0.0, 40.0]
        );
    }

    #[test]
    fn shares_and_times_of_day_are_places_too() {
        assert_eq!(["50%", "0%", "100 %"].map(|text| means(text).unwrap()), [50.0, 0.0, 100.0]);
        assert_eq!(["@03:04:35", "@03:05", "@03:04:45 UTC"].map(|t| means(t).unwrap()), [30.0, 55.0, 40.0]);
        let none = Here { at_ns: 0, span_ns: (0, 1), started_unix_ms: None };
        assert!(target_ns("@03:04", none).unwrap_err().contains("no wall clock"));
        // two days later the same time of day is the nearest one
        let later = Here { at_ns: 2 * 86_400 * SECOND, span_ns: (0, u64::MAX), started_unix_ms: Some(0) };
        assert_eq!(target_ns("@00:00:10", later).unwrap() / SECOND, 2 * 86_400 + 10);
        assert_eq!(target_ns("@23:59:50", later).unwrap() / SECOND, 2 * 86_400 - 10);
    }

    #[test]
    fn what_is_no_time_is_told_the_forms() {
        for text in ["", "x", "12:30:", ":", "--1s", "-", "1e9", "inf", "@25:00", "@", "5 weeks", "é"] {
            assert!(means(text).unwrap_err().contains("12:30  90s"), "{text}");
        }
    }

    #[test]
    fn what_lies_nowhere_is_refused_with_the_reason() {
        for text in ["NaN%", "%", "-5%", "250%", "inf%", "1e1%"] {
            assert_eq!(means(text), Err(format!("`{text}` is no share of the session; 0% to 100%")));
        }
        for text in ["1:99", "0:60", "1:75:00", "@03:75", "+1:60"] {
            assert_eq!(means(text), Err(format!("`{text}`: minutes and seconds go to 59")));
        }
        assert_eq!(means("90:00"), Ok(5400.0), "minutes alone go on");
    }
}
