//! A process's GPU, and how near it is to the rails that the process uses.

use super::{GpuUse, Seen};
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
