//! What flows get when they share resources: max–min fair shares.
//!
//! All flows grow alike until a resource they cross is full or their own demand is met; those stop, the others
//! grow on (Bertsekas and Gallager, Data Networks, 6.5.2). This is what fair queueing and credits approach, and
//! what a rail could do beside its neighbours at best.

/// Position of a resource in the list of capacities.
pub type ResourceId = usize;

/// Traffic that crosses resources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// What it crosses; each once.
    pub crosses: Vec<ResourceId>,
    /// The most it wants; `None`: whatever it can get.
    pub demand: Option<f64>,
}

/// The rate of each flow, in the unit of the capacities; `None` where nothing known limits it.
///
/// A capacity of `None` is unknown and never limits.
///
/// # Panics
///
/// A flow crosses a resource that is not in the list.
#[must_use]
pub fn max_min_shares(capacities: &[Option<f64>], flows: &[Flow]) -> Vec<Option<f64>> {
    let mut rates: Vec<Option<f64>> = vec![None; flows.len()];
    let mut growing: Vec<usize> = (0..flows.len()).collect();
    while let Some(level) = next_stop(capacities, flows, &rates, &growing) {
        let full = |resource: ResourceId| {
            share_left(capacities, flows, &rates, &growing, resource).is_some_and(|share| share <= level)
        };
        let stops: Vec<bool> = growing
            .iter()
            .map(|&at| {
                flows[at].demand.is_some_and(|demand| demand <= level)
                    || flows[at].crosses.iter().any(|&r| full(r))
            })
            .collect();
        let stopped: Vec<usize> =
            growing.iter().zip(&stops).filter(|(_, stops)| **stops).map(|(at, _)| *at).collect();
        for &at in &stopped {
            rates[at] = Some(level);
        }
        growing.retain(|at| !stopped.contains(at));
    }
    rates
}

/// The level at which the next flow stops growing; `None` when nothing limits those that still grow.
fn next_stop(
    capacities: &[Option<f64>],
    flows: &[Flow],
    rates: &[Option<f64>],
    growing: &[usize],
) -> Option<f64> {
    let shares = (0..capacities.len()).filter_map(|r| share_left(capacities, flows, rates, growing, r));
    let demands = growing.iter().filter_map(|&at| flows[at].demand);
    shares.chain(demands).reduce(f64::min)
}

/// What a resource has left for each flow that still grows over it.
fn share_left(
    capacities: &[Option<f64>],
    flows: &[Flow],
    rates: &[Option<f64>],
    growing: &[usize],
    resource: ResourceId,
) -> Option<f64> {
    let capacity = capacities[resource]?;
    let crosses = |at: usize| flows[at].crosses.contains(&resource);
    let taken: f64 = (0..flows.len()).filter(|&at| crosses(at)).filter_map(|at| rates[at]).sum();
    let sharers = growing.iter().filter(|&&at| crosses(at)).count();
    (sharers > 0).then(|| (capacity - taken).max(0.0) / sharers as f64)
}

#[cfg(test)]
mod tests {
    use super::{Flow, max_min_shares};
    use proptest::prelude::*;

    fn over(crosses: &[usize]) -> Flow {
        Flow { crosses: crosses.to_vec(), demand: None }
    }

    fn wanting(crosses: &[usize], demand: f64) -> Flow {
        Flow { demand: Some(demand), ..over(crosses) }
    }

    fn shares(capacities: &[f64], flows: &[Flow]) -> Vec<f64> {
        let known: Vec<_> = capacities.iter().copied().map(Some).collect();
        max_min_shares(&known, flows).into_iter().map(Option::unwrap).collect()
    }

    #[test]
    fn flows_over_one_resource_get_equal_shares() {
        assert_eq!(shares(&[49.0], &[over(&[0]), over(&[0])]), [24.5, 24.5]);
    }

    #[test]
    fn what_one_flow_cannot_use_goes_to_the_others() {
        // the second wants little; the third is held by its own wire
        let flows = [over(&[0]), wanting(&[0], 4.0), over(&[0, 1])];
        assert_eq!(shares(&[60.0, 10.0], &flows), [46.0, 4.0, 10.0]);
    }

    #[test]
    fn the_textbook_line_of_three_links_shares_as_the_textbook_says() {
        let flows = [over(&[0, 1, 2]), over(&[0]), over(&[1]), over(&[1]), over(&[2])];
        let round = |rate: f64| (rate * 1e6).round() / 1e6;
        let found: Vec<f64> = shares(&[1.0, 1.0, 1.0], &flows).into_iter().map(round).collect();
        assert_eq!(found, [0.333_333, 0.666_667, 0.333_333, 0.333_333, 0.666_667]);
    }

    #[test]
    fn an_unknown_capacity_never_limits() {
        let flows = [over(&[0]), over(&[0, 1]), wanting(&[0], 3.0)];
        assert_eq!(max_min_shares(&[None, Some(24.5)], &flows), [None, Some(24.5), Some(3.0)]);
        assert_eq!(max_min_shares(&[], &[over(&[])]), [None]);
    }

    fn any_network() -> impl Strategy<Value = (Vec<Option<f64>>, Vec<Flow>)> {
        let capacities = prop::collection::vec(prop::option::of(0.0..100.0f64), 1..6);
        capacities.prop_flat_map(|capacities| {
            let resources =
                prop::sample::subsequence((0..capacities.len()).collect::<Vec<_>>(), 0..=capacities.len());
            let flow = (resources, prop::option::of(0.0..100.0f64))
                .prop_map(|(crosses, demand)| Flow { crosses, demand });
            (Just(capacities), prop::collection::vec(flow, 0..8))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_resource_is_overrun_and_every_flow_is_stopped_by_something((capacities, flows) in any_network()) {
            let rates = max_min_shares(&capacities, &flows);
            let used = |resource: usize| -> f64 {
                let crossing = flows.iter().zip(&rates).filter(|(flow, _)| flow.crosses.contains(&resource));
                crossing.filter_map(|(_, rate)| *rate).sum()
            };
            for (resource, capacity) in capacities.iter().enumerate() {
                if let Some(capacity) = capacity {
                    prop_assert!(used(resource) <= capacity + 1e-6);
                }
            }
            for (flow, rate) in flows.iter().zip(&rates) {
                let limited = flow.demand.is_some() || flow.crosses.iter().any(|&r| capacities[r].is_some());
                prop_assert_eq!(rate.is_some(), limited);
                let Some(rate) = *rate else { continue };
                let met = flow.demand.is_some_and(|demand| rate >= demand - 1e-6);
                // max–min: at a full resource nobody who crosses it has more
                let stopped = flow.crosses.iter().any(|&r| {
                    let biggest = flows.iter().zip(&rates).filter(|(f, _)| f.crosses.contains(&r));
                    let biggest = biggest.filter_map(|(_, rate)| *rate).fold(0.0, f64::max);
                    capacities[r].is_some_and(|capacity| used(r) >= capacity - 1e-6) && rate >= biggest - 1e-6
                });
                prop_assert!(met || stopped, "{flows:?} {rates:?}");
            }
        }
    }
}
