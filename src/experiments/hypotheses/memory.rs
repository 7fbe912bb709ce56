//! H7: host memory does not keep up.
//!
//! It is one when the rail, or all rails of its node together, bring less over memory that is in no cache than over buffers
//! that are used again and again, of which the caches take a part (DDIO and its like). Where memory is wide enough for one
//! rail and too narrow for all, the rail alone shows nothing: then those of its node are loaded together both ways.

use super::{Answer, Case, Hypothesis, not_measurable};
use crate::experiments::plan::Kind;
use crate::experiments::rounds::Compared;
use crate::rules::rate;

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
        let sent = self.moved(&self.rail.device, &kinds).grown(|nic| nic.tx_pause);
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
        let (near, is_slower_near) = self.near();
        let is_slower = cold.beside(&hot) == Compared::Less || is_slower_near;
        let answer = match (is_slower, pushes_back) {
            (true, _) => Answer::Yes,
            // the host pushes back, which PCIe, ordering and an IOMMU bring about as well
            (false, true) => Answer::Unknown,
            (false, false) => Answer::No,
        };
        let says = format!(
            "buffers used again and again {}, walked through at both ends {} GB/s{near}{sent}{}",
            rate(hot.mean()),
            rate(cold.mean()),
            self.noise()
        );
        hypothesis(answer, says)
    }

    /// What it does beside the rails of its node, in words, and whether they find cold memory slower.
    fn near(&self) -> (String, bool) {
        let Some(node) = self.rail.numa_node else { return (String::new(), false) };
        let (Ok(alone), Ok(near)) = (self.rates(&Kind::Alone), self.rates(&Kind::Near(node))) else {
            return (String::new(), false);
        };
        let says = format!("; beside the rails of node {node} {}", rate(near.mean()));
        match self.rates(&Kind::NearCold(node)) {
            Ok(cold) => {
                let drops = near.beside(&alone) == Compared::Less;
                let is_slower = drops && cold.beside(&near) == Compared::Less;
                (format!("{says}, walked through {} GB/s", rate(cold.mean())), is_slower)
            }
            Err(_) => (format!("{says} GB/s"), false),
        }
    }
}
