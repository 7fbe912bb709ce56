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
fn limited(all: &[Rail]) -> Vec<Finding> {
    let mut alike: BTreeMap<String, Vec<(&Rail, f64, f64)>> = BTreeMap::new();
    for rail in all {
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
            let has_twins = rails.iter().all(|rail| has_twin(rail, all));
            let known = rails.iter().all(|rail| rail.pcie.as_ref().is_some_and(pcie::is_known));
            let verdict = if known {
                "nothing is broken, PCIe is the limit"
            } else {
                "PCIe is the limit; whether a link trained low or the slot can do no more is not known"
            };
            let message = format!("{}: {numbers}; {verdict}", ports(rails.iter().copied(), all));
            Finding::on_ports("pcie-limit", Severity::Info, rails, message)
                .with("pcie_gb_per_s", rounded(carries))
                .with("line_gb_per_s", rounded(line))
                .advise(if has_twins {
                    "expect no more than this of one function; the port's other function has a PCIe link of its own: use \
                     both together"
                } else {
                    "expect no more than this; a slot with more lanes or a newer generation would carry more"
                })
        })
        .collect()
}

/// Whether another function is a way to the same port (`shared-port`).
fn has_twin(rail: &Rail, all: &[Rail]) -> bool {
    let physical = |at: usize| all[at].may_carry() && all[at].is_vf != Some(true);
    let Some(own) = all.iter().position(|other| std::ptr::eq(other, rail)).filter(|at| physical(*at)) else {
        return false;
    };
    let port = ceilings::port_of(all, own);
    (0..all.len()).any(|at| at != own && physical(at) && ceilings::port_of(all, at) == port)
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
    tightest.into_values().filter_map(|crowded| sharing(&crowded, rails)).collect()
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

fn sharing(crowded: &Crowded<'_>, all: &[Rail]) -> Option<Finding> {
    let Crowded { carries, wanted, link } = crowded;
    let hop = link.hop?;
    let above = hop.upstream.as_deref().map_or(String::new(), |port| format!(" below {port}"));
    let message = format!(
        "{} share the link at {}{above} ({}): it carries {carries:.1} GB/s of payload, together they could \
         bring {wanted:.1}",
        ports(link.rails.iter().copied(), all),
        hop.address,
        shape(hop),
    );
    Some(
        Finding::on_ports("shared-pcie", Severity::Info, link.rails.iter().copied(), message)
            .with("hop", hop.address.clone())
            .with("upstream", hop.upstream.clone())
            .with("pcie_gb_per_s", rounded(*carries))
            .with("lines_gb_per_s", rounded(*wanted))
            .advise("judge these rails together, not one by one; use a rail behind another link where one is free"),
    )
}

#[cfg(test)]
mod tests;
