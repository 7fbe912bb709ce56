//! What is wrong with which rail.

use super::world::World;
use anyhow::{Context, bail};

/// How the devices of the simulated node begin; a number follows.
pub(super) const DEVICE: &str = "mlx5_bond_";

/// Name of the scenarios that a seed plants.
const PLANTED: &str = "planted";

/// A simulated situation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Every rail reads at its line.
    Healthy,
    /// Bonds 3 and 4 are slow, each for a reason of its own.
    Mixed,
    /// All that bond 3 reads comes over one of its legs.
    OneLeg,
    /// So it does, until its queue pairs have other numbers and flow labels.
    Hashed,
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
    /// The hash of the switch does so with the queue pairs of an ordinary load, and not with those of later tries.
    Hashed,
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
    const ALL: [Self; 9] = [
        Self::Healthy,
        Self::Mixed,
        Self::OneLeg,
        Self::Hashed,
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
            Self::Hashed => "hashed",
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
        format!("{}, {PLANTED}", Self::ALL.map(Self::name).join(", "))
    }

    /// The node of the scenario of that name; `planted` has one for each seed, and `planted:7` is that of seed 7.
    ///
    /// # Errors
    ///
    /// There is none of that name; the error names those there are. Or what follows `planted:` is no seed.
    pub fn world(name: &str, seed: u64) -> anyhow::Result<World> {
        match name.split_once(':') {
            Some((PLANTED, seed)) => {
                let seed =
                    seed.parse().with_context(|| format!("{name}: `{seed}` is no seed; take a number"))?;
                Ok(World::planted(seed).world)
            }
            None if name == PLANTED => Ok(World::planted(seed).world),
            _ => Ok(World::named(Self::named(name)?, seed)),
        }
    }

    /// What holds back the bond with this number.
    pub(super) fn fault(self, bond: u32) -> Option<Fault> {
        match (self, bond) {
            (Self::Mixed | Self::OneLeg, 3) => Some(Fault::OneLeg),
            (Self::Hashed, 3) => Some(Fault::Hashed),
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
    /// Counters of the NIC that grow by it, and by how much for each gigabyte that arrives.
    pub(super) fn growing(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::Congested => &[("hw/np_ecn_marked_roce_packets", 310.0), ("hw/np_cnp_sent", 290.0)],
            Self::Memory => &[("eth/tx_prio3_pause", 120.0), ("eth/rx_prio3_discards", 2.0)],
            _ => &[],
        }
    }
}
