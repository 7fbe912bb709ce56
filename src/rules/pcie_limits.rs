//! `pcie-limit`, `pcie-unknown`, `shared-pcie`: what a PCIe path that is in order lets through.
//!
//! Both sides are payload in one direction. PCIe: lanes × rate × encoding × MPS / (MPS + 24) of the slowest
//! hop (PCI Express Base Specification 5.0, 2.2 and 4.2). Wire: rate × MTU / (MTU + headers). Differences
//! of less than 2 % are left alone. A path that trained low is named by `pcie-downgraded` instead.

use super::wording::{devices, list, ports, rounded, verb};
use super::{Finding, Limits, Rule, Severity, pcie};
use crate::ceilings::{self, Ceilings, Link};
use crate::timeline::Timeline;
use probes::model::{Hop, Rail, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["pcie-limit", "pcie-unknown", "shared-pcie"], check };

/// Payload of PCIe and of the wire are both known to about this.
const MARGIN: f64 = 0.98;

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    let seen: Vec<Rail> =
        topology.rails_with_id().map(|(id, rail)| timeline.local().last_seen(id, rail)).collect();
    limited(&seen).into_iter().chain(unknown(&seen)).chain(shared(&seen)).collect()
}

/// Rails with a healthy path below their wire's rate, those with the same numbers together.
fn limited(rails: &[Rail]) -> Vec<Finding> {
    let mut alike: BTreeMap<String, Vec<(&Rail, f64, f64)>> = BTreeMap::new();
    for rail in rails {
        let Some(path) = rail.pcie.as_ref().filter(|path| pcie::is_healthy(path)) else { continue };
        let ceilings = Ceilings::of(rail);
        let (Some(carries), Some(line)) = (ceilings.pcie, ceilings.line.or(ceilings.line_raw)) else {
            continue;
        };
        if carries < line * MARGIN {
            let slowest = ceilings::slowest_hop(path).map_or(String::new(), |(hop, _)| shape(hop));
            let key =
                format!("{slowest}: the PCIe path carries {carries:.1} GB/s of payload, the wire {line:.1}");
            alike.entry(key).or_default().push((rail, carries, line));
        }
    }
    alike
        .into_iter()
        .map(|(numbers, rails)| {
            let (_, carries, line) = rails[0];
            let rails: Vec<&Rail> = rails.into_iter().map(|(rail, ..)| rail).collect();
            let message = format!("{}: {numbers}; nothing is broken, PCIe is the limit", ports(&rails));
            Finding::new("pcie-limit", Severity::Info, devices(rails), message)
                .with("pcie_gb_per_s", rounded(carries))
                .with("line_gb_per_s", rounded(line))
                .advise(
                    "expect no more than this; a slot with more lanes or a newer generation would carry more",
                )
        })
        .collect()
}

/// `x16 at 16 GT/s`.
fn shape(hop: &Hop) -> String {
    match (hop.current_gt_per_s, hop.current_width) {
        (Some(gt_per_s), Some(width)) => format!("x{width} at {gt_per_s} GT/s"),
        _ => hop.raw_gb_per_s.map_or("unknown".to_owned(), |raw| format!("{raw:.1} GB/s raw")),
    }
}

/// Rails whose own link does not tell its speed or width; there is no PCIe ceiling then.
fn unknown(rails: &[Rail]) -> Option<Finding> {
    let own_hop = |rail: &Rail| rail.pcie.as_ref()?.hops.first().cloned();
    let unknown: Vec<&Rail> = rails
        .iter()
        .filter(|rail| !rail.is_software())
        .filter(|rail| own_hop(rail).is_some_and(|hop| ceilings::link_gb_per_s(&hop).is_none()))
        .collect();
    let first = unknown.first()?;
    let names = devices(unknown.iter().copied());
    let virtual_too = unknown.iter().any(|rail| rail.is_vf == Some(true));
    let made_up = unknown.iter().any(|rail| own_hop(rail).is_some_and(|hop| ceilings::is_made_up(&hop)));
    let why = if made_up {
        " (x1 at 2.5 GT/s is what functions say that have no link of their own)"
    } else if virtual_too {
        " (a virtual function does not tell; its host knows)"
    } else {
        ""
    };
    let message = format!(
        "{}: speed or width of the PCIe link {} not known{why}: no PCIe limit can be judged",
        list(names.iter().copied()),
        verb(names.len(), "is", "are"),
    );
    let addresses: Vec<&str> =
        unknown.iter().filter_map(|rail| Some(rail.pcie.as_ref()?.address.as_str())).collect();
    let look = addresses.first().copied().unwrap_or(&first.device);
    let advice = format!(
        "as root, on the machine that owns the card: `lspci -vvs {look} | grep -E 'LnkCap:|LnkSta:'`"
    );
    Some(
        Finding::new("pcie-unknown", Severity::Info, names, message)
            .with("addresses", addresses)
            .advise(advice),
    )
}

/// What comes up to a link: what the links below it let through.
#[derive(Default)]
struct Arrivals<'a> {
    hop: Option<&'a Hop>,
    rails: Vec<&'a Rail>,
    /// Payload that the rails directly below want.
    line_gb_per_s: f64,
    below: BTreeSet<Link<'a>>,
}

