//! What is wrong with which rail.

use anyhow::bail;
use probes::model::{Rail, Topology};

/// How the devices of the simulated node begin; a number follows.
pub(super) const DEVICE: &str = "mlx5_bond_";
/// What the path between two sockets leaves one card, GB/s.
pub(super) const FAR_GB_PER_S: f64 = 34.0;

/// A simulated situation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Every rail reads at its line.
    Healthy,
    /// Bonds 3 and 4 are slow, each for a reason of its own.
    Mixed,
    /// All that bond 3 reads comes over one of its legs.
    OneLeg,
    /// The thread and the buffer of bond 5 are on the other socket.
    CrossNuma,
    /// Bonds 3 and 4 sit below one switch, whose link up carries what one of them needs.
    SharedUplink,
    /// The card of bond 2 sits in a Gen4 slot.
    Gen4Slot,
    /// What bond 6 reads meets other traffic on the way.
    Congested,
    /// The memory of node 1 does not keep up with the four bonds there.
    Memory,
}

/// What holds a rail back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The switch sends all that this host reads through one leg of the bond.
    OneLeg,
    /// The card's link trained at half its lanes.
    HalfWidth,
    /// The load of the rail is on the other node.
    FarNode,
    /// The card hangs on a switch with another one.
    SharedUplink,
    /// The slot is of the generation before the card's.
    Gen4Slot,
    /// The fabric marks packets, and the sender slows down.
    Congested,
    /// Host memory takes less than the wire brings.
    Memory,
}

impl Scenario {
    const ALL: [Self; 8] = [
        Self::Healthy,
        Self::Mixed,
        Self::OneLeg,
        Self::CrossNuma,
        Self::SharedUplink,
        Self::Gen4Slot,
        Self::Congested,
        Self::Memory,
    ];

    /// Name on the command line and in the session.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Mixed => "mixed",
            Self::OneLeg => "one-leg",
            Self::CrossNuma => "cross-numa",
            Self::SharedUplink => "shared-uplink",
            Self::Gen4Slot => "gen4-slot",
            Self::Congested => "congested",
            Self::Memory => "memory",
        }
    }

    /// The scenario of that name.
    ///
    /// # Errors
    ///
    /// There is none; the error names those there are.
    pub fn named(name: &str) -> anyhow::Result<Self> {
        if let Some(scenario) = Self::ALL.into_iter().find(|scenario| scenario.name() == name) {
            return Ok(scenario);
        }
        bail!("no scenario `{name}`; there are: {}", Self::names())
    }

    /// All names, with commas between.
    #[must_use]
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// The node as a survey would find it.
    #[must_use]
    pub fn topology(self) -> Topology {
        super::node::topology(self)
    }

    /// What holds back this rail of the node.
    pub(super) fn fault_of(self, rail: &Rail) -> Option<Fault> {
        self.fault(rail.device.strip_prefix(DEVICE)?.parse().ok()?)
    }

    /// What holds back the bond with this number.
    pub(super) fn fault(self, bond: u32) -> Option<Fault> {
        match (self, bond) {
            (Self::Mixed | Self::OneLeg, 3) => Some(Fault::OneLeg),
            (Self::Mixed, 4) => Some(Fault::HalfWidth),
            (Self::CrossNuma, 5) => Some(Fault::FarNode),
            (Self::SharedUplink, 3 | 4) => Some(Fault::SharedUplink),
            (Self::Gen4Slot, 2) => Some(Fault::Gen4Slot),
            (Self::Congested, 6) => Some(Fault::Congested),
            (Self::Memory, 5..) => Some(Fault::Memory),
            _ => None,
        }
    }
}

impl Fault {
    /// Payload that the rail gets at most besides what its wire and its PCIe path let through, GB/s, where so many rails
    /// with the same fault are loaded; figures of the simulator's own, since no topology tells them.
    pub(super) fn most_gb_per_s(self, loaded: usize) -> Option<f64> {
        match self {
            Self::FarNode => Some(FAR_GB_PER_S),
            Self::Congested => Some(31.0),
            // 128 GB/s for four rails
            Self::Memory => Some(32.0),
            // a Gen5 x16 link with packets of 256 bytes
            Self::SharedUplink => Some(57.6 / loaded.max(1) as f64),
            Self::OneLeg | Self::HalfWidth | Self::Gen4Slot => None,
        }
    }

    /// Counters of the NIC that grow by it, and by how much for each gigabyte that arrives.
    pub(super) fn growing(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::Congested => &[("hw/np_ecn_marked_roce_packets", 310.0), ("hw/np_cnp_sent", 290.0)],
            Self::Memory => &[("eth/tx_prio3_pause", 120.0), ("eth/rx_prio3_discards", 2.0)],
            _ => &[],
        }
    }
}
