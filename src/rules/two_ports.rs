//! Ports of one device are told apart in every sentence about a port, and the device is named once in every other.

use super::testing::{
    Traffic, behind, bonded, described, found_in, hop, process, rail, session, timeline, two_sockets,
};
use super::{Finding, Rule, diagnose};
use crate::rules::{Limits, Severity};
use crate::timeline::Timeline;
use probes::model::{
    Frame, Gpu, LinkLayer, Load, LoadOp, LoadTarget, PciePath, Rail, RailFrame, Subnet, Topology,
};
use std::sync::Arc;

/// A card with two ports, all of it one device, as `mlx4` has it.
fn two_ports() -> Topology {
    two_sockets(vec![rail("mlx4_0"), Rail { port: 2, ..rail("mlx4_0") }])
}

/// Each finding of the code, in the order they come.
fn messages(found: &[Finding], code: &str) -> Vec<String> {
    found.iter().filter(|found| found.code == code).map(|found| found.message.clone()).collect()
}

fn about_rates(topology: Topology, rx_gb_per_s: &[[f64; 2]], load: Load) -> Vec<Finding> {
    let rx_gb_per_s = rx_gb_per_s.iter().map(|row| row.to_vec()).collect();
    let traffic = Traffic { rx_gb_per_s, load: Some(load), ..Traffic::default() };
    let timeline = timeline(topology, &traffic);
    diagnose(timeline.topology(), &timeline, &Limits::default())
}

fn begins(found: &[Finding], code: &str, with: &str) {
    let messages = messages(found, code);
    assert!(messages.iter().any(|message| message.starts_with(with)), "{code}: {messages:?}");
}

#[test]
fn sentences_about_a_rate_name_the_port() {
    let reading = || described(LoadOp::Read);
    let found = about_rates(two_ports(), &[[48.9, 20.0]; 5], reading());
    begins(&found, "rail-imbalance", "mlx4_0 port 2 reads 20.0 GB/s");
    begins(&found, "slow-unexplained", "mlx4_0 port 2");
    begins(&found, "line-limit", "mlx4_0 port 1: at the wire");
    let rates = found.iter().find(|found| found.code == "rail-imbalance").unwrap();
    assert_eq!(rates.evidence["rates_gb_per_s"]["mlx4_0 port 1"], 48.9, "each port has its own figure");
    assert_eq!(rates.evidence["rates_gb_per_s"]["mlx4_0 port 2"], 20.0);
    let swinging = [[40.0, 40.0], [40.0, 2.0], [40.0, 40.0], [40.0, 2.0], [40.0, 40.0]];
    let found = about_rates(two_ports(), &swinging, reading());
    begins(&found, "unstable", "mlx4_0 port 2 swings");
    let strict = Load { relaxed_ordering: Some(false), ..reading() };
    begins(&about_rates(two_ports(), &[[40.0, 20.0]; 5], strict), "relaxed-ordering", "mlx4_0 port 2: ");
    begins(
        &about_rates(two_ports(), &[[40.0, 54.0]; 5], reading()),
        "above-port",
        "mlx4_0 port 2: 54.0 GB/s",
    );
    begins(&about_rates(two_ports(), &[[40.0, 90.0]; 5], reading()), "implausible", "mlx4_0 port 2: ");
    let mut bonds = two_ports();
    for (at, rail) in bonds.rails.iter_mut().enumerate() {
        rail.bond = bonded("mlx4_0").bond;
        rail.bond.as_mut().unwrap().netdev = format!("bond{at}");
        rail.pcie = None;
    }
    begins(&about_rates(bonds, &[[48.0, 24.8]; 5], reading()), "half-rate", "mlx4_0 port 2 reads 24.8 GB/s");
}

#[test]
fn rails_into_one_gpu_are_named_by_their_ports_and_the_device_once() {
    let mut topology = two_ports();
    let pcie = PciePath { hops: vec![hop("0000:19:00.0", 32.0, 16)], ..PciePath::default() };
    topology.gpus = vec![Gpu { name: "gpu0".into(), pcie, ..Gpu::default() }];
    let load = Load { target: LoadTarget::Gpu("gpu0".into()), ..described(LoadOp::Read) };
    let found = about_rates(topology, &[[25.0, 25.0]; 5], load);
    begins(&found, "gpu-link-limit", "mlx4_0 port 1 and mlx4_0 port 2: together");
    let devices = &found.iter().find(|found| found.code == "gpu-link-limit").unwrap().devices;
    assert_eq!(devices, &["mlx4_0", "gpu0"]);
}

#[test]
fn sentences_about_counters_and_links_name_the_port() {
    let names = ["hw/out_of_sequence", "port/link_downed", "port/symbol_error"];
    let mut topology = two_ports();
    topology.rails[1].counters = names.iter().map(|name| (*name).to_owned()).collect();
    let mut timeline = Timeline::new(Arc::new(session(topology.clone())));
    for seq in 0..5_u64 {
        let moved = |counters| RailFrame {
            rx_bytes: Some(seq * 2_000_000_000),
            tx_bytes: Some(0),
            counters,
            ..RailFrame::default()
        };
        let grown = [seq * 9_000, seq, 65_535].into_iter().map(Some).collect();
        let rails = vec![moved(Vec::new()), moved(grown)];
        timeline.push(Frame { seq, at_ns: seq * 1_000_000_000, rails, ..Frame::default() });
    }
    let found = diagnose(&topology, &timeline, &Limits::default());
    for code in ["retransmit", "flap", "counter-saturated"] {
        begins(&found, code, "mlx4_0 port 2: ");
    }
}

