//! What the other end of a load told of itself.
//!
//! `railscope serve` samples its own host while a client's load runs. Its samples are a second apart, on its own clock, and
//! need not begin or end with the window that is measured here. What its counters did is therefore held against the bytes
//! that it sent between the same two samples.

use super::counted::Counted;
use super::hypotheses::link_code;
use crate::ceilings::{line_goodput_gb_per_s, link_payload_gb_per_s, pcie_links};
use crate::rules::lets_every_leg_carry;
use probes::model::{Frame, Hop, Rail, Topology};
use serde::Serialize;
use std::collections::BTreeMap;

/// The other host during one load.
#[derive(Clone, Copy, Debug)]
pub struct Far<'a> {
    /// What it is.
    pub topology: &'a Topology,
    /// Its samples while the load ran, in their order.
    pub frames: &'a [Frame],
    /// Its rail for each rail of ours, by RDMA device.
    pub rails: &'a BTreeMap<String, String>,
}

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

impl Far<'_> {
    /// What its rail told that is connected with this one of ours.
    ///
    /// # Errors
    ///
    /// In words: why it told nothing.
    pub fn of(&self, device: &str) -> Result<FarRail, String> {
        let there = self.rails.get(device).ok_or("which of its rails was used is not known")?;
        let (id, rail) = self.topology.rail(there).ok_or("it does not tell of the rail that was used")?;
        let full = |frame: &&Frame| {
            frame.rails.get(id.0).is_some_and(|rail| !rail.counters.is_empty() || !rail.legs.is_empty())
        };
        let mut frames = self.frames.iter().filter(full);
        let ends = (frames.next(), frames.next_back());
        let (Some(from), Some(to)) = ends else {
            return Err("the load was shorter than the second between two of its samples".to_owned());
        };
        let (then, now) = (&from.rails[id.0], &to.rails[id.0]);
        let ns = to.at_ns.saturating_sub(from.at_ns);
        let sent = then.tx_bytes.zip(now.tx_bytes).and_then(|(then, now)| now.checked_sub(then));
        let legs: Option<Vec<f64>> = then
            .legs
            .iter()
            .zip(&now.legs)
            .map(|(then, now)| Some(now.tx_rdma_bytes?.checked_sub(then.tx_rdma_bytes?)? as f64 / ns as f64))
            .collect();
        // one leg of such a bond may be all that is to carry
        let may_carry = rail.bond.as_ref().is_some_and(lets_every_leg_carry);
        Ok(FarRail {
            hostname: self.topology.host.hostname.clone(),
            device: there.clone(),
            sent_gb: sent.map(|bytes| bytes as f64 / 1e9),
            legs_gb_per_s: legs.filter(|legs| !legs.is_empty() && ns > 0 && may_carry),
            nic: Counted::between(rail, then, now),
            links: links(rail),
            line_gb_per_s: line_goodput_gb_per_s(rail),
        })
    }
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
    use super::Far;
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
        let far = Far { topology: &topology, frames: &frames, rails: &rails };
        let told = far.of("mlx5_0").unwrap();
        assert_eq!((told.sent_gb, told.nic.rx_pause), (Some(20.0), Some(900)));
        assert_eq!((told.hostname.as_deref(), told.device.as_str()), (Some("storage-1"), "mlx5_7"));
        let far = Far { frames: &frames[..1], ..far };
        assert!(far.of("mlx5_0").unwrap_err().contains("shorter than the second"));
        assert!(far.of("mlx5_1").unwrap_err().contains("which of its rails"));
    }
}
