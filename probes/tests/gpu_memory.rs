//! Memory of a GPU, over stand-ins for libcuda and libibverbs.

mod standin;

use probes::ffi::cuda::{self, DeviceMemory, Gpu};
use probes::ffi::verbs::Context;
use probes::load::{Endpoint, LoadError, Memory, Params, Place, Role, Running, RunningLoad, open};
use probes::model::{
    Gid, GidChoice, GidType, Gpu as KnownGpu, LoadTarget, PciePath, Rail, RailId, Readiness, Registered,
    Topology, WorkerPhase,
};
use standin::over_the_stand_ins;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Asks for a libibverbs from before dmabuf.
const OLD_VERBS: (&str, &str) = ("STANDIN_OLD_VERBS", "1");

fn memory(bytes: usize) -> DeviceMemory {
    DeviceMemory::allocate(Arc::new(Gpu::open(1).unwrap()), bytes).unwrap()
}

/// In which way memory of GPU 1 is registered on the first device, or why it cannot be.
fn registered() -> Result<Option<Registered>, String> {
    let domain = Context::open("stand0").unwrap().protection_domain().unwrap();
    let region = domain.register(memory(100_000)).map_err(|error| error.to_string())?;
    Ok(region.registered())
}

fn refusal() -> String {
    registered().unwrap_err()
}

#[test]
fn cuda_tells_what_a_gpu_is() {
    over_the_stand_ins(&[("STANDIN_CUDA_MEMORY", "85899345920")], || {
        let facts = cuda::facts(1).unwrap();
        assert_eq!(facts.label(), "GPU 1 (Stand-in H100, 0000:1c:00.0)");
        assert_eq!((facts.memory_bytes, facts.driver_cuda), (80 << 30, (12, 4)));
        assert_eq!((facts.gpudirect, facts.dmabuf), (Some(true), Some(true)));
    });
}

#[test]
fn a_driver_that_cannot_be_asked_for_dmabuf_says_nothing_of_it() {
    let old = [("STANDIN_CUDA_VERSION", "11040")];
    over_the_stand_ins(&old, || {
        let facts = cuda::facts(0).unwrap();
        assert_eq!((facts.dmabuf, facts.driver_cuda), (None, (11, 4)));
    });
}

#[test]
fn what_is_copied_to_a_gpu_comes_back_and_whole_pages_are_taken() {
    over_the_stand_ins(&[], || {
        let mut memory = memory(100_000);
        assert_eq!((memory.len(), memory.address() % 65_536), (131_072, 0));
        memory.copy_in(3, &[7, 8, 9]).unwrap();
        let mut words = [0; 4];
        memory.copy_out(2, &mut words).unwrap();
        assert_eq!(words, [0, 7, 8, 9]);
        // freed on another thread, where no context is current
        std::thread::spawn(move || drop(memory)).join().unwrap();
    });
}

#[test]
fn a_gpu_that_is_not_there_is_named_with_those_that_are() {
    over_the_stand_ins(&[], || {
        assert_eq!(
            Gpu::open(7).unwrap_err().to_string(),
            "there is no GPU 7: CUDA counts GPU 0 (Stand-in H100, 0000:1b:00.0), GPU 1 (Stand-in H100, 0000:1c:00.0)"
        );
    });
}

#[test]
fn gpus_that_are_hidden_are_said_to_be() {
    let hidden = [("STANDIN_CUDA_GPUS", "1"), ("CUDA_VISIBLE_DEVICES", "3")];
    over_the_stand_ins(&hidden, || {
        let said = Gpu::open(1).unwrap_err().to_string();
        assert!(
            said.ends_with("GPU 0 (Stand-in H100, 0000:1b:00.0) (CUDA_VISIBLE_DEVICES=3 hides the others)"),
            "{said}"
        );
    });
}

#[test]
fn a_machine_without_a_gpu_is_one_error() {
    over_the_stand_ins(&[("STANDIN_CUDA_GPUS", "0")], || {
        let said = Gpu::open(0).unwrap_err().to_string();
        assert!(
            said.starts_with(
                "cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected); no GPU is visible"
            ),
            "{said}"
        );
    });
}

#[test]
fn a_machine_without_the_driver_is_told_what_to_install() {
    let nowhere = [("RAILSCOPE_CUDA", "/nowhere/libcuda.so.1")];
    over_the_stand_ins(&nowhere, || {
        let said = Gpu::open(0).unwrap_err().to_string();
        assert!(
            said.starts_with("/nowhere/libcuda.so.1: ")
                && said.contains("needs the NVIDIA driver: install it"),
            "{said}"
        );
    });
}

#[test]
fn a_gpu_that_is_full_says_so() {
    over_the_stand_ins(&[("STANDIN_CUDA_MEMORY", "1048576")], || {
        let gpu = Arc::new(Gpu::open(0).unwrap());
        let error = DeviceMemory::allocate(gpu.clone(), 1 << 20).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory); the GPU's memory is taken"
            ),
            "{error}"
        );
        assert!(DeviceMemory::allocate(gpu, usize::MAX).is_err());
    });
}

