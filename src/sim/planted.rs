//! Nodes with one or two causes of slowness planted in them at random, each from its seed.
//!
//! Whatever else is drawn is there on healthy nodes too: 1 to 10 % noise, others' traffic on some rails, NICs that do
//! not tell the bytes of their legs or have no counters of a kind, another end that is not seen or does not count everything, a rail
//! that cannot be loaded, marks and losses as they happen on any fabric, and what it costs to use a rail from another socket.

mod causes;
mod dice;

use super::far_end::FarEnd;
use super::flows::rates_gb_per_s;
use super::machine::Machine;
use super::setup::Setup;
use super::world::{Counter, Grows, Hides, Unseen, World};
use crate::ceilings::line_goodput_gb_per_s;
use causes::Planting;
use dice::Dice;
use probes::model::{Rail, Topology};

/// Counters of a NIC in four kinds, each with what it had when the session began: congestion, loss, pauses received, and
/// pauses sent with what found no room.
const COUNTERS: [&[(&str, u64)]; 4] = [
    &[("hw/np_cnp_sent", 48_211), ("hw/np_ecn_marked_roce_packets", 48_502), ("hw/rp_cnp_handled", 51_930)],
    &[("hw/out_of_sequence", 1207), ("hw/implied_nak_seq_err", 4), ("hw/packet_seq_err", 9)],
    &[("eth/rx_prio3_pause", 811)],
    &[("eth/tx_prio3_pause", 77), ("eth/rx_prio3_discards", 0)],
];
/// Counters of the other end in three kinds: congestion, loss, and pauses.
const FAR_COUNTERS: [&[(&str, u64)]; 3] = [
    &[("hw/rp_cnp_handled", 77_120), ("hw/np_cnp_sent", 604)],
    &[("hw/packet_seq_err", 31), ("hw/duplicate_request", 2)],
    &[("eth/rx_prio3_pause", 402), ("eth/tx_prio3_pause", 18)],
];
/// Counters that stand still whatever happens here.
const QUIET: [(&str, u64); 3] = [("port/link_downed", 1), ("port/symbol_error", 0), ("hw/out_of_buffer", 0)];
/// One node in so many lacks counters of a kind, or the bytes of its legs.
const LACKS: u64 = 8;

/// A cause of slowness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The switch sends all that the host reads through one leg.
    OneLeg,
    /// Rails below one link that carries less than they could.
    SharedLink,
    /// A PCIe link that is trained low or whose slot can do no more.
    LowLink,
    /// The platform tells the wrong node of a card.
    WrongNode,
    /// Congestion beyond the host, with marks.
    Congestion,
    /// Packets lost on the way.
    Loss,
    /// The fabric pauses the host.
    Pauses,
    /// Too few READs under way for the round trip.
    ReadWindow,
    /// A thread that gets too little done.
    Cpu,
    /// Memory of a node that takes less than its rails bring.
    Memory,
    /// Something that shows in nothing that can be seen from here.
    Unknown,
}

impl Cause {
    /// Those that experiments can name.
    pub const NAMEABLE: [Self; 10] = [
        Self::OneLeg,
        Self::SharedLink,
        Self::LowLink,
        Self::WrongNode,
        Self::Congestion,
        Self::Loss,
        Self::Pauses,
        Self::ReadWindow,
        Self::Cpu,
        Self::Memory,
    ];

    /// The hypothesis that it is.
    #[must_use]
    pub fn hypothesis(self) -> Option<&'static str> {
        Some(match self {
            Self::OneLeg => "H1",
            Self::SharedLink => "H2",
            Self::LowLink => "H3",
            Self::WrongNode => "H4",
            Self::Congestion | Self::Loss | Self::Pauses => "H5",
            Self::ReadWindow | Self::Cpu => "H6",
            Self::Memory => "H7",
            Self::Unknown => return None,
        })
    }

    /// Finding codes that name it.
    #[must_use]
    pub fn codes(self) -> &'static [&'static str] {
        match self {
            Self::OneLeg => &["bond-leg-imbalance"],
            Self::SharedLink => &["shared-pcie"],
            Self::LowLink => &["pcie-downgraded", "pcie-path-degraded", "pcie-capped-by-slot", "pcie-limit"],
            Self::WrongNode => &["cross-numa"],
            Self::Congestion => &["ecn-cnp"],
            Self::Loss => &["retransmit"],
            Self::Pauses => &["rx-pause"],
            Self::ReadWindow => &["read-window"],
            Self::Cpu => &["cpu-bound"],
            Self::Memory => &["memory-bound"],
            Self::Unknown => &["slow-unexplained"],
        }
    }
}

