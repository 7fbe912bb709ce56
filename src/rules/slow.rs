//! `slow-unexplained`: a rail is far below what it could do, and nothing that was found on it says why.
//!
//! Of a session of both hosts, a reason that was found on the other end of the rail is one too, and is named as that host's.
//!
//! Fires under load, when the mean in the load's direction is below 70 % of the rail's lowest ceiling, or of its fair share
//! of what it shares with other rails that move something, and no other finding on the rail is a reason. That it is slower
//! than others (`rail-imbalance`) is none. Left alone: software devices (the CPU bounds them, not the card),
//! ports that are not ACTIVE, loads into a GPU whose PCIe link is not known, and loads whose window is too small to tell: fewer bytes on the wire than the
//! ceiling brings in 20 µs, a long round trip in one room.

use super::means::{latest_load, under_load};
use super::wording::{list, rate, rates_of, rounded, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings;
use crate::timeline::Timeline;
use probes::model::{Load, LoadOp, LoadTarget, Rail, Topology};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["slow-unexplained"], check };

/// Findings that are no reason for a low rate, and leave none open: remarks, and what the ceiling already counts.
const NO_REASON: [&str; 16] = [
    "above-port",
    "active-backup",
    "counter-na",
    "counter-reset",
    "counter-saturated",
    "fw-differs",
    "gpudirect",
    "lag-mode",
    "line-limit",
    "memlock",
    "mtu",
    "numa-balancing",
    "pcie-limit",
    "prio",
    "rail-imbalance",
    "shared-pcie",
];

/// Rails whose rates differ by no more than this stop at one thing, or by chance alike.
const ALIKE: f64 = 0.1;

/// A long round trip in one room, seconds.
const LONG_ROUND_TRIP_S: f64 = 20e-6;
/// READs a queue pair keeps outstanding where the load does not tell: what devices do by default.
const USUAL_READ_DEPTH: u32 = 16;

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let Some(load) = latest_load(timeline).filter(|load| target_is_known(topology, load)) else {
        return Vec::new();
    };
    let seen: Vec<Rail> =
        topology.rails_with_id().map(|(id, rail)| timeline.local().last_seen(id, rail)).collect();
    let rates: Vec<Option<f64>> =
        topology.rails_with_id().map(|(id, _)| under_load(id, timeline, limits, load.op)).collect();
    let beside = ceilings::together_of_gb_per_s(&seen, |at| rates[at].is_some_and(|gb| gb > 0.0));
    let slow: Vec<(&str, f64, f64)> = topology
        .rails_with_id()
        .filter(|(_, rail)| load.drives(&rail.device) && !rail.is_software())
        .filter_map(|(id, surveyed)| {
            let rail = &seen[id.0];
            let own = timeline.local().ceilings(id, rail).lowest().filter(|_| rail.is_active())?;
            let ceiling = beside[id.0].map_or(own, |beside| beside.min(own));
            let gb = rates[id.0]?;
            let slow = gb < limits.far_below_share * ceiling && window_is_ample(load, rail, ceiling);
            slow.then_some((surveyed.device.as_str(), gb, ceiling))
        })
        .collect();
    if slow.is_empty() {
        return Vec::new();
    }
    let others = super::ALL.iter().filter(|rule| rule.codes != RULE.codes);
    let reasons: Vec<Finding> = others.flat_map(|rule| (rule.check)(topology, timeline, limits)).collect();
    let explained: BTreeSet<&str> = reasons
        .iter()
        .filter(|finding| !NO_REASON.contains(&&*finding.code))
        .flat_map(|finding| finding.devices.iter().map(String::as_str))
        .collect();
    let mut slow: Vec<_> = slow.into_iter().filter(|(device, ..)| !explained.contains(device)).collect();
    if !slow.is_empty() {
        let there = explained_there(timeline, limits);
        slow.retain(|(device, ..)| load.peer_devices.get(*device).is_none_or(|peer| !there.contains(peer)));
    }
    finding(&slow, limits).into_iter().collect()
}