#[test]
fn two_ports_in_one_subnet_are_two_rails() {
    let mut topology = two_ports();
    for (at, rail) in topology.rails.iter_mut().enumerate() {
        rail.subnets = vec![Subnet { netdev: format!("eth{at}"), network: "10.0.0.0/24".into() }];
    }
    let found = diagnose(&topology, &timeline(topology.clone(), &Traffic::default()), &Limits::default());
    begins(&found, "same-subnet", "mlx4_0 port 1 and mlx4_0 port 2 are on 2 netdevs");
}

#[test]
fn a_reason_found_on_one_port_is_none_for_the_other() {
    let with_leg_down = |topology: &mut Topology| {
        topology.rails[1].bond = bonded("mlx4_0").bond;
        let legs = &mut topology.rails[1].bond.as_mut().unwrap().legs;
        (legs[0].link_up, legs[1].link_up) = (Some(true), Some(false));
    };
    let slow = [[15.0, 15.0]; 5];
    let mut topology = two_ports();
    with_leg_down(&mut topology);
    let found = about_rates(topology.clone(), &slow, described(LoadOp::Read));
    begins(&found, "bond-leg-down", "mlx4_0 port 2: ");
    assert_eq!(messages(&found, "slow-unexplained").len(), 1);
    begins(&found, "slow-unexplained", "mlx4_0 port 1 does 15.0 of ");
    for rail in &mut topology.rails {
        rail.pcie.as_mut().unwrap().hops[0].current_width = Some(4);
    }
    let found = about_rates(topology, &[[5.0, 5.0]; 5], described(LoadOp::Read));
    begins(&found, "pcie-downgraded", "mlx4_0: ");
    assert_eq!(messages(&found, "slow-unexplained"), Vec::<String>::new(), "the card's link is both ports'");
}

#[test]
fn a_finding_is_about_the_ports_it_speaks_of() {
    let topology = two_ports();
    let [first, second] = [&topology.rails[0], &topology.rails[1]];
    let on = |rail| Finding::on_ports("flap", Severity::Warning, [rail], "");
    let card = Finding::new("mrrs", Severity::Warning, ["mlx4_0"], "");
    assert_eq!([on(second).is_about(first), on(second).is_about(second)], [false, true]);
    assert_eq!([card.is_about(first), card.is_about(second)], [true, true]);
    let share = [on(first).shares_a_rail_with(&on(second)), on(first).shares_a_rail_with(&on(first))];
    assert_eq!(share, [false, true]);
    assert!(card.shares_a_rail_with(&on(second)) && on(second).shares_a_rail_with(&card));
    assert_eq!(on(second).devices, ["mlx4_0"], "what leaves the program names the device");
    let both = Finding::on_ports("flap", Severity::Warning, [first, second], "");
    assert_eq!((both.devices.len(), both.is_about(first) && both.is_about(second)), (1, true));
}

/// Every rule on a card with two ports of which all is wrong.
fn troubled() -> (Topology, Timeline) {
    let narrow = |port| Rail {
        port,
        driver: Some("mlx4_core".into()),
        numa_node: (port == 1).then_some(1),
        is_vf: Some(false),
        board_id: Some("MT".into()),
        firmware: Some("2.42".into()),
        missing_uverbs: Some("/dev/infiniband/uverbs0".into()),
        link_layer: Some(LinkLayer::Ethernet),
        ..behind(
            "mlx4_0",
            vec![probes::model::Hop { current_width: Some(8), ..hop("0000:41:00.0", 32.0, 16) }],
        )
    };
    let mut rails = vec![narrow(1), narrow(2), Rail { firmware: Some("2.41".into()), ..narrow(1) }];
    rails[1].numa_node = Some(1);
    rails[2].device = "mlx4_1".into();
    for rail in &mut rails {
        rail.pcie.as_mut().unwrap().max_read_request_bytes = Some(512);
    }
    let mut topology = two_sockets(rails);
    topology.host.memlock_bytes = Some(1 << 20);
    let far = vec![process(7, "mlx4_0", "0-3"), process(8, "mlx4_0", "0-7")];
    let traffic = Traffic { processes: Some(far), ..Traffic::loaded(&[5.0, 24.0, 24.0]) };
    (topology.clone(), timeline(topology, &traffic))
}

#[test]
fn no_rule_names_one_device_twice() {
    let (topology, timeline) = troubled();
    let found: Vec<Finding> =
        super::ALL.iter().flat_map(|rule: &Rule| found_in(rule, &topology, &timeline)).collect();
    let codes: Vec<&str> = found.iter().map(|found| &*found.code).collect();
    for code in ["pcie-downgraded", "cross-numa", "mrrs", "no-dev-node", "fw-differs"] {
        assert!(codes.contains(&code), "{code} is not among {codes:?}");
    }
    for found in &found {
        for twice in ["mlx4_0 and mlx4_0 ", "mlx4_0, mlx4_0 ", "mlx4_0, mlx4_0,"] {
            let is_port = found.message.contains("mlx4_0 port");
            assert!(is_port || !found.message.contains(twice), "{}: {}", found.code, found.message);
        }
        let mut devices = found.devices.clone();
        devices.dedup();
        assert_eq!(devices, found.devices, "{}", found.code);
    }
}