/// A link that cannot carry what comes up to it, GB/s of payload.
struct Crowded<'a> {
    carries: f64,
    wanted: f64,
    link: &'a Arrivals<'a>,
}

fn shared(rails: &[Rail]) -> Vec<Finding> {
    let own = ceilings::own_ports(rails);
    let mut links: BTreeMap<Link<'_>, Arrivals<'_>> = BTreeMap::new();
    for &rail in &own {
        let Some(line) = ceilings::line_goodput_gb_per_s(rail).or_else(|| ceilings::line_raw_gb_per_s(rail))
        else {
            continue;
        };
        let hops = rail.pcie.as_ref().map_or(&[][..], |path| &path.hops);
        for (at, hop) in hops.iter().enumerate() {
            let at_link = links.entry(Link::of(hop)).or_default();
            at_link.hop.get_or_insert(hop);
            if at_link.rails.iter().all(|known| !std::ptr::eq(*known, rail)) {
                at_link.rails.push(rail);
            }
            match at.checked_sub(1) {
                None => at_link.line_gb_per_s += line,
                Some(below) => {
                    at_link.below.insert(Link::of(&hops[below]));
                }
            }
        }
    }
    // of links with the same rails the tightest is enough
    let mut tightest: BTreeMap<Vec<(&str, u32)>, Crowded<'_>> = BTreeMap::new();
    for (&place, link) in links.iter().filter(|(_, link)| link.rails.len() > 1) {
        let Some(carries) = link.hop.and_then(ceilings::link_payload_gb_per_s) else { continue };
        let wanted = wanted_gb_per_s(&links, place, 0);
        let names: Vec<(&str, u32)> =
            link.rails.iter().map(|rail| (rail.device.as_str(), rail.port)).collect();
        if carries < wanted * MARGIN && tightest.get(&names).is_none_or(|least| carries < least.carries) {
            tightest.insert(names, Crowded { carries, wanted, link });
        }
    }
    tightest.into_values().filter_map(|crowded| sharing(&crowded)).collect()
}

/// Longer chains of switches do not exist; a tree that claims one is cut.
const MOST_LEVELS: usize = 16;

fn wanted_gb_per_s(links: &BTreeMap<Link<'_>, Arrivals<'_>>, place: Link<'_>, level: usize) -> f64 {
    let Some(link) = links.get(&place).filter(|_| level < MOST_LEVELS) else { return 0.0 };
    let let_through = |below: &Link<'_>| {
        let wanted = wanted_gb_per_s(links, *below, level + 1);
        let carries = links.get(below).and_then(|link| ceilings::link_payload_gb_per_s(link.hop?));
        carries.map_or(wanted, |carries| wanted.min(carries))
    };
    link.line_gb_per_s + link.below.iter().map(let_through).sum::<f64>()
}

