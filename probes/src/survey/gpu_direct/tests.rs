//! What makes each way ready, and what it lacks.

use super::{GpuDirect, version};
use crate::model::{Gpu, Host, Readiness, Topology};
use crate::survey::Probe;
use crate::survey::testing::Tree;

const OPEN: &str = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build\n";
const PROPRIETARY: &str =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n";

fn host(kernel: &str, rdma_core: &str) -> Host {
    Host { kernel: Some(kernel.into()), rdma_core: Some(rdma_core.into()), ..Host::default() }
}

fn ways(tree: &Tree, host: Host, driver: Option<&str>) -> [Readiness; 2] {
    let gpu = Gpu { name: "gpu0".into(), driver: driver.map(str::to_owned), ..Gpu::default() };
    let mut topology = Topology { host, gpus: vec![gpu], ..Topology::default() };
    GpuDirect.survey(&tree.root(), &mut topology).unwrap();
    let gpu = topology.gpus.remove(0);
    let ways = [gpu.peermem.unwrap(), gpu.dmabuf.unwrap()];
    let unknown = ways.iter().filter(|way| way.ready.is_none()).count();
    assert_eq!(topology.gaps.len(), unknown, "what is unknown is a gap: {:?}", topology.gaps);
    ways
}

fn node(version: &str) -> Tree {
    let tree = Tree::new();
    tree.file("proc/driver/nvidia/version", version)
        .file("proc/modules", "ib_uverbs 163840 0 - Live 0x0\nnvidia 180224 1 - Live 0x0\n");
    tree
}

#[test]
fn a_loaded_peermem_module_is_ready_and_a_missing_one_is_named() {
    let tree = node(PROPRIETARY);
    let peermem = |tree: &Tree| ways(tree, host("5.15.0-105-generic", "44.0"), Some("nvidia"))[0].clone();
    assert_eq!(
        (peermem(&tree).ready, peermem(&tree).reason.as_str()),
        (Some(false), "module nvidia_peermem is not loaded")
    );
    tree.file("sys/module/nvidia_peermem/refcnt", "0\n");
    assert_eq!(peermem(&tree).ready, Some(true));
    tree.remove("sys/module/nvidia_peermem").file("sys/kernel/mm/memory_peers/nv_mem/version", "1.3\n");
    assert_eq!(
        (peermem(&tree).ready, peermem(&tree).reason.as_str()),
        (Some(true), "/sys/kernel/mm/memory_peers/nv_mem is there")
    );
}

#[test]
fn dmabuf_needs_the_open_module_a_kernel_and_a_library_that_are_new_enough() {
    let dmabuf = |tree: &Tree, kernel: &str, library: &str| {
        let [_, dmabuf] = ways(tree, host(kernel, library), Some("nvidia"));
        (dmabuf.ready, dmabuf.reason)
    };
    let tree = node(OPEN);
    for (kernel, library, ready, reason) in [
        ("6.1.0-13-amd64", "44.0", Some(true), "550.54.15 (open kernel module), kernel 6.1.0-13-amd64"),
        ("5.10.0-28-amd64", "44.0", Some(false), "older than 5.12"),
        ("4.18.0-553.el8_10.x86_64", "48.0", None, "may be newer"),
        ("6.1.0-13-amd64", "33.1", Some(false), "rdma-core 33.1 is older than 34"),
    ] {
        let found = dmabuf(&tree, kernel, library);
        assert!(found.0 == ready && found.1.contains(reason), "{kernel} {library}: {found:?}");
    }
    let (ready, reason) = dmabuf(&node(PROPRIETARY), "6.1.0-13-amd64", "44.0");
    assert!(ready == Some(false) && reason.contains("needs the open one"), "{reason}");
    let old =
        dmabuf(&node("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  470.1  x\n"), "6.1.0", "44.0");
    assert_eq!(old, (Some(false), "nvidia 470.1 is older than 515".to_owned()));
}

#[test]
fn without_the_driver_s_text_its_taint_tells_and_without_both_nothing_is_known() {
    let tree = Tree::new();
    tree.files(
        "sys/module",
        &[("nvidia/taint", "POE\n"), ("nvidia/version", "535.104.05\n"), ("ib_uverbs/x", "")],
    );
    let dmabuf = |tree: &Tree| ways(tree, host("6.1.0", "44.0"), Some("nvidia"))[1].clone();
    assert!(dmabuf(&tree).reason.contains("535.104.05 is the proprietary"), "{:?}", dmabuf(&tree));
    tree.file("sys/module/nvidia/taint", "OE\n");
    assert_eq!(dmabuf(&tree).ready, Some(true));
    tree.remove("sys/module/nvidia/taint");
    assert_eq!(dmabuf(&tree).ready, None);
    assert_eq!(ways(&Tree::new(), Host::default(), Some("nvidia"))[0].ready, None, "no list of modules");
}

#[test]
fn amdgpu_is_its_own_peer_and_its_dmabuf_hangs_on_the_kernel_s_build() {
    let tree = Tree::new();
    tree.file("sys/class/infiniband_verbs/abi_version", "6\n");
    let look = |tree: &Tree| ways(tree, host("6.8.0", "50.0"), Some("amdgpu"));
    assert_eq!(look(&tree).map(|way| way.ready), [None, None]);
    tree.file("sys/kernel/memory_peers/amdkfd/version", "1\n")
        .file("boot/config-6.8.0", "CONFIG_PCI_P2PDMA=y\n# CONFIG_DMABUF_MOVE_NOTIFY is not set\n");
    let [peermem, dmabuf] = look(&tree);
    assert_eq!((peermem.ready, dmabuf.ready), (Some(true), Some(false)));
    assert_eq!(dmabuf.reason, "the kernel was built without CONFIG_DMABUF_MOVE_NOTIFY");
    tree.file("boot/config-6.8.0", "CONFIG_PCI_P2PDMA=y\nCONFIG_DMABUF_MOVE_NOTIFY=y\n");
    assert_eq!(look(&tree)[1].ready, Some(true));
}

#[test]
fn a_gpu_of_a_guest_gives_nothing_here() {
    let tree = node(OPEN);
    let ready = |driver| ways(&tree, host("6.1.0", "44.0"), driver).map(|way| way.ready);
    assert_eq!(ready(Some("vfio-pci")), [Some(false), Some(false)]);
    assert_eq!(ready(None), [None, None]);
}

#[test]
fn versions_are_compared_as_numbers() {
    for (text, numbers) in
        [("5.15.0-105-generic", Some((5, 15))), ("44.0", Some((44, 0))), ("6", Some((6, 0))), ("x", None)]
    {
        assert_eq!(version(text), numbers, "{text}");
    }
}
