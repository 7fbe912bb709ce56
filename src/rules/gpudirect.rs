//! `gpudirect`: there is a GPU, and neither way for a NIC to reach its memory is proven ready.
//!
//! The ways are a peer-memory module (nvidia-peermem, amdgpu's own) and dmabuf; the survey says for each what
//! proves it or what is missing. Loads to and from host memory do not need either. A GPU whose memory a load of ours has
//! registered has shown that it can be done.

use super::wording::{list, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{Gpu, LoadTarget, Readiness, Topology};
use std::collections::BTreeMap;

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["gpudirect"], check };

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    if topology.rails.is_empty() {
        return Vec::new();
    }
    let mut alike: BTreeMap<(&str, &str, Option<&str>), Vec<&Gpu>> = BTreeMap::new();
    let shown = registered(timeline);
    let others = |gpu: &&Gpu| !gpu.is_reachable() && shown != Some(gpu.name.as_str());
    for gpu in topology.gpus.iter().filter(others) {
        // a session older than the question has no answer to it
        if let (Some(peermem), Some(dmabuf)) = (&gpu.peermem, &gpu.dmabuf) {
            alike.entry((&peermem.reason, &dmabuf.reason, gpu.driver.as_deref())).or_default().push(gpu);
        }
    }
    alike.into_values().filter_map(|gpus| finding(&gpus)).collect()
}

/// The GPU whose memory the newest load of ours has registered with an RDMA device.
fn registered(timeline: &Timeline) -> Option<&str> {
    let newest = timeline.local().frames().rev().find_map(|frame| frame.load.as_deref())?;
    match &newest.target {
        LoadTarget::Gpu(name) if newest.workers.iter().any(|worker| worker.registered.is_some()) => {
            Some(name)
        }
        _ => None,
    }
}

fn finding(gpus: &[&Gpu]) -> Option<Finding> {
    let first = gpus.first()?;
    let (peermem, dmabuf) = (first.peermem.as_ref()?, first.dmabuf.as_ref()?);
    let names: Vec<&str> = gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    let message = format!(
        "{}: not proven that a NIC can register {} memory; peermem {}: {}; dmabuf {}: {}; host memory is not \
         concerned",
        list(names.iter().copied()),
        verb(names.len(), "its", "their"),
        word(peermem),
        peermem.reason,
        word(dmabuf),
        dmabuf.reason,
    );
    let advice = match first.driver.as_deref() {
        Some("nvidia") => {
            "`modprobe nvidia-peermem` (it comes with the NVIDIA driver; loading fails where ib_core has no peer \
             memory), or the open GPU kernel modules 515 or later with Linux 5.12 or later, for dmabuf"
        }
        Some("amdgpu") => {
            "amdgpu with Linux 5.12 or later gives dmabuf; the ROCm driver stack gives its peer memory"
        }
        _ => "bind the GPU's driver first (nvidia, amdgpu)",
    };
    Some(
        Finding::new("gpudirect", Severity::Info, names, message)
            .with("peermem_ready", peermem.ready)
            .with("dmabuf_ready", dmabuf.ready)
            .with("driver", first.driver.clone())
            .advise(advice),
    )
}

fn word(way: &Readiness) -> &'static str {
    match way.ready {
        Some(true) => "ready",
        Some(false) => "no",
        None => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::{Finding, Severity};
    use probes::model::{Gpu, Load, LoadTarget, Readiness, Registered, Topology, Worker};

    fn gpu(name: &str, peermem: Option<bool>, dmabuf: Option<bool>) -> Gpu {
        let way = |ready, reason: &str| Some(Readiness { ready, reason: reason.into() });
        Gpu {
            name: name.into(),
            driver: Some("nvidia".into()),
            peermem: way(peermem, "module nvidia_peermem is not loaded"),
            dmabuf: way(dmabuf, "proprietary driver"),
            ..Gpu::default()
        }
    }

    fn findings(gpus: Vec<Gpu>) -> Vec<Finding> {
        let topology = Topology { gpus, ..two_sockets(vec![rail("mlx5_0")]) };
        found(&RULE, &topology, &Traffic::default())
    }

    #[test]
    fn gpus_without_either_way_are_named_together() {
        let found = findings(vec![gpu("gpu0", Some(false), None), gpu("gpu1", Some(false), None)]);
        assert_eq!(named(&found), ["gpudirect gpu0,gpu1"]);
        assert_eq!(found[0].severity, Severity::Info);
        assert_eq!(
            found[0].message,
            "gpu0 and gpu1: not proven that a NIC can register their memory; peermem no: module nvidia_peermem is \
             not loaded; dmabuf unknown: proprietary driver; host memory is not concerned"
        );
    }

    #[test]
    fn one_way_that_is_ready_is_enough_and_old_sessions_have_no_answer() {
        assert_eq!(named(&findings(vec![gpu("gpu0", Some(true), Some(false))])), Vec::<String>::new());
        assert_eq!(named(&findings(vec![gpu("gpu0", None, Some(true))])), Vec::<String>::new());
        assert_eq!(
            named(&findings(vec![Gpu { name: "gpu0".into(), ..Gpu::default() }])),
            Vec::<String>::new()
        );
        assert_eq!(named(&findings(Vec::new())), Vec::<String>::new());
    }

    #[test]
    fn a_gpu_whose_memory_was_registered_has_shown_it() {
        let gpus = vec![gpu("gpu0", Some(false), None), gpu("gpu1", Some(false), None)];
        let topology = Topology { gpus, ..two_sockets(vec![rail("mlx5_0")]) };
        let after = |registered| {
            let worker = Worker { device: "mlx5_0".into(), registered, ..Worker::default() };
            let load =
                Load { target: LoadTarget::Gpu("gpu0".into()), workers: vec![worker], ..Load::default() };
            let traffic = Traffic { load: Some(load), ..Traffic::loaded(&[40.0]) };
            named(&found(&RULE, &topology, &traffic))
        };
        assert_eq!(after(Some(Registered::Dmabuf)), ["gpudirect gpu1"]);
        assert_eq!(after(None), ["gpudirect gpu0,gpu1"]);
    }
}
