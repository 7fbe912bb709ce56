//! A load: traffic that tries to fill rails all the time, ours or described beside a captured tree.

use super::{CpuSet, LegsSought};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Direction of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadOp {
    /// RDMA READ: data come in.
    #[default]
    Read,
    /// RDMA WRITE: data go out.
    Write,
}

/// Whose load it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadOrigin {
    /// This program's own engine: payload bytes come from completions.
    #[default]
    Ours,
    /// Somebody's, described in `captured/load.json`.
    Described,
}

/// Where the data of a load end up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadTarget {
    /// Host memory.
    #[default]
    Host,
    /// Memory of the named GPU (`gpu0`).
    Gpu(String),
}

/// How memory of a GPU was made known to an RDMA device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Registered {
    /// As a dmabuf that the GPU's driver exported.
    Dmabuf,
    /// Through a peer-memory module of the kernel (`nvidia_peermem`).
    Peermem,
}

impl Registered {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Dmabuf => "dmabuf",
            Self::Peermem => "peermem",
        }
    }
}

/// One thread of our load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Worker {
    /// RDMA device it drives.
    pub device: String,
    /// Its number among the threads of its rail, from 1; `None` of the only one.
    #[serde(default)]
    pub number: Option<u32>,
    /// Queue pairs it posts on; `None` in sessions from before they were shared out.
    #[serde(default)]
    pub qps: Option<u32>,
    /// CPUs it was bound to; `None` when binding was not possible or not asked.
    pub cpus: Option<CpuSet>,
    /// Node its buffer lies on, of a GPU's memory the GPU's; `None` as above.
    pub buffer_node: Option<u32>,
    /// Size of its buffer's pages, bytes: 2 MiB of huge pages that were set aside, or that of ordinary ones, which the
    /// kernel may put together; `None` of a GPU's memory.
    #[serde(default)]
    pub page_bytes: Option<u64>,
    /// READ requests outstanding per queue pair, as negotiated.
    pub read_depth: Option<u32>,
    /// Path MTU of its queue pairs, bytes, as agreed with the peer: the smaller of both ports', or less where less was
    /// asked for; `None` where no queue pair is connected, and in older sessions.
    #[serde(default)]
    pub path_mtu: Option<u32>,
    /// In which way the memory of a GPU was made known to the device; `None` of the host's memory, and in older
    /// sessions.
    #[serde(default)]
    pub registered: Option<Registered>,
    /// Port of the bond, from 1, from which all of its queue pairs send; `None` where the driver chose, the peer sends the
    /// data, and in older sessions.
    #[serde(default)]
    pub leg: Option<u32>,
}

impl fmt::Display for Worker {
    /// As people call it: its device, or `worker 2 of mlx5_0` where the rail has several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            None => f.write_str(&self.device),
            Some(number) => write!(f, "worker {number} of {}", self.device),
        }
    }
}

