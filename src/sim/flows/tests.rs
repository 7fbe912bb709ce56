use super::rates_gb_per_s;
use crate::sim::{Scenario, Setup, World};
use probes::load::Place;

/// What the bonds with these numbers get while they are loaded together, each leg by itself, GB/s.
fn rates(scenario: Scenario, bonds: &[usize], setup: &Setup) -> Vec<Vec<f64>> {
    let loaded: Vec<usize> = bonds.iter().map(|bond| bond - 1).collect();
    let found = rates_gb_per_s(&World::named(scenario, 1), setup, &loaded);
    let round = |rate: f64| (rate * 10.0).round() / 10.0;
    let of_rail = |threads: Vec<Vec<f64>>| {
        let leg = |leg: usize| threads.iter().map(|legs| legs[leg]).sum::<f64>();
        (0..threads[0].len()).map(|at| round(leg(at))).collect()
    };
    found.loaded.into_iter().map(of_rail).collect()
}

#[test]
fn each_slow_bond_is_slow_for_its_own_reason() {
    let found = rates(Scenario::Mixed, &[1, 3, 4], &Setup::default());
    assert_eq!(found, [[24.5, 24.5], [24.5, 0.0], [14.4, 14.4]], "in order, one leg, x8 of x16");
}

#[test]
fn what_no_topology_tells_holds_a_rail_back_too() {
    let usual = Setup::default();
    assert_eq!(rates(Scenario::Congested, &[6], &usual), [[15.5, 15.5]]);
    assert_eq!(rates(Scenario::Gen4Slot, &[2], &usual), [[14.4, 14.4]], "Gen4 x16");
    let misplaced = Setup { misplaced: true, ..usual.clone() };
    assert_eq!(rates(Scenario::CrossNuma, &[5], &misplaced), [[17.0, 17.0]]);
    assert_eq!(rates(Scenario::CrossNuma, &[5], &usual), [[24.5, 24.5]], "where it should be");
    let far = Setup { place: Place::Nodes { cpu: 0, mem: 0 }, ..usual };
    assert_eq!(rates(Scenario::Healthy, &[5], &far), [[17.0, 17.0]]);
}

#[test]
fn rails_behind_one_link_and_rails_of_one_node_share_what_it_carries() {
    let usual = Setup::default();
    assert_eq!(rates(Scenario::SharedUplink, &[3], &usual), [[24.5, 24.5]]);
    assert_eq!(rates(Scenario::SharedUplink, &[3, 4], &usual), [[14.4, 14.4], [14.4, 14.4]]);
    assert_eq!(rates(Scenario::Memory, &[5], &usual), [[24.5, 24.5]]);
    let node = rates(Scenario::Memory, &[5, 6, 7, 8], &usual);
    assert_eq!(node, vec![vec![16.0, 16.0]; 4]);
    let cold = Setup { is_cold: true, ..usual };
    assert_eq!(rates(Scenario::Memory, &[5, 6, 7, 8], &cold), vec![vec![12.0, 12.0]; 4]);
}

#[test]
fn threads_share_what_their_rail_can_do() {
    let world = World::named(Scenario::Healthy, 1);
    let setup = Setup { qps: 4, workers: 2, ..Setup::default() };
    let found = rates_gb_per_s(&world, &setup, &[0]);
    assert_eq!(found.loaded[0].len(), 2);
    assert!((found.of(0) - 49.02).abs() < 0.01, "{found:?}");
}

#[test]
fn few_reads_over_a_long_way_are_a_bound() {
    let mut world = World::named(Scenario::Healthy, 1);
    (world.unseen[0].round_trip_ns, world.unseen[0].peer_read_depth) = (Some(100_000.0), Some(1));
    let of =
        |qps| rates_gb_per_s(&world, &Setup { qps, size_bytes: 1 << 18, ..Setup::default() }, &[0]).of(0);
    // 8 READs of 256 KiB over 100 us and the time they take on a leg
    assert!((of(8) - 18.95).abs() < 0.01, "{}", of(8));
    assert!((of(16) / of(8) - 2.0).abs() < 0.01);
}

#[test]
fn small_messages_pay_for_their_headers() {
    let world = World::named(Scenario::Healthy, 1);
    let of = |size_bytes| rates_gb_per_s(&world, &Setup { size_bytes, ..Setup::default() }, &[0]).of(0);
    let rail = &world.topology.rails[0];
    let ceiling = |size| crate::ceilings::line_goodput_of_messages_gb_per_s(rail, size).unwrap();
    for size_bytes in [1, 64, 1024, 1 << 20] {
        assert!(of(size_bytes) <= ceiling(size_bytes) * 1.000_001, "{size_bytes}: {}", of(size_bytes));
    }
    assert!(of(64) < 0.5 * of(1 << 20));
}
