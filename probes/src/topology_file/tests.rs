//! Small files of both kinds, and files that are none.

use super::{NcclXml, of_text, read};
use crate::model::{DrawnBy, PathClass, Topology};

/// Two nodes; a GPU and a rail below one switch, and a rail on the other node's root.
const NCCL: &str = r#"<?xml version="1.0"?>
<!-- made by hand -->
<system version="1">
  <cpu numaid="0" affinity="00000000,0000000f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:05:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:0C:00.0" class="0x030200" vendor="0x10de" device="0x2335" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1"/>
      </pci>
      <pci busid="0000:07:00.0" class="0x020700" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0xf2bb2700034b6b50" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="00000001,000000f0">
    <pci busid="0000:61:00.0" class="0x020000" link_speed="16 GT/s" link_width="8">
      <nic><net name="mlx5_10" dev="1" speed="100000" port="2"/></nic>
    </pci>
    <pci busid="0000:62:00.0" class="0x020000" link_speed="" link_width="0"/>
  </cpu>
</system>"#;

fn reasons(topology: &Topology) -> String {
    topology.gaps.iter().map(|gap| format!("{}: {}", gap.subject, gap.reason)).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_nccl_file_tells_nodes_rails_gpus_and_links() {
    let topology = of_text(NCCL).unwrap();
    let cpus: Vec<String> = topology.numa.iter().map(|n| n.cpus.as_ref().unwrap().to_string()).collect();
    assert_eq!(cpus, ["0-3", "4-7,32"]);
    let (_, rail) = topology.rail("mlx5_0").unwrap();
    assert_eq!((rail.numa_node, rail.line_gbit_per_s, rail.port), (Some(0), Some(400.0), 1));
    assert_eq!(rail.system_image_guid.as_deref(), Some("506b:4b03:0027:bbf2"));
    let path = rail.pcie.as_ref().unwrap();
    let hops: Vec<_> =
        path.hops.iter().map(|hop| (hop.address.as_str(), hop.max_gt_per_s, hop.max_width)).collect();
    assert_eq!(hops, [("0000:07:00.0", Some(32.0), Some(16)), ("0000:05:00.0", Some(32.0), Some(16))]);
    let (_, other) = topology.rail("mlx5_10").unwrap();
    assert_eq!((other.numa_node, other.port, other.state.as_deref()), (Some(1), 2, None));
    assert_eq!(topology.drawn_by, Some(DrawnBy::Nccl));
    let gpu = &topology.gpus[0];
    assert_eq!(
        (gpu.name.as_str(), gpu.pcie.address.as_str(), gpu.numa_node),
        ("gpu0", "0000:0c:00.0", Some(0))
    );
    assert_eq!(gpu.path_to("mlx5_0").unwrap().class, Some(PathClass::Pix));
    assert_eq!(gpu.path_to("mlx5_10").unwrap().class, Some(PathClass::Sys));
    let said = reasons(&topology);
    assert!(said.contains("0000:62:00.0: RDMA device: the file names none"), "{said}");
    assert!(said.contains("GID tables"), "{said}");
}

#[test]
fn what_a_cloud_ships_names_cards_but_no_devices() {
    let text = r#"<system version="1"><cpu numaid="3" affinity="ffffff00,00000000">
        <pci busid="ffff:ff:04.0" class="0x060400" link_speed="16 GT/s" link_width="16">
          <pci busid="000b:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
          <pci busid="0105:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
        </pci></cpu></system>"#;
    let topology = of_text(text).unwrap();
    assert_eq!((topology.rails.len(), topology.gpus.len()), (0, 1));
    assert_eq!(topology.numa[0].cpus.as_ref().unwrap().to_string(), "40-63");
    assert!(reasons(&topology).contains("0105:00:00.0"));
}

#[test]
fn an_unknown_node_is_none_and_never_0() {
    let text = r#"<system version="1"><cpu numaid="-1" affinity="ff"><pci busid="0000:01:00.0" class="0x020000"
        link_speed="Unknown" link_width="0"><nic><net name="a" port="1" speed="-1"/></nic></pci></cpu></system>"#;
    let topology = of_text(text).unwrap();
    let rail = &topology.rails[0];
    assert_eq!((rail.numa_node, rail.line_gbit_per_s), (None, None));
    let hop = &rail.pcie.as_ref().unwrap().hops[0];
    assert_eq!((hop.current_gt_per_s, hop.current_width, hop.max_width), (None, None, None));
    assert!(reasons(&topology).contains("numaid: says `-1`"));
}

#[test]
fn a_path_that_is_not_known_says_why() {
    let bare = r#"<pci busid="0000:63:00.0" class="0x030200" vendor="0x10de"/><pci busid="0000:62:00.0""#;
    let topology = of_text(&NCCL.replace(r#"<pci busid="0000:62:00.0""#, bare)).unwrap();
    let gpu = topology.gpus.iter().find(|gpu| gpu.pcie.address == "0000:63:00.0").unwrap();
    assert_eq!(gpu.path_to("mlx5_10").unwrap().class, None);
    let said = reasons(&topology);
    let why = "gpu1: path to mlx5_10: no switch is shared, and host bridges are not in such a file";
    assert!(said.contains(why), "{said}");
}

#[test]
fn a_pipe_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe.xml");
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
    assert!(read(&pipe).unwrap_err().to_string().contains("is no file but a pipe or a device"));
}

#[test]
fn what_is_written_for_nccl_reads_back_the_same() {
    let first = of_text(NCCL).unwrap();
    let written = NcclXml(&first).to_string();
    let mut second = of_text(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    let mut expected = first;
    // a card without a device is no part of a topology
    expected.gaps.retain(|gap| !gap.subject.starts_with("0000:62"));
    second.gaps.sort();
    assert_eq!(second, expected, "{written}");
}

#[test]
fn hostile_names_stay_in_their_attributes() {
    let mut topology = of_text(NCCL).unwrap();
    topology.rails[0].device = "a\"/><evil b='".into();
    let again = of_text(&NcclXml(&topology).to_string()).unwrap();
    assert!(again.rails.iter().any(|rail| rail.device == "a\"/><evil b='"));
}

#[test]
fn files_that_are_none_end_in_one_line() {
    let deep = "<system>".to_owned() + &"<cpu>".repeat(300) + &"</cpu>".repeat(300) + "</system>";
    let bomb = "<!DOCTYPE system [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">\
                <!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;\">]><system>&d;&d;&d;&d;&d;&d;&d;&d;</system>";
    for (text, says) in [
        ("", "no XML"),
        ("<system>", "no XML"),
        ("<svg/>", "its first element is <svg>"),
        ("<system/>", "holds no CPU, network card or GPU"),
        (deep.as_str(), "elements inside each other"),
        (bomb, ""),
    ] {
        let error = of_text(text).unwrap_err();
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("noise.xml");
    std::fs::write(&file, [0xff, 0xd8, 0, 1]).unwrap();
    assert!(read(&file).unwrap_err().to_string().ends_with("noise.xml: is no text (UTF-8), so it is no XML"));
    std::fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
    assert!(read(&file).unwrap_err().to_string().contains("is larger than"));
    assert!(read(&dir.path().join("none")).unwrap_err().to_string().ends_with("none: no such file"));
}

#[cfg(feature = "hwloc")]
mod of_hwloc {
    use super::super::{hwloc_xml, hwloc_xml_of_this_machine, of_text};
    use super::reasons;
    use crate::model::LinkLayer;

    /// Two packages with a node each; an InfiniBand card behind a switch on the second, whose bus number is low.
    const HWLOC: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" allowed_cpuset="0x0000000f" nodeset="0x00000003" complete_nodeset="0x00000003" allowed_nodeset="0x00000003" gp_index="1">
    <info name="HostName" value="n7"/>
    <info name="OSRelease" value="6.1.0"/>
    <object type="Package" os_index="0" cpuset="0x00000005" complete_cpuset="0x00000005" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2">
      <info name="CPUModel" value="EPYC 9654"/>
      <object type="NUMANode" os_index="0" cpuset="0x00000005" complete_cpuset="0x00000005" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3" local_memory="1073741824"/>
      <object type="Core" os_index="0" cpuset="0x00000005" complete_cpuset="0x00000005" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4">
        <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="5"/>
        <object type="PU" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="6"/>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000a" complete_cpuset="0x0000000a" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="7">
      <object type="NUMANode" os_index="1" cpuset="0x0000000a" complete_cpuset="0x0000000a" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="8" local_memory="2147483648"/>
      <object type="Core" os_index="1" cpuset="0x0000000a" complete_cpuset="0x0000000a" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="9">
        <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="10"/>
        <object type="PU" os_index="3" cpuset="0x00000008" complete_cpuset="0x00000008" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="11"/>
      </object>
      <object type="Bridge" gp_index="12" bridge_type="0-1" depth="0" bridge_pci="0000:[00-0f]">
        <object type="Bridge" gp_index="13" bridge_type="1-1" depth="1" bridge_pci="0000:[02-08]" pci_busid="0000:00:03.0" pci_type="0604 [8086:6f08] [0000:0000] 01" pci_link_speed="15.753846">
          <object type="Bridge" gp_index="14" bridge_type="1-1" depth="2" bridge_pci="0000:[03-08]" pci_busid="0000:02:00.0" pci_type="0604 [10b5:8747] [10b5:8747] ca" pci_link_speed="15.753846">
            <object type="Bridge" gp_index="15" bridge_type="1-1" depth="3" bridge_pci="0000:[08-08]" pci_busid="0000:03:14.0" pci_type="0604 [10b5:8747] [10b5:8747] ca" pci_link_speed="7.876923">
              <object type="PCIDev" gp_index="16" pci_busid="0000:08:00.0" pci_type="0207 [15b3:1017] [15b3:0003] 00" pci_link_speed="7.876923">
                <object type="OSDev" gp_index="17" name="ib0" osdev_type="2">
                  <info name="Address" value="00:00:10:29:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:00:01"/>
                  <info name="Port" value="1"/>
                </object>
                <object type="OSDev" gp_index="18" name="mlx5_0" osdev_type="3">
                  <info name="NodeGUID" value="0000:0000:0000:0001"/>
                  <info name="SysImageGUID" value="0000:0000:0000:0002"/>
                  <info name="Port1State" value="4"/>
                  <info name="Port1LID" value="0x9a"/>
                  <info name="Port1LMC" value="0"/>
                  <info name="Port1GID0" value="fe80:0000:0000:0000:0000:0000:0000:0001"/>
                </object>
              </object>
            </object>
          </object>
        </object>
      </object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" indexing="os">
    <indexes length="4">0 1 </indexes>
    <u64values length="12">10 32 32 10 </u64values>
  </distances2>
</topology>
"#;

    #[test]
    fn an_hwloc_file_tells_nodes_distances_and_where_each_port_sits() {
        let topology = of_text(HWLOC).unwrap();
        let cpus: Vec<String> = topology.numa.iter().map(|n| n.cpus.as_ref().unwrap().to_string()).collect();
        assert_eq!(cpus, ["0,2", "1,3"]);
        assert_eq!((topology.distance(0, 1), topology.distance(1, 1)), (Some(32), Some(10)));
        assert_eq!(topology.node(1).unwrap().memory_bytes, Some(2_147_483_648));
        assert_eq!((topology.host.hostname.as_deref(), topology.host.sockets), (Some("n7"), Some(2)));
        let (_, rail) = topology.rail("mlx5_0").unwrap();
        assert_eq!((rail.numa_node, rail.netdev.as_deref()), (Some(1), Some("ib0")));
        assert_eq!((rail.state.as_deref(), rail.lid), (Some("ACTIVE"), Some(0x9a)));
        assert_eq!((rail.link_layer, rail.gids.len()), (Some(LinkLayer::InfiniBand), 1));
        assert_eq!(rail.gid.as_ref().unwrap().reason, "InfiniBand: the port's own GID");
        let path = rail.pcie.as_ref().unwrap();
        let hops: Vec<_> = path
            .hops
            .iter()
            .map(|hop| {
                (hop.address.as_str(), hop.upstream.as_deref().unwrap(), hop.raw_gb_per_s.unwrap().round())
            })
            .collect();
        assert_eq!(hops, [("0000:08:00.0", "0000:03:14.0", 8.0), ("0000:02:00.0", "0000:00:03.0", 16.0)]);
        assert_eq!((path.hops[0].current_gt_per_s, path.hops[0].current_width), (None, None));
    }

    #[test]
    fn a_memory_only_node_has_no_cpus_though_hwloc_names_those_near_it() {
        let first = "nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\" gp_index=\"3\" local_memory=\"1073741824\"/>";
        let second = "<object type=\"NUMANode\" os_index=\"2\" cpuset=\"0x00000005\" complete_cpuset=\"0x00000005\" \
                      nodeset=\"0x00000004\" complete_nodeset=\"0x00000004\" gp_index=\"99\" local_memory=\"4096\"/>";
        let text = HWLOC
            .replace(first, &format!("{first}{second}"))
            .replace("0x00000003\"", "0x00000007\"")
            .replace(
                "nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\" gp_index=\"2\"",
                "nodeset=\"0x00000005\" complete_nodeset=\"0x00000005\" gp_index=\"2\"",
            );
        let topology = of_text(&text).unwrap();
        let cpus: Vec<String> = topology.numa.iter().map(|n| n.cpus.as_ref().unwrap().to_string()).collect();
        assert_eq!(cpus, ["0,2", "1,3", ""]);
        assert!(reasons(&topology).contains("node 2: cpus: 0,2 are near"), "{}", reasons(&topology));
    }

    #[test]
    fn a_card_below_the_whole_machine_has_no_node() {
        let whole = "<object type=\"Bridge\" gp_index=\"12\"";
        let (before, after) = HWLOC.split_once(whole).unwrap();
        let (bridge, rest) = after.split_once("\n      </object>\n    </object>\n  </object>\n").unwrap();
        let moved = format!("{before}</object>{whole}{bridge}</object></object>{rest}");
        let topology = of_text(&moved).unwrap();
        assert_eq!(topology.rails[0].numa_node, None);
        assert!(reasons(&topology).contains("mlx5_0: numa_node: hwloc puts it under nodes 0-1 together"));
    }

    #[test]
    fn a_newer_version_is_refused_with_what_to_do() {
        let newer = HWLOC.replace("<topology version=\"2.0\">", "<topology version=\"9.0\">");
        let error = of_text(&newer).unwrap_err();
        assert!(error.starts_with("is hwloc XML of version 9.0, and this build has hwloc "), "{error}");
        assert!(error.contains("lstopo --export-xml-flags v"), "{error}");
    }

    #[test]
    fn a_file_that_hwloc_refuses_is_refused_in_words_for_people() {
        let error = of_text("<topology version=\"2.0\"><object type=\"Nonsense\"/></topology>").unwrap_err();
        assert!(error.starts_with("hwloc cannot make a topology of it: "), "{error}");
        assert!(error.contains("lstopo -i FILE.xml") && !error.contains("Errno"), "{error}");
    }

    #[test]
    fn a_port_that_is_down_has_no_gid_to_recommend() {
        let down = HWLOC.replace("\"Port1State\" value=\"4\"", "\"Port1State\" value=\"1\"");
        assert_eq!(of_text(&down).unwrap().rails[0].gid, None);
    }

    #[test]
    fn what_is_written_for_hwloc_reads_back_the_same() {
        let first = of_text(HWLOC).unwrap();
        let written = hwloc_xml(&first).unwrap();
        assert_eq!(of_text(&written).unwrap(), first, "{written}");
    }

    #[test]
    fn a_node_without_cpus_and_a_rail_of_unknown_node_are_written_as_such() {
        let mut topology = of_text(HWLOC).unwrap();
        topology.numa[0].cpus = Some("0-3".parse().unwrap());
        topology.numa[1].cpus = Some("".parse().unwrap());
        topology.numa[1].socket = None;
        topology.rails[0].numa_node = None;
        let written = hwloc_xml(&topology).unwrap();
        let again = of_text(&written).unwrap();
        let cpus: Vec<String> = again.numa.iter().map(|n| n.cpus.as_ref().unwrap().to_string()).collect();
        assert_eq!(cpus, ["0-3", ""], "{written}");
        assert_eq!((again.rails[0].numa_node, again.distance(0, 1)), (None, Some(32)), "{written}");
    }

    #[test]
    fn a_machine_whose_cpus_are_unknown_is_not_written() {
        let mut topology = of_text(HWLOC).unwrap();
        topology.numa[1].cpus = None;
        assert!(hwloc_xml(&topology).unwrap_err().contains("CPUs of node 1 are unknown"));
        topology.numa[1].cpus = Some("2-3".parse().unwrap());
        assert_eq!(hwloc_xml(&topology).unwrap_err(), "CPU 2 is of node 0 and of node 1 as well");
        topology.numa[1].node = u32::MAX;
        assert!(hwloc_xml(&topology).unwrap_err().contains("a number that none has"));
    }

    #[test]
    fn this_machine_is_written_as_hwloc_sees_it() {
        let (text, remark) = hwloc_xml_of_this_machine().unwrap();
        if remark.is_none() {
            let here = crate::survey::survey(&crate::root::Root::live());
            assert_eq!(of_text(&text).unwrap().host.hostname, here.host.hostname);
        }
    }

    #[test]
    fn a_topology_without_objects_is_refused() {
        assert!(of_text("<topology version=\"2.0\"></topology>").unwrap_err().starts_with("hwloc cannot"));
    }
}
