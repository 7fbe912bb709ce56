//! What differs in host, rails, pinning and load.

use super::{Side, pinning, rates};
use crate::ceilings;
use crate::settings::Size;
use probes::model::{Bond, Gid, Host, Load, NumaNode, PciePath, Rail, RailId, Topology};
use serde::Serialize;

/// A fact that both sessions know, and that is not the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// RDMA device, `host` or `load`.
    pub subject: String,
    /// Which fact, in words.
    pub what: &'static str,
    /// As the first has it.
    pub a: String,
    /// As the second has it.
    pub b: String,
}

/// A fact that one session does not know.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KnownInOne {
    /// RDMA device, `host` or `load`.
    pub subject: String,
    /// Which fact, in words.
    pub what: &'static str,
    /// As the first has it; null unknown.
    pub a: Option<String>,
    /// As the second has it; null unknown.
    pub b: Option<String>,
}

/// Who uses a rail from where, in words.
type Pinning = fn(&Side, &str) -> Option<String>;

type Facts = Vec<(&'static str, Option<String>)>;

/// Differences, then what only one of them knows.
pub(super) fn compare(a: &Side, b: &Side) -> (Vec<Difference>, Vec<KnownInOne>) {
    let mut found = Found::default();
    let (before, after) = (a.timeline.topology(), b.timeline.topology());
    found.add("host", of_host(before), of_host(after));
    if let (Some(load_a), Some(load_b)) = (a.load(), b.load()) {
        found.add("load", of_load(load_a), of_load(load_b));
    }
    let is_one_host = before.host.hostname == after.host.hostname;
    for (id, rail) in before.rails_with_id() {
        let Some((other_id, other)) = after.rails_with_id().find(|(_, other)| rates::is_same(rail, other))
        else {
            continue;
        };
        let seen = |side: &Side, id: RailId, rail: &Rail| side.timeline.local().last_seen(id, rail);
        let (rail, other) = (seen(a, id, rail), seen(b, other_id, other));
        found.add(&rail.device, of_rail(&rail, is_one_host), of_rail(&other, is_one_host));
        for (what, of) in PINNING {
            // nobody on a rail is a difference to somebody, but no loss of knowledge
            if let (Some(a), Some(b)) = (of(a, &rail.device), of(b, &rail.device)) {
                found.add(&rail.device, vec![(what, Some(a))], vec![(what, Some(b))]);
            }
        }
    }
    (found.differences, found.known_in_one)
}

const PINNING: [(&str, Pinning); 2] =
    [("load threads", pinning::of_load), ("processes", pinning::of_processes)];

#[derive(Default)]
struct Found {
    differences: Vec<Difference>,
    known_in_one: Vec<KnownInOne>,
}

impl Found {
    fn add(&mut self, subject: &str, a: Facts, b: Facts) {
        for ((what, a), (_, b)) in a.into_iter().zip(b) {
            let subject = subject.to_owned();
            match (a, b) {
                (Some(a), Some(b)) if a != b => self.differences.push(Difference { subject, what, a, b }),
                (Some(_), Some(_)) | (None, None) => {}
                (a, b) => self.known_in_one.push(KnownInOne { subject, what, a, b }),
            }
        }
    }
}

fn of_host(topology: &Topology) -> Facts {
    let host: &Host = &topology.host;
    let on = |value: Option<bool>| value.map(|on| if on { "on" } else { "off" }.to_owned());
    let memlock = match (host.memlock_unlimited, host.memlock_bytes) {
        (Some(true), _) => Some("unlimited".to_owned()),
        (_, bytes) => bytes.map(|bytes| format!("{bytes} bytes")),
    };
    let governors = host.cpu_governors.as_ref().map(|governors| {
        let each: Vec<String> = governors.iter().map(|(name, cpus)| format!("{name} on {cpus}")).collect();
        each.join(", ")
    });
    let node = |node: &NumaNode| {
        let cpus = node.cpus.as_ref().map_or("CPUs unknown".to_owned(), |cpus| format!("CPUs {cpus}"));
        format!("{}: {cpus}", node.node)
    };
    let nodes: Vec<String> = topology.numa.iter().map(node).collect();
    vec![
        ("host name", host.hostname.clone()),
        ("kernel", host.kernel.clone()),
        ("system", host.os.clone()),
        ("CPU", host.cpu_model.clone()),
        ("sockets", text(host.sockets)),
        ("CPUs online", text(host.cpus)),
        ("memory bytes", text(host.memory_bytes)),
        ("NUMA nodes", (!nodes.is_empty()).then(|| nodes.join("; "))),
        ("rdma-core", host.rdma_core.clone()),
        ("out-of-tree stack", host.ofed.clone()),
        ("locked memory", memlock),
        ("NUMA balancing", on(host.numa_balancing)),
        ("CPU governor", governors),
        ("IOMMU", host.iommu.clone()),
        ("cpuset CPUs", text(host.cpuset_cpus.as_ref())),
        ("cpuset nodes", text(host.cpuset_mems.as_ref())),
    ]
}

fn of_load(load: &Load) -> Facts {
    let mut devices = load.devices.clone();
    devices.sort();
    vec![
        ("operation", Some(format!("{:?}", load.op).to_uppercase())),
        ("transport", load.transport.clone()),
        ("rails", (!devices.is_empty()).then(|| devices.join(", "))),
        ("message size", load.size_bytes.map(|bytes| Size(bytes).to_string())),
        ("queue pairs a rail", text(load.qps)),
        ("depth", text(load.depth)),
        ("READ depth", text(load.read_depth)),
        ("requests a doorbell", text(load.chain)),
        ("requests a completion", text(load.cq_mod)),
        ("path MTU", text(load.path_mtu)),
        ("threads", (!load.workers.is_empty()).then(|| load.workers.len().to_string())),
        ("placement", load.place.clone()),
        (
            "working set",
            Some(load.working_set_bytes.map_or("hot".to_owned(), |bytes| format!("{bytes} bytes a rail"))),
        ),
        ("warm-up", load.warmup_s.map(|seconds| format!("{seconds} s"))),
    ]
}

/// Addresses of two hosts differ by nature, so only those of one host are compared.
fn of_rail(rail: &Rail, is_one_host: bool) -> Facts {
    let path = rail.pcie.as_ref();
    let hop = path.and_then(|path| path.hops.first());
    let link = hop.and_then(|hop| Some(format!("{} GT/s x{}", hop.current_gt_per_s?, hop.current_width?)));
    let slowest =
        path.and_then(ceilings::slowest_hop).map(|(hop, raw)| format!("{raw:.1} GB/s at {}", hop.address));
    let gid = rail.gid.as_ref();
    let entry: Option<&Gid> = gid.and_then(|choice| rail.gids.iter().find(|gid| gid.index == choice.index));
    let address = entry.filter(|_| is_one_host).map(Gid::written);
    let bond = rail.bond.as_ref();
    let legs = |bond: &Bond| {
        let leg = |leg: &probes::model::Leg| {
            let up = match leg.link_up {
                Some(true) => "up",
                Some(false) => "down",
                None => "link unknown",
            };
            format!("{} {up}", leg.netdev)
        };
        bond.legs.iter().map(leg).collect::<Vec<_>>().join(", ")
    };
    let interrupts = rail.interrupts.as_ref().and_then(|interrupts| interrupts.effective.as_ref());
    vec![
        ("state", rail.state.clone()),
        ("driver", rail.driver.clone()),
        ("firmware", rail.firmware.clone()),
        ("board id (PSID)", rail.board_id.clone()),
        ("line rate", rail.line_gbit_per_s.map(|line| format!("{line} Gb/s"))),
        ("path MTU", text(rail.path_mtu)),
        ("netdev", rail.netdev.clone()),
        ("netdev MTU", text(rail.netdev_mtu)),
        ("NUMA node", text(rail.numa_node)),
        ("GID index", text(gid.map(|choice| choice.index))),
        ("GID address", address),
        ("PCI address", path.map(|path: &PciePath| path.address.clone())),
        ("PCIe link", link),
        ("slowest PCIe hop", slowest),
        ("MaxReadReq", text(path.and_then(|path| path.max_read_request_bytes))),
        (
            "relaxed ordering",
            path.and_then(|path| path.relaxed_ordering).map(|on| if on { "on" } else { "off" }.to_owned()),
        ),
        ("bond mode", bond.and_then(|bond| bond.mode.clone())),
        ("bond hash policy", bond.and_then(|bond| bond.xmit_hash_policy.clone())),
        ("LAG port select", bond.and_then(|bond| bond.lag_port_select.clone())),
        ("bond legs", bond.map(legs)),
        ("READ depth of the device", text(rail.max_read_depth)),
        ("CPUs of its interrupts", text(interrupts)),
    ]
}

fn text(value: Option<impl std::fmt::Display>) -> Option<String> {
    value.map(|value| value.to_string())
}
