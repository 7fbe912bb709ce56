//! Rates side by side, and what of them is a difference.

use super::Side;
use crate::report::MeanRow;
use probes::model::{LoadOp, LoadOrigin, Rail};
use serde::Serialize;

/// Rates are compared in means of a second: samples of 100 ms hang together, and would make each mean look more
/// certain than it is.
pub(super) const WINDOW_NS: u64 = 1_000_000_000;
/// A mean of fewer seconds says nothing of how much it varies.
const LEAST_SECONDS: usize = 5;
/// Standard errors that a difference must exceed.
const STANDARD_ERRORS: f64 = 3.0;
/// Share of a window that must lie between two samples.
const COVERED_S: f64 = 0.9;

/// Least blocks that a standard error is taken from: of fewer it is itself no better than a third.
const LEAST_BLOCKS: usize = 6;

/// The seconds of one rail under load, GB/s: a day of them is 700 kB.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread(Vec<f64>);

/// A mean with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// Mean of the seconds under load, GB/s.
    pub mean_gb_per_s: f64,
    /// Its standard error: the largest of those that means of 1, 2, 4 ... seconds give, six of them at least, so that
    /// what swings slowly counts too; null below two seconds.
    pub standard_error_gb_per_s: Option<f64>,
    /// Seconds it is of.
    pub seconds: u64,
}

/// What the second session is against the first, on one rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Slower by more than three standard errors and the tolerance.
    Slower,
    /// Faster, likewise.
    Faster,
    /// Neither.
    Same,
    /// The rates may not be held against each other.
    NotJudged,
    /// The rail is in the first session only.
    Gone,
    /// The rail is in the second session only.
    New,
}

impl Judgement {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Slower => "SLOWER",
            Self::Faster => "faster",
            Self::Same => "same",
            Self::NotJudged => "not judged",
            Self::Gone => "GONE",
            Self::New => "new",
        }
    }
}

/// One rail in both sessions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RailChange {
    /// RDMA device.
    pub device: String,
    /// Port, from 1.
    pub port: u32,
    /// Its rate in the first session; null without one.
    pub a: Option<Mean>,
    /// Its rate in the second.
    pub b: Option<Mean>,
    /// How much the second mean is above the first, percent of the first; null without two means.
    pub change_percent: Option<f64>,
    /// Difference of the means above which it is none of chance, GB/s: three times the root of the sum of the squares
    /// of both standard errors; null where it cannot be reckoned.
    pub limit_gb_per_s: Option<f64>,
    /// What it comes to.
    pub judgement: Judgement,
    /// Why this rail was not judged, where the sessions could be compared.
    pub because: Option<String>,
}

impl Spread {
    /// Takes a second of the rail; one that is not all under load counts nothing.
    ///
    /// Payload of our own load where there is one, else what the NIC counted in the load's direction.
    pub(super) fn add(&mut self, row: &MeanRow) {
        if row.covered_s < COVERED_S {
            return;
        }
        let Some(load) = row.load.as_deref() else { return };
        let rate = match (load.origin, load.op) {
            (LoadOrigin::Ours, _) => row.measured_gb_per_s,
            (LoadOrigin::Described, _) if !row.under_load => None,
            (LoadOrigin::Described, LoadOp::Read) => row.rx_gb_per_s,
            (LoadOrigin::Described, LoadOp::Write) => row.tx_gb_per_s,
        };
        self.0.extend(rate);
    }

    fn seconds(&self) -> usize {
        self.0.len()
    }

    fn mean(&self) -> Option<Mean> {
        (self.seconds() > 0).then(|| Mean {
            mean_gb_per_s: rounded(mean(&self.0)),
            standard_error_gb_per_s: self.standard_error().map(rounded),
            seconds: self.0.len() as u64,
        })
    }

