//! A process with a GPU whose rails are all across the CPU from it, while another rail is below the GPU's own switch.

use crate::rules::wording::{each_once, list};
use crate::rules::{Finding, Severity};
use probes::model::{Gpu, GpuPath, PathClass, Process, ProcessSource, Topology};
use std::collections::BTreeMap;

/// One finding for each such process. Our own load goes where it is told.
pub(super) fn check(topology: &Topology, processes: &[Process]) -> Vec<Finding> {
    let mut by_pid: BTreeMap<u32, Vec<&Process>> = BTreeMap::new();
    for process in processes.iter().filter(|process| process.source != ProcessSource::OurLoad) {
        by_pid.entry(process.pid).or_default().push(process);
    }
    by_pid.values().filter_map(|of_one| far_rail(topology, of_one)).collect()
}

fn far_rail(topology: &Topology, of_one: &[&Process]) -> Option<Finding> {
    let process = of_one.first()?;
    let gpu = gpu_of(topology, process)?;
    let is_near = |class: PathClass| matches!(class, PathClass::Pix | PathClass::Pxb);
    // where one is unknown it may be the near one
    let path = |process: &&Process| -> Option<(&GpuPath, PathClass)> {
        let path = gpu.path_to(&process.device)?;
        Some((path, path.class?))
    };
    let far: Vec<(&GpuPath, PathClass)> = of_one.iter().map(path).collect::<Option<_>>()?;
    if far.is_empty() || far.iter().any(|(_, class)| is_near(*class)) {
        return None;
    }
    let classes = gpu.paths.iter().filter_map(|path| Some((path.class?, &path.device)));
    let (class, nearest) = classes.filter(|(class, _)| is_near(*class)).min()?;
    let names = each_once(far.iter().map(|(path, _)| path.device.as_str()));
    let message = format!(
        "{} (PID {}) holds {} and uses {}, {} from it; {nearest} is {}",
        process.name,
        process.pid,
        gpu.name,
        list(names.iter().copied()),
        list(each_once(far.iter().map(|(_, class)| class.word()))),
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

/// The GPU that a process holds open alone.
fn gpu_of<'a>(topology: &'a Topology, process: &Process) -> Option<&'a Gpu> {
    let address = process.gpu.as_ref()?;
    topology.gpus.iter().find(|gpu| gpu.pcie.address.eq_ignore_ascii_case(address))
}

#[cfg(test)]
mod tests {
    use crate::rules::shared_rail::RULE;
    use crate::rules::testing::{Traffic, found, named, process, rail, two_sockets};
    use probes::model::{Gpu, GpuPath, PathClass, PciePath, Process};

    fn codes(classes: [Option<PathClass>; 2], uses: &[&str], gpu: Option<&str>) -> Vec<String> {
        let path = |device: &str, class| GpuPath { device: device.into(), class, ports: Vec::new() };
        let mut topology = two_sockets(["mlx5_0", "mlx5_1"].map(rail).into());
        topology.gpus = vec![Gpu {
            name: "gpu0".into(),
            pcie: PciePath { address: "0000:b1:00.0".into(), ..PciePath::default() },
            paths: vec![path("mlx5_0", classes[0]), path("mlx5_1", classes[1])],
            ..Gpu::default()
        }];
        let one = |device: &&str| Process { gpu: gpu.map(str::to_owned), ..process(7, device, "0-7") };
        let traffic = Traffic { processes: Some(uses.iter().map(one).collect()), ..Traffic::default() };
        named(&found(&RULE, &topology, &traffic))
    }

    #[test]
    fn a_process_that_uses_the_far_rail_of_its_gpu_is_told_from_what_the_frames_hold() {
        let far_and_near = [Some(PathClass::Sys), Some(PathClass::Pix)];
        let own = Some("0000:B1:00.0");
        assert_eq!(codes(far_and_near, &["mlx5_0"], own), ["shared-rail mlx5_0"]);
        assert_eq!(codes(far_and_near, &["mlx5_0", "mlx5_1"], own), [""; 0], "it uses the near one too");
        assert_eq!(codes(far_and_near, &["mlx5_1"], own), [""; 0]);
        assert_eq!(codes(far_and_near, &["mlx5_0"], None), [""; 0], "of no GPU anything is known");
        assert_eq!(codes([None, Some(PathClass::Pix)], &["mlx5_0"], own), [""; 0], "it may be as near");
        assert_eq!(codes([Some(PathClass::Sys); 2], &["mlx5_0"], own), [""; 0], "no rail is nearer");
    }
}
