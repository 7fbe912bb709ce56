//! H5: congestion, loss and pauses in the fabric.
//!
//! The NIC's counters tell, for each gigabyte that arrives, and beside those of the healthy rail in the same kind of load:
//! some marks and losses are ordinary life of a fast fabric. Alone and all together count each by itself, since what only
//! meets others together stands still alone.

use super::{Answer, Case, Hypothesis};
use crate::experiments::plan::Kind;
use crate::experiments::{RailSeen, Seen};
use crate::sweep::row::Nic;

/// Counters that grow by less for each gigabyte are ordinary life.
const NOTABLE_PER_GB: f64 = 1.0;
/// And so is what is not that many times as much as on the healthy rail.
const BEYOND_USUAL: f64 = 3.0;

/// What a NIC counted of one kind.
type Count = fn(&Nic) -> Option<u64>;

impl Case<'_> {
    pub(super) fn fabric(&self) -> Hypothesis {
        let hypothesis = |answer, because, code| Hypothesis {
            id: "H5",
            says: "the fabric: congestion, loss, pauses",
            answer,
            because,
            code,
        };
        let kinds: [(&str, &str, Count); 3] = [
            ("ecn-cnp", "congestion signals", |nic| nic.ecn_cnp),
            ("retransmit", "packets lost or out of order", |nic| nic.retransmits),
            ("rx-pause", "pauses received", |nic| nic.rx_pause),
        ];
        let own = self.moved(&self.rail.device, &[Kind::Alone, Kind::Together]);
        let mut words = Vec::new();
        let (mut worst, mut is_open): (Option<(f64, &str)>, bool) = (None, false);
        for (code, what, of) in kinds {
            let Some(count) = own.grown(of) else {
                words.push(format!("{what} not counted"));
                is_open = true;
                continue;
            };
            let Some(per_gb) = self.notable_per_gb(of) else {
                words.push(format!("{what} +{count}"));
                is_open |= count > 0 && !self.is_usual(of);
                continue;
            };
            words.push(format!("{what} +{count}, {per_gb:.0} for each GB"));
            if worst.is_none_or(|(most, _)| per_gb > most) {
                worst = Some((per_gb, code));
            }
        }
        let pushes_back = own.grown(|nic| nic.tx_pause).is_some_and(|count| count > 0);
        if pushes_back {
            words.push("and this host itself sent pauses or discarded".to_owned());
        }
        words.push("the peer's counters are not seen from here".to_owned());
        let answer = match worst {
            // a host that pushes back fills the queues that then are marked
            Some(_) if pushes_back => Answer::Unknown,
            Some(_) => Answer::Yes,
            None if is_open || pushes_back => Answer::Unknown,
            None => Answer::No,
        };
        hypothesis(answer, words.join(", "), worst.map_or("ecn-cnp", |(_, code)| code))
    }

    /// Growth for each gigabyte that is more than ordinary, in that of the two kinds of load where it is most.
    fn notable_per_gb(&self, of: Count) -> Option<f64> {
        let notable = [Kind::Alone, Kind::Together].into_iter().filter_map(|kind| {
            let kind = [kind];
            let per_gb = self.moved(&self.rail.device, &kind).per_gb(of)?;
            let usual = self.control.and_then(|device| self.moved(device, &kind).per_gb(of)).unwrap_or(0.0);
            (per_gb >= NOTABLE_PER_GB && per_gb >= BEYOND_USUAL * usual).then_some(per_gb)
        });
        notable.reduce(f64::max)
    }

    /// Whether the healthy rail counts as much of it for each gigabyte.
    fn is_usual(&self, of: Count) -> bool {
        let kinds = [Kind::Alone, Kind::Together];
        let own = self.moved(&self.rail.device, &kinds).per_gb(of);
        let usual = self.control.and_then(|device| self.moved(device, &kinds).per_gb(of));
        own.zip(usual).is_some_and(|(own, usual)| own < BEYOND_USUAL * usual)
    }

    /// What a rail moved and counted in loads of these kinds.
    pub(super) fn moved(&self, device: &str, kinds: &[Kind]) -> Moved<'_> {
        let is_it = |seen: &&Seen| kinds.iter().any(|kind| seen.step.is(kind, device));
        let loads = self.seen.iter().filter(is_it);
        Moved(loads.filter_map(|seen| Some((seen.of(device)?, seen.window_s))).collect())
    }
}

/// What a rail moved in some loads, each with the length of its window.
pub(super) struct Moved<'a>(Vec<(&'a RailSeen, f64)>);

impl Moved<'_> {
    /// How much counters of a kind grew; `None` where the NIC has none of the kind.
    pub(super) fn grown(&self, of: Count) -> Option<u64> {
        self.0.iter().filter_map(|(seen, _)| of(&seen.nic)).reduce(u64::saturating_add)
    }

    /// The same for each gigabyte of payload.
    fn per_gb(&self, of: Count) -> Option<f64> {
        let gb: f64 = self.0.iter().filter_map(|(seen, window_s)| Some(seen.gb_per_s? * window_s)).sum();
        (gb > 0.0).then(|| self.grown(of).map(|count| count as f64 / gb)).flatten()
    }
}
