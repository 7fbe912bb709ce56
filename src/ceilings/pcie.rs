//! PCI Express: what a link carries, raw and as payload.

use probes::model::{Hop, PciePath, Rail};

/// TLP payload assumed where config space is not readable: what servers are set to almost always.
const USUAL_MAX_PAYLOAD: u32 = 256;
/// Bytes around a TLP's payload: framing 2+1, sequence 2, header 16, LCRC 4, rounded as designs plan it
/// (PCI Express Base Specification 5.0, chapter 2.2).
const TLP_OVERHEAD: u32 = 24;

/// Data rate of one lane in one direction after line encoding, GB/s.
///
/// 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, 242/256 FLIT from 64 GT/s
/// (PCI Express Base Specification 6.0, 4.2).
#[must_use]
pub fn lane_gb_per_s(gt_per_s: f64) -> f64 {
    let encoding = if gt_per_s < 8.0 {
        8.0 / 10.0
    } else if gt_per_s < 64.0 {
        128.0 / 130.0
    } else {
        242.0 / 256.0
    };
    gt_per_s * encoding / 8.0
}

/// Whether a link is made up: one lane of the first generation that can do no more is what emulated functions and
/// those inside a chip set say, which have no such link. No card for RDMA was ever made so.
#[must_use]
pub fn is_made_up(hop: &Hop) -> bool {
    let least = |gt_per_s: Option<f64>, width: Option<u32>| {
        gt_per_s.is_none_or(|gt_per_s| gt_per_s <= 2.5) && width.is_none_or(|width| width == 1)
    };
    hop.current_gt_per_s.is_some()
        && hop.current_width.is_some()
        && least(hop.current_gt_per_s, hop.current_width)
        && least(hop.max_gt_per_s, hop.max_width)
}

/// Raw data rate of a hop as negotiated, GB/s; `None` when speed or width is unknown and no rate is told, and
/// where they are made up.
#[must_use]
pub fn link_gb_per_s(hop: &Hop) -> Option<f64> {
    let told = match (hop.current_gt_per_s, hop.current_width) {
        _ if is_made_up(hop) => None,
        (Some(gt_per_s), Some(width)) => Some(lane_gb_per_s(gt_per_s) * f64::from(width)),
        _ => hop.raw_gb_per_s,
    };
    told.and_then(super::possible)
}

/// The hop that carries least, of those whose rate is known.
#[must_use]
pub fn slowest_hop(path: &PciePath) -> Option<(&Hop, f64)> {
    path.hops
        .iter()
        .filter_map(|hop| Some((hop, link_gb_per_s(hop)?)))
        .reduce(|slow, next| if next.1 < slow.1 { next } else { slow })
}

/// Raw data rate of the slowest hop, GB/s.
#[must_use]
pub fn path_raw_gb_per_s(path: &PciePath) -> Option<f64> {
    slowest_hop(path).map(|(_, raw)| raw)
}

/// Payload the slowest hop can carry, GB/s.
#[must_use]
pub fn path_payload_gb_per_s(path: &PciePath) -> Option<f64> {
    let (hop, raw) = slowest_hop(path)?;
    Some(payload_of(hop, raw))
}

/// Payload a hop can carry as negotiated, GB/s; `None` when speed or width is unknown.
#[must_use]
pub fn link_payload_gb_per_s(hop: &Hop) -> Option<f64> {
    Some(payload_of(hop, link_gb_per_s(hop)?))
}

/// A rail's links, each by the port above it; without one by the slot, since the functions of a card have one link.
#[must_use]
pub fn pcie_links(rail: &Rail) -> Vec<(String, &Hop)> {
    let slot =
        |hop: &Hop| hop.address.rsplit_once('.').map_or(hop.address.clone(), |(slot, _)| slot.to_owned());
    let hops = rail.pcie.iter().flat_map(|path| &path.hops);
    hops.map(|hop| (hop.upstream.clone().unwrap_or_else(|| slot(hop)), hop)).collect()
}

/// What TLPs leave of a raw rate on this hop: raw × MPS / (MPS + 24).
#[must_use]
pub fn payload_of(hop: &Hop, raw_gb_per_s: f64) -> f64 {
    let told = hop.max_payload_bytes.filter(|bytes| *bytes > 0);
    let payload = f64::from(told.unwrap_or(USUAL_MAX_PAYLOAD));
    raw_gb_per_s * payload / (payload + f64::from(TLP_OVERHEAD))
}

#[cfg(test)]
mod tests {
    use super::{lane_gb_per_s, link_gb_per_s, path_payload_gb_per_s, path_raw_gb_per_s};
    use probes::model::{Hop, PciePath};

    fn hop(address: &str, gt: f64, width: u32) -> Hop {
        Hop {
            address: address.into(),
            current_gt_per_s: Some(gt),
            current_width: Some(width),
            ..Hop::default()
        }
    }

    #[test]
    fn a_lane_carries_what_its_encoding_leaves() {
        let round = |gt: f64| (lane_gb_per_s(gt) * 1000.0).round() / 1000.0;
        assert_eq!([2.5, 5.0, 8.0, 16.0, 32.0, 64.0].map(round), [0.25, 0.5, 0.985, 1.969, 3.938, 7.563]);
    }

    #[test]
    fn one_lane_of_the_first_generation_is_no_limit_unless_the_card_could_do_more() {
        let mut link = hop("00:03.0", 2.5, 1);
        assert_eq!(link_gb_per_s(&link), None);
        (link.max_gt_per_s, link.max_width) = (Some(2.5), Some(1));
        assert_eq!(link_gb_per_s(&link), None);
        (link.max_gt_per_s, link.max_width) = (Some(8.0), Some(16));
        assert_eq!(link_gb_per_s(&link), Some(0.25));
    }

    #[test]
    fn a_link_that_no_card_has_is_unknown() {
        assert_eq!(link_gb_per_s(&hop("41:00.0", -32.0, 16)), None);
        assert_eq!(link_gb_per_s(&hop("41:00.0", f64::INFINITY, 16)), None);
        assert_eq!(link_gb_per_s(&Hop { raw_gb_per_s: Some(-1.5), ..Hop::default() }), None);
        let odd = Hop { max_payload_bytes: Some(0), ..hop("41:00.0", 32.0, 16) };
        let path = PciePath { hops: vec![odd], ..PciePath::default() };
        assert_eq!(path_payload_gb_per_s(&path).map(f64::round), Some(58.0));
    }

    #[test]
    fn the_slowest_known_hop_bounds_the_path() {
        let mut path = PciePath {
            hops: vec![hop("41:00.0", 32.0, 16), hop("40:01.0", 16.0, 16)],
            ..PciePath::default()
        };
        assert_eq!(path_raw_gb_per_s(&path).map(f64::round), Some(32.0));
        assert_eq!(path_payload_gb_per_s(&path).map(f64::round), Some(29.0));
        path.hops.push(Hop::default());
        assert_eq!(path_raw_gb_per_s(&path).map(f64::round), Some(32.0));
    }
}