/// What a load asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Whose it is.
    pub origin: LoadOrigin,
    /// How many loads of the session came before it: a person may end one and have another begin. 0 of the first, and in
    /// older sessions. What two of them did has nothing in common.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier: u32,
    /// Direction.
    pub op: LoadOp,
    /// Whether the peer did the same in the other direction at the same time.
    #[serde(default)]
    pub bidirectional: bool,
    /// `verbs`, `tcp`, `sim`, or `None` for a described load.
    pub transport: Option<String>,
    /// Whether the peer is this host: not a fabric figure.
    pub loopback: bool,
    /// Where the data end up.
    pub target: LoadTarget,
    /// Devices it drives; empty means all.
    pub devices: Vec<String>,
    /// Message size, bytes.
    pub size_bytes: Option<u64>,
    /// Queue pairs per rail.
    pub qps: Option<u32>,
    /// Send queue depth per queue pair.
    pub depth: Option<u32>,
    /// Work requests posted with one doorbell.
    #[serde(default)]
    pub chain: Option<u32>,
    /// Every how many work requests one asks for a completion; the same at every message size.
    #[serde(default)]
    pub cq_mod: Option<u32>,
    /// Pages of a batch, of a striped load: its threads post one over all rails and wait for all of it. `None` of any
    /// other, whose threads drive one rail each without a pause.
    #[serde(default)]
    pub batch: Option<u32>,
    /// Memory that a rail's operations go over, bytes; `None`: re-used, so that it stays in the caches.
    #[serde(default)]
    pub working_set_bytes: Option<u64>,
    /// Most payload per rail that was asked for, GB/s; `None`: as much as goes.
    #[serde(default)]
    pub rate_gb_per_s: Option<f64>,
    /// Leg of each bond, from 1, on which the end that sends the data was to send them; `None`: the driver's choice.
    #[serde(default)]
    pub leg: Option<u32>,
    /// How it was sought before the load that each leg of a bond receives; empty where it was not, and in older sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub legs_sought: Vec<LegsSought>,
    /// The peer's device at the other end of each of ours; empty of a load without a peer, and in older sessions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub peer_devices: BTreeMap<String, String>,
    /// Path MTU agreed with the peer, bytes (the smallest over the rails); `None` of a described load, without packets of
    /// RDMA, and in older sessions.
    #[serde(default)]
    pub path_mtu: Option<u32>,
    /// Outstanding READs per queue pair in use (the smallest over the rails).
    pub read_depth: Option<u32>,
    /// Outstanding READs the device could do.
    pub device_read_depth: Option<u32>,
    /// Placement as asked: `local`, `none`, a CPU list.
    pub place: Option<String>,
    /// Time-box, seconds; `None` until stopped.
    pub duration_s: Option<f64>,
    /// Seconds at the start that are not measured.
    pub warmup_s: Option<f64>,
    /// Threads, where the load is ours.
    pub workers: Vec<Worker>,
    /// Relaxed ordering asked for.
    pub relaxed_ordering: Option<bool>,
    /// Process of a described load.
    pub pid: Option<u32>,
    /// CPUs of a described load.
    pub cpus: Option<CpuSet>,
    /// Node of a described load's buffer.
    pub buffer_node: Option<u32>,
    /// Why it was ended before its time: `gentle: ...`; `None` while it was not.
    #[serde(default)]
    pub ended: Option<String>,
    /// Why a worker's cycles, instructions and switches are not counted, by counter name.
    #[serde(default)]
    pub perf_gaps: BTreeMap<String, String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Load {
    /// Whether its rate can be changed while it runs: of one whose threads post on one rail each, in one direction, and not
    /// over TCP.
    #[must_use]
    pub fn can_be_held(&self) -> bool {
        self.batch.is_none() && !self.bidirectional && !self.is_functional_check()
    }

    /// Whether it goes over TCP: it shows that data pass, and its rates prove nothing about a rail.
    #[must_use]
    pub fn is_functional_check(&self) -> bool {
        self.transport.as_deref() == Some("tcp")
    }

    /// Whether no byte of it moves: its rates are what the ceilings allow.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.transport.as_deref() == Some("sim")
    }

    /// Whether it was not to fill the rails: held to a rate, kept to one leg of each bond, or striped, so that rails wait
    /// for each other.
    #[must_use]
    pub fn is_held_back(&self) -> bool {
        self.rate_gb_per_s.is_some() || self.leg.is_some() || self.batch.is_some()
    }

    /// Path MTU of its queue pairs on the named device, bytes; where no thread tells, the smallest over the rails.
    #[must_use]
    pub fn path_mtu_on(&self, device: &str) -> Option<u32> {
        let on_rail = self.workers.iter().filter(|worker| worker.device == device);
        on_rail.filter_map(|worker| worker.path_mtu).min().or(self.path_mtu)
    }

    /// READs that each of its queue pairs on the named device may have on the wire, as both ends agreed; where no thread
    /// tells, the fewest over the rails. `None` unknown.
    #[must_use]
    pub fn read_depth_on(&self, device: &str) -> Option<u32> {
        let on_rail = self.workers.iter().filter(|worker| worker.device == device);
        on_rail.filter_map(|worker| worker.read_depth).min().or(self.read_depth)
    }

    /// The same, and no more than the send queue holds.
    #[must_use]
    pub fn reads_under_way_on(&self, device: &str) -> Option<u32> {
        let depth = self.read_depth_on(device)?;
        Some(self.depth.map_or(depth, |queue| depth.min(queue)))
    }

    /// Whether it drives the named device.
    #[must_use]
    pub fn drives(&self, device: &str) -> bool {
        self.devices.is_empty() || self.devices.iter().any(|driven| driven == device)
    }
}
