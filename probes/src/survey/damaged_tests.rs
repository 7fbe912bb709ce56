//! Every file of a small node is taken away, or says something odd, one at a time. No number may come of that which
//! the whole node does not have at the same place: what cannot be read is unknown, never 0 and never node 0.

use super::survey;
use super::testing::Tree;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What files have said in life where a number or a word was expected, and what no kernel would say.
const ODD_TEXTS: &[&[u8]] = &[
    b"",
    b"\n",
    b"Unknown\n",
    b"Unknown speed\n",
    b"<unknown>\n",
    b"N/A (no PMA)\n",
    b"(null)\n",
    b"-1\n",
    b"nan\n",
    b"99999999999999999999999999\n",
    b"\xff\xfe\x00\x01\x80",
    b"0-4294967295,-,5-1\n",
];

/// A node whose facts are all unlike 0: the card is on node 1 of 2.
fn node() -> Tree {
    let tree = Tree::with_nic();
    let nic = "sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0";
    for function in [nic, "sys/devices/pci0000:40/0000:40:01.0"] {
        tree.files(function, &[("numa_node", "1\n"), ("local_cpulist", "4-7\n")]);
    }
    tree.file(&format!("{nic}/msi_irqs/64"), "msix\n");
    tree.files("proc/irq/64", &[("smp_affinity_list", "4-7\n"), ("effective_affinity_list", "5\n")]);
    tree.pci("pci0000:50", "0000:51:00.0", "0x020700\n", ("0x15b3\n", "0x1021\n"));
    tree.file("sys/devices/pci0000:50/0000:51:00.0/numa_node", "1\n");
    tree.file("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n").file("dev/infiniband/uverbs0", "");
    let mut config = vec![0_u8; 256];
    config[0x34] = 0x40; // the list of capabilities begins here
    config[0x06] = 0x10; // and there is one
    config[0x40] = 0x10; // PCI Express
    config[0x48..0x4a].copy_from_slice(&0x5950_u16.to_le_bytes()); // device control: reads of 4096, payload of 512
    tree.file(&format!("{nic}/config"), config);
    tree.file("sys/devices/system/node/online", "0-1\n");
    tree.file("sys/devices/system/cpu/possible", "0-7\n").file("sys/devices/system/cpu/online", "0-7\n");
    for (node, cpus, distances) in [(0, "0-3\n", "10 32\n"), (1, "4-7\n", "32 10\n")] {
        let folder = format!("sys/devices/system/node/node{node}");
        let memory = format!("Node {node} MemTotal: 1048576 kB\nNode {node} MemFree: 524288 kB\n");
        tree.files(&folder, &[("cpulist", cpus), ("distance", distances), ("meminfo", &memory)]);
    }
    tree.file("proc/sys/kernel/numa_balancing", "1\n");
    tree.file("proc/sys/kernel/osrelease", "6.1.0\n");
    tree.file(
        "proc/self/limits",
        "Max locked memory         8388608              8388608              bytes\n",
    );
    tree
}

/// The same node, its card's netdev a leg of a bond.
fn node_with_bond() -> Tree {
    let tree = node();
    for leg in ["eth0", "eth1"] {
        tree.link(&format!("sys/class/net/{leg}/master"), "sys/devices/virtual/net/bond0");
        tree.file(&format!("sys/class/net/{leg}/bonding_slave/mii_status"), "up\n");
    }
    let legs = [("mode", "balance-xor 2\n"), ("slaves", "eth0 eth1\n"), ("xmit_hash_policy", "layer3+4 1\n")];
    tree.files("sys/devices/virtual/net/bond0/bonding", &legs);
    tree.link("sys/class/net/bond0", "sys/devices/virtual/net/bond0");
    tree
}

/// Every number of the survey, by the names on the way to it; numbers of a list are together.
fn numbers(value: &Value, path: &str, found: &mut BTreeMap<String, Vec<String>>) {
    match value {
        Value::Number(number) => found.entry(path.to_owned()).or_default().push(number.to_string()),
        Value::Array(values) => values.iter().for_each(|value| numbers(value, path, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                numbers(value, &format!("{path}.{name}"), found);
            }
        }
        _ => {}
    }
}

/// Where the survey says "", by the names on the way to it.
fn empty_strings(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.trim().is_empty() => found.push(path.to_owned()),
        Value::Array(values) => values.iter().for_each(|value| empty_strings(value, path, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                empty_strings(value, &format!("{path}.{name}"), found);
            }
        }
        _ => {}
    }
}

