//! `pcie-downgraded`, `pcie-path-degraded`, `pcie-capped-by-slot`: links that run below what they could.
//!
//! A link can do what both of its ends can: min(card, port above). Below that it was trained low (dirt,
//! a bad riser, a firmware setting); at that, but below the card's own best, the slot is the limit and
//! nothing is broken. Where either end's best is unknown nothing is said.

use super::wording::{devices, list, rounded};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings;
use crate::timeline::Timeline;
use probes::model::{Hop, PciePath, Rail, Topology};
use std::collections::BTreeMap;

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &[DOWNGRADED, PATH_DEGRADED, CAPPED], check };

const DOWNGRADED: &str = "pcie-downgraded";
const PATH_DEGRADED: &str = "pcie-path-degraded";
const CAPPED: &str = "pcie-capped-by-slot";

/// What a link could run at, both ends considered.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Expected {
    gt_per_s: f64,
    width: u32,
}

/// A link with something to say about it, and the rails behind it.
struct Link<'a> {
    hop: &'a Hop,
    expected: Expected,
    rails: Vec<&'a Rail>,
}

fn check(topology: &Topology, _: &Timeline, _: &Limits) -> Vec<Finding> {
    // one finding a link, however many functions sit behind it
    let mut links: BTreeMap<(&str, String), Link<'_>> = BTreeMap::new();
    for rail in &topology.rails {
        let Some(path) = &rail.pcie else { continue };
        for (at, hop) in path.hops.iter().enumerate() {
            let own = at == 0;
            if let Some((code, expected)) = verdict(hop, own) {
                links
                    .entry((code, name_of(hop, own)))
                    .or_insert_with(|| Link { hop, expected, rails: Vec::new() })
                    .rails
                    .push(rail);
            }
        }
    }
    links.into_iter().map(|((code, _), link)| link.finding(code)).collect()
}

/// Whether no link of the path is known to run below what both of its ends can do.
pub(super) fn is_healthy(path: &PciePath) -> bool {
    let verdicts = path.hops.iter().enumerate().filter_map(|(at, hop)| verdict(hop, at == 0));
    verdicts.into_iter().all(|(code, _)| code == CAPPED)
}

/// Whether it is known of every link of the path what both of its ends can do, so that none can have trained low unseen.
pub(super) fn is_known(path: &PciePath) -> bool {
    path.hops.iter().all(|hop| {
        let runs_at_its_best = hop.current_gt_per_s >= hop.max_gt_per_s && hop.current_width >= hop.max_width;
        runs_at_its_best || (hop.upstream_max_gt_per_s.is_some() && hop.upstream_max_width.is_some())
    })
}

/// `None` where the link runs as well as it could, or where that is not known.
fn verdict(hop: &Hop, own: bool) -> Option<(&'static str, Expected)> {
    let (gt_per_s, width) = (hop.current_gt_per_s?, hop.current_width?);
    let (max_gt_per_s, max_width) = (hop.max_gt_per_s?, hop.max_width?);
    let expected = Expected {
        gt_per_s: max_gt_per_s.min(hop.upstream_max_gt_per_s?),
        width: max_width.min(hop.upstream_max_width?),
    };
    if gt_per_s < expected.gt_per_s || width < expected.width {
        Some((if own { DOWNGRADED } else { PATH_DEGRADED }, expected))
    } else if own && (gt_per_s < max_gt_per_s || width < max_width) {
        Some((CAPPED, expected))
    } else {
        None
    }
}

/// Functions of one card share its link, so the card's own link goes without the function number.
fn name_of(hop: &Hop, own: bool) -> String {
    match hop.address.rsplit_once('.') {
        Some((slot, _)) if own => slot.to_owned(),
        _ => hop.address.clone(),
    }
}

impl Link<'_> {
    fn finding(&self, code: &'static str) -> Finding {
        let hop = self.hop;
        let devices = devices(self.rails.iter().copied());
        let names = list(devices.iter().copied());
        let runs = shape(hop.current_gt_per_s, hop.current_width);
        let above = hop.upstream.as_deref().unwrap_or("the root complex");
        let behind: Vec<Rail> = self.rails.iter().map(|rail| (*rail).clone()).collect();
        let wires = ceilings::own_ports(&behind);
        let of_wire = |rail: &&Rail| {
            ceilings::line_goodput_gb_per_s(rail).or_else(|| ceilings::line_raw_gb_per_s(rail))
        };
        let line = wires.iter().filter_map(of_wire).reduce(|a, b| a + b);
        let carries = ceilings::link_payload_gb_per_s(hop);
        let room = room(carries, line, wires.len());
        let (severity, message, advice) = if code == CAPPED {
            let message = format!(
                "{names}: capped by the slot: {runs} at {}, all that {above} can do; the card could do {}{room}",
                hop.address,
                shape(hop.max_gt_per_s, hop.max_width),
            );
            (Severity::Info, message, "nothing is broken; only a faster slot would carry more".to_owned())
        } else {
            let shortfall = self.shortfall();
            let place = if code == DOWNGRADED { "" } else { ", further up the path," };
            let message = format!("{names}: {shortfall} at {}{place} below {above}{room}", hop.address);
            let advice = format!(
                "reseat the card, check slot, riser and the BIOS link setting; look again with \
                 `lspci -vvs {} | grep -E 'LnkCap:|LnkSta:'`",
                hop.address
            );
            (Severity::Warning, message, advice)
        };
        Finding::new(code, severity, devices, message)
            .with("hop", hop.address.clone())
            .with("current_gt_per_s", hop.current_gt_per_s)
            .with("current_width", hop.current_width)
            .with("expected_gt_per_s", self.expected.gt_per_s)
            .with("expected_width", self.expected.width)
            .with("card_max_gt_per_s", hop.max_gt_per_s)
            .with("card_max_width", hop.max_width)
            .with("limit_gb_per_s", ceilings::link_gb_per_s(hop).map(rounded))
            .with("pcie_gb_per_s", carries.map(rounded))
            .with("line_gb_per_s", line.map(rounded))
            .advise(advice)
    }

    /// `x8 of x16`, `16 of 32 GT/s`, or both.
    fn shortfall(&self) -> String {
        let Expected { gt_per_s, width } = self.expected;
        let narrow =
            self.hop.current_width.filter(|now| *now < width).map(|now| format!("x{now} of x{width}"));
        let slow = self
            .hop
            .current_gt_per_s
            .filter(|now| *now < gt_per_s)
            .map(|now| format!("{now} of {gt_per_s} GT/s"));
        list(narrow.into_iter().chain(slow))
    }
}

