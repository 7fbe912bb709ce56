//! Loads of one kind that were made more than once, and whether they differ from others by more than chance.
//!
//! A rate over a second strays by some percent from one second to the next. What looks different is therefore loaded three
//! times, and so is what it is held against. Two kinds differ when all rates of the one are beyond all of the other (three
//! beside three that are alike fall so once in twenty times: Mann and Whitney 1947) and their means differ by more than a
//! tenth, and by more than the rates of either stray among themselves.

use super::Seen;
use super::plan::Kind;

/// How often a load is made on whose rate something hangs.
pub(super) const ROUNDS: u32 = 3;
/// Means that differ by less are the same.
const SAME: f64 = 0.10;

/// Rates of one rail in loads of one kind, GB/s, in the order of their rounds; at least one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rates(Vec<f64>);

/// How a kind of load compares with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// It brings more.
    More,
    /// It brings less.
    Less,
    /// The difference is none that counts.
    Same,
}

/// The loads of a kind that are about this rail.
pub(super) fn of_kind<'a>(
    seen: &'a [Seen],
    kind: &'a Kind,
    device: &'a str,
) -> impl Iterator<Item = &'a Seen> {
    seen.iter().filter(move |seen| seen.step.is(kind, device))
}

impl Rates {
    /// What loads of this kind brought on a rail.
    ///
    /// # Errors
    ///
    /// In words: why there is no rate.
    pub(super) fn of(seen: &[Seen], kind: &Kind, device: &str) -> Result<Self, String> {
        let rates = of_kind(seen, kind, device).filter_map(|seen| seen.of(device)?.gb_per_s);
        let rates: Vec<f64> = rates.collect();
        if !rates.is_empty() {
            return Ok(Self(rates));
        }
        let Some(first) = of_kind(seen, kind, device).next() else {
            return Err(format!("{kind}: was not tried"));
        };
        Err(match (&first.failed, first.of(device)) {
            (Some(why), _) => format!("{kind}: {why}"),
            (None, None) => format!("{kind}: nothing was measured"),
            (None, Some(_)) => format!("{kind}: no message was completed"),
        })
    }

    /// What all rails of each load of this kind that is about this one brought together; `None` where none of them did.
    pub(super) fn sums(seen: &[Seen], kind: &Kind, device: &str) -> Option<Self> {
        let of_load = |seen: &Seen| {
            seen.of(device)?.gb_per_s?;
            Some(seen.rails.iter().filter_map(|rail| rail.gb_per_s).sum::<f64>())
        };
        let sums: Vec<f64> = of_kind(seen, kind, device).filter_map(of_load).collect();
        (!sums.is_empty()).then_some(Self(sums))
    }

    pub(super) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    pub(super) fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::MAX, f64::min)
    }

    pub(super) fn most(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }

    pub(super) fn rounds(&self) -> usize {
        self.0.len()
    }

    /// Share of the mean by which they stray: between the least and the most.
    pub(super) fn strays(&self) -> f64 {
        let mean = self.mean();
        if mean > 0.0 { (self.most() - self.least()) / mean } else { 0.0 }
    }

    /// How these compare with what they are held against.
    pub(super) fn beside(&self, base: &Self) -> Compared {
        self.beyond(base, base.strays().max(self.strays()))
    }

    /// The same where loads that ought to be alike are known to stray by this share of the mean.
    pub(super) fn beyond(&self, base: &Self, strays: f64) -> Compared {
        let counts = SAME.max(strays) * base.mean();
        let by = self.mean() - base.mean();
        if by > counts && self.least() > base.most() {
            Compared::More
        } else if -by > counts && self.most() < base.least() {
            Compared::Less
        } else {
            Compared::Same
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Compared, Rates};

    #[test]
    fn only_what_lies_apart_by_more_than_it_strays_differs() {
        let beside = |one: &[f64], base: &[f64]| Rates(one.to_vec()).beside(&Rates(base.to_vec()));
        let base = [20.0, 20.2, 19.8];
        assert_eq!(beside(&[30.0, 29.0, 31.0], &base), Compared::More);
        assert_eq!(beside(&[14.0, 15.0, 14.5], &base), Compared::Less);
        assert_eq!(beside(&[21.0, 21.2, 21.1], &base), Compared::Same, "5 %");
        assert_eq!(beside(&[30.0, 20.1, 30.0], &base), Compared::Same, "once it was not");
        assert_eq!(beside(&[24.0, 24.5, 24.2], &[20.0, 23.9, 18.0]), Compared::Same, "it strays by as much");
        assert_eq!(beside(&[21.0, 24.9, 24.0], &base), Compared::Same, "and so does the other");
        let quiet = Rates(vec![24.0, 24.2, 24.1]);
        assert_eq!(
            quiet.beyond(&Rates(base.to_vec()), 0.25),
            Compared::Same,
            "loads of a third kind stray more"
        );
    }
}
