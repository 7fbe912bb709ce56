//! `--topology FILE` as people and scripts use it: topologies that hwloc and NCCL wrote.

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const NCCL: &str = r#"<system version="1">
  <cpu numaid="0" affinity="0000000f"/>
  <cpu numaid="1" affinity="000000f0">
    <pci busid="0000:61:00.0" class="0x020000" vendor="0x15b3" device="0x1021" link_speed="16 GT/s" link_width="8">
      <nic><net name="mlx5_0" dev="0" speed="400000" port="1"/></nic>
    </pci>
  </cpu>
</system>"#;

fn file(dir: &Path, name: &str, text: &str) -> PathBuf {
    let file = dir.join(name);
    fs::write(&file, text).unwrap();
    file
}

fn railscope(args: &[&str], file: &Path) -> assert_cmd::assert::Assert {
    let mut command = Command::cargo_bin("railscope").unwrap();
    command.args(args).arg("--topology").arg(file).assert()
}

fn stdout(done: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

#[test]
fn a_file_is_described_judged_and_exported() {
    let dir = tempfile::tempdir().unwrap();
    let file = file(dir.path(), "nccl.xml", NCCL);
    let json: Value = serde_json::from_str(&stdout(&railscope(&["probe", "--json"], &file).code(0))).unwrap();
    let rail = &json["rails"][0];
    assert_eq!((&rail["device"], &rail["numa_node"]), (&"mlx5_0".into(), &1.into()));
    assert_eq!((&rail["line_gbit_per_s"], &rail["rx_gb_per_s"]), (&400.0.into(), &Value::Null));
    assert_eq!(rail["pcie"]["max_width"], 8);
    assert_eq!(rail["state"], Value::Null);

    let check = stdout(&railscope(&["check", "--json", "--fail-on", "info"], &file).code(1));
    let report: Value = serde_json::from_str(&check).unwrap();
    let codes: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"pcie-limit") && !codes.contains(&"counter-na"), "{codes:?}");

    let env = stdout(&railscope(&["export", "--format", "env"], &file).code(0));
    assert!(env.contains("ON_mlx5_0='numactl --cpunodebind=1 --membind=1'"), "{env}");
    assert!(env.contains("# NCCL_IB_GID_INDEX: not set: no GID table is known"), "{env}");
}

#[test]
fn what_is_written_for_nccl_reads_back_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let first = file(dir.path(), "first.xml", NCCL);
    let written = stdout(&railscope(&["export", "--format", "nccl-xml"], &first).code(0));
    let second = file(dir.path(), "second.xml", &written);
    let probe = |file: &Path| stdout(&railscope(&["probe", "--json"], file).code(0));
    assert_eq!(probe(&first), probe(&second), "{written}");
}

#[test]
fn a_file_that_is_of_no_use_ends_with_2_and_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let newer = file(dir.path(), "newer.xml", "<topology version=\"9.0\"></topology>");
    let broken = file(dir.path(), "broken.xml", "<topology version=\"2.0\"><object></topology>");
    let other = file(dir.path(), "other.xml", "<html/>");
    let bare =
        file(dir.path(), "bare.xml", "<system version=\"1\"><cpu numaid=\"0\" affinity=\"f\"/></system>");
    let says = |args: &[&str], file: &Path| {
        let done = railscope(args, file).code(2);
        let stderr = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        stderr
    };
    assert!(says(&["probe"], &newer).contains("hwloc XML"));
    assert!(says(&["check"], &broken).contains("is no XML that can be read"));
    assert!(says(&["export", "--format", "env"], &other).contains("its first element is <html>"));
    assert!(says(&["probe"], &dir.path().join("none.xml")).contains("none.xml: no such file"));
    // a file without rails can be looked at, and not judged
    railscope(&["probe"], &bare).code(0);
    assert!(says(&["check"], &bare).contains("names no RDMA device"));
}

#[test]
fn what_is_written_for_hwloc_says_where_the_same_things_sit() {
    let dir = tempfile::tempdir().unwrap();
    let first = file(dir.path(), "first.xml", NCCL);
    let done = railscope(&["export", "--format", "hwloc-xml"], &first);
    if done.get_output().status.code() == Some(2) {
        let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(said.contains("this build has no hwloc"), "{said}");
        return;
    }
    let second = file(dir.path(), "second.xml", &stdout(&done));
    let json: Value =
        serde_json::from_str(&stdout(&railscope(&["probe", "--json"], &second).code(0))).unwrap();
    let rail = &json["rails"][0];
    assert_eq!((&rail["device"], &rail["numa_node"]), (&"mlx5_0".into(), &1.into()));
    assert_eq!(rail["pcie"]["address"], "0000:61:00.0");
    assert_eq!(json["numa"][1]["cpus"], "4-7");
}

#[test]
fn a_file_that_contradicts_itself_ends_no_program() {
    let machine = r#"<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3"
        allowed_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
        <object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="2"/>
        <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="3"/>
        <object type="PU" os_index="1" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="3"/>
        </object></topology>"#;
    let dir = tempfile::tempdir().unwrap();
    let done = railscope(&["probe"], &file(dir.path(), "odd.xml", machine));
    let code = done.get_output().status.code();
    assert!(matches!(code, Some(0 | 2)), "{code:?}");
    assert!(String::from_utf8_lossy(&done.get_output().stderr).lines().count() <= 1);
}
