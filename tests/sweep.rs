//! `sweep` without a peer: a grid of points on a copied tree, by the ceilings model.

use assert_cmd::cargo::cargo_bin;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A tree with two RoCE rails.
fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    for at in 0..2 {
        let device = format!("sys/class/infiniband/mlx5_{at}");
        for (file, text) in [
            ("ports/1/state", "4: ACTIVE"),
            ("ports/1/phys_state", "5: LinkUp"),
            ("ports/1/link_layer", "Ethernet"),
            ("ports/1/rate", "400 Gb/sec (4X NDR)"),
        ] {
            let file = tree.path().join(&device).join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
    }
    tree
}

fn sweep(tree: &Path, flags: &str) -> Output {
    let mut sweep = Command::new(cargo_bin("railscope"));
    sweep.args(["sweep", "--transport", "sim", "--for", "1s", "--warmup", "0s", "--root"]).arg(tree);
    sweep.args(flags.split_whitespace()).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_sweep_is_kept_gone_on_with_and_drawn() {
    let tree = tree();
    let (save, svg) = (tree.path().join("sweep.json"), tree.path().join("sweep.svg"));
    let (save, svg) = (save.to_str().unwrap(), svg.to_str().unwrap());
    let flags = format!("--sizes 64K,1M --qps 4 --save {save} --svg {svg}");
    let first = sweep(tree.path(), &flags);
    assert_eq!(first.status.code(), Some(0), "{}", said(&first));
    assert!(said(&first).contains("point 2 of 2: 1M, 4 QPs: "), "{}", said(&first));
    let text = String::from_utf8_lossy(&first.stdout);
    for part in ["SIMULATED", "mlx5_0", "rail by rail", "n/a or not whole", "4 QPs: peak "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg"));

    let again = sweep(tree.path(), &flags);
    assert_eq!(again.status.code(), Some(2));
    assert!(said(&again).contains("is there already; --resume goes on with it"), "{}", said(&again));

    let resumed = sweep(tree.path(), &format!("{flags} --resume --json"));
    assert_eq!(resumed.status.code(), Some(0), "{}", said(&resumed));
    assert!(!said(&resumed).contains("point 1 of"), "nothing is measured twice: {}", said(&resumed));
    let json: serde_json::Value = serde_json::from_slice(&resumed.stdout).unwrap();
    assert_eq!(json["schema"], "railscope.sweep/1");
    assert_eq!(json["host"]["simulated"], true);
    let points = json["points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    for point in points {
        assert_eq!(point["rails"].as_array().unwrap().len(), 2);
        assert!(point["all"]["gb_per_s"].as_f64().unwrap() > 0.0);
        assert_eq!(point["all"]["cycles"], serde_json::Value::Null);
        assert_eq!(point["all"]["state"]["cycles"], "simulated");
    }
    assert!(json["statements"].as_array().unwrap().len() > 2);
}

#[test]
fn one_byte_is_held_to_the_wire_and_every_line_says_that_it_is_simulated() {
    let tree = tree();
    let save = tree.path().join("sweep.json");
    let flags = format!("--sizes 1,64 --qps 1,4 --workers 1,2 --json --save {}", save.display());
    let output = sweep(tree.path(), &flags);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let heard = said(&output);
    assert!(heard.contains("left out: --workers 2 with --qps 1: threads share"), "{heard}");
    for line in heard.lines().filter(|line| line.contains("point ")) {
        assert!(line.contains("simulated"), "{line}");
    }
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let saved: serde_json::Value = serde_json::from_slice(&std::fs::read(save).unwrap()).unwrap();
    assert_eq!(printed, saved, "the file is the object that is printed");
    for point in printed["points"].as_array().unwrap() {
        assert_eq!(point["caveat"], "simulated");
        assert_ne!(point["bound"]["by"], "implausible", "{point}");
        assert_eq!(point["left_out"], serde_json::Value::Null, "{point}");
    }
}

#[test]
fn what_a_sweep_cannot_do_is_refused_in_words() {
    let tree = tree();
    for (flags, expected) in [
        ("n2", "nobody is at the other end"),
        ("--every 1s", "--every: a point has two samples"),
        ("--record x.rsz", "--save keeps a sweep"),
        ("--qps 1 --workers 2", "threads share the queue pairs"),
    ] {
        let refused = sweep(tree.path(), flags);
        assert_eq!(refused.status.code(), Some(2), "{flags}");
        assert!(said(&refused).contains(expected), "{flags}: {}", said(&refused));
    }
}
