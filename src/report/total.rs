//! All rails together: rates, and the cables they have.

use super::number::{known, sum};
use crate::ceilings;
use crate::timeline::{HostTimeline, RailSums};
use probes::model::{Bond, Rail, Topology};
use serde::Serialize;

/// All rails together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Totals {
    /// Received; null when no rail's is known.
    pub rx_gb_per_s: Option<f64>,
    /// Sent; null when no rail's is known.
    pub tx_gb_per_s: Option<f64>,
    /// Payload of our own load.
    pub load_gb_per_s: Option<f64>,
    /// ACTIVE ports with a cable of their own; legs of a bond each.
    pub physical_ports: usize,
    /// Payload that the wires of these ports can carry (raw where the path MTU is unknown); null when no line
    /// rate is known.
    pub line_gb_per_s: Option<f64>,
    /// The same with the headers of packets, as ports count them.
    pub line_counted_gb_per_s: Option<f64>,
    /// Devices left out of the rates, since theirs are implausible.
    pub left_out: Vec<String>,
}

impl Totals {
    pub(super) fn of(topology: &Topology, timeline: &HostTimeline) -> Self {
        let sums = &timeline.sums().rails;
        let rows = || topology.rails.iter().zip(sums);
        let total = |rate: fn(&RailSums) -> Option<f64>| {
            sum(rows().filter(|(_, sums)| !sums.only_implausible()).map(|(_, sums)| rate(sums)))
        };
        let seen: Vec<Rail> =
            topology.rails_with_id().map(|(id, rail)| timeline.last_seen(id, rail)).collect();
        let seen: Vec<Rail> = seen.iter().map(|rail| timeline.at_path_mtu(rail).into_owned()).collect();
        let ports = ceilings::own_ports(&seen);
        Self {
            rx_gb_per_s: total(RailSums::rx_gb_per_s),
            tx_gb_per_s: total(RailSums::tx_gb_per_s),
            // payload comes from completions, which the counters' trouble does not touch
            load_gb_per_s: known(
                topology
                    .rails_with_id()
                    .filter_map(|(id, _)| timeline.load_gb_per_s(id))
                    .reduce(|a, b| a + b),
            ),
            physical_ports: ports.iter().map(|rail| cables(rail)).sum(),
            line_gb_per_s: sum(ports.iter().map(|rail| wire(rail))),
            line_counted_gb_per_s: sum(ports.iter().map(|rail| counted(rail))),
            left_out: rows()
                .filter(|(_, sums)| sums.only_implausible())
                .map(|(rail, _)| rail.device.clone())
                .collect(),
        }
    }
}

/// Payload that the wire carries; without a path MTU its raw rate, which is a bound as well.
fn wire(rail: &Rail) -> Option<f64> {
    ceilings::line_goodput_gb_per_s(rail).or_else(|| ceilings::line_raw_gb_per_s(rail))
}

/// What the port counts of it.
fn counted(rail: &Rail) -> Option<f64> {
    ceilings::line_counted_gb_per_s(rail).or_else(|| ceilings::line_raw_gb_per_s(rail))
}

/// A bond has a cable a leg, as far as legs have a link.
fn cables(rail: &Rail) -> usize {
    let with_link = |bond: &Bond| bond.legs.iter().filter(|leg| leg.link_up != Some(false)).count();
    // without a LAG each device of the bond has its own port
    let bond = rail.bond.as_ref().filter(|bond| bond.carries_rdma != Some(false));
    bond.map_or(1, |bond| with_link(bond).max(1))
}

#[cfg(test)]
mod tests {
    use super::Totals;
    use crate::rules::testing::{Traffic, bonded, rail, timeline, two_sockets};
    use probes::model::Rail;

    fn card(device: &str, address: &str, guid: &str) -> Rail {
        let mut rail = rail(device);
        rail.pcie.as_mut().unwrap().address = address.into();
        rail.system_image_guid = Some(guid.into());
        rail
    }

    fn total(rails: Vec<Rail>, rx_gb_per_s: &[f64]) -> Totals {
        let topology = two_sockets(rails);
        Totals::of(&topology, timeline(topology.clone(), &Traffic::loaded(rx_gb_per_s)).local())
    }

    #[test]
    fn one_port_behind_two_slots_counts_once() {
        let twins = vec![card("mlx5_0", "0000:04:00.0", "a"), card("mlx5_1", "0000:82:00.0", "a")];
        let total = total(twins, &[1.0, 2.0]);
        assert_eq!((total.physical_ports, total.line_gb_per_s), (1, Some(49.018_669)));
        assert_eq!(total.rx_gb_per_s, Some(3.0));
    }

    #[test]
    fn two_ports_of_one_card_count_twice_and_its_virtual_functions_not_at_all() {
        let vf = Rail { is_vf: Some(true), ..card("mlx5_2", "0000:04:00.2", "a") };
        let rails = vec![card("mlx5_0", "0000:04:00.0", "a"), card("mlx5_1", "0000:04:00.1", "a"), vf];
        assert_eq!(total(rails, &[0.0; 3]).physical_ports, 2);
    }

    #[test]
    fn each_leg_of_a_bond_has_a_cable_and_a_port_that_is_down_does_not_count() {
        let down = Rail { state: Some("DOWN".into()), ..rail("mlx5_1") };
        assert_eq!(total(vec![bonded("mlx5_bond_0"), down], &[0.0; 2]).physical_ports, 2);
        let mut apart = [bonded("mlx5_0"), bonded("mlx5_1")];
        for rail in &mut apart {
            rail.bond.as_mut().unwrap().carries_rdma = Some(false);
        }
        assert_eq!(total(apart.into(), &[0.0; 2]).physical_ports, 2);
    }

    #[test]
    fn an_implausible_rail_is_left_out_and_named() {
        let total = total(vec![rail("mlx5_0"), rail("mlx5_1")], &[49.0, 89.4]);
        assert_eq!((total.rx_gb_per_s, total.left_out), (Some(49.0), vec!["mlx5_1".to_owned()]));
    }
}
