use super::diagnosis::{Diagnosis, judge};
use super::testing::{Host, answer, four_rails};
use super::{Answer, Kind};
use crate::rules::Limits;
use crate::rules::testing::{bonded, two_sockets};
use std::time::Duration;

#[test]
fn healthy_rails_are_loaded_alone_and_together_and_one_from_the_far_node() {
    let host = Host::of(four_rails(), |_, _| Some(48.0));
    let (seen, rails) = host.diagnose();
    assert_eq!(seen.len(), 8);
    assert!(rails.iter().all(|rail| !rail.slow && rail.cause.is_none() && !rail.control));
    let costs: Vec<&str> = rails.iter().filter_map(|rail| rail.placement.as_deref()).collect();
    assert_eq!(costs.len(), 1);
    assert!(costs[0].contains("both of node 1 48.0 GB/s, the same"), "{costs:?}");
}

#[test]
fn rails_that_bring_nothing_all_together_are_not_called_well() {
    let host = Host::of(four_rails(), |step, device| {
        (step.kind != Kind::Together || device != "mlx5_1").then_some(48.0)
    });
    let (seen, rails) = host.diagnose();
    assert!(rails.iter().all(|rail| !rail.slow && rail.alone_gb_per_s.is_some()));
    assert!(rails[0].failed[0].starts_with("all together: no message"), "{:?}", rails[0].failed);
    let took = Duration::from_secs(9);
    let mut told = Diagnosis::of(&host.topology, (262_144, 8), took, (rails, Vec::new()), seen);
    let first = told.to_string().lines().next().map(str::to_owned);
    assert_eq!(first.as_deref(), Some("no rail is slow alone; all together could not be measured"));
    assert!(told.has_slow_rail(), "what brings nothing is the slowest");
    told.cut_short = true;
    assert!(!told.has_slow_rail(), "the load was ended");
}

#[test]
fn a_slow_rail_and_one_healthy_one_are_tried_in_every_way() {
    let host = Host::of(four_rails(), |_, device| Some(if device == "mlx5_2" { 20.0 } else { 48.0 }));
    let (seen, rails) = host.diagnose();
    let kinds = |device: &str| {
        let of = seen.iter().filter(|seen| seen.step.kind != Kind::Together && seen.step.rails[0] == device);
        of.map(|seen| seen.step.kind.to_string()).collect::<Vec<_>>()
    };
    let of_a_rail = [
        "CPUs of node 1, memory of node 0",
        "CPUs of node 0, memory of node 1",
        "CPUs of node 1, memory of node 1",
        "cold memory",
        "2 threads",
        "16 queue pairs",
    ];
    let found = kinds("mlx5_2");
    assert_eq!(found[..9], [&["alone"; 3][..], &of_a_rail[..]].concat());
    let control = rails.iter().find(|rail| rail.control).unwrap();
    assert_eq!(kinds(&control.device)[1..7], of_a_rail);
    assert!(
        control.placement.as_ref().unwrap().starts_with("on its own node 48.0 GB/s; CPUs of node 1 48.0")
    );
    assert_eq!(rails[0].device, "mlx5_2", "slow ones first");
    assert_eq!(rails[0].cause, Some("slow-unexplained"));
}

#[test]
fn a_rail_that_is_faster_from_the_other_node_was_used_from_the_wrong_one() {
    let host = Host::of(four_rails(), |step, device| match (device, &step.kind) {
        ("mlx5_1", Kind::Place { cpu: 1, mem: 1 }) => Some(40.0),
        ("mlx5_1", _) => Some(30.0),
        _ => Some(48.0),
    });
    let (_, rails) = host.diagnose();
    let (holds, because) = answer(&rails, "mlx5_1", "H4");
    assert_eq!((holds, rails[0].cause), (Answer::Yes, Some("cross-numa")));
    let there = "both of node 1 40.0 GB/s, +10.0 GB/s or +33 %; loads of one place are the same";
    assert!(because.ends_with(there), "{because}");
}

#[test]
fn more_threads_that_help_while_polls_are_seldom_empty_are_a_busy_core() {
    let host = Host::of(four_rails(), |step, device| match (device, &step.kind) {
        ("mlx5_1", Kind::Workers(_)) => Some(45.0),
        ("mlx5_1", _) => Some(30.0),
        _ => Some(48.0),
    });
    let (_, rails) = host.diagnose();
    assert_eq!(answer(&rails, "mlx5_1", "H6").0, Answer::Yes);
    assert_eq!(rails[0].cause, Some("cpu-bound"));
}

#[test]
fn an_experiment_that_cannot_be_had_is_a_cell_that_says_why() {
    let topology = two_sockets(vec![bonded("mlx5_bond_1"), bonded("mlx5_bond_2")]);
    let host = Host::of(topology, |_, device| Some(if device == "mlx5_bond_2" { 20.0 } else { 48.0 }));
    let (mut seen, _) = host.diagnose();
    for done in &mut seen {
        if matches!(done.step.kind, Kind::Cold) {
            done.failed = Some("no memory".into());
        }
    }
    let rails = judge(&host.topology, &Limits::default(), &seen);
    assert_eq!(
        answer(&rails, "mlx5_bond_2", "H1"),
        (
            Answer::Inconclusive,
            "inconclusive: it brings 20.0 GB/s at best and one leg's wire carries 24.5, but the bytes of its legs \
             cannot be read"
                .to_owned()
        )
    );
    let (holds, because) = answer(&rails, "mlx5_bond_2", "H7");
    assert_eq!(holds, Answer::Unknown);
    assert!(because.starts_with("not measurable here: cold memory: no memory"), "{because}");
    assert_eq!(rails[0].failed, ["cold memory: no memory"]);
}

#[test]
fn what_is_no_more_than_the_noise_of_the_rail_itself_is_no_cause() {
    let host = Host::of(four_rails(), |step, device| match (device, &step.kind) {
        ("mlx5_1", Kind::Place { cpu: 1, mem: 1 }) => Some(24.0),
        ("mlx5_1", Kind::Alone) if step.round == 2 => Some(23.0),
        ("mlx5_1", _) => Some(20.0),
        _ => Some(48.0),
    });
    let (_, rails) = host.diagnose();
    let (holds, because) = answer(&rails, "mlx5_1", "H4");
    assert_eq!((holds, rails[0].cause), (Answer::No, Some("slow-unexplained")));
    assert!(because.ends_with("loads of one place differ by up to 14 %"), "{because}");
}