    /// Seconds that hang together make each mean look more certain than it is: of means of longer blocks the standard
    /// error grows until they hang together no more, so the largest counts.
    ///
    /// Source: Flyvbjerg and Petersen, Journal of Chemical Physics 91 (1989) 461.
    fn standard_error(&self) -> Option<f64> {
        let mut blocks = self.0.clone();
        let mut largest = of_independent(&blocks)?;
        while blocks.len() / 2 >= LEAST_BLOCKS {
            blocks = blocks.chunks_exact(2).map(mean).collect();
            largest = largest.max(of_independent(&blocks)?);
        }
        Some(largest)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard error of the mean of values that know nothing of each other; `None` below two.
fn of_independent(values: &[f64]) -> Option<f64> {
    let (n, mean) = (values.len() as f64, mean(values));
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (values.len() >= 2).then(|| (squares / (n - 1.0) / n).sqrt())
}

/// Rails of both in the order of the first; those that only the second has at the end.
pub(super) fn compare(a: &Side, b: &Side, comparable: bool, tolerance_percent: f64) -> Vec<RailChange> {
    let rails = |side: &'_ Side| side.timeline.topology().rails.clone();
    let (before, after) = (rails(a), rails(b));
    let place = |list: &[Rail], rail: &Rail| list.iter().position(|other| is_same(other, rail));
    let mut changes: Vec<RailChange> = before
        .iter()
        .enumerate()
        .map(|(at, rail)| {
            let other = place(&after, rail).and_then(|at| b.spreads.get(at));
            change(rail, a.spreads.get(at), other, comparable, tolerance_percent)
        })
        .collect();
    let new = after.iter().enumerate().filter(|(_, rail)| place(&before, rail).is_none());
    changes
        .extend(new.map(|(at, rail)| change(rail, None, b.spreads.get(at), comparable, tolerance_percent)));
    changes
}

pub(super) fn is_same(a: &Rail, b: &Rail) -> bool {
    a.device == b.device && a.port == b.port
}

fn change(
    rail: &Rail,
    a: Option<&Spread>,
    b: Option<&Spread>,
    comparable: bool,
    tolerance_percent: f64,
) -> RailChange {
    let means = [a, b].map(|spread| spread.and_then(Spread::mean));
    let mut change = RailChange {
        device: rail.device.clone(),
        port: rail.port,
        a: means[0],
        b: means[1],
        change_percent: None,
        limit_gb_per_s: None,
        judgement: Judgement::NotJudged,
        because: None,
    };
    let (Some(a), Some(b)) = (a, b) else {
        change.judgement = if b.is_none() { Judgement::Gone } else { Judgement::New };
        return change;
    };
    let (mean_a, mean_b) = (mean(&a.0), mean(&b.0));
    if a.seconds() > 0 && b.seconds() > 0 && mean_a > 0.0 {
        change.change_percent = Some(rounded((mean_b - mean_a) / mean_a * 100.0));
    }
    if !comparable {
        return change;
    }
    let least = a.seconds().min(b.seconds());
    if least < LEAST_SECONDS {
        change.because = Some(if least == 0 {
            "no whole second of it under load in one of them".to_owned()
        } else {
            format!("only {least} whole seconds under load in one of them; {LEAST_SECONDS} are needed")
        });
        return change;
    }
    let (Some(error_a), Some(error_b)) = (a.standard_error(), b.standard_error()) else { return change };
    let limit = STANDARD_ERRORS * (error_a * error_a + error_b * error_b).sqrt();
    change.limit_gb_per_s = Some(rounded(limit));
    let difference = mean_b - mean_a;
    let is_beyond = difference.abs() > limit && difference.abs() > tolerance_percent / 100.0 * mean_a;
    change.judgement = match difference {
        _ if !is_beyond => Judgement::Same,
        ..0.0 => Judgement::Slower,
        _ => Judgement::Faster,
    };
    change
}

/// A kilobyte a second is as fine as anything here is known.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6 + 0.0
}

#[cfg(test)]
mod tests {
    use super::{Judgement, Spread, change, of_independent};
    use crate::report::MeanRow;
    use crate::rules::testing::{described, rail};
    use probes::model::LoadOp;
    use std::sync::Arc;

    fn spread(rates: &[f64]) -> Spread {
        let load = Arc::new(described(LoadOp::Read));
        let mut spread = Spread::default();
        for rate in rates {
            spread.add(&MeanRow {
                covered_s: 1.0,
                rx_gb_per_s: Some(*rate),
                under_load: true,
                load: Some(load.clone()),
                ..MeanRow::default()
            });
        }
        spread
    }

    fn judged(a: &[f64], b: &[f64]) -> Judgement {
        change(&rail("mlx5_0"), Some(&spread(a)), Some(&spread(b)), true, 1.0).judgement
    }

    #[test]
    fn a_difference_beyond_three_standard_errors_and_the_tolerance_is_one() {
        let steady = [48.0, 48.1, 47.9, 48.0, 48.1, 47.9];
        let swinging = [48.0, 60.0, 36.0, 52.0, 44.0, 48.0];
        let slow = steady.map(|rate| rate - 5.0);
        assert_eq!(judged(&steady, &slow), Judgement::Slower);
        assert_eq!(judged(&slow, &steady), Judgement::Faster);
        assert_eq!(judged(&swinging, &slow), Judgement::Same, "within what it varies by itself");
        let hair = steady.map(|rate| rate - 0.3);
        assert_eq!(judged(&steady, &hair), Judgement::Same, "certain, and below one per cent");
        assert_eq!(judged(&steady, &steady[..4]), Judgement::NotJudged);
    }

    #[test]
    fn a_standard_error_is_the_deviation_over_the_root_of_the_count() {
        let mean = spread(&[2.0, 4.0, 6.0, 8.0]).mean().unwrap();
        assert_eq!((mean.mean_gb_per_s, mean.seconds), (5.0, 4));
        // variance (9 + 1 + 1 + 9) / 3, and of that the root over 2
        assert_eq!(mean.standard_error_gb_per_s, Some(1.290_994));
        assert_eq!(spread(&[]).mean(), None);
        assert_eq!(spread(&[1.0]).mean().unwrap().standard_error_gb_per_s, None);
    }

    #[test]
    fn what_swings_slowly_is_no_more_certain_than_its_swings() {
        // ten seconds of each: some forty seconds that know no more than four of them
        let swings = |low: f64, high: f64| -> Vec<f64> {
            (0..48).map(|second| if second / 8 % 2 == 0 { low } else { high }).collect()
        };
        let mean = spread(&swings(46.0, 50.0)).mean().unwrap();
        let (naive, told) = (of_independent(&swings(46.0, 50.0)), mean.standard_error_gb_per_s);
        assert_eq!(naive.map(|error| (error * 100.0).round()), Some(29.0));
        assert_eq!(told.map(|error| (error * 100.0).round()), Some(89.0));
        assert_eq!(judged(&swings(46.0, 50.0), &swings(45.0, 48.0)), Judgement::Same);
    }

    #[test]
    fn a_rail_of_one_session_only_is_gone_or_new() {
        let one = spread(&[1.0]);
        let of = |a, b| change(&rail("mlx5_0"), a, b, true, 1.0).judgement;
        assert_eq!([of(Some(&one), None), of(None, Some(&one))], [Judgement::Gone, Judgement::New]);
    }
}
