//! Numbers as a report prints them.

/// Rounded to 10^-6: a kilobyte per second, a microsecond. `None` for what is no number.
pub(super) fn round(value: f64) -> Option<f64> {
    // minus zero prints as -0.0
    value.is_finite().then(|| (value * 1e6).round() / 1e6 + 0.0)
}

/// The same for what may be unknown.
pub(super) fn known(value: Option<f64>) -> Option<f64> {
    value.and_then(round)
}

/// Seconds from nanoseconds.
pub(super) fn seconds(ns: u64) -> f64 {
    round(ns as f64 / 1e9).unwrap_or_default()
}

/// Sum of what is known; `None` when nothing is.
pub(super) fn sum(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    known(values.flatten().reduce(|a, b| a + b))
}

#[cfg(test)]
mod tests {
    use super::{known, round, sum};

    #[test]
    fn nothing_but_finite_numbers_leaves_the_program() {
        assert_eq!(known(Some(f64::NAN)), None);
        assert_eq!(round(f64::INFINITY), None);
        assert_eq!(round(-1e-12).map(f64::is_sign_negative), Some(false));
        assert_eq!(round(0.1 + 0.2), Some(0.3));
    }

    #[test]
    fn a_sum_of_unknowns_is_unknown_and_not_zero() {
        assert_eq!(sum([None, None].into_iter()), None);
        assert_eq!(sum([None, Some(2.5)].into_iter()), Some(2.5));
    }
}
