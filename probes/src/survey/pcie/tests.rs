use super::super::pci_config::tests::config;
use super::{Pcie, gt_per_s};
use crate::model::{PciePath, Topology};
use crate::survey::Probe;
use crate::survey::rails::Rails;
use crate::survey::testing::Tree;

const NIC: &str = "sys/bus/pci/devices/0000:41:00.0";
const PORT: &str = "sys/bus/pci/devices/0000:40:01.0";

fn survey(tree: &Tree) -> (PciePath, Vec<String>) {
    let mut topology = Topology::default();
    Rails.survey(&tree.root(), &mut topology).unwrap();
    Pcie.survey(&tree.root(), &mut topology).unwrap();
    let reasons = topology.gaps.into_iter().map(|gap| gap.reason).collect();
    (topology.rails.remove(0).pcie.unwrap(), reasons)
}

#[test]
fn old_and_new_texts_of_the_same_speed_are_equal() {
    for (text, rate) in [
        ("8 GT/s", Some(8.0)),
        ("8.0 GT/s PCIe", Some(8.0)),
        ("2.5 GT/s", Some(2.5)),
        ("64.0 GT/s PCIe", Some(64.0)),
        ("Unknown", None),
        ("Unknown speed", None),
        ("", None),
        ("inf GT/s", None),
        ("-1 GT/s", None),
        ("400 Gb/sec", None),
    ] {
        assert_eq!(gt_per_s(text), rate, "{text}");
    }
}

#[test]
fn a_card_on_a_root_port_has_one_hop_with_both_ends() {
    let tree = Tree::with_nic();
    tree.file(&format!("{PORT}/max_link_width"), "8\n").file(&format!("{NIC}/current_link_width"), "8\n");
    let (path, _) = survey(&tree);
    let [hop] = path.hops.as_slice() else { panic!("{:?}", path.hops) };
    assert_eq!((hop.address.as_str(), hop.upstream.as_deref()), ("0000:41:00.0", Some("0000:40:01.0")));
    assert_eq!((hop.current_gt_per_s, hop.current_width), (Some(32.0), Some(8)));
    assert_eq!((hop.max_width, hop.upstream_max_width), (Some(16), Some(8)));
}

#[test]
fn a_switch_s_inner_side_is_no_link() {
    let tree = Tree::new();
    let bridge = ("0x1000\n", "0xc030\n");
    let root_port = tree.pci("pci0000:15", "0000:15:01.0", "0x060400\n", bridge);
    let up = tree.pci(&root_port, "0000:16:00.0", "0x060400\n", bridge);
    let down = tree.pci(&up, "0000:17:02.0", "0x060400\n", bridge);
    let nic = tree.pci(&down, "0000:1a:00.0", "0x020000\n", ("0x15b3\n", "0x1021\n"));
    let folder = format!("sys/devices/{nic}");
    tree.rdma_device(&format!("{folder}/infiniband/mlx5_0"), "mlx5_0", "eth0");
    tree.link(&format!("{folder}/infiniband/mlx5_0/device"), &folder);
    let (path, _) = survey(&tree);
    let ends: Vec<_> =
        path.hops.iter().map(|h| (h.address.as_str(), h.upstream.as_deref().unwrap())).collect();
    assert_eq!(ends, [("0000:1a:00.0", "0000:17:02.0"), ("0000:16:00.0", "0000:15:01.0")]);
}

#[test]
fn unknown_speed_and_width_0_are_none_with_a_gap() {
    let tree = Tree::with_nic();
    tree.files(
        NIC,
        &[
            ("current_link_speed", "Unknown\n"),
            ("current_link_width", "0\n"),
            ("max_link_speed", "Unknown speed\n"),
        ],
    )
    .remove(&format!("{NIC}/max_link_width"));
    let (path, reasons) = survey(&tree);
    let hop = &path.hops[0];
    assert_eq!((hop.current_gt_per_s, hop.current_width), (None, None));
    assert_eq!((hop.max_gt_per_s, hop.max_width), (None, None));
    assert_eq!(hop.upstream_max_width, Some(16));
    for reason in [
        "current_link_speed: says `Unknown`",
        "current_link_width: says `0`",
        "max_link_speed: says `Unknown speed`",
        "max_link_width: no such file",
        "config: no such file",
    ] {
        assert!(reasons.iter().any(|r| r == reason), "{reason} not in {reasons:?}");
    }
}

