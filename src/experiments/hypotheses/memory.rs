//! H7: host memory does not keep up.
//!
//! It is one when the rail, or all rails of its node together, bring less over memory that is in no cache than over buffers
//! that are used again and again, of which the caches take a part (DDIO and its like). Where memory is wide enough for one
//! rail and too narrow for all, the rail alone shows nothing: then those of its node are loaded together both ways.
//!
//! The controllers of a node serve all of its rails, so memory that is too narrow holds back every rail that asks for more
//! than its share. Three things therefore rule it out, whatever cold buffers cost this rail: that the rails of the node
//! together take clearly more from such memory than this one did; that in the very same run the others of its node run
//! as well as alone, one of them clearly faster than this one; and that the rails of the node together bring as much over it as
//! over buffers in the caches. What is slow then is something of the rail's own, such as the translation of its addresses (IOMMU, the NIC's
//! own tables), which cold buffers strain as well.

use super::moved::End;
use super::{Answer, Case, Hypothesis, inconclusive, not_measurable};
use crate::experiments::plan::Kind;
use crate::experiments::rounds::{Compared, Rates};
use crate::rules::rate;

/// Memory that gives so many times as much to others, who lack nothing, is not what holds a rail back.
const CLEARLY_MORE: f64 = 1.25;

/// What the rails of a node do together.
struct Near {
    says: String,
    /// Whether they find cold memory slower than what the caches take a part of.
    is_slower: bool,
    /// What shows that the node's memory can give more; `None` where nothing does.
    gives_more: Option<String>,
}

