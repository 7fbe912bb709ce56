//! `no-dev-node`, `verbs-abi`: the kernel has the device, and programs cannot open it.

use super::wording::{list, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{AbiRefusal, Rail, Topology};
use std::collections::BTreeSet;

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["no-dev-node", "verbs-abi"], check };

fn check(topology: &Topology, _: &Timeline, _: &Limits) -> Vec<Finding> {
    no_dev_node(topology).into_iter().chain(verbs_abi(topology)).collect()
}

/// The kernel announces a uverbs device (`/sys/class/infiniband_verbs`), and `/dev/infiniband` has no node for it.
fn no_dev_node(topology: &Topology) -> Option<Finding> {
    let mut without: Vec<(&str, &str)> = topology
        .rails
        .iter()
        .filter_map(|rail| Some((rail.device.as_str(), rail.missing_uverbs.as_deref()?)))
        .collect();
    without.dedup();
    let (_, first) = without.first()?;
    let devices: Vec<&str> = without.iter().map(|(device, _)| *device).collect();
    let mut nodes: Vec<&str> = without.iter().map(|(_, node)| *node).collect();
    nodes.dedup();
    let message = format!(
        "{}: the kernel has the {}, and there is no {}: no program can open {} here",
        list(devices.iter().copied()),
        verb(devices.len(), "device", "devices"),
        list(nodes.iter().copied()),
        verb(devices.len(), "it", "them"),
    );
    let advice = if first.ends_with('*') {
        "`modprobe ib_uverbs` on the host, then `ls /sys/class/infiniband_verbs`; `dmesg | grep -i uverbs` tells why \
         there is none"
            .to_owned()
    } else {
        format!(
            "give the container its device: `--device={first}` (docker, podman), an RDMA device plugin's resource in \
             the pod; on a host: `modprobe ib_uverbs; udevadm trigger`"
        )
    };
    Some(
        Finding::new("no-dev-node", Severity::Warning, devices, message)
            .with("missing", nodes.clone())
            .advise(advice),
    )
}

/// The verbs library, or its part for a driver, said that it does not speak the kernel's ABI: every device of
/// that driver is then unusable, though all of them work in the kernel.
fn verbs_abi(topology: &Topology) -> Vec<Finding> {
    let mut said: BTreeSet<Vec<&str>> = BTreeSet::new();
    let mut found = Vec::new();
    for refusal in &topology.host.abi_refusals {
        let devices = refused(topology, refusal);
        if !devices.is_empty() && said.insert(devices.clone()) {
            found.push(abi_finding(topology, refusal, devices));
        }
    }
    found
}

/// Devices that a refusal concerns: the named one, those of its driver, or all.
fn refused<'a>(topology: &'a Topology, refusal: &AbiRefusal) -> Vec<&'a str> {
    let named = refusal.device.as_deref().and_then(|device| topology.rail(device)).map(|(_, rail)| rail);
    let alike = |rail: &&Rail| match (named, &refusal.provider) {
        (Some(named), _) => {
            rail.device == named.device || named.driver.is_some() && rail.driver == named.driver
        }
        // bnxt_re0 is a device of bnxt_re, mlx5_bond_0 one of mlx5
        (None, Some(provider)) => rail.device.starts_with(provider.as_str()),
        (None, None) => refusal.device.is_none(),
    };
    let mut devices: Vec<&str> =
        topology.rails.iter().filter(alike).map(|rail| rail.device.as_str()).collect();
    devices.dedup();
    devices
}

