//! Which leg of a bond carried the data of a load that asked for one.

use super::number::round;
use crate::timeline::{LegSums, Sum, Timeline};
use probes::model::{LegsSought, Load, LoadOp, Rail};
use serde::Serialize;
use std::fmt;

/// Above this share one leg had everything: the counters are not read at the same instant.
const ALL: f64 = 0.995;

/// Which way the data of a row went, seen from this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// The legs that received.
    Received,
    /// The legs that sent.
    Sent,
}

/// The busiest leg of one rail in one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LegOfLoad {
    /// Rail.
    pub device: String,
    /// Direction.
    pub way: Way,
    /// Number of the busiest leg, from 1; null where that is not measurable.
    pub leg: Option<u32>,
    /// Its netdev; null as above.
    pub netdev: Option<String>,
    /// Its share of the RDMA bytes of all legs; null as above.
    pub share: Option<f64>,
    /// Why it is not measurable what each leg receives; null where it is.
    pub gap: Option<String>,
    /// Whether one leg had all of several queue pairs, though each had a UDP source port of its own.
    pub all_on_one: bool,
}

impl LegOfLoad {
    /// A row for each rail and direction; none where the load asked for no leg.
    pub(super) fn all(load: &Load, timeline: &Timeline) -> Vec<Self> {
        if load.leg.is_none() {
            return Vec::new();
        }
        // what was asked for is what is sent; who receives is the switch's choice
        let ways: &[Way] = match (load.op, load.bidirectional) {
            (LoadOp::Read, false) => &[Way::Received],
            (_, true) | (LoadOp::Write, false) => &[Way::Sent, Way::Received],
        };
        let sums = &timeline.local().sums().rails;
        let rails = timeline.topology().rails.iter().enumerate();
        rails
            .filter(|(_, rail)| load.drives(&rail.device))
            .flat_map(|(at, rail)| {
                let legs = sums.get(at).map_or(&[][..], |sums| &sums.legs);
                ways.iter().map(move |way| Self::of(rail, legs, *way, load))
            })
            .collect()
    }

    fn of(rail: &Rail, legs: &[LegSums], way: Way, load: &Load) -> Self {
        let row = Self {
            device: rail.device.clone(),
            way,
            leg: None,
            netdev: None,
            share: None,
            gap: None,
            all_on_one: false,
        };
        let gap = |why: &str| Self { gap: Some(why.to_owned()), ..row.clone() };
        if way == Way::Received && load.op == LoadOp::Write && !load.bidirectional {
            return gap("the peer receives: its own counters tell (`railscope top` there)");
        }
        let Some(bond) = &rail.bond else {
            return gap("it is no bond on this host");
        };
        let sums: Vec<&Sum> =
            legs.iter().map(|leg| if way == Way::Received { &leg.rx } else { &leg.tx }).collect();
        if sums.is_empty() || sums.iter().any(|sum| sum.count == 0) {
            return gap("the RDMA bytes of its legs were not read twice (driver statistics, ethtool -S)");
        }
        let total: f64 = sums.iter().map(|sum| sum.bytes).sum();
        let busiest = sums.iter().enumerate().max_by(|a, b| a.1.bytes.total_cmp(&b.1.bytes));
        let Some((at, busiest)) = busiest.filter(|_| total > 0.0) else {
            return gap("its legs counted no RDMA bytes");
        };
        let share = busiest.bytes / total;
        let sought = load.legs_sought.iter().find(|sought| sought.device == rail.device);
        let unseen = sought.filter(|_| way == Way::Received && share >= ALL).and_then(LegsSought::unseen);
        Self {
            leg: Some(bond.port_of_leg(at)),
            netdev: bond.legs.get(at).map(|leg| leg.netdev.clone()),
            share: round(share),
            gap: unseen,
            all_on_one: way == Way::Received && share >= ALL && load.qps.is_some_and(|qps| qps > 1),
            ..row
        }
    }
}

