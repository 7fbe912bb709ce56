//! `rail-missing`: one rail fewer than siblings, the node's pattern or its GPUs speak for.

use super::{is_second_port, lost, slot, slot_of};
use crate::rules::wording::{devices, list, nodes, verb};
use crate::rules::{Finding, Severity};
use probes::model::{LostCard, Rail, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// Fewest rails that make a pattern of which one can be missing.
const LEAST_PATTERN: usize = 8;

/// A function with a netdev and no RDMA device, though its card's other function, or other cards of its model,
/// have one.
pub(super) fn siblings(topology: &Topology) -> Vec<Finding> {
    let model = |rail: &Rail| {
        let path = rail.pcie.as_ref()?;
        Some(format!("{}:{}", path.vendor.as_deref()?, path.device.as_deref()?))
    };
    let mut found = Vec::new();
    for card in lost(topology).filter(|card| !card.netdevs.is_empty() && card.driver.is_some()) {
        let physical = topology.rails.iter().filter(|rail| rail.is_vf != Some(true));
        let siblings = devices(physical.filter(|rail| {
            slot_of(rail) == Some(slot(&card.address)) || card.id.is_some() && model(rail) == card.id
        }));
        if siblings.is_empty() {
            continue;
        }
        let netdev = card.netdevs.join(" and ");
        let message = format!(
            "{} ({netdev}) has no RDMA device, while {} on the same card or model {}: a rail is missing",
            card.address,
            list(siblings.iter().copied()),
            verb(siblings.len(), "works", "work"),
        );
        found.push(
            Finding::new("rail-missing", Severity::Warning, [&card.address], message)
                .with("netdevs", card.netdevs.clone())
                .with("siblings", siblings)
                .advise(format!(
                    "`devlink dev param show pci/{0} name enable_rdma` tells whether RDMA is switched off for it; \
                     `dmesg | grep {0}`, then `devlink dev reload pci/{0}`",
                    card.address
                )),
        );
    }
    found
}

/// Rails on physical functions, by the card they sit on: slots of one board id and how many rails each has.
pub(super) fn ports(topology: &Topology) -> Vec<Finding> {
    let mut boards: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for rail in topology.rails.iter().filter(|rail| rail.is_vf == Some(false) && rail.bond.is_none()) {
        if let (Some(board), Some(slot)) = (rail.board_id.as_deref(), slot_of(rail)) {
            boards.entry(board).or_default().entry(slot).or_default().push(&rail.device);
        }
    }
    let mut found = Vec::new();
    for (board, cards) in boards {
        let most = cards.values().map(Vec::len).max().unwrap_or(0);
        let short: Vec<(&str, &Vec<&str>)> = cards
            .iter()
            .filter(|(_, rails)| rails.len() < most)
            .map(|(slot, rails)| (*slot, rails))
            .collect();
        let [(slot, rails)] = short.as_slice() else { continue };
        // two cards that differ may both be as they should; a lost function explains itself
        let explained = topology.lost_cards.iter().any(|card| super::slot(&card.address) == *slot);
        if cards.len() < 3 || rails.len() + 1 != most || explained {
            continue;
        }
        let message = format!(
            "the card at {slot} has {} {} ({}), the other {} of board id {board} have {most} each: a rail is missing",
            rails.len(),
            verb(rails.len(), "rail", "rails"),
            list(rails.iter().copied()),
            cards.len() - 1,
        );
        found.push(
            Finding::new("rail-missing", Severity::Warning, rails.iter().copied(), message)
                .with("slot", *slot)
                .with("rails", rails.len())
                .with("rails_of_the_others", most)
                .with("board_id", board)
                .advise(format!(
                    "see whether the second function is on the bus: `lspci -s {slot}`; `dmesg | grep {slot}`; rescan: \
                     `echo 1 > /sys/bus/pci/rescan`"
                )),
        );
    }
    found
}

/// Rails of one model spread evenly over the nodes, but for one node that has one less.
///
/// Counted are physical functions of one vendor and device id, those without an RDMA device too, since they are
/// there. To be a pattern there must be eight or more with the missing one, two at least and a power of two on
/// each node: other numbers (a spare card, a management card of the same model) are as likely meant.
pub(super) fn one_of_a_node(topology: &Topology) -> Option<Finding> {
    let mut models: BTreeMap<String, Vec<Option<u32>>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for rail in topology.rails.iter().filter(|rail| rail.is_vf == Some(false)) {
        let Some(path) = &rail.pcie else { continue };
        if let (Some(vendor), Some(device)) = (&path.vendor, &path.device)
            && seen.insert(path.address.as_str())
        {
            models.entry(format!("{vendor}:{device}")).or_default().push(rail.numa_node);
        }
    }
    let second_port = |card: &&LostCard| is_second_port(topology, card);
    for card in topology.lost_cards.iter().filter(|card| !card.is_vf && !second_port(card)) {
        if let Some(id) = &card.id {
            models.entry(id.clone()).or_default().push(card.numa_node);
        }
    }
    models.into_iter().find_map(|(id, places)| {
        let places: Vec<u32> = places.into_iter().collect::<Option<_>>()?;
        let mut per_node: BTreeMap<u32, usize> = BTreeMap::new();
        for node in places {
            *per_node.entry(node).or_default() += 1;
        }
        let most = *per_node.values().max()?;
        let short: Vec<(u32, usize)> =
            per_node.iter().filter(|(_, count)| **count < most).map(|(node, count)| (*node, *count)).collect();
        let [(node, count)] = short.as_slice() else { return None };
        let even = per_node.len() * most;
        if count + 1 != most || most < 2 || !most.is_power_of_two() || even < LEAST_PATTERN || per_node.len() < 2 {
            return None;
        }
        let others: Vec<u32> = per_node.keys().copied().filter(|other| other != node).collect();
        let message = format!(
            "node {node} has {count} cards of model {id}, {} {} {most}{}: {} of {even} rails are here, one is missing \
             from the PCI bus",
            nodes(&others),
            verb(others.len(), "has", "have"),
            if others.len() > 1 { " each" } else { "" },
            even - 1,
        );
        Some(
            Finding::new("rail-missing", Severity::Warning, ["host"], message)
                .with("model", id)
                .with("node", *node)
                .with("cards_on_node", *count)
                .with("cards_on_other_nodes", most)
                .with("rails_expected", even)
                .advise(
                    "`lspci -d 15b3: -nn` lists the cards that are there; rescan with `echo 1 > /sys/bus/pci/rescan`, \
                     look for the slot in the BMC's log and `dmesg | grep -i -e pcieport -e 'link down'`, then a cold \
                     power cycle or reseating",
                ),
        )
    })
}

/// Every GPU but one has a rail of its own below the same switch: the rail of that one is missing.
///
/// Eight GPUs make the pattern; a card that is there without an RDMA device may be the missing one, and then
/// says so itself or was given away.
pub(super) fn one_of_a_gpu(topology: &Topology) -> Option<Finding> {
    if topology.gpus.len() < LEAST_PATTERN || topology.lost_cards.iter().any(|card| !card.is_vf) {
        return None;
    }
    let mut own: BTreeSet<&str> = BTreeSet::new();
    let mut alone: Vec<&str> = Vec::new();
    for gpu in &topology.gpus {
        let near =
            |path: &&probes::model::GpuPath| path.class.is_some_and(probes::model::PathClass::is_below_cpu);
        let near: Vec<&str> = gpu.paths.iter().filter(near).map(|path| path.device.as_str()).collect();
        match near.as_slice() {
            [] => alone.push(&gpu.name),
            [device] if own.insert(device) => {}
            _ => return None,
        }
    }
    let [gpu] = alone.as_slice() else { return None };
    let (gpus, rails) = (topology.gpus.len(), own.len());
    let message = format!(
        "{rails} of {gpus} GPUs have a rail of their own below the same PCIe switch, {gpu} has none: a rail is missing \
         from the PCI bus"
    );
    Some(
        Finding::new("rail-missing", Severity::Warning, [*gpu], message)
            .with("gpus", gpus)
            .with("rails_near_a_gpu", rails)
            .advise(
                "`lspci -tv` shows what is below that GPU's switch; rescan with `echo 1 > /sys/bus/pci/rescan`, look \
                 for the slot in the BMC's log, then a cold power cycle or reseating",
            ),
    )
}
