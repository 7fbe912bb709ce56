//! `dead-hca`: a card without an RDMA device and a netdev.

use super::lost;
use crate::rules::wording::{list, verb};
use crate::rules::{Finding, Severity};
use probes::model::{LostCard, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// Drivers that bring up the RDMA device of their function, and the module that does it: themselves or one on top.
const RDMA_DRIVERS: [(&str, &str); 12] = [
    ("mlx5_core", "mlx5_ib"),
    ("mlx4_core", "mlx4_ib"),
    ("bnxt_en", "bnxt_re"),
    ("hfi1", "hfi1"),
    ("ib_qib", "ib_qib"),
    ("efa", "efa"),
    ("ionic", "ionic_rdma"),
    ("erdma", "erdma"),
    ("cxgb4", "iw_cxgb4"),
    ("qede", "qedr"),
    ("hns3", "hns_roce_hw_v2"),
    ("mana", "mana_ib"),
];

/// The module that makes a driver's RDMA device.
pub(super) fn rdma_module(driver: &str) -> Option<&'static str> {
    RDMA_DRIVERS.iter().find(|(known, _)| *known == driver).map(|(_, module)| *module)
}

/// The driver that a card of these ids wants.
fn driver_of(id: &str) -> Option<&'static str> {
    match id.split_once(':')? {
        ("15b3", "1002" | "1003" | "1004" | "1007") => Some("mlx4_core"),
        ("15b3", _) => Some("mlx5_core"),
        ("1fc1" | "1077", _) => Some("ib_qib"),
        ("1dd8", _) => Some("ionic"),
        ("8086", _) => Some("hfi1"),
        ("1d0f", _) => Some("efa"),
        ("14e4", _) => Some("bnxt_en"),
        _ => None,
    }
}

/// A physical function bound to its RDMA driver, or to none, with neither RDMA device nor netdev.
pub(super) fn hcas(topology: &Topology) -> Vec<Finding> {
    let mut by_driver: BTreeMap<Option<&str>, Vec<&LostCard>> = BTreeMap::new();
    for card in lost(topology).filter(|card| card.netdevs.is_empty()) {
        by_driver.entry(card.driver.as_deref()).or_default().push(card);
    }
    by_driver.into_iter().map(|(driver, cards)| dead(topology, driver, &cards)).collect()
}

fn dead(topology: &Topology, driver: Option<&str>, cards: &[&LostCard]) -> Finding {
    let addresses: Vec<&str> = cards.iter().map(|card| card.address.as_str()).collect();
    let first = addresses[0];
    let bound = match driver {
        Some(driver) => format!("bound to {driver}"),
        None => "bound to no driver".to_owned(),
    };
    let loaded = topology.host.rdma_loaded != Some(false);
    let outcome = if loaded {
        format!("{} dead", verb(cards.len(), "it is", "they are"))
    } else {
        "the kernel's RDMA modules are not loaded".to_owned()
    };
    let message = format!(
        "{}: RDMA {} {bound}, with neither an RDMA device nor a netdev: {outcome}",
        list(addresses.iter().copied()),
        verb(cards.len(), "card", "cards"),
    );
    let advice = match driver {
        Some(driver) if !loaded => {
            let module = rdma_module(driver).unwrap_or(driver);
            format!("`modprobe {module}`, then `dmesg | grep {driver}`")
        }
        Some(driver) => {
            let reset = if matches!(driver, "mlx5_core" | "mlx4_core") {
                format!("a firmware reset (`mlxfwreset -d {first} reset`), ")
            } else {
                String::new()
            };
            let module = rdma_module(driver).unwrap_or(driver);
            format!(
                "`dmesg | grep -e {first} -e {driver}` tells why it did not start (firmware, health, command \
                 timeouts); `modprobe {module}`, `echo 1 > /sys/bus/pci/devices/{first}/remove; echo 1 > \
                 /sys/bus/pci/rescan`, {reset}else a cold power cycle"
            )
        }
        None => {
            let drivers: BTreeSet<&str> =
                cards.iter().filter_map(|card| driver_of(card.id.as_deref()?)).collect();
            let load: Vec<String> = drivers.iter().map(|driver| format!("`modprobe {driver}`")).collect();
            let load = if load.is_empty() { String::new() } else { format!(" ({})", load.join(", ")) };
            format!("load its driver{load} and see `dmesg | grep {first}` for why it was not bound")
        }
    };
    Finding::new("dead-hca", Severity::Error, addresses, message)
        .with("driver", driver)
        .with("ids", cards.iter().map(|card| card.id.clone()).collect::<Vec<_>>())
        .with("numa_nodes", cards.iter().map(|card| card.numa_node).collect::<Vec<_>>())
        .advise(advice)
}
