//! What rails could do all at once, where they share PCIe links or one port.

use super::{
    Flow, Link, ResourceId, line_goodput_gb_per_s, line_raw_gb_per_s, link_payload_gb_per_s, max_min_shares,
    port_of,
};
use probes::model::{Rail, Topology};
use std::collections::BTreeMap;

/// Payload that each rail could move while all that may carry do, GB/s, by max–min fair shares over wires and PCIe hops;
/// `None` where no bound is known, and of a rail that carries nothing.
#[must_use]
pub fn together_gb_per_s(topology: &Topology) -> Vec<Option<f64>> {
    together_of_gb_per_s(&topology.rails, |rail| topology.rails[rail].may_carry())
}

/// The same while only these rails move anything, in the order of all rails; `None` of the others.
#[must_use]
pub fn together_of_gb_per_s(rails: &[Rail], takes_part: impl Fn(usize) -> bool) -> Vec<Option<f64>> {
    let mut capacities: Vec<Option<f64>> = Vec::new();
    let mut links: BTreeMap<Link<'_>, ResourceId> = BTreeMap::new();
    let mut wires: BTreeMap<usize, ResourceId> = BTreeMap::new();
    let mut flows = Vec::new();
    let mut of_rail = Vec::new();
    for (at, rail) in rails.iter().enumerate() {
        if !takes_part(at) {
            of_rail.push(None);
            continue;
        }
        let goodput = line_goodput_gb_per_s(rail).or_else(|| line_raw_gb_per_s(rail));
        let wire = *wires.entry(port_of(rails, at)).or_insert_with(|| {
            capacities.push(goodput);
            capacities.len() - 1
        });
        let mut crosses = vec![wire];
        for hop in rail.pcie.iter().flat_map(|path| &path.hops) {
            let link = *links.entry(Link::of(hop)).or_insert_with(|| {
                capacities.push(link_payload_gb_per_s(hop));
                capacities.len() - 1
            });
            if !crosses.contains(&link) {
                crosses.push(link);
            }
        }
        of_rail.push(Some(flows.len()));
        flows.push(Flow { crosses, demand: goodput });
    }
    let shares = max_min_shares(&capacities, &flows);
    of_rail.into_iter().map(|at| shares[at?]).collect()
}

#[cfg(test)]
mod tests {
    use super::{together_gb_per_s, together_of_gb_per_s};
    use crate::rules::testing::{behind, hop, two_sockets};
    use crate::session::FrameSource;
    use crate::sim::{Pace, Simulated};
    use probes::model::Rail;
    use std::time::Duration;

    fn rounded(shares: Vec<Option<f64>>) -> Vec<Option<f64>> {
        shares.into_iter().map(|share| share.map(f64::round)).collect()
    }

    #[test]
    fn rails_behind_one_switch_share_its_link() {
        let source =
            Simulated::new("shared-uplink", 1, Duration::from_secs(1), Pace::AsFastAsPossible, None).unwrap();
        let session = source.session();
        let shares = rounded(together_gb_per_s(session.topology()));
        assert_eq!(shares, [49.0, 49.0, 29.0, 29.0, 49.0, 49.0, 49.0, 49.0].map(Some));
        // the neighbour that rests leaves its share
        let alone = rounded(together_of_gb_per_s(&session.topology().rails, |rail| rail == 2));
        assert_eq!(alone[2..4], [Some(49.0), None]);
    }

    #[test]
    fn functions_of_one_card_share_its_slot() {
        let function =
            |at: u32| behind(&format!("mlx5_{at}"), vec![hop(&format!("0000:41:00.{at}"), 32.0, 16)]);
        let shares = together_gb_per_s(&two_sockets(vec![function(0), function(1)]));
        assert_eq!(rounded(shares), [Some(29.0); 2]);
    }

    #[test]
    fn two_ways_to_one_port_share_its_wire() {
        let way = |device: &str, address: &str| {
            let mut rail = behind(device, vec![hop(address, 32.0, 16)]);
            rail.pcie.as_mut().unwrap().address = address.into();
            Rail { system_image_guid: Some("a".into()), ..rail }
        };
        let rails = vec![way("mlx5_0", "0000:41:00.0"), way("mlx5_1", "0000:82:00.0")];
        assert_eq!(rounded(together_gb_per_s(&two_sockets(rails))), [Some(25.0); 2]);
    }
}
