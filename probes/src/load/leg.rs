//! The leg of a bond on which the end that sends the data sends them.

use super::{LoadError, Params, Role};
use crate::ffi::mlx5dv;
use crate::ffi::verbs::QueuePair;
use crate::model::Rail;

/// More threads than a rail can have.
const MOST_WORKERS: u32 = 64;

/// The leg that queue pairs of this end are to send on; `None` where the driver chooses, or the peer sends.
pub(super) fn of_sender(params: &Params, role: Role) -> Option<u32> {
    params.leg.filter(|_| role.sends(params))
}

/// Refuses, before anything is opened, a rail that has no such leg, as far as the survey knows.
///
/// # Errors
///
/// Why not, beginning with the rail.
pub(super) fn check(rail: &Rail, leg: u32) -> Result<(), LoadError> {
    let refuse = |reason: String| Err(LoadError::Other(format!("{}: {reason}", rail.device)));
    if let Some(driver) = rail.driver.as_deref().filter(|driver| *driver != "mlx5_core") {
        return refuse(format!("not a LAG: its driver is {driver}; only mlx5 gives each queue pair a leg"));
    }
    let Some(bond) = &rail.bond else {
        return refuse("not a LAG: it is no bond; load it without --leg".to_owned());
    };
    if bond.carries_rdma == Some(false) {
        return refuse(format!(
            "not a LAG: the legs of {} are not one RDMA device, each port is a rail of its own",
            bond.netdev
        ));
    }
    let legs = bond.legs.len();
    if leg == 0 || u64::from(leg) > legs as u64 {
        return refuse(format!("there is no leg {leg}: {} has legs 1 to {legs}", bond.netdev));
    }
    mlx5dv::available().or_else(|error| refuse(error.to_string()))
}

/// Has a queue pair that may send do so on this leg.
///
/// # Errors
///
/// Why not, beginning with the rail.
pub(super) fn send_from(pair: &mut QueuePair, device: &str, leg: u32) -> Result<(), LoadError> {
    let port = u8::try_from(leg).unwrap_or(u8::MAX);
    pair.send_from(port).map_err(|error| LoadError::Other(format!("{device}: {error}")))
}

/// The flow label of the queue pair at this place among those of its thread; 0 leaves it to the driver, which makes one of
/// the two queue pair numbers.
///
/// Of a set that was asked for, a place has the same label each time, so that the switch's hash does the same with it.
pub(super) fn label(params: &Params, device: &str, place: u32, qpn: u32) -> u32 {
    match (params.labels.get(device), params.leg) {
        (Some(set), _) if *set > 0 => label_of_set(*set, place),
        (_, Some(_)) => flow_label(qpn),
        (_, None) => 0,
    }
}

/// The set of a thread's own, where the rail has several threads; 0 stays 0.
pub(super) fn set_of_worker(set: u32, worker: u32) -> u32 {
    if set == 0 { 0 } else { set.wrapping_mul(MOST_WORKERS).wrapping_add(worker).max(1) }
}

/// A flow label: another for each place of a set, and others in another set.
fn label_of_set(set: u32, place: u32) -> u32 {
    // spreads the sets; the finalizer of MurmurHash3
    let mut base = set;
    for factor in [0x85eb_ca6b, 0xc2b2_ae35] {
        base = (base ^ (base >> 16)).wrapping_mul(factor);
    }
    // an odd factor: different places stay different
    ((base ^ (base >> 16)).wrapping_add(place.wrapping_mul(0x9e37_79b1)) & 0x000f_ffff).max(1)
}

/// A flow label for a queue pair: 20 bits, never 0, and another for a neighbouring number. With one of its own each
/// queue pair has a UDP source port of its own, as far as 14 bits go (IBTA annex A17; `rdma_flow_label_to_udp_sport`),
/// so that a switch that hashes layer 4 has something to spread.
pub(super) fn flow_label(qpn: u32) -> u32 {
    // an odd factor: different numbers stay different
    (qpn.wrapping_mul(0x9e37_79b1) & 0x000f_ffff).max(1)
}

#[cfg(test)]
mod tests {
    use super::{check, flow_label, label, of_sender, set_of_worker};
    use crate::load::{Params, Role};
    use crate::model::{Bond, Leg, LoadOp, Rail};
    use std::collections::BTreeSet;

    #[test]
    fn the_end_that_sends_the_data_has_the_leg() {
        let read = Params { leg: Some(2), ..Params::default() };
        let write = Params { op: LoadOp::Write, ..read.clone() };
        let ends = |params: &Params| [Role::Reader, Role::Target].map(|role| of_sender(params, role));
        assert_eq!(ends(&read), [None, Some(2)]);
        assert_eq!(ends(&write), [Some(2), None]);
        assert_eq!(ends(&Params { bidirectional: true, ..read }), [Some(2); 2]);
        assert_eq!(ends(&Params { leg: None, ..write }), [None; 2]);
    }

    #[test]
    fn a_rail_without_such_a_leg_is_refused_in_words() {
        let said = |rail: &Rail, leg| check(rail, leg).unwrap_err().to_string();
        let mut rail = Rail { device: "mlx5_0".into(), driver: Some("rdma_rxe".into()), ..Rail::default() };
        let not_mlx5 = "mlx5_0: not a LAG: its driver is rdma_rxe; only mlx5 gives each queue pair a leg";
        assert_eq!(said(&rail, 1), not_mlx5);
        rail.driver = Some("mlx5_core".into());
        assert_eq!(said(&rail, 1), "mlx5_0: not a LAG: it is no bond; load it without --leg");
        rail.bond = Some(Bond { netdev: "bond0".into(), legs: vec![Leg::default(); 2], ..Bond::default() });
        assert_eq!(said(&rail, 3), "mlx5_0: there is no leg 3: bond0 has legs 1 to 2");
        rail.bond.as_mut().unwrap().carries_rdma = Some(false);
        assert!(said(&rail, 1).starts_with("mlx5_0: not a LAG: the legs of bond0 are not one RDMA device"));
    }

    #[test]
    fn neighbouring_queue_pairs_have_different_flow_labels() {
        let labels: BTreeSet<u32> = (0x4000..0x5000).map(flow_label).collect();
        assert_eq!(labels.len(), 0x1000);
        assert!(labels.iter().all(|label| (1..1 << 20).contains(label)));
        assert_eq!(flow_label(0), 1);
    }

    #[test]
    fn a_set_of_labels_is_the_same_each_time_and_every_set_another() {
        let of = |set: u32, qpn: u32| {
            let labels = [("mlx5_0".to_owned(), set)].into();
            let params = Params { labels, ..Params::default() };
            (0..64).map(|place| label(&params, "mlx5_0", place, qpn + place)).collect::<Vec<_>>()
        };
        assert_eq!(of(3, 100), of(3, 7000));
        assert_eq!(of(0, 100), vec![0; 64], "the driver's own");
        let sets: Vec<Vec<u32>> = (1..=9).map(|set| of(set, 100)).collect();
        for labels in &sets {
            assert_eq!(labels.iter().collect::<BTreeSet<_>>().len(), 64);
            assert!(labels.iter().all(|label| (1..1 << 20).contains(label)));
        }
        let all: BTreeSet<u32> = sets.concat().into_iter().collect();
        assert!(all.len() > 9 * 64 - 4, "few labels of different sets are equal: {}", all.len());
        let threads: BTreeSet<u32> = (0..64).map(|worker| set_of_worker(1, worker)).collect();
        assert_eq!((threads.len(), set_of_worker(0, 5)), (64, 0));
    }
}