/// What the link carries of payload, and whether the wires behind it could bring more of it.
fn room(carries_gb_per_s: Option<f64>, line_gb_per_s: Option<f64>, wires: usize) -> String {
    let whose = if wires > 1 { format!("{wires} wires bring") } else { "wire brings".to_owned() };
    match (carries_gb_per_s, line_gb_per_s) {
        (Some(carries), Some(line)) if line > carries => {
            format!("; it carries {carries:.1} GB/s of payload, the {whose} {line:.1}")
        }
        (Some(carries), Some(line)) => {
            format!("; it carries {carries:.1} GB/s of payload, enough for the {line:.1} that the {whose}")
        }
        (Some(carries), None) => format!("; it carries {carries:.1} GB/s of payload"),
        (None, _) => String::new(),
    }
}

/// `x8 at 16 GT/s`.
fn shape(gt_per_s: Option<f64>, width: Option<u32>) -> String {
    match (gt_per_s, width) {
        (Some(gt), Some(width)) => format!("x{width} at {gt} GT/s"),
        _ => "an unknown width".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, behind, found, hop, named, two_sockets};
    use super::RULE;
    use crate::rules::Severity;
    use probes::model::{Hop, Rail};

    fn findings(rails: Vec<Rail>) -> Vec<crate::rules::Finding> {
        found(&RULE, &two_sockets(rails), &Traffic::default())
    }

    #[test]
    fn a_card_at_half_width_is_named_once_with_both_its_ports() {
        let half = |address: &str| Hop { current_width: Some(8), ..hop(address, 32.0, 16) };
        let found = findings(vec![
            behind("mlx5_0", vec![half("0000:41:00.0")]),
            behind("mlx5_1", vec![half("0000:41:00.1")]),
            behind("mlx5_2", vec![hop("0000:42:00.0", 32.0, 16)]),
        ]);
        assert_eq!(named(&found), ["pcie-downgraded mlx5_0,mlx5_1"]);
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!(found[0].evidence["current_width"], 8);
        assert_eq!(found[0].evidence["expected_width"], 16);
        assert_eq!(
            found[0].message,
            "mlx5_0 and mlx5_1: x8 of x16 at 0000:41:00.0 below 0000:40:01.0; \
             it carries 28.8 GB/s of payload, the 2 wires bring 98.0"
        );
    }

    #[test]
    fn a_gen5_card_in_a_gen4_slot_is_capped_and_not_broken() {
        let capped = Hop {
            current_gt_per_s: Some(16.0),
            upstream_max_gt_per_s: Some(16.0),
            ..hop("0000:41:00.0", 32.0, 16)
        };
        let found = findings(vec![behind("mlx5_0", vec![capped])]);
        assert_eq!(named(&found), ["pcie-capped-by-slot mlx5_0"]);
        assert_eq!(found[0].severity, Severity::Info);
        assert!(
            found[0].message.ends_with("it carries 28.8 GB/s of payload, the wire brings 49.0"),
            "{}",
            found[0].message
        );
    }

    #[test]
    fn a_hop_further_up_is_told_from_the_cards_own() {
        let uplink = Hop { current_width: Some(4), ..hop("0000:40:00.0", 32.0, 16) };
        let rails =
            ["mlx5_0", "mlx5_1"].map(|d| behind(d, vec![hop("0000:41:00.0", 32.0, 16), uplink.clone()]));
        assert_eq!(named(&findings(rails.into())), ["pcie-path-degraded mlx5_0,mlx5_1"]);
    }

    #[test]
    fn what_is_unknown_or_capped_by_the_card_is_no_finding() {
        let unknown = Hop { current_gt_per_s: None, current_width: None, ..hop("a.0", 16.0, 16) };
        let no_port_above =
            Hop { upstream_max_gt_per_s: None, current_width: Some(8), ..hop("b.0", 16.0, 16) };
        let emulated = Hop {
            upstream_max_gt_per_s: Some(16.0),
            upstream_max_width: Some(16),
            ..hop("0000:02:00.0", 2.5, 1)
        };
        let hops = [unknown, no_port_above, emulated];
        let rails = hops.into_iter().map(|h| behind("mlx5_0", vec![h])).collect();
        assert_eq!(named(&findings(rails)), Vec::<String>::new());
    }
}
