//! What the other end of a load told of itself.
//!
//! `railscope serve` samples its own host while a client's load runs. Its samples are a second apart, on its own clock, and
//! need not begin or end with the window that is measured here. What its counters did is therefore held against the bytes
//! that it sent between the same two samples.

use super::counted::Counted;
use super::hypotheses::link_code;
use crate::ceilings::{line_goodput_gb_per_s, link_payload_gb_per_s, pcie_links};
use crate::rules::lets_every_leg_carry;
use crate::timeline::leg_rates;
use probes::model::{FarSample, Frame, Hop, Rail, Topology};
use serde::Serialize;
use std::collections::BTreeMap;

/// What one rail of the other end told during a load; unknown is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FarRail {
    /// Its host.
    pub hostname: Option<String>,
    /// RDMA device there.
    pub device: String,
    /// Gigabytes that it sent between the two samples.
    pub sent_gb: Option<f64>,
    /// RDMA bytes a second that each leg of its bond sent, GB/s; null without a bond of which every
    /// leg may carry, and where they do not tell.
    pub legs_gb_per_s: Option<Vec<f64>>,
    /// What its NIC counted between them.
    pub nic: Counted,
    /// The PCIe links above it, its own first.
    pub links: Vec<FarLink>,
    /// Payload that its wire carries, GB/s.
    pub line_gb_per_s: Option<f64>,
}

/// A PCIe link of the other end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FarLink {
    /// The PCI addresses of its ends, which rails below the same link have in common.
    pub link: String,
    /// PCI address of its lower end.
    pub address: String,
    /// Payload that it carries, GB/s.
    pub carries_gb_per_s: f64,
    /// The finding that it amounts to where it is the limit of its rail.
    pub code: &'static str,
}

impl FarRail {
    /// Its host, in words.
    #[must_use]
    pub fn host(&self) -> &str {
        self.hostname.as_deref().unwrap_or("the other end")
    }

    /// The PCIe link that carries least; `None` where none is known.
    #[must_use]
    pub fn slowest_link(&self) -> Option<&FarLink> {
        self.links.iter().min_by(|one, other| one.carries_gb_per_s.total_cmp(&other.carries_gb_per_s))
    }
}

impl From<&FarSample> for FarRail {
    fn from(sample: &FarSample) -> Self {
        let FarSample { hostname, rail, from, to, ns, .. } = sample;
        let sent = from.tx_bytes.zip(to.tx_bytes).and_then(|(then, now)| now.checked_sub(then));
        let legs: Option<Vec<f64>> = leg_rates(from, *ns, to).iter().map(|leg| leg.tx_gb_per_s).collect();
        // one leg of such a bond may be all that is to carry
        let may_carry = rail.bond.as_ref().is_some_and(lets_every_leg_carry);
        Self {
            hostname: hostname.clone(),
            device: rail.device.clone(),
            sent_gb: sent.map(|bytes| bytes as f64 / 1e9),
            legs_gb_per_s: legs.filter(|legs| !legs.is_empty() && may_carry),
            nic: Counted::between(rail, from, to),
            links: links(rail),
            line_gb_per_s: line_goodput_gb_per_s(rail),
        }
    }
}

/// What the other end's rails counted during a load, of all that are connected with ours by `rails`, and why one told
/// nothing. `frames` are its samples while the load ran, in their order.
#[must_use]
pub fn samples(
    topology: &Topology,
    frames: &[Frame],
    rails: &BTreeMap<String, String>,
) -> (Vec<FarSample>, Option<String>) {
    let (mut found, mut gap) = (Vec::new(), None);
    for (device, there) in rails {
        match sample(topology, frames, device, there) {
            Ok(sample) => found.push(sample),
            Err(why) => gap = Some(why),
        }
    }
    (found, gap)
}

fn sample(topology: &Topology, frames: &[Frame], device: &str, there: &str) -> Result<FarSample, String> {
    let (id, rail) = topology.rail(there).ok_or("it does not tell of the rail that was used")?;
    let full = |frame: &&Frame| {
        frame.rails.get(id.0).is_some_and(|rail| !rail.counters.is_empty() || !rail.legs.is_empty())
    };
    let mut full = frames.iter().filter(full);
    let (Some(from), Some(to)) = (full.next(), full.next_back()) else {
        return Err("the load was shorter than the second between two of its samples".to_owned());
    };
    Ok(FarSample {
        device: device.to_owned(),
        hostname: topology.host.hostname.clone(),
        // what its limits are computed from, without its addresses
        rail: Rail {
            device: rail.device.clone(),
            port: rail.port,
            link_layer: rail.link_layer,
            path_mtu: rail.path_mtu,
            line_gbit_per_s: rail.line_gbit_per_s,
            pcie: rail.pcie.clone(),
            bond: rail.bond.clone(),
            counters: rail.counters.clone(),
            ..Rail::default()
        },
        from: from.rails[id.0].clone(),
        to: to.rails[id.0].clone(),
        ns: to.at_ns.saturating_sub(from.at_ns),
    })
}

/// The PCIe links above a rail whose payload is known.
fn links(rail: &Rail) -> Vec<FarLink> {
    let Some(path) = rail.pcie.as_ref() else { return Vec::new() };
    let link = |(link, hop): (String, &Hop)| {
        Some(FarLink {
            link,
            address: hop.address.clone(),
            carries_gb_per_s: link_payload_gb_per_s(hop)?,
            code: link_code(path, hop),
        })
    };
    pcie_links(rail).into_iter().filter_map(link).collect()
}

#[cfg(test)]
mod tests {
    use super::{FarRail, samples};
    use crate::rules::testing::rail;
    use probes::model::{Frame, Host, RailFrame, Topology};
    use std::collections::BTreeMap;

    fn sample(at_s: u64, tx_bytes: u64, pauses: Option<u64>) -> Frame {
        let counters = pauses.map(|count| vec![Some(count)]).unwrap_or_default();
        let rail = RailFrame { tx_bytes: Some(tx_bytes), counters, ..RailFrame::default() };
        Frame { at_ns: at_s * 1_000_000_000, rails: vec![rail], ..Frame::default() }
    }

    #[test]
    fn its_counters_are_held_against_what_it_sent_between_the_same_samples() {
        let mut there = rail("mlx5_7");
        there.counters = vec!["eth/rx_prio3_pause".to_owned()];
        let topology = Topology {
            host: Host { hostname: Some("storage-1".into()), ..Host::default() },
            rails: vec![there],
            ..Topology::default()
        };
        let rails = BTreeMap::from([("mlx5_0".to_owned(), "mlx5_7".to_owned())]);
        let frames =
            [sample(0, 0, Some(5)), sample(1, 20_000_000_000, Some(905)), sample(2, 30_000_000_000, None)];
        let (found, gap) = samples(&topology, &frames, &rails);
        let told = FarRail::from(&found[0]);
        assert_eq!((told.sent_gb, told.nic.rx_pause, gap), (Some(20.0), Some(900), None));
        assert_eq!((told.host(), told.device.as_str()), ("storage-1", "mlx5_7"));
        let (found, gap) = samples(&topology, &frames[..1], &rails);
        assert!(found.is_empty() && gap.unwrap().contains("shorter than the second"));
    }
}