fn sharing(crowded: &Crowded<'_>) -> Option<Finding> {
    let Crowded { carries, wanted, link } = crowded;
    let hop = link.hop?;
    let above = hop.upstream.as_deref().map_or(String::new(), |port| format!(" below {port}"));
    let message = format!(
        "{} share the link at {}{above} ({}): it carries {carries:.1} GB/s of payload, together they could \
         bring {wanted:.1}",
        ports(&link.rails),
        hop.address,
        shape(hop),
    );
    Some(
        Finding::new("shared-pcie", Severity::Info, devices(link.rails.iter().copied()), message)
            .with("hop", hop.address.clone())
            .with("upstream", hop.upstream.clone())
            .with("pcie_gb_per_s", rounded(*carries))
            .with("lines_gb_per_s", rounded(*wanted))
            .advise("judge these rails together, not one by one; use a rail behind another link where one is free"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, behind, found, hop, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use probes::model::{Hop, Rail};

    fn below(port: &str, address: &str, gt_per_s: f64, width: u32) -> Hop {
        Hop { upstream: Some(port.into()), ..hop(address, gt_per_s, width) }
    }

    fn findings(rails: Vec<Rail>) -> Vec<Finding> {
        found(&RULE, &two_sockets(rails), &Traffic::default())
    }

    #[test]
    fn a_400g_port_in_a_gen4_slot_is_limited_by_pcie() {
        let rails = vec![
            behind("mlx5_0", vec![below("a", "0000:41:00.0", 16.0, 16)]),
            behind("mlx5_1", vec![below("b", "0000:42:00.0", 16.0, 16)]),
            behind("mlx5_2", vec![below("c", "0000:43:00.0", 32.0, 16)]),
        ];
        let found = findings(rails);
        assert_eq!(named(&found), ["pcie-limit mlx5_0,mlx5_1"]);
        assert_eq!(
            found[0].message,
            "mlx5_0 and mlx5_1: x16 at 16 GT/s: the PCIe path carries 28.8 GB/s of payload, the wire 49.0; \
             nothing is broken, PCIe is the limit"
        );
    }

    #[test]
    fn a_link_that_trained_low_and_a_port_that_is_down_are_not_limited_by_pcie() {
        let narrow = Hop { current_width: Some(8), ..hop("0000:41:00.0", 32.0, 16) };
        let down = Rail {
            state: Some("DOWN".into()),
            ..behind("mlx5_1", vec![below("b", "0000:42:00.0", 16.0, 16)])
        };
        assert_eq!(named(&findings(vec![behind("mlx5_0", vec![narrow]), down])), Vec::<String>::new());
    }

    #[test]
    fn a_speed_or_width_that_is_not_known_is_said_once() {
        let unknown = |device: &str, current_gt_per_s: Option<f64>, current_width: Option<u32>| {
            behind(device, vec![Hop { current_gt_per_s, current_width, ..hop("0000:41:00.0", 32.0, 16) }])
        };
        let mut software = rail("rxe0");
        software.pcie = None;
        let rails = vec![unknown("mlx5_0", None, Some(16)), unknown("mlx5_1", Some(32.0), None), software];
        assert_eq!(named(&findings(rails)), ["pcie-unknown mlx5_0,mlx5_1"]);
        let emulated = findings(vec![behind("mlx5_0", vec![hop("0000:41:00.0", 2.5, 1)])]);
        assert_eq!(named(&emulated), ["pcie-unknown mlx5_0"]);
        assert!(emulated[0].message.contains("x1 at 2.5 GT/s is what functions say"), "{emulated:?}");
    }

    #[test]
    fn two_400g_rails_below_one_gen5_uplink_share_it() {
        let rails = ["1a", "1b"].map(|bus| {
            let own = below(&format!("0000:17:{bus}"), &format!("0000:{bus}:00.0"), 32.0, 16);
            behind(&format!("mlx5_{bus}"), vec![own, below("0000:15:01.0", "0000:16:00.0", 32.0, 16)])
        });
        let found = findings(rails.into());
        assert_eq!(named(&found), ["shared-pcie mlx5_1a,mlx5_1b"]);
        assert_eq!(
            found[0].message,
            "mlx5_1a and mlx5_1b share the link at 0000:16:00.0 below 0000:15:01.0 (x16 at 32 GT/s): it \
             carries 57.6 GB/s of payload, together they could bring 98.0"
        );
    }

    #[test]
    fn what_a_cards_own_link_holds_back_does_not_fill_the_uplink() {
        // 2 × 25 GB/s of 400G ports on Gen4 x8 each fit through a Gen5 x16
        let rails = ["1a", "1b"].map(|bus| {
            let own = below(&format!("0000:17:{bus}"), &format!("0000:{bus}:00.0"), 16.0, 8);
            behind(&format!("mlx5_{bus}"), vec![own, below("0000:15:01.0", "0000:16:00.0", 32.0, 16)])
        });
        assert_eq!(named(&findings(rails.into())), ["pcie-limit mlx5_1a,mlx5_1b"]);
    }

    #[test]
    fn cards_below_a_switch_that_a_file_names_without_its_ports_have_links_of_their_own() {
        // as NCCL's file has it: above the card is the switch, whose own link goes on
        let at = |bus: &str| {
            let own = below("0000:16:00.0", &format!("0000:{bus}:00.0"), 32.0, 16);
            let of_switch = Hop { upstream: None, ..hop("0000:16:00.0", 32.0, 16) };
            behind(&format!("mlx5_{bus}"), vec![own, of_switch])
        };
        assert_eq!(named(&findings(vec![at("19")])), Vec::<String>::new());
        let found = findings(vec![at("19"), at("1a")]);
        assert_eq!(named(&found), ["shared-pcie mlx5_19,mlx5_1a"]);
        assert_eq!(
            found[0].message,
            "mlx5_19 and mlx5_1a share the link at 0000:16:00.0 (x16 at 32 GT/s): it carries 57.6 GB/s of \
             payload, together they could bring 98.0"
        );
        let elsewhere = behind("mlx5_2", vec![below("0000:16:00.0", "0000:1b:00.0", 32.0, 16)]);
        assert_eq!(named(&findings(vec![at("19"), elsewhere])), Vec::<String>::new());
    }

    #[test]
    fn functions_of_one_port_do_not_add_up() {
        let of_card = |device: &str, address: &str, is_vf: bool| {
            let mut rail = behind(device, vec![below("0000:40:01.0", address, 16.0, 16)]);
            rail.line_gbit_per_s = Some(200.0);
            rail.system_image_guid = Some("a".into());
            rail.is_vf = Some(is_vf);
            rail.pcie.as_mut().unwrap().address = address.into();
            rail
        };
        let vf = |n| of_card(&format!("mlx5_{n}"), &format!("0000:41:00.{n}"), true);
        let rails = vec![of_card("mlx5_0", "0000:41:00.0", false), vf(2), vf(3)];
        assert_eq!(named(&findings(rails)), Vec::<String>::new());
        let two_ports =
            vec![of_card("mlx5_0", "0000:41:00.0", false), of_card("mlx5_1", "0000:41:00.1", false)];
        assert_eq!(named(&findings(two_ports)), ["shared-pcie mlx5_0,mlx5_1"]);
    }
}
