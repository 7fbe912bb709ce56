//! Flows over wires and PCIe paths, and the rates they get.

use super::scenario::{FAR_GB_PER_S, Fault};
use crate::ceilings::{
    Flow, line_of_messages_gb_per_s, line_raw_gb_per_s, max_min_shares, path_payload_gb_per_s,
};
use probes::model::Rail;

/// What is special about the load of one rail.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Trial {
    /// What holds the rail back.
    pub(super) fault: Option<Fault>,
    /// Rails with the same fault that are loaded at once, this one among them.
    pub(super) loaded: usize,
    /// Leg that the sender was told to use, from 1; `None`: queue pairs take the legs in turn.
    pub(super) leg: Option<u32>,
    /// Whether its threads or its buffers are on another node.
    pub(super) is_far: bool,
    /// Whether its memory is in no cache.
    pub(super) is_cold: bool,
}

impl Trial {
    /// Payload at most besides what wire and PCIe path let through, GB/s.
    fn most_gb_per_s(&self) -> Option<f64> {
        let held = self.fault.and_then(|fault| fault.most_gb_per_s(self.loaded));
        // what host memory is too slow for it is slower still where no cache takes part of it
        let held = held
            .map(|most| if self.is_cold && self.fault == Some(Fault::Memory) { 0.75 * most } else { most });
        held.into_iter().chain(self.is_far.then_some(FAR_GB_PER_S)).reduce(f64::min)
    }

    /// Leg that a queue pair's data arrive on. A switch that sends all through one leg does so whatever the sender chose.
    fn leg_of(&self, qp: usize, legs: usize) -> usize {
        match (self.fault, self.leg) {
            (Some(Fault::OneLeg), _) => 0,
            (_, Some(leg)) => (leg as usize).saturating_sub(1).min(legs - 1),
            (_, None) => qp % legs,
        }
    }
}

/// Payload rate of each leg of a rail whose queue pairs all go as fast as they can, GB/s, for each of the threads that
/// have so many of the queue pairs, in messages of this size.
pub(super) fn leg_rates_gb_per_s(
    rail: &Rail,
    size_bytes: u64,
    shares: &[u32],
    trial: Trial,
) -> Vec<Vec<f64>> {
    let qps: u32 = shares.iter().sum();
    let legs = rail.bond.as_ref().map_or(1, |bond| bond.legs.len().max(1));
    // every leg's wire, then the PCIe path they share, then what else holds them back
    let (pcie, held) = (legs, legs + 1);
    let mut capacities: Vec<Option<f64>> =
        (0..legs).map(|leg| leg_goodput_gb_per_s(rail, leg, size_bytes)).collect();
    capacities.push(rail.pcie.as_ref().and_then(path_payload_gb_per_s));
    capacities.push(trial.most_gb_per_s());
    let leg_of = |qp: usize| trial.leg_of(qp, legs);
    let flows: Vec<Flow> =
        (0..qps as usize).map(|qp| Flow { crosses: vec![leg_of(qp), pcie, held], demand: None }).collect();
    let mut of_qps = max_min_shares(&capacities, &flows).into_iter().enumerate();
    let thread = |share: &u32| {
        let mut rates = vec![0.0; legs];
        for (qp, rate) in of_qps.by_ref().take(*share as usize) {
            rates[leg_of(qp)] += rate.unwrap_or(0.0);
        }
        rates
    };
    shares.iter().map(thread).collect()
}

/// Whether anything is known that bounds the rail.
pub(super) fn has_a_bound(rail: &Rail) -> bool {
    let legs = rail.bond.as_ref().map_or(1, |bond| bond.legs.len().max(1));
    let wires = line_raw_gb_per_s(rail).is_some_and(|rate| rate > 0.0)
        && (0..legs).all(|leg| leg_goodput_gb_per_s(rail, leg, 1 << 20).is_some_and(|rate| rate > 0.0));
    wires || rail.pcie.as_ref().and_then(path_payload_gb_per_s).is_some()
}

/// Payload that one leg's wire can carry in messages of this size, GB/s; without a path MTU its raw rate.
fn leg_goodput_gb_per_s(rail: &Rail, leg: usize, size_bytes: u64) -> Option<f64> {
    let whole = line_of_messages_gb_per_s(rail, size_bytes)?;
    let Some(bond) = &rail.bond else { return Some(whole) };
    Some(whole * bond.legs.get(leg)?.speed_gbit_per_s? / rail.line_gbit_per_s?)
}

#[cfg(test)]
mod tests {
    use super::{Trial, leg_rates_gb_per_s};
    use crate::sim::{Scenario, node};

    /// A load of this bond alone.
    fn held(scenario: Scenario, bond: u32) -> Trial {
        Trial { fault: scenario.fault(bond), loaded: 1, ..Trial::default() }
    }

    #[test]
    fn each_slow_bond_is_slow_for_its_own_reason() {
        let topology = node::topology(Scenario::Mixed);
        let rates = |bond: u32| {
            let rail = &topology.rails[bond as usize - 1];
            let rates = leg_rates_gb_per_s(rail, 1 << 20, &[4], held(Scenario::Mixed, bond)).swap_remove(0);
            rates.into_iter().map(|rate| (rate * 10.0).round() / 10.0).collect::<Vec<_>>()
        };
        assert_eq!(rates(1), [24.5, 24.5]);
        assert_eq!(rates(3), [24.5, 0.0], "one leg");
        assert_eq!(rates(4), [14.4, 14.4], "x8 of x16");
    }

    #[test]
    fn what_no_topology_tells_holds_a_rail_back_too() {
        for (scenario, bond, most) in
            [(Scenario::CrossNuma, 5, 34.0), (Scenario::Congested, 6, 31.0), (Scenario::Memory, 8, 32.0)]
        {
            let rail = &node::topology(scenario).rails[bond as usize - 1];
            let rates = leg_rates_gb_per_s(rail, 1 << 20, &[4], held(scenario, bond)).swap_remove(0);
            assert!((rates.iter().sum::<f64>() - most).abs() < 1e-9, "{scenario:?}: {rates:?}");
        }
        let slot = &node::topology(Scenario::Gen4Slot).rails[1];
        let rates = leg_rates_gb_per_s(slot, 1 << 20, &[4], held(Scenario::Gen4Slot, 2)).swap_remove(0);
        assert_eq!((rates.iter().sum::<f64>() * 10.0).round() / 10.0, 28.8, "Gen4 x16");
    }

    #[test]
    fn threads_share_what_their_rail_can_do() {
        let rail = &node::topology(Scenario::Healthy).rails[0];
        let rates = leg_rates_gb_per_s(rail, 1 << 20, &[3, 1], Trial::default());
        let whole: f64 = rates.iter().flatten().sum();
        assert_eq!((whole * 10.0).round() / 10.0, 49.0);
        assert!(rates[0].iter().sum::<f64>() > 2.9 * rates[1].iter().sum::<f64>());
    }

    #[test]
    fn small_messages_pay_for_their_headers() {
        let rail = &node::topology(Scenario::Healthy).rails[0];
        let of = |size_bytes| -> f64 {
            leg_rates_gb_per_s(rail, size_bytes, &[4], Trial::default()).iter().flatten().sum()
        };
        let ceiling =
            |size_bytes| crate::ceilings::line_goodput_of_messages_gb_per_s(rail, size_bytes).unwrap();
        for size_bytes in [1, 64, 1024, 1 << 20] {
            assert!(of(size_bytes) <= ceiling(size_bytes) * 1.000_001, "{size_bytes}: {}", of(size_bytes));
        }
        assert!(of(64) < 0.5 * of(1 << 20));
    }
}