/// Rails of the other host on which something was found that is a reason; it is named as that host's.
fn explained_there(timeline: &Timeline, limits: &Limits) -> BTreeSet<String> {
    let Some(there) = timeline.as_seen_by_peer() else { return BTreeSet::new() };
    let found = super::ALL.iter().filter(|rule| rule.codes != RULE.codes);
    let found = found.flat_map(|rule| (rule.check)(there.topology(), &there, limits));
    found.filter(|finding| !NO_REASON.contains(&&*finding.code)).flat_map(|finding| finding.devices).collect()
}

fn target_is_known(topology: &Topology, load: &Load) -> bool {
    let LoadTarget::Gpu(name) = &load.target else { return true };
    let gpu = topology.gpus.iter().find(|gpu| gpu.name == *name);
    gpu.is_some_and(|gpu| ceilings::path_raw_gb_per_s(&gpu.pcie).is_some())
}

/// Whether so much is on the wire that latency cannot be the reason; unknown sizes count as ample.
fn window_is_ample(load: &Load, rail: &Rail, ceiling_gb_per_s: f64) -> bool {
    let depth = match load.op {
        LoadOp::Read => {
            let threads = load.workers.iter().filter(|worker| worker.device == rail.device);
            threads
                .filter_map(|worker| worker.read_depth)
                .min()
                .or(load.read_depth)
                .or(Some(USUAL_READ_DEPTH))
        }
        LoadOp::Write => load.depth,
    };
    let (Some(size), Some(qps), Some(depth)) = (load.size_bytes, load.qps, depth) else { return true };
    size as f64 * f64::from(qps) * f64::from(depth) >= ceiling_gb_per_s * 1e9 * LONG_ROUND_TRIP_S
}

fn finding(slow: &[(&str, f64, f64)], limits: &Limits) -> Option<Finding> {
    let devices: Vec<&str> = slow.iter().map(|(device, ..)| *device).collect();
    let (_, gb, ceiling) = slow.iter().min_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)))?;
    let could = verb(slow.len(), "it", "they");
    let below = format!("below {:.0} % of what {could} could do under load", limits.far_below_share * 100.0);
    let alike = alike(slow);
    let message = match &alike {
        Some(rates) => format!(
            "{}, of {ceiling:.1} GB/s each could: {below}, and nothing that was found here explains it; that they stop alike speaks \
             for one limit outside this host that they share, such as a switch's uplink or the peer",
            rates_of(rates, "do"),
        ),
        None => format!(
            "{}: {below}, and nothing that was found here explains it",
            list(slow.iter().map(|(device, gb, ceiling)| {
                format!("{device} does {} of {ceiling:.1} GB/s", rate(*gb))
            })),
        ),
    };
    let advice = if alike.is_some() {
        "each of them alone was not measured: `railscope diagnose PEER` measures it, one by one and together"
    } else {
        "look at the other end (`railscope check` there), then load the rail alone: `railscope load PEER --rails DEVICE`, \
         with more queue pairs, and with larger messages; or let `railscope diagnose PEER` do it"
    };
    let rates: Map<String, Value> =
        slow.iter().map(|(device, gb, _)| ((*device).to_owned(), rounded(*gb).into())).collect();
    Some(
        Finding::new("slow-unexplained", Severity::Warning, devices, message)
            .with("share_of_ceiling", rounded(gb / ceiling))
            .with("limit_share_of_ceiling", limits.far_below_share)
            .with("rates_gb_per_s", rates)
            .with("ceiling_gb_per_s", rounded(*ceiling))
            .with("together_gb_per_s", rounded(slow.iter().map(|(_, gb, _)| gb).sum()))
            .advise(advice),
    )
}

