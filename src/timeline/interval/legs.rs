//! Rates of the legs of a bond.

use super::{LegRates, gb_per_s};
use probes::model::{LegFrame, RailFrame};

/// Rates of a bond's legs between two readings of its rail that are `ns` nanoseconds apart, in the bond's order.
///
/// Where a leg's driver counts no RDMA bytes apart, its port's bytes may tell them: while all ports together moved hardly
/// more than the rail's RDMA bytes, they moved nothing else.
pub(crate) fn leg_rates(then: &RailFrame, ns: u64, rail: &RailFrame) -> Vec<LegRates> {
    let rate = |old: Option<u64>, new: Option<u64>| gb_per_s(new?.checked_sub(old?)?, ns);
    let pairs = || rail.legs.iter().zip(&then.legs);
    let mut legs: Vec<LegRates> = pairs()
        .map(|(new, old)| LegRates {
            rx_gb_per_s: rate(old.rx_rdma_bytes, new.rx_rdma_bytes),
            tx_gb_per_s: rate(old.tx_rdma_bytes, new.tx_rdma_bytes),
        })
        .collect();
    let ports = |of: fn(&LegFrame) -> Option<u64>| -> Option<Vec<f64>> {
        pairs().map(|(new, old)| rate(of(old), of(new))).collect()
    };
    let [rx, tx] = [
        of_ports(rate(then.rx_bytes, rail.rx_bytes), ports(|leg| leg.rx_port_bytes)),
        of_ports(rate(then.tx_bytes, rail.tx_bytes), ports(|leg| leg.tx_port_bytes)),
    ];
    for (at, leg) in legs.iter_mut().enumerate() {
        leg.rx_gb_per_s = leg.rx_gb_per_s.or_else(|| rx.as_ref()?.get(at).copied());
        leg.tx_gb_per_s = leg.tx_gb_per_s.or_else(|| tx.as_ref()?.get(at).copied());
    }
    legs
}

/// Ports that moved more than this much of the rail's RDMA bytes moved other things too; headers and check sequences
/// that only ports count are some 2 % at the smallest path MTU of bonds in use.
const NOTHING_ELSE: f64 = 1.05;

/// The rail's rate shared out as its ports' bytes are; `None` where something is not readable, or other traffic may be
/// among theirs.
fn of_ports(rail_gb_per_s: Option<f64>, ports_gb_per_s: Option<Vec<f64>>) -> Option<Vec<f64>> {
    let (rail, mut ports) = (rail_gb_per_s?, ports_gb_per_s?);
    let all: f64 = ports.iter().sum();
    if all > NOTHING_ELSE * rail || all <= 0.0 {
        return None;
    }
    for port in &mut ports {
        *port *= rail.min(all) / all;
    }
    Some(ports)
}

#[cfg(test)]
mod tests {
    use super::leg_rates;
    use crate::timeline::LegRates;
    use probes::model::{LegFrame, RailFrame};

    /// A bond that received so much in a second, and its legs' ports so much.
    fn legs(rail: u64, ports: [u64; 2], rdma: Option<u64>) -> Vec<Option<f64>> {
        let frame = |times: u64| RailFrame {
            rx_bytes: Some(rail * times * 1_000_000),
            legs: ports
                .map(|port| LegFrame {
                    rx_rdma_bytes: rdma.map(|rdma| rdma * times),
                    rx_port_bytes: Some(port * times * 1_000_000),
                    ..LegFrame::default()
                })
                .to_vec(),
            ..RailFrame::default()
        };
        let rates = leg_rates(&frame(1), 1_000_000_000, &frame(2));
        rates
            .iter()
            .map(|LegRates { rx_gb_per_s, .. }| rx_gb_per_s.map(|gb| (gb * 10.0).round() / 10.0))
            .collect()
    }

    #[test]
    fn ports_that_moved_nothing_but_rdma_tell_what_each_leg_did() {
        assert_eq!(legs(24_000, [24_300, 0], None), [Some(24.0), Some(0.0)]);
        assert_eq!(legs(24_000, [12_150, 12_150], None), [Some(12.0); 2]);
        assert_eq!(legs(24_000, [20_000, 20_000], None), [None; 2], "other traffic is among it");
        assert_eq!(legs(24_000, [24_300, 0], Some(0)), [Some(0.0); 2], "counted apart");
        assert_eq!(legs(0, [0, 0], None), [None; 2]);
    }
}
