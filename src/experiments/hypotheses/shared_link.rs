//! H2: it shares a PCIe link with other rails.
//!
//! It is one when the rail brings less beside those below the same link than by itself, and the link is full then. A drop
//! alone may as well be the fabric's, or the peer's.

use super::{Answer, Case, Hypothesis, inconclusive, not_measurable};
use crate::experiments::neighbours::{shared_payload_gb_per_s, sharing};
use crate::experiments::plan::Kind;
use crate::experiments::rounds::{Compared, of_kind};
use crate::rules::rate;

/// A link that carries this share of its payload rate is full: flow control, acknowledgements and read requests take the
/// rest (Neugebauer et al., Understanding PCIe performance for end host networking, SIGCOMM 2018).
const FULL: f64 = 0.80;

impl Case<'_> {
    pub(super) fn shared_link(&self) -> Hypothesis {
        let hypothesis = |answer, because| Hypothesis {
            id: "H2",
            says: "it shares a PCIe link with other rails",
            answer,
            because,
            code: "shared-pcie",
        };
        if self.rail.pcie.is_none() {
            return hypothesis(Answer::Unknown, not_measurable("its PCIe path is not known"));
        }
        let others = sharing(self.topology, self.rail);
        if others.is_empty() {
            return hypothesis(
                Answer::No,
                "no other rail that was loaded has a link in common with it".to_owned(),
            );
        }
        let (alone, beside) = match (self.rates(&Kind::Alone), self.rates(&Kind::Sharing)) {
            (Ok(alone), Ok(beside)) => (alone, beside),
            (Err(why), _) | (_, Err(why)) => return hypothesis(Answer::Unknown, not_measurable(&why)),
        };
        let sums = of_kind(self.seen, &Kind::Sharing, &self.rail.device)
            .map(|seen| seen.rails.iter().filter_map(|rail| rail.gb_per_s).sum::<f64>());
        let sum = sums.fold(0.0, f64::max);
        let carries = shared_payload_gb_per_s(self.topology, self.rail, &others);
        let link = carries.map_or_else(|| "unknown".to_owned(), rate);
        let says = format!(
            "alone {}, beside {} {} GB/s; together {} GB/s, the link they share carries {link}{}",
            rate(alone.mean()),
            others.join(", "),
            rate(beside.mean()),
            rate(sum),
            self.noise()
        );
        let is_full = carries.map(|carries| sum >= FULL * carries);
        match (beside.beside(&alone), is_full) {
            (Compared::Same | Compared::More, _) => hypothesis(Answer::No, says),
            (Compared::Less, Some(true)) => hypothesis(Answer::Yes, says),
            (Compared::Less, Some(false)) => hypothesis(
                Answer::Inconclusive,
                inconclusive(&format!("it drops beside them while the link is not full: {says}")),
            ),
            (Compared::Less, None) => hypothesis(
                Answer::Inconclusive,
                inconclusive(&format!(
                    "it drops beside them, and what the link carries is not known: {says}"
                )),
            ),
        }
    }
}