/// Rates of several rails that stop at much the same, of the same ceiling; `None` of one alone, and of unlike ones.
fn alike<'a>(slow: &[(&'a str, f64, f64)]) -> Option<Vec<(&'a str, f64)>> {
    let near = |of: fn(&(&str, f64, f64)) -> f64| {
        let least = slow.iter().map(of).fold(f64::INFINITY, f64::min);
        slow.iter().map(of).fold(0.0, f64::max) <= least * (1.0 + ALIKE)
    };
    (slow.len() > 1 && near(|rail| rail.1) && near(|rail| rail.2))
        .then(|| slow.iter().map(|(device, gb, _)| (*device, *gb)).collect())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        Traffic, behind, described, found, found_in, hop, named, rail, session, two_sockets,
    };
    use super::RULE;
    use crate::timeline::Timeline;
    use probes::model::{Frame, Hop, Load, LoadOp, LoadTarget, Rail, RailFrame, Topology};
    use std::sync::Arc;

    fn codes(rails: Vec<Rail>, load: Option<Load>, rates: &[f64]) -> Vec<String> {
        named(&found(&RULE, &two_sockets(rails), &Traffic { load, ..Traffic::loaded(rates) }))
    }

    /// Rails in slots of their own.
    fn in_slots(count: u8) -> Topology {
        let at = |at| {
            behind(&format!("mlx5_{at}"), vec![hop(&format!("0000:{:02x}:00.0", 0x41 + 2 * at), 32.0, 16)])
        };
        two_sockets((0..count).map(at).collect())
    }

    #[test]
    fn rails_that_are_slow_for_no_reason_are_named_together() {
        let alone = |device: &str| {
            let mut rail = rail(device);
            rail.pcie.as_mut().unwrap().hops[0].upstream = Some(format!("port of {device}"));
            rail
        };
        let rails = || ["mlx5_0", "mlx5_1"].map(alone).to_vec();
        let load = || Some(described(LoadOp::Read));
        assert_eq!(codes(rails(), load(), &[20.0, 21.0]), ["slow-unexplained mlx5_0,mlx5_1"]);
        assert_eq!(codes(rails(), load(), &[40.0, 41.0]), Vec::<String>::new());
        assert_eq!(codes(rails(), None, &[20.0, 21.0]), Vec::<String>::new());
        let held_back = Load { rate_gb_per_s: Some(21.0), ..described(LoadOp::Read) };
        assert_eq!(codes(rails(), Some(held_back), &[20.0, 21.0]), Vec::<String>::new());
    }

    #[test]
    fn rails_that_stop_alike_are_told_once_with_their_sum() {
        let load = Traffic::loaded(&[24.6, 24.5, 24.4, 24.5, 48.0, 48.0]);
        let found = found(&RULE, &in_slots(6), &load);
        assert_eq!(named(&found), ["slow-unexplained mlx5_0,mlx5_1,mlx5_2,mlx5_3"]);
        assert_eq!(
            found[0].message,
            "mlx5_0, mlx5_1, mlx5_2 and mlx5_3 do 24.4 to 24.6 GB/s each, 98.0 together, of 49.0 GB/s each could: below 70 % \
             of what they could do under load, and nothing that was found here explains it; that they stop alike speaks for one \
             limit outside this host that they share, such as a switch's uplink or the peer"
        );
    }

    #[test]
    fn being_slower_than_others_or_behind_a_shared_link_is_no_reason_by_itself() {
        let codes =
            |topology: &Topology, rates: &[f64]| named(&found(&RULE, topology, &Traffic::loaded(rates)));
        let quiet = Vec::<String>::new();
        // `rail-imbalance` fires here and says nothing of why
        assert_eq!(codes(&in_slots(3), &[48.0, 48.0, 24.5]), ["slow-unexplained mlx5_2"]);
        let mut shared = in_slots(2);
        for rail in &mut shared.rails {
            let uplink = Hop { upstream: Some("0000:15:01.0".into()), ..hop("0000:16:00.0", 32.0, 16) };
            rail.pcie.as_mut().unwrap().hops.push(uplink);
        }
        // 57.6 GB/s for both of them: 28.4 each is all there is, 15 is not
        assert_eq!(codes(&shared, &[28.4, 28.4]), quiet);
        assert_eq!(codes(&shared, &[15.0, 15.0]), ["slow-unexplained mlx5_0,mlx5_1"]);
        assert_eq!(codes(&shared, &[28.4, 0.0]), ["slow-unexplained mlx5_0,mlx5_1"], "the neighbour rests");
        let gen4 = two_sockets(vec![behind("mlx5_0", vec![hop("0000:41:00.0", 16.0, 16)])]);
        assert_eq!(codes(&gen4, &[27.0]), quiet, "of 28.8");
        assert_eq!(codes(&gen4, &[15.0]), ["slow-unexplained mlx5_0"]);
    }

    #[test]
    fn what_is_explained_is_not_called_unexplained() {
        let mut narrow = rail("mlx5_0");
        narrow.pcie.as_mut().unwrap().hops[0].current_width = Some(8);
        // 15 GB/s is far below even the 28.8 of x8, and the narrow link is still what to mend first
        assert_eq!(codes(vec![narrow], Some(described(LoadOp::Read)), &[15.0]), Vec::<String>::new());
        let deep = Load { read_depth: Some(1), device_read_depth: Some(16), ..described(LoadOp::Read) };
        let deep = Load { size_bytes: Some(1 << 20), ..deep };
        assert_eq!(codes(vec![rail("mlx5_0")], Some(deep), &[21.0]), Vec::<String>::new());
    }

    #[test]
    fn what_the_other_end_explains_is_not_called_unexplained() {
        let far = |width| {
            let mut far = rail("far_0");
            far.pcie.as_mut().unwrap().hops[0].current_width = Some(width);
            Arc::new(two_sockets(vec![far]))
        };
        let peer_devices = [("mlx5_0".to_owned(), "far_0".to_owned())].into();
        let load = Arc::new(Load { peer_devices, ..described(LoadOp::Read) });
        let codes = |width| {
            let here = two_sockets(vec![rail("mlx5_0")]);
            let mut session = session(here.clone());
            session.hosts.push(far(width));
            let mut timeline = Timeline::new(Arc::new(session));
            for seq in 0..5 {
                let moved = RailFrame {
                    rx_bytes: Some(seq * 20_000_000_000),
                    tx_bytes: Some(0),
                    ..RailFrame::default()
                };
                let at_ns = seq * 1_000_000_000;
                let load = Some(load.clone());
                timeline.push(Frame { seq, at_ns, rails: vec![moved], load, ..Frame::default() });
                timeline.push(Frame {
                    host: 1,
                    seq,
                    at_ns,
                    rails: vec![RailFrame::default()],
                    ..Frame::default()
                });
            }
            named(&found_in(&RULE, &here, &timeline))
        };
        assert_eq!(codes(16), ["slow-unexplained mlx5_0"]);
        assert_eq!(codes(4), Vec::<String>::new());
    }

    #[test]
    fn a_small_window_or_a_software_device_is_bound_by_other_things() {
        let small =
            Load { size_bytes: Some(4096), qps: Some(1), read_depth: Some(16), ..described(LoadOp::Read) };
        assert_eq!(codes(vec![rail("mlx5_0")], Some(small), &[6.6]), Vec::<String>::new());
        let software = Rail { driver: Some("rdma_rxe".into()), ..rail("rxe0") };
        assert_eq!(codes(vec![software], Some(described(LoadOp::Read)), &[0.02]), Vec::<String>::new());
        let two_ports = vec![rail("mlx4_0"), Rail { port: 2, ..rail("mlx4_0") }];
        assert_eq!(codes(two_ports, Some(described(LoadOp::Read)), &[45.0, 0.0]), Vec::<String>::new());
        let gpu = Load { target: LoadTarget::Gpu("gpu0".into()), ..described(LoadOp::Read) };
        assert_eq!(codes(vec![rail("mlx5_0")], Some(gpu), &[6.0]), Vec::<String>::new());
    }
}
