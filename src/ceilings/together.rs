//! What rails could do all at once, where they share PCIe hops.

use super::{
    Flow, ResourceId, line_goodput_gb_per_s, line_raw_gb_per_s, link_payload_gb_per_s, max_min_shares,
};
use probes::model::Topology;

/// Payload that each rail could move while all that may carry do, GB/s, by max–min fair shares over wires and PCIe hops;
/// `None` where no bound is known, and of a rail that carries nothing.
#[must_use]
pub fn together_gb_per_s(topology: &Topology) -> Vec<Option<f64>> {
    let mut hops: Vec<&str> = Vec::new();
    let mut capacities: Vec<Option<f64>> = Vec::new();
    let mut flows = Vec::new();
    let mut of_rail = Vec::new();
    for rail in &topology.rails {
        if !rail.may_carry() {
            of_rail.push(None);
            continue;
        }
        let mut crosses: Vec<ResourceId> = Vec::new();
        for hop in rail.pcie.iter().flat_map(|path| &path.hops) {
            let known = hops.iter().position(|address| *address == hop.address);
            let at = known.unwrap_or_else(|| {
                hops.push(&hop.address);
                capacities.push(link_payload_gb_per_s(hop));
                hops.len() - 1
            });
            if !crosses.contains(&at) {
                crosses.push(at);
            }
        }
        of_rail.push(Some(flows.len()));
        let demand = line_goodput_gb_per_s(rail).or_else(|| line_raw_gb_per_s(rail));
        flows.push(Flow { crosses, demand });
    }
    let shares = max_min_shares(&capacities, &flows);
    of_rail.into_iter().map(|at| shares[at?]).collect()
}

#[cfg(test)]
mod tests {
    use super::together_gb_per_s;
    use crate::session::FrameSource;
    use crate::sim::{Pace, Simulated};
    use std::time::Duration;

    #[test]
    fn rails_behind_one_switch_share_its_link() {
        let source =
            Simulated::new("shared-uplink", 1, Duration::from_secs(1), Pace::AsFastAsPossible, None).unwrap();
        let session = source.session();
        let shares = together_gb_per_s(session.topology());
        let rounded: Vec<_> = shares.into_iter().map(|share| share.unwrap().round()).collect();
        assert_eq!(rounded, [49.0, 49.0, 29.0, 29.0, 49.0, 49.0, 49.0, 49.0]);
    }
}