/// A node and what was planted in it.
#[derive(Clone, Debug)]
pub struct Planted {
    /// The node.
    pub world: World,
    /// The machine it is of.
    pub machine: Machine,
    /// What was planted, none on a healthy node.
    pub causes: Vec<Cause>,
    /// Rail by rail.
    pub rails: Vec<Truth>,
}

/// What is true of a rail.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// RDMA device.
    pub device: String,
    /// What was planted on it.
    pub causes: Vec<Cause>,
    /// Those of them which nobody can see, as the NIC does not tell what would show them.
    pub hidden: Vec<Cause>,
    /// The least, over loads of it alone and of all together, of what it gets as a share of what it would get on the same
    /// node without anything planted, both before noise; `None` where it cannot be loaded.
    pub share: Option<f64>,
}

impl Planted {
    /// A node in which nothing is planted.
    #[must_use]
    pub fn healthy(seed: u64) -> Self {
        // other draws than those of the planted node of the same seed
        let (planted, _) = Self::drawn(seed, 1, &mut Dice::new(seed, 1));
        planted
    }

    /// A node and its machine, before anything is planted.
    fn drawn(seed: u64, stream: u64, dice: &mut Dice) -> (Self, World) {
        let machine = *dice.one_of(&Machine::ALL);
        let mut topology = machine.topology();
        let lacks: Vec<bool> = COUNTERS.iter().map(|_| dice.one_in(LACKS)).collect();
        let hides =
            Hides { legs: dice.one_in(LACKS), bytes: dice.one_in(LACKS), round_trip: dice.one_in(LACKS) };
        // some fabrics mark and lose a little all day
        let usual_per_gb = if dice.one_in(5) { dice.between(0.5, 4.0) } else { 0.0 };
        let round_trip_ns = dice.between(3e3, 20e3);
        let thread_gb_per_s = dice.between(80.0, 160.0);
        let idle = (topology.rails.len() > 2 && dice.one_in(6)).then(|| dice.below(topology.rails.len()));
        // pauses that come in stop what this host sends, which are requests: no rail is slower for it
        let paused_per_gb = dice.between(20.0, 400.0);
        let unseen = topology.rails.iter_mut().enumerate().map(|(at, rail)| {
            let is_paused = dice.one_in(8);
            let kinds = COUNTERS.iter().zip(&lacks).filter(|(_, lacks)| !**lacks).map(|(kind, _)| *kind);
            let counters: Vec<(&str, u64)> = kinds.flatten().copied().chain(QUIET).collect();
            rail.counters = counters.iter().map(|(name, _)| (*name).to_owned()).collect();
            let of = |(name, before): &(&str, u64)| Counter {
                before: *before,
                per_gb: if name.starts_with("hw/np_") || *name == "hw/out_of_sequence" {
                    usual_per_gb
                } else if *name == "eth/rx_prio3_pause" && is_paused {
                    paused_per_gb
                } else {
                    0.0
                },
                grows: Grows::Always,
            };
            let line = line_goodput_gb_per_s(rail).unwrap_or_default();
            Unseen {
                thread_gb_per_s: Some(thread_gb_per_s),
                round_trip_ns: Some(round_trip_ns * dice.between(1.0, 1.2)),
                stretch: dice.between(1.0, 1.5),
                others_gb_per_s: if dice.one_in(4) { line * dice.between(0.01, 0.06) } else { 0.0 },
                counters: counters.iter().map(of).collect(),
                refuses: (idle == Some(at)).then_some("the peer has no rail in its subnet"),
                hides,
                ..Unseen::default()
            }
        });
        let unseen = unseen.collect();
        let far_end = Self::far_end(seed, stream + 2, topology.rails.len());
        let world = World {
            unseen,
            topology,
            socket_link_gb_per_s: (machine != Machine::TwoOnOneNode).then(|| dice.between(25.0, 120.0)),
            noise: dice.between(0.01, 0.10),
            scenario: ("healthy".to_owned(), seed),
            far_end,
            ..World::of(Topology::default())
        };
        let truth = |(rail, unseen): (&Rail, &Unseen)| Truth {
            device: rail.device.clone(),
            causes: Vec::new(),
            hidden: Vec::new(),
            share: unseen.refuses.is_none().then_some(1.0),
        };
        let rails = world.topology.rails.iter().zip(&world.unseen).map(truth).collect();
        (Self { world: world.clone(), machine, causes: Vec::new(), rails }, world)
    }

