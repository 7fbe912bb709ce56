//! Which sets of flow labels are tried until each leg of a bond was seen to receive.
//!
//! The sender's card chooses the leg that sends, the last switch the one that receives: it hashes addresses, UDP ports and
//! perhaps queue pair numbers. One load that arrives on one leg proves nothing of the other. So queue pairs are opened
//! anew, with other numbers and labels, a bounded number of times; what was never seen stays "not measurable here".

use crate::rules::lets_every_leg_carry;
use probes::model::{LegsSought, Rail};

/// Sets that are tried at most. Where a switch hashes labels at all, eight sets of one queue pair each all meet one of two
/// legs in 1 of 128 cases, and sets of several as good as never.
pub const TRIES: u32 = 8;

/// From this share of what arrives on, a leg receives: less are answers to something else.
const HEARD_SHARE: f64 = 0.02;

/// Why the search ends before it begins.
pub const UNREADABLE: &str = "the RDMA bytes of its legs cannot be read (driver statistics, ethtool -S)";

/// The search on one rail.
#[derive(Clone, Debug)]
pub struct Search {
    device: String,
    legs: Vec<String>,
    /// By leg, whether it received in any try.
    heard: Vec<bool>,
    /// Legs that one set of queue pairs can meet at a time.
    at_once: usize,
    tries: u32,
    /// The set with which most legs received, and how many did.
    best: Option<(u32, usize)>,
    given_up: bool,
    /// Why it cannot be told which legs receive.
    gap: Option<String>,
}

impl Search {
    /// On a rail that is loaded with so many queue pairs, which are to meet as many legs as they can at once; with 0 it is
    /// enough that each leg receives at some time. `None` where there is nothing to seek, as its bond does not let
    /// every leg carry, or it has none.
    #[must_use]
    pub fn on(rail: &Rail, qps: u32) -> Option<Self> {
        let bond = rail.bond.as_ref().filter(|bond| lets_every_leg_carry(bond))?;
        let legs: Vec<String> = bond.legs.iter().map(|leg| leg.netdev.clone()).collect();
        Some(Self {
            device: rail.device.clone(),
            heard: vec![false; legs.len()],
            at_once: legs.len().min(qps as usize),
            legs,
            tries: 0,
            best: None,
            given_up: false,
            gap: None,
        })
    }

    /// RDMA device.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The set of flow labels to try next, from 1; `None` when the search is over.
    #[must_use]
    pub fn next(&self) -> Option<u32> {
        let at_once = self.best.map_or(0, |(_, legs)| legs) >= self.at_once;
        let is_over = self.given_up || self.tries >= TRIES || (at_once && self.is_complete());
        (!is_over).then_some(self.tries + 1)
    }

    /// Whether each leg was seen to receive.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.heard.iter().all(|heard| *heard)
    }

    /// What each leg received with a set, GB/s; `None` where its counters cannot be read.
    pub fn saw(&mut self, set: u32, legs_gb_per_s: Option<&[f64]>) {
        self.tries += 1;
        let Some(rates) = legs_gb_per_s.filter(|rates| rates.len() == self.legs.len()) else {
            return self.give_up(UNREADABLE);
        };
        let sum: f64 = rates.iter().sum();
        if sum <= 0.0 {
            return self.give_up("its legs counted no RDMA bytes");
        }
        self.saw_before(rates);
        let now = rates.iter().filter(|rate| **rate >= HEARD_SHARE * sum).count();
        if self.best.is_none_or(|(_, most)| now > most) {
            self.best = Some((set, now));
        }
    }

    /// What each leg received in a load that was made for something else, GB/s.
    pub fn saw_before(&mut self, legs_gb_per_s: &[f64]) {
        let sum: f64 = legs_gb_per_s.iter().sum();
        for (heard, rate) in self.heard.iter_mut().zip(legs_gb_per_s) {
            *heard |= sum > 0.0 && *rate >= HEARD_SHARE * sum;
        }
    }

    /// The search cannot go on, because of this; what was seen before stays seen.
    pub fn give_up(&mut self, why: &str) {
        self.given_up = true;
        if !self.is_complete() {
            self.gap = Some(why.to_owned());
        }
    }

    /// What came of it.
    #[must_use]
    pub fn result(self) -> LegsSought {
        let of = |is_heard: bool| {
            let legs = self.legs.iter().zip(&self.heard).filter(move |(_, heard)| **heard == is_heard);
            legs.map(|(leg, _)| leg.clone()).collect::<Vec<_>>()
        };
        LegsSought {
            labels: self
                .best
                .filter(|(_, legs)| *legs >= self.at_once && self.gap.is_none())
                .map(|(set, _)| set),
            heard: of(true),
            silent: of(false),
            device: self.device.clone(),
            tries: self.tries,
            gap: self.gap,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Search, TRIES};
    use crate::rules::testing::{bonded, rail};
    use probes::model::LegsSought;

    /// The search on a bond whose switch does this with a set of labels; with the sets that were tried.
    fn sought(qps: u32, legs: impl Fn(u32) -> Option<[f64; 2]>) -> (Vec<u32>, LegsSought) {
        let mut search = Search::on(&bonded("mlx5_bond_1"), qps).unwrap();
        let mut tried = Vec::new();
        while let Some(set) = search.next() {
            tried.push(set);
            search.saw(set, legs(set).as_ref().map(|rates| &rates[..]));
        }
        (tried, search.result())
    }

    #[test]
    fn a_first_set_that_meets_both_legs_is_enough() {
        let (tried, sought) = sought(4, |_| Some([30.0, 18.0]));
        assert_eq!((tried, sought.labels, sought.unseen()), (vec![1], Some(1), None));
    }

    #[test]
    fn labels_are_varied_until_both_legs_received() {
        let (tried, sought) = sought(4, |set| Some(if set < 3 { [24.0, 0.1] } else { [24.0, 24.0] }));
        assert_eq!((tried, sought.labels, sought.tries), (vec![1, 2, 3], Some(3), 3));
        assert!(sought.silent.is_empty());
    }

    #[test]
    fn one_queue_pair_meets_one_leg_at_a_time() {
        let (tried, sought) = sought(1, |set| Some(if set == 4 { [0.0, 24.0] } else { [24.0, 0.0] }));
        assert_eq!((tried.len(), sought.silent.len(), sought.labels), (4, 0, Some(1)));
    }

    #[test]
    fn a_leg_that_never_received_is_not_measurable_and_the_load_keeps_the_drivers_labels() {
        let (tried, sought) = sought(4, |_| Some([24.0, 0.0]));
        assert_eq!((tried.len(), sought.labels), (TRIES as usize, None));
        assert_eq!(
            (&sought.heard[..], &sought.silent[..]),
            (&["eth0".to_owned()][..], &["eth1".to_owned()][..])
        );
    }

    #[test]
    fn without_counters_of_the_legs_nothing_is_tried_twice() {
        let (tried, sought) = sought(4, |_| None);
        assert_eq!(tried, [1]);
        assert!(sought.unseen().unwrap().starts_with("the RDMA bytes of its legs cannot be read"));
    }

    #[test]
    fn there_is_nothing_to_seek_on_one_port_or_where_one_leg_waits_by_design() {
        assert!(Search::on(&rail("mlx5_0"), 4).is_none());
        let mut bond = bonded("mlx5_bond_1");
        bond.bond.as_mut().unwrap().mode = Some("active-backup".into());
        assert!(Search::on(&bond, 4).is_none());
    }
}
