//! Two sessions held against each other, as people and scripts do it.

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn railscope(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::cargo_bin("railscope").unwrap().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn kept(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings").join(name);
    path.to_str().unwrap().to_owned()
}

fn tree(folder: &Path, firmware: &str) -> String {
    let device = folder.join("sys/class/infiniband/mlx5_0");
    for (file, text) in
        [("ports/1/state", "4: ACTIVE"), ("ports/1/counters/port_rcv_data", "1000"), ("fw_ver", firmware)]
    {
        let file = device.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{text}\n")).unwrap();
    }
    folder.to_str().unwrap().to_owned()
}

#[test]
fn what_was_mended_is_faster_and_what_broke_is_slower() {
    let (mixed, healthy) = (kept("mixed.rsz"), kept("healthy.rsz"));
    let (code, mended, _) = railscope(&["diff", &mixed, &healthy]);
    assert_eq!(code, Some(0), "{mended}");
    assert!(mended.starts_with("2 rails are faster, 3 warnings went, "), "{mended}");
    let (code, json, _) = railscope(&["diff", &healthy, &mixed, "--json"]);
    assert_eq!(code, Some(1), "{json}");
    let diff: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&diff["schema"], &diff["comparable"]), (&"railscope.diff/1".into(), &true.into()));
    let judged: Vec<&str> =
        diff["rails"].as_array().unwrap().iter().map(|rail| rail["judgement"].as_str().unwrap()).collect();
    assert_eq!(judged, ["same", "same", "slower", "slower", "same", "same", "same", "same"]);
    assert_eq!(diff["rails"][2]["a"]["seconds"], 9, "the second with warm-up is left out");
    let appeared: Vec<&str> =
        diff["appeared"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
    assert!(
        appeared.starts_with(&["bond-leg-imbalance", "pcie-downgraded", "rail-imbalance"]),
        "{appeared:?}"
    );
    let link = diff["topology"].as_array().unwrap().iter().find(|one| one["what"] == "PCIe link").unwrap();
    assert_eq!((&link["subject"], &link["b"]), (&"mlx5_bond_4".into(), &"32 GT/s x8".into()));
}

#[test]
fn what_makes_it_fail_can_be_chosen() {
    let (mixed, healthy) = (kept("mixed.rsz"), kept("healthy.rsz"));
    for (flag, code) in [("slower", 0), ("findings", 0), ("topology", 1), ("any", 1), ("slower,topology", 1)]
    {
        assert_eq!(railscope(&["diff", &mixed, &healthy, "--fail-on", flag]).0, Some(code), "{flag}");
    }
    let (code, text, _) = railscope(&["diff", &healthy, &healthy, "--fail-on", "any"]);
    assert!(code == Some(0) && text.starts_with("no difference found\n"), "{text}");
}

#[test]
fn copied_trees_are_compared_by_their_facts() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (a, b) = (tree(one.path(), "28.39.1002"), tree(two.path(), "28.41.1000"));
    let (code, text, _) = railscope(&["diff", &a, &b]);
    assert!(text.contains("mlx5_0: firmware: 28.39.1002 -> 28.41.1000"), "{text}");
    assert!(text.contains("rates not comparable: no load ran in either"), "{text}");
    assert_eq!(code, Some(0));
    assert_eq!(railscope(&["diff", &a, &b, "--fail-on", "topology"]).0, Some(1));
    let (code, _, reason) = railscope(&["diff", &a, &b, "--fail-on", "slower"]);
    assert_eq!(code, Some(2), "{reason}");
    assert!(reason.contains("could not be compared"), "{reason}");
}

#[test]
fn a_side_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    fs::write(&file, "hello").unwrap();
    for bad in [file.to_str().unwrap(), "/nonexistent/a.rsz", folder.path().to_str().unwrap()] {
        let (code, _, reason) = railscope(&["diff", &kept("healthy.rsz"), bad]);
        assert!(code == Some(2) && reason.contains(bad), "{bad}: {reason}");
    }
}

#[test]
fn a_masked_copy_names_nobody_and_is_judged_as_the_original() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("share.rsz");
    let copy = copy.to_str().unwrap();
    let (code, said, _) = railscope(&["mask", &kept("mixed.rsz"), "-o", copy, "--json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &said["schema"], &said["frames"]), (Some(0), &"railscope.mask/1".into(), &101.into()));
    assert_eq!((&said["masked"]["GUIDs"], &said["masked"]["host names"]), (&8.into(), &1.into()));
    let (_, text, _) = railscope(&["report", copy, "--fail-on", "never", "--format", "json"]);
    assert!(
        text.contains("masked-host") && !text.contains("10.0.3.1") && !text.contains("5c25:7303:00a0:0300")
    );
    let (_, diff, _) = railscope(&["diff", &kept("mixed.rsz"), copy, "--json"]);
    let diff: Value = serde_json::from_str(&diff).unwrap();
    assert_eq!((&diff["appeared"], &diff["went"]), (&serde_json::json!([]), &serde_json::json!([])));
    // the host is called as its system and its kernel are, which keep their names
    let facts: Vec<&Value> =
        diff["topology"].as_array().unwrap().iter().filter(|one| one["subject"] == "host").collect();
    let whats: Vec<&Value> = facts.iter().map(|one| &one["what"]).collect();
    assert_eq!(whats, ["host name"], "{facts:?}");
    let (code, _, reason) = railscope(&["mask", &kept("mixed.rsz"), "-o", copy]);
    assert!(code == Some(2) && reason.contains("exists already"), "{reason}");
}

#[test]
fn parts_of_both_are_compared_and_a_tree_has_no_parts() {
    let (mixed, healthy) = (kept("mixed.rsz"), kept("healthy.rsz"));
    let (_, json, _) = railscope(&["diff", &mixed, &healthy, "--from", "2s", "--to", "9s", "--json"]);
    let diff: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&diff["a"]["duration_s"], &diff["b"]["frames"]), (&7.0.into(), &71.into()));
    assert_eq!(diff["rails"][2]["b"]["seconds"], 7);
    let tree = tempfile::tempdir().unwrap();
    let tree = self::tree(tree.path(), "28.39.1002");
    let (code, _, reason) = railscope(&["diff", &mixed, &tree, "--to", "9s"]);
    assert!(code == Some(2) && reason.contains("has no moments for --from and --to"), "{reason}");
    let (code, _, reason) = railscope(&["diff", &mixed, &healthy, "--from", "9s", "--to", "2s"]);
    assert!(code == Some(2) && reason.contains("nothing lies between"), "{reason}");
}