    /// The other end of a node with so many rails; `None` once in a while, where it is of an older version.
    fn far_end(seed: u64, stream: u64, rails: usize) -> Option<FarEnd> {
        let mut dice = Dice::new(seed, stream);
        if dice.one_in(LACKS) {
            return None;
        }
        let kinds: Vec<_> = FAR_COUNTERS.into_iter().filter(|_| !dice.one_in(LACKS)).collect();
        let counters: Vec<(&str, u64)> = kinds.into_iter().flatten().copied().chain(QUIET).collect();
        // some fabrics slow their senders down a little all day
        let usual_per_gb = if dice.one_in(5) { dice.between(0.5, 4.0) } else { 0.0 };
        // pauses that it sends stop requests, which no rail is slower for
        let pauses_per_gb = dice.between(20.0, 400.0);
        let rail = |_| {
            let pauses = dice.one_in(8);
            let of = |(name, before): &(&str, u64)| Counter {
                per_gb: match *name {
                    "hw/rp_cnp_handled" => usual_per_gb,
                    "eth/tx_prio3_pause" if pauses => pauses_per_gb,
                    _ => 0.0,
                },
                before: *before,
                grows: Grows::Always,
            };
            counters.iter().map(of).collect()
        };
        Some(FarEnd {
            hostname: "target".to_owned(),
            names: counters.iter().map(|(name, _)| (*name).to_owned()).collect(),
            rails: (0..rails).map(rail).collect(),
        })
    }

    /// What each rail gets, as a share of what it would get on this node.
    fn compare(&mut self, healthy: &World) {
        let setup = Setup { qps: 8, size_bytes: 1 << 18, ..Setup::default() };
        let able = self.world.able();
        let share = |loaded: &[usize], position: usize| {
            let rate = |world: &World| rates_gb_per_s(world, &setup, loaded).of(position);
            rate(&self.world) / rate(healthy)
        };
        let shares: Vec<f64> = able
            .iter()
            .enumerate()
            .map(|(position, &at)| share(&[at], 0).min(share(&able, position)))
            .collect();
        for (at, share) in able.into_iter().zip(shares) {
            self.rails[at].share = Some(share);
        }
    }
}

impl World {
    /// A node with a cause or two, or in a tenth of the seeds with one that nothing shows.
    #[must_use]
    pub fn planted(seed: u64) -> Planted {
        let mut dice = Dice::new(seed, 0);
        let (mut planted, healthy) = Planted::drawn(seed, 0, &mut dice);
        planted.world.scenario = ("planted".to_owned(), seed);
        let causes = match dice.below(10) {
            0 => vec![Cause::Unknown],
            1..=6 => vec![*dice.one_of(&Cause::NAMEABLE)],
            _ => {
                let first = *dice.one_of(&Cause::NAMEABLE);
                let others: Vec<Cause> = Cause::NAMEABLE
                    .into_iter()
                    .filter(|other| other.hypothesis() != first.hypothesis())
                    .collect();
                vec![first, *dice.one_of(&others)]
            }
        };
        for cause in causes {
            Planting { planted: &mut planted, dice: &mut dice }.plant(cause);
        }
        planted.compare(&healthy);
        planted
    }
}