#[test]
fn a_dmabuf_comes_before_peer_memory() {
    over_the_stand_ins(&[("STANDIN_PEERMEM", "1")], || {
        assert_eq!(registered(), Ok(Some(Registered::Dmabuf)));
    });
}

#[test]
fn without_a_dmabuf_peer_memory_does() {
    let peermem = [("STANDIN_PEERMEM", "1"), ("STANDIN_CUDA_NO_DMABUF", "1")];
    over_the_stand_ins(&peermem, || {
        assert_eq!(registered(), Ok(Some(Registered::Peermem)));
    });
}

#[test]
fn proprietary_kernel_modules_export_nothing() {
    over_the_stand_ins(&[("STANDIN_CUDA_NO_DMABUF", "1")], || {
        assert_eq!(
            refusal(),
            "stand0: the memory of GPU 1 (Stand-in H100, 0000:1c:00.0) cannot be registered: as a dmabuf: the NVIDIA driver \
             exports none for this GPU (only its open kernel modules do, from 515 on); through peer memory: ibv_reg_mr: Bad \
             address (os error 14)"
        );
    });
}

#[test]
fn a_driver_from_before_dmabuf_is_named() {
    over_the_stand_ins(&[("STANDIN_CUDA_VERSION", "11060")], || {
        let said = refusal();
        assert!(
            said.contains("as a dmabuf: the NVIDIA driver speaks CUDA 11.6, and dmabuf came with 11.7"),
            "{said}"
        );
    });
}

#[test]
fn an_export_that_fails_has_cudas_name_for_it() {
    over_the_stand_ins(&[("STANDIN_CUDA_EXPORT", "801")], || {
        let said = refusal();
        assert!(
            said.contains("as a dmabuf: cuMemGetHandleForAddressRange: CUDA_ERROR_NOT_SUPPORTED (operation not supported);"),
            "{said}"
        );
    });
}

#[test]
fn an_old_rdma_core_is_named() {
    over_the_stand_ins(&[OLD_VERBS], || {
        let said = refusal();
        assert!(
            said.contains("as a dmabuf: libibverbs has no ibv_reg_dmabuf_mr (rdma-core 34 and later have);"),
            "{said}"
        );
    });
}

#[test]
fn a_kernel_or_rdma_driver_without_dmabuf_is_named() {
    // 95 = EOPNOTSUPP
    over_the_stand_ins(&[("STANDIN_DMABUF", "95")], || {
        let said = refusal();
        assert!(
            said.contains(
                "ibv_reg_dmabuf_mr: Operation not supported (os error 95) (kernels take a dmabuf from 5.12 on"
            ),
            "{said}"
        );
    });
}

/// A rail, and the second GPU as a survey would find it.
fn topology() -> Topology {
    let rail = Rail {
        device: "stand0".into(),
        port: 1,
        gids: vec![Gid {
            index: 1,
            address: "::ffff:10.0.0.1".parse().unwrap(),
            kind: Some(GidType::RoceV2),
            netdev: None,
        }],
        gid: Some(GidChoice { index: 1, reason: "the only one".into() }),
        ..Rail::default()
    };
    let gpu = KnownGpu {
        name: "gpu5".into(),
        numa_node: Some(3),
        pcie: PciePath { address: "0000:1c:00.0".into(), ..PciePath::default() },
        peermem: Some(Readiness { ready: Some(false), reason: "module nvidia_peermem is not loaded".into() }),
        ..KnownGpu::default()
    };
    Topology { rails: vec![rail], gpus: vec![gpu], ..Topology::default() }
}

fn params(memory: Memory) -> Params {
    Params {
        qps: 2,
        size_bytes: 70_001,
        depth: 16,
        place: Place::None,
        warmup_s: 0.0,
        memory,
        ..Params::default()
    }
}

/// Both ends with their memories, connected, not yet started.
fn connected(target: Memory, reader: Memory) -> (Running, Running) {
    let topology = topology();
    let mut target = open(&topology, &[RailId(0)], &params(target), Role::Target);
    let mut reader = open(&topology, &[RailId(0)], &params(reader), Role::Reader);
    let good =
        |ends: Vec<Result<Endpoint, LoadError>>| ends.into_iter().map(|end| Some(end.unwrap())).collect();
    let (there, here) = (good(target.endpoints()), good(reader.endpoints()));
    let target = target.connect(here).unwrap();
    (target, reader.connect(there).unwrap())
}

/// Waits, bounded, until `done` says so; the machine may be busy.
fn wait_for(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(30), "waited in vain: {what}");
        std::thread::yield_now();
    }
}

fn run(reader: &Running) {
    reader.go();
    wait_for("the rail moves", || reader.workers().iter().all(|worker| worker.operations >= 100));
    reader.stop();
    wait_for("the load ends", || reader.is_over());
}

