//! What a NIC counted of the fabric during one load, by the direction of what it tells of.
//!
//! The data of a READ come to the host that reads. What holds them up is therefore told by marks on what arrives and by
//! pauses that are *sent* there, and at the other end, from which they come, by notifications that are obeyed and pauses
//! that are *received*. Pauses received by the reader hold back its requests only, some bytes for each message.
//!
//! Source: counters.rst of mlx5 (`Documentation/networking/device_drivers/ethernet/mellanox`); IEEE 802.1Qbb for what a
//! pause stops: the transmitter that receives it.

use crate::rules::fabric::names;
use crate::timeline::{growth, growth_of};
use probes::model::{Rail, RailFrame};
use serde::Serialize;

/// Growth of counters over a window; null where the NIC has none of the kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// ECN marks on packets that arrived, and notifications sent for them.
    pub marks: Option<u64>,
    /// Notifications received: this end was asked to send more slowly.
    pub throttled: Option<u64>,
    /// Lost packets, and what was sent again.
    pub retransmits: Option<u64>,
    /// Pause frames received: this end had to stop sending.
    pub rx_pause: Option<u64>,
    /// Pause frames sent, and packets that found no room: this end could not take what arrived.
    pub tx_pause: Option<u64>,
    /// Those of them that are packets which found no room.
    pub discards: Option<u64>,
}

impl Counted {
    /// Between two samples of a rail.
    #[must_use]
    pub fn between(rail: &Rail, then: &RailFrame, now: &RailFrame) -> Self {
        let growth = growth(then, now);
        let sum = |tells: &dyn Fn(&str) -> bool| growth_of(rail, &growth, tells);
        Self {
            marks: sum(&names::is_congestion_of_arrivals),
            throttled: sum(&|name| names::is_congestion(name) && !names::is_congestion_of_arrivals(name)),
            retransmits: sum(&names::is_loss),
            rx_pause: sum(&names::is_pause_received),
            tx_pause: sum(&names::is_pause_sent),
            discards: sum(&|name| names::is_pause_sent(name) && name.contains("discard")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Counted;
    use probes::model::{Rail, RailFrame};

    #[test]
    fn marks_on_what_arrives_are_not_notifications_that_are_obeyed() {
        let names = ["hw/np_cnp_sent", "hw/rp_cnp_handled", "eth/rx_prio3_pause", "eth/tx_prio3_pause"];
        let rail =
            Rail { counters: names.iter().map(|name| (*name).to_owned()).collect(), ..Rail::default() };
        let frame = |counters: [u64; 4]| RailFrame {
            counters: counters.into_iter().map(Some).collect(),
            ..RailFrame::default()
        };
        let counted = Counted::between(&rail, &frame([10, 20, 30, 40]), &frame([11, 22, 33, 44]));
        assert_eq!(
            counted,
            Counted {
                marks: Some(1),
                throttled: Some(2),
                retransmits: None,
                rx_pause: Some(3),
                tx_pause: Some(4),
                discards: None
            }
        );
    }
}
