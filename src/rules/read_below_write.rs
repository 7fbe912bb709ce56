//! `read-below-write`: on the same rail READ is far slower than WRITE, at a small path MTU.
//!
//! Fires when in the last minute a READ load brought less than 0.6 of what a WRITE load took away over the same
//! rail, each seen long enough, and the path MTU is below 4096. The responder cuts a READ's answer into packets
//! of the path MTU (IBTA 1.4, 9.7.5.1) and has to fetch each from memory, so many small packets cost it more than
//! they cost the sender of a WRITE. A WRITE below 5 % of what the rail could do is a trickle and no measure of READ, nor is
//! one where it is not known what the rail could do; `unstable` leaves the same alone.

use super::means::{InWindow, held};
use super::wording::{called, rate, rounded};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings::{Bytes, Ceilings};
use crate::timeline::{HostTimeline, Sum, Timeline};
use probes::model::{LoadOp, Rail, RailId, Topology};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["read-below-write"], check };

/// READ as a share of WRITE.
const SHARE: f64 = 0.6;
/// Path MTU from which on packets are not small.
const LARGE_MTU: u32 = 4096;

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let mean = |id: RailId, op: LoadOp| {
        let sum = sum_of(timeline.local(), id, op);
        held(timeline.session(), limits, &sum).then(|| sum.mean_gb_per_s())?
    };
    topology
        .rails_with_id()
        .filter_map(|(id, rail)| {
            let mtu = rail.path_mtu.filter(|mtu| *mtu < LARGE_MTU)?;
            let (read, write) = (mean(id, LoadOp::Read)?, mean(id, LoadOp::Write)?);
            let moving = Ceilings::of(rail).of_bytes(Bytes::Counted, rail).lowest()? * limits.moving_share;
            (write >= moving && read < SHARE * write)
                .then(|| finding((rail, &called(rail, &topology.rails)), mtu, read, write))
        })
        .collect()
}

/// What the NIC counted in the direction of loads of this kind, in the last minute.
fn sum_of(local: &HostTimeline, id: RailId, op: LoadOp) -> Sum {
    InWindow::of(local, id, |interval| interval.load_op == Some(op)).under_load.counted_in(op)
}

fn finding((rail, name): (&Rail, &str), mtu: u32, read: f64, write: f64) -> Finding {
    let message = format!(
        "{name}: READ does {} GB/s, WRITE {}: {:.2} of it (limit {SHARE}), at a path MTU of {mtu}",
        rate(read),
        rate(write),
        read / write,
    );
    let netdev = rail.netdev.as_deref().unwrap_or("NETDEV");
    Finding::on_ports("read-below-write", Severity::Warning, [rail], message)
        .with("read_gb_per_s", rounded(read))
        .with("write_gb_per_s", rounded(write))
        .with("read_share_of_write", rounded(read / write))
        .with("limit_share", SHARE)
        .with("path_mtu", mtu)
        .advise(format!(
            "raise the path MTU to 4096 at both ends and on the switches: on Ethernet `ip link set {netdev} mtu 4200`"
        ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{described, found_in, named, rail, session, two_sockets};
    use super::RULE;
    use crate::timeline::Timeline;
    use probes::model::{Frame, LoadOp, Rail, RailFrame};
    use std::sync::Arc;

    /// Four seconds of READ at this rate, then four of WRITE at that.
    fn codes(path_mtu: u32, read_gb_per_s: u64, write_gb_per_s: u64) -> Vec<String> {
        moving(path_mtu, read_gb_per_s * 1_000_000_000, write_gb_per_s * 1_000_000_000)
    }

    /// The same in bytes a second.
    fn moving(path_mtu: u32, read: u64, write: u64) -> Vec<String> {
        let topology = two_sockets(vec![Rail {
            path_mtu: Some(path_mtu),
            max_path_mtu: Some(4096),
            netdev_mtu: Some(1500),
            ..rail("mlx5_0")
        }]);
        let mut timeline = Timeline::new(Arc::new(session(topology.clone())));
        for seq in 0..=8_u64 {
            let op = if seq <= 4 { LoadOp::Read } else { LoadOp::Write };
            let moved = RailFrame {
                rx_bytes: Some(seq.min(4) * read),
                tx_bytes: Some(seq.saturating_sub(4) * write),
                ..RailFrame::default()
            };
            let load = Some(Arc::new(described(op)));
            timeline.push(Frame {
                seq,
                at_ns: seq * 1_000_000_000,
                rails: vec![moved],
                load,
                ..Frame::default()
            });
        }
        let mtu = found_in(&super::super::mtu::RULE, &topology, &timeline);
        let found = found_in(&RULE, &topology, &timeline);
        // what is said of the packet size elsewhere does not call it small then
        for finding in mtu {
            assert_eq!(
                finding.advice.contains("not the cause of a large loss"),
                found.is_empty(),
                "{finding:?}"
            );
        }
        named(&found)
    }

    #[test]
    fn a_slow_read_at_a_small_mtu_is_named() {
        assert_eq!(codes(1024, 12, 40), ["read-below-write mlx5_0"]);
    }

    #[test]
    fn a_trickle_of_both_says_nothing_of_the_rail() {
        assert_eq!(moving(1024, 3_000, 9_000), Vec::<String>::new());
        // 5 % of 48.9 GB/s as counted at this MTU
        assert_eq!(moving(1024, 1_000_000_000, 2_400_000_000), Vec::<String>::new());
        assert_eq!(moving(1024, 1_000_000_000, 2_500_000_000), ["read-below-write mlx5_0"]);
    }

    #[test]
    fn a_large_mtu_and_a_read_about_as_fast_are_fine() {
        assert_eq!(codes(4096, 12, 40), Vec::<String>::new());
        assert_eq!(codes(1024, 30, 40), Vec::<String>::new());
        assert_eq!(codes(1024, 12, 0), Vec::<String>::new());
    }
}