/// Reads between these memories, and looks at the data.
fn reads_well(target: Memory, reader: Memory) -> Running {
    let (_target, reader) = connected(target, reader);
    run(&reader);
    assert_eq!(reader.failures(), Vec::<String>::new());
    assert!(
        reader.workers().iter().all(|worker| worker.phase == WorkerPhase::Done && worker.errors.is_empty())
    );
    reader
}

#[test]
fn reads_land_in_the_gpu_that_the_topology_knows() {
    over_the_stand_ins(&[], || {
        let load = reads_well(Memory::Host, Memory::Gpu(1)).load();
        assert_eq!(load.target, LoadTarget::Gpu("gpu5".into()));
        let worker = &load.workers[0];
        assert_eq!((worker.registered, worker.buffer_node), (Some(Registered::Dmabuf), Some(3)));
    });
}

#[test]
fn a_gpu_that_the_topology_does_not_know_has_its_pci_address_for_a_name() {
    over_the_stand_ins(&[], || {
        let load = reads_well(Memory::Host, Memory::Gpu(0)).load();
        assert_eq!(load.target, LoadTarget::Gpu("0000:1b:00.0".into()));
        assert_eq!(load.workers[0].buffer_node, None);
    });
}

#[test]
fn reads_through_peer_memory_land_as_well() {
    let peermem = [("STANDIN_PEERMEM", "1"), ("STANDIN_CUDA_NO_DMABUF", "1")];
    over_the_stand_ins(&peermem, || {
        let load = reads_well(Memory::Host, Memory::Gpu(1)).load();
        assert_eq!(load.workers[0].registered, Some(Registered::Peermem));
    });
}

#[test]
fn the_peers_data_may_come_from_its_gpu() {
    over_the_stand_ins(&[], || {
        assert_eq!(reads_well(Memory::Gpu(0), Memory::Host).load().target, LoadTarget::Host);
        reads_well(Memory::Gpu(0), Memory::Gpu(1));
    });
}

#[test]
fn data_that_never_reached_the_gpu_are_counted() {
    over_the_stand_ins(&[("STANDIN_NO_DATA", "1")], || {
        let (_target, reader) = connected(Memory::Host, Memory::Gpu(1));
        run(&reader);
        assert_eq!(reader.workers()[0].errors["DATA_MISMATCH"], 2);
        assert!(reader.failures()[0].contains("READs completed without their data"));
    });
}

#[test]
fn data_that_cannot_be_looked_at_are_not_called_good() {
    over_the_stand_ins(&[("STANDIN_CUDA_COPY", "801")], || {
        let (_target, reader) = connected(Memory::Host, Memory::Gpu(1));
        run(&reader);
        assert_eq!(
            reader.failures(),
            ["stand0: data not checked: cuMemcpyDtoH: CUDA_ERROR_NOT_SUPPORTED (operation not supported)"]
        );
    });
}

/// Why the rail cannot be opened with its buffer in this GPU.
fn no_load(gpu: u32) -> String {
    let mut opening = open(&topology(), &[RailId(0)], &params(Memory::Gpu(gpu)), Role::Reader);
    opening.endpoints().remove(0).unwrap_err().to_string()
}

#[test]
fn a_load_into_a_gpu_that_no_way_reaches_says_what_helps() {
    over_the_stand_ins(&[OLD_VERBS], || {
        assert_eq!(
            no_load(1),
            "stand0: the memory of GPU 1 (Stand-in H100, 0000:1c:00.0) cannot be registered: as a dmabuf: libibverbs has no \
             ibv_reg_dmabuf_mr (rdma-core 34 and later have); through peer memory: ibv_reg_mr: Bad address (os error 14) \
             (module nvidia_peermem is not loaded); either helps: modprobe nvidia-peermem, or rdma-core 34 or later"
        );
    });
}

#[test]
fn a_gpu_that_cannot_do_gpudirect_is_named_as_such() {
    let refused = [("STANDIN_CUDA_NO_DMABUF", "1"), ("STANDIN_CUDA_NO_GPUDIRECT", "1")];
    over_the_stand_ins(&refused, || {
        let said = no_load(1);
        assert!(said.ends_with("(GPUDirect RDMA): take another GPU, or --memory host"), "{said}");
    });
}

#[test]
fn a_load_into_a_gpu_that_is_full_or_not_there_says_so() {
    let small = [("STANDIN_CUDA_MEMORY", "65536")];
    over_the_stand_ins(&small, || {
        let said = no_load(1);
        assert!(
            said.starts_with("stand0: a buffer of 147456 bytes in the memory of GPU 1 (Stand-in H100, 0000:1c:00.0): cuMemAlloc:"),
            "{said}"
        );
        let said = no_load(9);
        assert!(
            said.starts_with("memory of GPU 9: there is no GPU 9: CUDA counts GPU 0 (Stand-in H100"),
            "{said}"
        );
    });
}