impl fmt::Display for LegOfLoad {
    /// `mlx5_0 received: leg 2 (eth1) 98 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match self.way {
            Way::Received => "received",
            Way::Sent => "sent",
        };
        write!(f, "{} {way}: ", self.device)?;
        if let Some(gap) = &self.gap {
            // what one leg does when the data arrive on the other
            return write!(f, "not measurable here, because {gap}");
        }
        let (leg, netdev) = (self.leg.unwrap_or_default(), self.netdev.as_deref().unwrap_or_default());
        write!(f, "leg {leg} ({netdev}) {:.0} %", self.share.unwrap_or_default() * 100.0)?;
        if self.all_on_one {
            f.write_str(
                "; the hash of the switch put all queue pairs on it, and was not seen to vary: run it again, or with \
                 more --qps",
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{LegOfLoad, Way};
    use crate::timeline::{LegSums, Sum};
    use probes::model::{Bond, Leg, LegsSought, Load, LoadOp, Rail};

    fn rail() -> Rail {
        let leg = |netdev: &str, address: &str| Leg {
            netdev: netdev.into(),
            pci_address: Some(address.into()),
            ..Leg::default()
        };
        // the bonding driver has them in the order in which they joined
        let legs = vec![leg("eth1", "0000:1a:00.1"), leg("eth0", "0000:1a:00.0")];
        Rail { device: "mlx5_0".into(), bond: Some(Bond { legs, ..Bond::default() }), ..Rail::default() }
    }

    fn legs(received: [f64; 2]) -> Vec<LegSums> {
        let sum = |bytes| Sum { bytes, ns: 1e9, count: 1, ..Sum::default() };
        received.map(|bytes| LegSums { rx: sum(bytes), tx: sum(bytes) }).to_vec()
    }

    fn said(legs: &[LegSums], way: Way, op: LoadOp) -> String {
        let load = Load { leg: Some(1), qps: Some(4), op, ..Load::default() };
        LegOfLoad::of(&rail(), legs, way, &load).to_string()
    }

    #[test]
    fn the_busiest_leg_is_named_by_its_port_of_the_card() {
        assert_eq!(
            said(&legs([98.0, 2.0]), Way::Received, LoadOp::Read),
            "mlx5_0 received: leg 2 (eth1) 98 %"
        );
        assert_eq!(said(&legs([2.0, 98.0]), Way::Sent, LoadOp::Write), "mlx5_0 sent: leg 1 (eth0) 98 %");
    }

    #[test]
    fn a_hash_that_was_not_seen_to_vary_is_said() {
        let all = said(&legs([0.0, 100.0]), Way::Received, LoadOp::Read);
        assert!(
            all.starts_with("mlx5_0 received: leg 1 (eth0) 100 %; the hash of the switch put all"),
            "{all}"
        );
        assert_eq!(said(&legs([0.0, 1.0]), Way::Sent, LoadOp::Write), "mlx5_0 sent: leg 1 (eth0) 100 %");
    }

    #[test]
    fn a_leg_that_never_received_whatever_was_tried_is_not_measurable() {
        let sought = LegsSought {
            device: "mlx5_0".into(),
            tries: 8,
            heard: vec!["eth0".into()],
            silent: vec!["eth1".into()],
            ..LegsSought::default()
        };
        let load = Load { leg: Some(1), qps: Some(4), legs_sought: vec![sought], ..Load::default() };
        let row = LegOfLoad::of(&rail(), &legs([0.0, 100.0]), Way::Received, &load);
        assert_eq!((row.leg, row.share), (Some(1), Some(1.0)), "what was measured stays in the JSON");
        let said = row.to_string();
        assert!(
            said.starts_with("mlx5_0 received: not measurable here, because in 8 tries with other"),
            "{said}"
        );
    }

    #[test]
    fn what_cannot_be_measured_has_a_reason() {
        let why = |legs: &[LegSums], op| said(legs, Way::Received, op);
        let unread = why(&[LegSums::default(); 2], LoadOp::Read);
        assert!(
            unread.starts_with("mlx5_0 received: not measurable here, because the RDMA bytes of"),
            "{unread}"
        );
        assert!(why(&legs([0.0; 2]), LoadOp::Read).ends_with("its legs counted no RDMA bytes"));
        assert!(why(&legs([1.0, 1.0]), LoadOp::Write).contains("because the peer receives"));
    }
}