#[test]
fn config_space_tells_what_root_may_see() {
    let tree = Tree::with_nic();
    tree.file(&format!("{NIC}/config"), config());
    let (path, reasons) = survey(&tree);
    assert_eq!((path.max_read_request_bytes, path.relaxed_ordering), (Some(4096), Some(true)));
    assert_eq!(path.hops[0].max_payload_bytes, Some(512));
    // the files win where they are there
    assert_eq!(path.hops[0].current_width, Some(16));
    assert_eq!(reasons, [""; 0]);
}

#[test]
fn config_space_stands_in_for_the_link_files_of_old_kernels() {
    let tree = Tree::with_nic();
    tree.file(&format!("{NIC}/config"), config());
    for file in ["current_link_speed", "current_link_width", "max_link_speed", "max_link_width"] {
        tree.remove(&format!("{NIC}/{file}"));
    }
    let (path, reasons) = survey(&tree);
    assert_eq!((path.hops[0].current_gt_per_s, path.hops[0].current_width), (Some(16.0), Some(8)));
    assert_eq!((path.hops[0].max_gt_per_s, path.hops[0].max_width), (Some(32.0), Some(16)));
    assert_eq!(reasons, [""; 0]);
}

#[test]
fn a_captured_lspci_stands_in_for_config_space() {
    let tree = Tree::with_nic();
    tree.file(&format!("{NIC}/config"), [0; 64]).file(
            "captured/lspci-vvv",
            "41:00.0 Ethernet controller: a card\n\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\
             \t\tDevCtl:\tCorrErr+\n\t\t\tRlxdOrd+ ExtTag+\n\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n",
        );
    let (path, reasons) = survey(&tree);
    assert_eq!((path.max_read_request_bytes, path.relaxed_ordering), (Some(512), Some(true)));
    assert_eq!(path.hops[0].max_payload_bytes, Some(256));
    assert_eq!(reasons, [""; 0]);
}

#[test]
fn a_reader_without_rights_is_told_that_root_sees_more() {
    let tree = Tree::with_nic();
    tree.file(&format!("{NIC}/config"), [0; 64]);
    let (path, reasons) = survey(&tree);
    assert_eq!((path.max_read_request_bytes, path.relaxed_ordering), (None, None));
    assert!(reasons.iter().any(|r| r.contains("root sees MaxReadReq")), "{reasons:?}");
}

#[test]
fn a_guest_s_virtual_function_has_no_settings_of_its_own() {
    let tree = Tree::with_nic();
    tree.file(&format!("{NIC}/device"), "0x101e\n").file(&format!("{NIC}/config"), config());
    let (path, reasons) = survey(&tree);
    assert_eq!((path.max_read_request_bytes, path.relaxed_ordering), (None, None));
    assert_eq!(path.hops[0].max_payload_bytes, None);
    assert!(reasons.iter().any(|reason| reason.starts_with("config: a virtual function's")), "{reasons:?}");
}

#[test]
fn a_virtual_function_on_the_host_has_the_link_of_its_physical_one() {
    let tree = Tree::with_nic();
    let vf = tree.pci("pci0000:40/0000:40:01.0", "0000:41:00.2", "0x020000\n", ("0x15b3\n", "0x101e\n"));
    let folder = format!("sys/devices/{vf}");
    tree.files(&folder, &[("current_link_speed", "Unknown\n"), ("current_link_width", "0\n")]);
    tree.link(&format!("{folder}/physfn"), "sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0");
    tree.rdma_device(&format!("{folder}/infiniband/a0"), "a0", "eth1");
    tree.link(&format!("{folder}/infiniband/a0/device"), &folder);
    let (path, _) = survey(&tree);
    assert_eq!((path.address.as_str(), path.hops[0].address.as_str()), ("0000:41:00.2", "0000:41:00.2"));
    assert_eq!((path.hops[0].current_gt_per_s, path.hops[0].current_width), (Some(32.0), Some(16)));
}
