//! `dead-hca`, `rail-missing`: cards that should give a rail and do not.

mod dead;
mod missing;

use super::{Finding, Limits, Rule};
use crate::timeline::Timeline;
use probes::model::{LinkLayer, LostCard, Rail, Topology};

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["dead-hca", "rail-missing"], check };

fn check(topology: &Topology, _: &Timeline, _: &Limits) -> Vec<Finding> {
    let dead = dead::hcas(topology);
    let mut missing = missing::siblings(topology);
    // a card that is there and dead is the missing one
    if dead.is_empty() && missing.is_empty() {
        missing.extend(missing::ports(topology));
        if missing.is_empty() {
            missing.extend(missing::one_of_a_node(topology).or_else(|| missing::one_of_a_gpu(topology)));
        }
    }
    dead.into_iter().chain(missing).collect()
}

fn slot(address: &str) -> &str {
    address.rsplit_once('.').map_or(address, |(slot, _)| slot)
}

fn slot_of(rail: &Rail) -> Option<&str> {
    Some(slot(&rail.pcie.as_ref()?.address))
}

/// Functions without an RDMA device that nothing explains.
fn lost(topology: &Topology) -> impl Iterator<Item = &LostCard> {
    topology.lost_cards.iter().filter(|card| {
        let for_rdma = card.driver.as_deref().is_none_or(|driver| dead::rdma_module(driver).is_some());
        for_rdma && !card.is_vf && !card.is_elsewhere && !is_second_port(topology, card)
    })
}

/// Whether a sibling function's RDMA device may stand for this one: a bond, a device with several ports, or one
/// whose netdevs are in another network namespace, so that a bond would not be seen.
fn is_second_port(topology: &Topology, card: &LostCard) -> bool {
    let siblings = topology.rails.iter().filter(|rail| slot_of(rail) == Some(slot(&card.address)));
    siblings.into_iter().any(|rail| {
        let unseen = rail.netdev.is_none() && rail.link_layer != Some(LinkLayer::InfiniBand);
        rail.bond.is_some() || rail.device.contains("bond") || rail.port > 1 || unseen
    })
}

#[cfg(test)]
mod tests;
