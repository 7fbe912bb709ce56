//! `acs`: a switch port between a GPU and a NIC below the same switch sends their traffic up to the CPU.
//!
//! With P2P request or completion redirect on (PCI Express Base Specification 5.0, 7.7.8), what two devices
//! below one switch send each other makes a detour over the root complex. Fires for pairs whose way stays below
//! the CPU (PIX, PXB), where a port on it is known to redirect. Traffic with host memory goes up anyway.

use super::wording::{list, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{Acs, GpuPath, PathClass, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["acs"], check };

fn check(topology: &Topology, _: &Timeline, _: &Limits) -> Vec<Finding> {
    let mut ports: BTreeMap<&str, Acs> = BTreeMap::new();
    let (mut devices, mut gpus) = (BTreeSet::new(), Vec::new());
    for gpu in &topology.gpus {
        for path in gpu.paths.iter().filter(|path| path.class.is_some_and(PathClass::is_below_cpu)) {
            let redirecting: Vec<(&str, Acs)> = redirecting(path).collect();
            ports.extend(redirecting.iter().copied());
            if redirecting.is_empty() {
                continue;
            }
            devices.insert(path.device.as_str());
            if !gpus.contains(&gpu.name.as_str()) {
                gpus.push(gpu.name.as_str());
            }
        }
    }
    if ports.is_empty() {
        return Vec::new();
    }
    // in the order of the rails, each once
    let mut rails: Vec<&str> = topology.rails.iter().map(|rail| rail.device.as_str()).collect();
    rails.retain(|device| devices.remove(device));
    vec![finding(&rails, &gpus, &ports)]
}

fn redirecting(path: &GpuPath) -> impl Iterator<Item = (&str, Acs)> {
    path.ports
        .iter()
        .filter_map(|port| Some((port.address.as_str(), port.acs?)))
        .filter(|(_, acs)| acs.redirects())
}

fn finding(rails: &[&str], gpus: &[&str], ports: &BTreeMap<&str, Acs>) -> Finding {
    let addresses: Vec<&str> = ports.keys().copied().collect();
    let which = |on: fn(&Acs) -> bool| -> Vec<&str> {
        ports.iter().filter(|(_, acs)| on(acs)).map(|(address, _)| *address).collect()
    };
    let message = format!(
        "{} and {}: ACS on {} {} what they exchange up to the CPU instead of through the switch: GPU peer-to-peer is slow or fails; \
         traffic with host memory is not touched",
        list(rails.iter().copied()),
        list(gpus.iter().copied()),
        list(addresses.iter().copied()),
        verb(addresses.len(), "sends", "send"),
    );
    Finding::new("acs", Severity::Warning, rails.iter().chain(gpus).copied(), message)
        .with("ports", addresses.clone())
        .with("request_redirect", which(|acs| acs.request_redirect))
        .with("completion_redirect", which(|acs| acs.completion_redirect))
        .advise(format!(
            "unless virtual machines on this host need it, as root: `for port in {}; do setpci -s $port \
             ECAP_ACS+6.w=0; done`; lasting: switch ACS off in the BIOS",
            addresses.join(" ")
        ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use probes::model::{Acs, Gpu, GpuPath, PathClass, PathPort};

    fn findings(class: PathClass, acs: [Option<Acs>; 2]) -> Vec<Finding> {
        let mut topology = two_sockets(["mlx5_0", "mlx5_1"].map(rail).into());
        let ports = ["0000:17:01.0", "0000:17:02.0"].into_iter().zip(acs);
        let ports = ports.map(|(address, acs)| PathPort { address: address.into(), acs }).collect();
        let paths = vec![GpuPath { device: "mlx5_0".into(), class: Some(class), ports }];
        topology.gpus = vec![Gpu { name: "gpu0".into(), paths, ..Gpu::default() }];
        found(&RULE, &topology, &Traffic::default())
    }

    const ON: Option<Acs> = Some(Acs { request_redirect: true, completion_redirect: true });
    const OFF: Option<Acs> = Some(Acs { request_redirect: false, completion_redirect: false });

    #[test]
    fn ports_that_redirect_between_a_gpu_and_its_nic_are_named() {
        let found = findings(PathClass::Pix, [ON, ON]);
        assert_eq!(named(&found), ["acs mlx5_0,gpu0"]);
        assert_eq!(
            found[0].message,
            "mlx5_0 and gpu0: ACS on 0000:17:01.0 and 0000:17:02.0 send what they exchange up to the CPU instead of \
             through the switch: GPU peer-to-peer is slow or fails; traffic with host memory is not touched"
        );
        assert!(found[0].advice.contains("`for port in 0000:17:01.0 0000:17:02.0; do setpci"), "{found:?}");
        let found = findings(PathClass::Pxb, [OFF, ON]);
        assert_eq!(found[0].evidence["ports"], serde_json::json!(["0000:17:02.0"]));
    }

    #[test]
    fn ports_that_do_not_redirect_or_are_unknown_and_ways_over_the_cpu_are_fine() {
        let quiet = Vec::<String>::new();
        assert_eq!(named(&findings(PathClass::Pix, [OFF, OFF])), quiet);
        assert_eq!(named(&findings(PathClass::Pix, [None, None])), quiet);
        assert_eq!(named(&findings(PathClass::Phb, [ON, ON])), quiet);
    }
}
