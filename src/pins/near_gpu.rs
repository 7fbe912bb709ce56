//! A process's GPU, and how near it is to the rails that the process uses.

use super::{GpuUse, Seen};
use crate::rules::{Finding, Severity};
use probes::model::{Gpu, GpuPath, PathClass, Topology};

/// The GPU that a process holds open alone.
pub(super) fn used(topology: &Topology, seen: &Seen) -> Option<GpuUse> {
    let gpu = of(topology, seen)?;
    let words = |path: &GpuPath| {
        format!("{} {}", path.device, path.class.map_or("at an unknown distance", PathClass::word))
    };
    let paths = paths(gpu, seen).map(words);
    Some(GpuUse { name: gpu.name.clone(), node: gpu.numa_node, paths: paths.collect() })
}

fn of<'a>(topology: &'a Topology, seen: &Seen) -> Option<&'a Gpu> {
    let address = seen.placement.as_ref().ok()?.gpu.as_ref()?;
    topology.gpus.iter().find(|gpu| gpu.pcie.address.eq_ignore_ascii_case(address))
}

/// Ways from the GPU to the rails that the process uses.
fn paths<'a>(gpu: &'a Gpu, seen: &'a Seen) -> impl Iterator<Item = &'a GpuPath> {
    seen.processes.iter().filter_map(|process| gpu.path_to(&process.device))
}

/// A process with a GPU whose rail is across the CPU from it, while a rail is below the GPU's own switch.
pub(super) fn far_rail(topology: &Topology, seen: &Seen) -> Option<Finding> {
    let gpu = of(topology, seen)?;
    let is_near = |class: PathClass| matches!(class, PathClass::Pix | PathClass::Pxb);
    // where one is unknown it may be the near one
    let far: Vec<(&str, PathClass)> =
        paths(gpu, seen).map(|path| Some((path.device.as_str(), path.class?))).collect::<Option<_>>()?;
    if far.is_empty() || far.iter().any(|(_, class)| is_near(*class)) {
        return None;
    }
    let classes = gpu.paths.iter().filter_map(|path| Some((path.class?, &path.device)));
    let (class, nearest) = classes.filter(|(class, _)| is_near(*class)).min()?;
    let process = seen.processes.first()?;
    let names: Vec<&str> = far.iter().map(|(device, _)| *device).collect();
    let message = format!(
        "{} (PID {}) holds {} and uses {}, {} from it; {} is {}",
        process.name,
        process.pid,
        gpu.name,
        names.join(", "),
        far.iter().map(|(_, class)| class.word()).collect::<Vec<_>>().join(", "),
        nearest,
        class.word(),
    );
    Some(
        Finding::new("shared-rail", Severity::Info, names, message)
            .with("pid", process.pid)
            .with("gpu", gpu.name.clone())
            .with("nearest_rail", nearest.clone())
            .advise(format!("give it the near rail: `NCCL_IB_HCA={nearest}`, `UCX_NET_DEVICES={nearest}:1`")),
    )
}