impl Case<'_> {
    pub(super) fn memory(&self) -> Hypothesis {
        let hypothesis = |answer, because| Hypothesis {
            id: "H7",
            says: "host memory does not keep up",
            answer,
            because,
            code: "memory-bound",
        };
        let kinds = [Kind::Alone, Kind::Together];
        let sent = self.moved(&self.rail.device, &kinds).grown(End::Here, |nic| nic.tx_pause);
        let pushes_back = sent.is_some_and(|count| count > 0);
        let sent = match sent {
            Some(count) => format!("; pauses sent or packets discarded +{count}"),
            None => "; pauses sent are not counted".to_owned(),
        };
        let (hot, cold) = match (self.rates(&Kind::Alone), self.rates(&Kind::Cold)) {
            (Ok(hot), Ok(cold)) => (hot, cold),
            (Err(why), _) | (_, Err(why)) => {
                return hypothesis(Answer::Unknown, format!("{}{sent}", not_measurable(&why)));
            }
        };
        let near = self.near(&cold);
        let is_slower_alone = cold.beside(&hot) == Compared::Less;
        let (near, is_slower, gives_more) = match near {
            Some(near) => (near.says, is_slower_alone || near.is_slower, near.gives_more),
            None => (String::new(), is_slower_alone, None),
        };
        let says = format!(
            "buffers used again and again {}, walked through at both ends {} GB/s{near}{sent}{}",
            rate(hot.mean()),
            rate(cold.mean()),
            self.noise()
        );
        match (is_slower, gives_more) {
            (true, None) => hypothesis(Answer::Yes, says),
            (true, Some(more)) => hypothesis(
                Answer::No,
                format!(
                    "{more}, so what cold buffers cost here is this rail's own (IOMMU, address tables); {says}"
                ),
            ),
            // PCIe, ordering and an IOMMU bring that about as well
            (false, _) if pushes_back => hypothesis(
                Answer::Inconclusive,
                inconclusive(&format!("this host takes too little, and cold buffers are no slower: {says}")),
            ),
            (false, _) => hypothesis(Answer::No, says),
        }
    }

    /// What it does beside the rails of its node; `None` where they were not loaded together.
    fn near(&self, cold_alone: &Rates) -> Option<Near> {
        let node = self.rail.numa_node?;
        let (alone, near) = (self.rates(&Kind::Alone).ok()?, self.rates(&Kind::Near(node)).ok()?);
        let says = format!("; beside the rails of node {node} {}", rate(near.mean()));
        let cold_kind = Kind::NearCold(node);
        let Ok(cold) = self.rates(&cold_kind) else {
            return Some(Near { says: format!("{says} GB/s"), is_slower: false, gives_more: None });
        };
        let drops = near.beside(&alone) == Compared::Less;
        let others: Vec<(&str, f64)> = self
            .topology
            .rails
            .iter()
            .filter(|other| other.device != self.rail.device)
            .filter_map(|other| {
                let rates = Rates::of(self.seen, &cold_kind, &other.device).ok()?;
                Some((other.device.as_str(), rates.mean()))
            })
            .collect();
        // a full controller slows whoever asks for more than a share, and not this one only
        let is_unharmed = |device: &str| {
            let rates = |kind: &Kind| Rates::of(self.seen, kind, device).ok();
            rates(&cold_kind)
                .zip(rates(&Kind::Alone))
                .is_some_and(|(cold, alone)| cold.beside(&alone) != Compared::Less)
        };
        let best = others.iter().copied().reduce(|one, other| if other.1 > one.1 { other } else { one });
        let best = best.filter(|(_, brings)| *brings >= CLEARLY_MORE * cold.mean());
        let best = best.filter(|_| others.iter().all(|(device, _)| is_unharmed(device)));
        let sum = Rates::sums(self.seen, &cold_kind, &self.rail.device);
        let of_caches = Rates::sums(self.seen, &Kind::Near(node), &self.rail.device);
        let takes_less =
            sum.as_ref().zip(of_caches).is_none_or(|(sum, caches)| sum.beside(&caches) == Compared::Less);
        let sum = sum.map_or(0.0, |sum| sum.most());
        let gives_more = if let Some((device, brings)) = best {
            Some(format!(
                "over such memory of node {node} {device} brings {} GB/s in the same run in which this one brings {}",
                rate(brings),
                rate(cold.mean())
            ))
        } else {
            // alone it met a bound that the node's memory is beyond
            let is_beyond = !drops && sum >= CLEARLY_MORE * cold_alone.most();
            is_beyond.then(|| {
                format!("the rails of node {node} together take {} GB/s from such memory", rate(sum))
            })
        };
        Some(Near {
            says: format!("{says}, walked through {} GB/s", rate(cold.mean())),
            is_slower: drops && cold.beside(&near) == Compared::Less && takes_less,
            gives_more,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::experiments::plan::Kind;
    use crate::experiments::testing::{Host, answer, four_rails};
    use crate::experiments::{Answer, Step};

    fn cold(step: &Step) -> bool {
        matches!(step.kind, Kind::Cold | Kind::NearCold(_))
    }

    #[test]
    fn cold_buffers_that_cost_one_rail_of_a_node_alone_are_not_its_memory() {
        let host = Host::of(four_rails(), |step, device| match device {
            "mlx5_2" if cold(step) => Some(14.0),
            "mlx5_2" => Some(20.0),
            _ => Some(48.0),
        });
        let (_, rails) = host.diagnose();
        let (holds, because) = answer(&rails, "mlx5_2", "H7");
        assert_eq!(holds, Answer::No, "{because}");
        let says = "over such memory of node 0 mlx5_0 brings 48.0 GB/s in the same run in which this one brings 14.0";
        assert!(because.starts_with(says), "{because}");
        assert_eq!(rails[0].cause, Some("slow-unexplained"));
    }

    #[test]
    fn memory_that_holds_back_all_rails_of_its_node_is_the_cause() {
        let host = Host::of(four_rails(), |step, _| match (cold(step), step.rails.len()) {
            (true, 1) => Some(24.0),
            (false, 1) => Some(32.0),
            (true, count) => Some(24.0 / count as f64),
            (false, count) => Some(32.0 / count as f64),
        });
        let (_, rails) = host.diagnose();
        assert!(rails.iter().all(|rail| rail.cause == Some("memory-bound")), "{rails:?}");
    }

    #[test]
    fn memory_from_which_the_rails_of_the_node_together_take_as_much_is_not_narrow() {
        let of = |other_cold: f64| {
            let host =
                Host::of(four_rails(), move |step, device| match (cold(step), step.rails.len(), device) {
                    (_, 1, _) => Some(22.0),
                    (true, _, "mlx5_1") => Some(12.0),
                    (true, ..) => Some(other_cold),
                    _ => Some(14.0),
                });
            let (_, rails) = host.diagnose();
            answer(&rails, "mlx5_1", "H7")
        };
        assert_eq!(of(14.0).0, Answer::No, "{}", of(14.0).1);
        assert_eq!(of(12.0).0, Answer::Yes, "{}", of(12.0).1);
    }
}
