use super::{Sweep, asked};
use crate::cli::{Cli, Command};
use crate::sweep::Resume;
use clap::Parser;
use probes::model::LoadOp;
use std::time::Duration;

fn sweep(flags: &str) -> anyhow::Result<Sweep> {
    let cli = Cli::try_parse_from(format!("railscope sweep n2 {flags}").split_whitespace())?;
    let Some(Command::Sweep(args)) = cli.command else { panic!("`sweep` was typed") };
    asked(&args, Duration::from_secs(15))
}

#[test]
fn flags_become_a_grid() {
    let asked = sweep("--sizes 1K..4K --qps 1,16 --workers 1 -t 64").unwrap();
    assert_eq!(asked.grid.sizes_bytes, [1024, 2048, 4096]);
    assert_eq!((asked.grid.qps.as_slice(), asked.params.depth), ([1, 16].as_slice(), 64));
    assert_eq!((asked.window_s, asked.params.duration_s), (15.0, Some(15.0)));
    assert_eq!(sweep("").unwrap().grid.spots().len(), 22, "1K..1M with 1 and 4 queue pairs");
    let said = sweep("--qps 1 --workers 2").unwrap_err().to_string();
    assert!(said.starts_with("--workers 2 with --qps 1"), "{said}");
}

#[test]
fn a_preset_is_a_published_sweep_and_flags_win() {
    let published = sweep("--preset qp4-msgsweep").unwrap();
    assert_eq!(
        published.grid.sizes_bytes.iter().map(|size| size >> 10).collect::<Vec<_>>(),
        [1, 2, 4, 8, 16, 64, 256, 1024]
    );
    assert_eq!((published.grid.qps.as_slice(), published.params.depth), ([1, 4].as_slice(), 128));
    assert_eq!(sweep("--preset qp4-msgsweep --qps 4").unwrap().grid.qps, [4]);
    let op = |flags| sweep(flags).unwrap().params.op;
    assert_eq!(op("--preset qp4-msgsweep"), LoadOp::Write, "it was published of ib_write_bw");
    assert_eq!(op("--preset qp4-msgsweep --op read"), LoadOp::Read);
    assert_eq!(op(""), LoadOp::Read);
}

#[test]
fn both_directions_are_refused_as_a_row_has_one() {
    let said = sweep("-b").unwrap_err().to_string();
    assert!(said.starts_with("--bidirectional (-b): a row of a sweep has one direction"), "{said}");
}

#[test]
fn a_sweep_does_not_go_on_with_another_value_of_any_knob() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sweep.json");
    sweep("").unwrap().save(&file).unwrap();
    assert!(sweep("").unwrap().resumed(&file, Resume::Yes).is_ok());
    for flags in [
        "--op write",
        "--memory gpu:0",
        "--working-set 64M",
        "--place none",
        "--rate 5",
        "--depth 64",
        "--read-depth 4",
        "--chain 2",
        "--cq-mod 2",
        "--timeout 18",
        "--mtu 1024",
        "--tclass 106",
        "--gid-index 3",
        "--warmup 1s",
        "--qps 1",
        "--workers 1,2 --qps 2",
        "--sizes 1K",
    ] {
        let said = sweep(flags).unwrap().resumed(&file, Resume::Yes).unwrap_err().to_string();
        assert!(said.contains("was made with other parameters: "), "{flags}: {said}");
    }
}