fn abi_finding(topology: &Topology, refusal: &AbiRefusal, devices: Vec<&str>) -> Finding {
    let (kernel, oldest, newest) = (refusal.kernel_abi, refusal.library_min_abi, refusal.library_max_abi);
    let library = match (oldest, newest) {
        (Some(oldest), Some(newest)) if oldest != newest => format!("{oldest} to {newest}"),
        (_, Some(newest)) => newest.to_string(),
        (Some(oldest), None) => format!("{oldest} and later"),
        (None, None) => "another one".to_owned(),
    };
    let part = refusal.provider.as_deref().map_or(String::new(), |provider| format!(" for {provider}"));
    let message = format!(
        "{}: the kernel's driver works and speaks verbs ABI {kernel}, the library{part} speaks {library}: programs \
         see no such device",
        list(devices.iter().copied()),
    );
    let library_is_newer = oldest.is_some_and(|oldest| kernel < oldest);
    let has =
        topology.host.rdma_core.as_deref().map_or(String::new(), |version| format!(" (found: {version})"));
    let advice = if library_is_newer {
        format!(
            "the library is newer than the kernel's driver: update the driver, or install an older rdma-core{has}"
        )
    } else {
        format!(
            "install a newer rdma-core in this image or container{has}, such as the host's own version; \
             `apt install --only-upgrade ibverbs-providers libibverbs1` or `dnf upgrade rdma-core libibverbs`"
        )
    };
    Finding::new("verbs-abi", Severity::Error, devices, message)
        .with("provider", refusal.provider.clone())
        .with("kernel_abi", kernel)
        .with("library_min_abi", oldest)
        .with("library_max_abi", newest)
        .with("rdma_core", topology.host.rdma_core.clone())
        .advise(advice)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::{Finding, Severity};
    use probes::model::{AbiRefusal, Rail, Topology};

    fn findings(topology: &Topology) -> Vec<Finding> {
        found(&RULE, topology, &Traffic::default())
    }

    fn of(driver: &str, device: &str) -> Rail {
        Rail { driver: Some(driver.into()), ..rail(device) }
    }

    fn refused(
        provider: Option<&str>,
        device: Option<&str>,
        library: (Option<u32>, Option<u32>),
    ) -> Topology {
        let rails = vec![of("bnxt_en", "bnxt_re0"), of("bnxt_en", "bnxt_re1"), of("mlx5_core", "mlx5_0")];
        let mut topology = two_sockets(rails);
        topology.host.abi_refusals = vec![AbiRefusal {
            provider: provider.map(str::to_owned),
            device: device.map(str::to_owned),
            kernel_abi: 6,
            library_min_abi: library.0,
            library_max_abi: library.1,
        }];
        topology
    }

    #[test]
    fn a_device_without_a_node_is_named_with_the_node() {
        let mut second = rail("mlx5_1");
        second.missing_uverbs = Some("/dev/infiniband/uverbs1".into());
        let found = findings(&two_sockets(vec![rail("mlx5_0"), second]));
        assert_eq!(named(&found), ["no-dev-node mlx5_1"]);
        assert_eq!(
            found[0].message,
            "mlx5_1: the kernel has the device, and there is no /dev/infiniband/uverbs1: no program can open it here"
        );
        assert!(found[0].advice.contains("--device=/dev/infiniband/uverbs1"));
        assert_eq!(named(&findings(&two_sockets(vec![rail("mlx5_0")]))), Vec::<String>::new());
    }

    #[test]
    fn where_the_kernel_announces_no_node_its_module_is_advised() {
        let mut rail = rail("mlx5_0");
        rail.missing_uverbs = Some("/dev/infiniband/uverbs*".into());
        let found = findings(&two_sockets(vec![rail]));
        assert_eq!(named(&found), ["no-dev-node mlx5_0"]);
        assert!(found[0].advice.starts_with("`modprobe ib_uverbs`"), "{}", found[0].advice);
    }

    #[test]
    fn a_refusal_for_one_device_holds_for_all_of_its_driver() {
        let found = findings(&refused(Some("bnxt_re"), Some("bnxt_re1"), (Some(1), Some(1))));
        assert_eq!(named(&found), ["verbs-abi bnxt_re0,bnxt_re1"]);
        assert_eq!(found[0].severity, Severity::Error);
        assert_eq!(
            found[0].message,
            "bnxt_re0 and bnxt_re1: the kernel's driver works and speaks verbs ABI 6, the library for bnxt_re speaks \
             1: programs see no such device"
        );
        assert!(found[0].advice.starts_with("install a newer rdma-core"), "{}", found[0].advice);
    }

    #[test]
    fn a_library_that_refuses_the_kernel_altogether_concerns_every_device() {
        let found = findings(&refused(None, None, (None, Some(5))));
        assert_eq!(named(&found), ["verbs-abi bnxt_re0,bnxt_re1,mlx5_0"]);
        let newer = findings(&refused(Some("mlx5"), Some("mlx5_0"), (Some(7), Some(9))));
        assert_eq!(named(&newer), ["verbs-abi mlx5_0"]);
        assert!(newer[0].advice.contains("older rdma-core"), "{}", newer[0].advice);
    }

    #[test]
    fn without_a_refusal_or_for_a_device_that_is_not_here_nothing_is_said() {
        assert_eq!(named(&findings(&two_sockets(vec![rail("mlx5_0")]))), Vec::<String>::new());
        let elsewhere = refused(Some("hns"), Some("hns_0"), (Some(1), Some(1)));
        assert_eq!(named(&findings(&elsewhere)), Vec::<String>::new());
    }
}
