//! Random sessions as nodes have them: rails that carry, fall, come back and are looked at again, under loads and without.

mod played;

use crate::rules::testing::{behind, bonded, hop, two_sockets};
use probes::model::{Gid, GidChoice, GidType, Rail, Session, Topology, WorkerPhase};
use proptest::prelude::*;
use std::sync::Arc;

/// A node, maybe its peer, and what happens.
#[derive(Clone, Debug)]
pub(super) struct Story {
    pub session: Arc<Session>,
    /// What each rail usually carries, GB/s.
    usual: Vec<f64>,
    steps: Vec<Step>,
}

/// What happens until the next frame of a host.
#[derive(Clone, Debug)]
struct Step {
    host: usize,
    pause_ms: u64,
    /// Of what they usually carry, what the rails carry now.
    shares: Vec<f64>,
    happens: Vec<Happens>,
    covered: Covered,
    legs_read: bool,
    remark: Remark,
}

impl Step {
    /// Under one load all the time, so that levels of rails are judged.
    fn steady(&mut self) {
        self.covered = Covered::Ours(WorkerPhase::Measuring);
        self.pause_ms = 1000;
        self.shares.iter_mut().for_each(|share| *share = share.clamp(0.95, 1.0));
    }
}

/// What becomes of one rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happens {
    Nothing,
    CounterStartsAnew,
    NothingIsRead,
    FurtherCountersAreMissing,
    Congestion,
    PortGoesDown,
    PortComesUp,
    LegGoesDown,
    DeviceIsLost,
}

/// The load over the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Covered {
    Nobody,
    Others,
    Ours(WorkerPhase),
}

/// What else the frame tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remark {
    None,
    Mark,
    Failure,
    Processes(u64),
    OtherFirmware,
    LostAddress,
    SlowerLink,
}

const COUNTERS: [&str; 4] =
    ["hw/np_cnp_sent", "hw/out_of_sequence", "port/link_downed", "eth/rx_prio3_pause"];

fn any_link() -> impl Strategy<Value = Rail> {
    let speed = prop_oneof![4 => Just((32.0, 16)), 1 => Just((16.0, 16)), 1 => Just((32.0, 8))];
    let traits = (prop::option::weighted(0.9, 0..2u32), any::<bool>(), 0..3usize, speed);
    (traits, prop_oneof![5 => Just(Some(4096)), 1 => Just(Some(1024)), 1 => Just(None)], 0..5usize).prop_map(
        |((numa_node, is_bond, firmware, (gt_per_s, width)), path_mtu, gids)| {
            let mut own = hop("0000:41:00.0", 32.0, 16);
            (own.current_gt_per_s, own.current_width) = (Some(gt_per_s), Some(width));
            let plain = behind("mlx5", vec![own, hop("0000:40:01.0", 32.0, 16)]);
            let bond = if is_bond { bonded("mlx5").bond } else { None };
            Rail {
                numa_node,
                bond,
                path_mtu,
                max_path_mtu: Some(4096),
                firmware: (firmware > 0).then(|| format!("28.39.{firmware}002")),
                board_id: Some("MT_0000000834".into()),
                gid_table_read: gids > 0,
                gids: if gids > 1 { vec![address(3)] } else { Vec::new() },
                gid: (gids > 1).then(|| GidChoice { index: 3, reason: "routable IPv4".into() }),
                counters: COUNTERS.map(str::to_owned).into(),
                ..plain
            }
        },
    )
}

fn address(index: u32) -> Gid {
    let address = "::ffff:10.0.0.1".parse().unwrap();
    Gid { index, address, kind: Some(GidType::RoceV2), netdev: None }
}

fn node(rails: Vec<Rail>) -> Arc<Topology> {
    let named = rails.into_iter().enumerate().map(|(at, mut rail)| {
        rail.device = format!("mlx5_{at}");
        if let Some(path) = &mut rail.pcie {
            path.address = format!("0000:4{at}:00.0");
        }
        rail
    });
    let mut topology = two_sockets(named.collect());
    topology.host.numa_balancing = Some(true);
    topology.host.memlock_bytes = Some(8 << 20);
    Arc::new(topology)
}

fn any_happening() -> impl Strategy<Value = Happens> {
    use Happens::*;
    let rare = [
        CounterStartsAnew,
        NothingIsRead,
        FurtherCountersAreMissing,
        Congestion,
        PortGoesDown,
        PortComesUp,
        LegGoesDown,
        DeviceIsLost,
    ];
    prop_oneof![12 => Just(Nothing), 3 => prop::sample::select(rare.to_vec())]
}

fn any_remark() -> impl Strategy<Value = Remark> {
    use Remark::*;
    let rare = vec![
        Mark,
        Failure,
        Processes(1 << 30),
        Processes(1 << 20),
        Processes(0),
        OtherFirmware,
        LostAddress,
        SlowerLink,
    ];
    prop_oneof![5 => Just(None), 2 => prop::sample::select(rare)]
}

fn any_cover() -> impl Strategy<Value = Covered> {
    use WorkerPhase::{Done, Failed, Measuring, Waiting, Warmup};
    prop_oneof![
        1 => Just(Covered::Nobody),
        4 => Just(Covered::Others),
        6 => Just(Covered::Ours(Measuring)),
        1 => prop::sample::select(vec![Waiting, Warmup, Done, Failed]).prop_map(Covered::Ours),
    ]
}

fn any_step(hosts: usize, rails: usize) -> impl Strategy<Value = Step> {
    let pause_ms = prop_oneof![4 => Just(100), 4 => 300..1500u64, 1 => 0..2u64, 1 => 10_000..80_000u64];
    let share = prop_oneof![9 => 0.97..1.0f64, 1 => 0.3..0.9f64, 1 => Just(0.0), 1 => 1.1..2.0f64];
    (
        (0..hosts, pause_ms, any_cover(), prop::bool::weighted(0.6), any_remark()),
        prop::collection::vec(share, rails),
        prop::collection::vec(any_happening(), rails),
    )
        .prop_map(|((host, pause_ms, covered, legs_read, remark), shares, happens)| Step {
            host,
            pause_ms,
            shares,
            happens,
            covered,
            legs_read,
            remark,
        })
}

/// Any session of one to four rails, of one host or two, in up to twenty frames.
pub(super) fn any_story() -> impl Strategy<Value = Story> {
    (1..=2usize, prop::collection::vec(any_link(), 1..=4)).prop_flat_map(|(hosts, rails)| {
        let usual = prop_oneof![3 => Just(48.9), 1 => Just(24.5), 1 => 5.0..40.0f64];
        let usual = prop::collection::vec(usual, rails.len());
        let steps = prop::collection::vec(any_step(hosts, rails.len()), 1..20);
        let here = node(rails);
        let session = Arc::new(Session {
            hosts: vec![here; hosts],
            clock_offset_ns: (hosts > 1).then_some(-250_000),
            interval_ns: 100_000_000,
            ..(*super::session(1)).clone()
        });
        (usual, steps, any::<bool>()).prop_map(move |(usual, mut steps, is_steady)| {
            if is_steady {
                steps.iter_mut().for_each(Step::steady);
            }
            Story { session: session.clone(), usual, steps }
        })
    })
}