fn facts(tree: &Tree) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    numbers(&serde_json::to_value(survey(&tree.root())).unwrap(), "", &mut found);
    found
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap();
        if kind.is_dir() {
            files(&path, found);
        } else if kind.is_file() {
            found.push(path);
        }
    }
}

/// What is done to a file, in words and in deed.
type Damage<'a> = (&'a str, &'a dyn Fn(&Path));

/// Damages each file in turn and holds every number that is then told against those of the whole node.
fn nothing_new_is_told(damages: &[Damage<'_>]) {
    let tree = node();
    let whole = facts(&tree);
    assert_eq!(whole[".rails.numa_node"], ["1"], "the node is as it was meant: {whole:#?}");
    let mut paths = Vec::new();
    files(tree.root().base(), &mut paths);
    for path in paths {
        let before = fs::read(&path).unwrap();
        for (what, damage) in damages {
            damage(&path);
            for (name, values) in facts(&tree) {
                // another entry of the GID table is recommended, rightly, where the best one cannot be read, and an
                // interrupt is there by its name alone
                let known = whole.get(&name).map_or(&[][..], Vec::as_slice);
                let new: Vec<_> = values.iter().filter(|value| !known.contains(value)).collect();
                assert!(
                    new.is_empty()
                        || [".rails.gid.index", ".rails.interrupts.count"].contains(&name.as_str()),
                    "{what}: {}: {name} is {new:?}, and {known:?} when whole",
                    path.display()
                );
            }
            if path.is_dir() {
                fs::remove_dir_all(&path).unwrap();
            } else if fs::symlink_metadata(&path).is_ok() {
                fs::remove_file(&path).unwrap();
            }
            fs::write(&path, &before).unwrap();
        }
    }
}

#[test]
fn a_file_that_is_missing_makes_no_number() {
    nothing_new_is_told(&[("missing", &|path| fs::remove_file(path).unwrap())]);
}

#[test]
fn a_folder_or_a_loop_in_the_place_of_a_file_makes_no_number() {
    nothing_new_is_told(&[
        ("a folder", &|path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
        ("a loop", &|path| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink(path.file_name().unwrap(), path).unwrap();
        }),
    ]);
}

#[test]
fn a_file_without_end_makes_no_number() {
    // sparse: it takes no room on the disk
    nothing_new_is_told(&[("huge", &|path| fs::File::create(path).unwrap().set_len(1 << 40).unwrap())]);
}

#[test]
fn an_odd_text_makes_no_number() {
    for text in ODD_TEXTS {
        let what = String::from_utf8_lossy(text).into_owned();
        nothing_new_is_told(&[(&what, &|path| fs::write(path, text).unwrap())]);
    }
}

#[test]
fn a_card_that_is_gone_in_the_middle_of_a_survey_makes_gaps_and_no_panic() {
    let whole = facts(&node());
    for probes_before in 0..=super::ALL.len() {
        let tree = node();
        let mut topology = crate::model::Topology::default();
        for (at, probe) in super::ALL.iter().enumerate() {
            if at == probes_before {
                tree.remove("sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0");
            }
            // a probe that cannot work at all is noted by the survey
            let _ = probe.survey(&tree.root(), &mut topology);
        }
        let mut found = BTreeMap::new();
        numbers(&serde_json::to_value(&topology).unwrap(), "", &mut found);
        for (name, values) in found {
            let known = whole.get(&name).map_or(&[][..], Vec::as_slice);
            let new: Vec<_> = values.iter().filter(|value| !known.contains(value)).collect();
            assert!(new.is_empty(), "gone before probe {probes_before}: {name} is {new:?}, not {known:?}");
        }
    }
}

#[test]
fn an_empty_text_makes_no_empty_string() {
    let tree = node_with_bond();
    let mut paths = Vec::new();
    files(tree.root().base(), &mut paths);
    for path in paths {
        let before = fs::read(&path).unwrap();
        for text in ["", "\n", "4:\n", "0x\n"] {
            fs::write(&path, text).unwrap();
            let mut empty = Vec::new();
            empty_strings(&serde_json::to_value(survey(&tree.root())).unwrap(), "", &mut empty);
            // a node may be known to have no CPUs
            empty.retain(|name| name != ".numa.cpus");
            assert!(empty.is_empty(), "{text:?}: {}: {empty:?} is \"\"", path.display());
        }
        fs::write(&path, before).unwrap();
    }
}
