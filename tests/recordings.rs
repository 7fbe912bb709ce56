//! Every recording in `recordings/` opens whole and gives the report that is kept beside it.
//!
//! A report that changes on purpose is accepted with `INSTA_UPDATE=always cargo test --test recordings`, in the
//! commit that says why.

use railscope::report;
use railscope::rules::Limits;
use railscope::session::{FrameSource, Replay};
use railscope::timeline::Timeline;
use std::path::{Path, PathBuf};

fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut recordings: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|e| e == "rsz")).collect();
    recordings.sort();
    recordings
}

fn timeline(path: &Path) -> Timeline {
    let mut replay = Replay::open(path).unwrap();
    let mut timeline = Timeline::new(replay.session());
    while let Some(frame) = replay.next_frame().unwrap() {
        timeline.push(frame);
    }
    assert_eq!(replay.warning(), None, "{}", path.display());
    timeline
}

#[test]
fn every_recording_gives_the_report_kept_beside_it() {
    let recordings = recordings();
    assert!(recordings.len() >= 2, "{recordings:?}");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../recordings");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for path in recordings {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let report = report::build(&timeline(&path), &Limits::default(), &[]);
        // a report is as good whatever version prints it
        let text = report.to_string().replace(railscope::GENERATED_BY, "railscope VERSION");
        let json = serde_json::to_string_pretty(&report).unwrap();
        let json = json.replace(railscope::GENERATED_BY, "railscope VERSION");
        settings.bind(|| {
            insta::assert_snapshot!(format!("{name}.text"), text);
            insta::assert_snapshot!(format!("{name}.json"), json);
        });
    }
}

#[test]
fn the_table_of_recordings_names_them_all() {
    let readme = include_str!("../recordings/README.md");
    for path in recordings() {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(readme.contains(&format!("| `{name}` |")), "{name} is not in recordings/README.md");
    }
}

#[test]
fn zstdcat_and_jq_read_every_recording() {
    let there = |tool: &str| std::process::Command::new(tool).arg("--version").output().is_ok();
    if !there("zstd") || !there("jq") {
        eprintln!("skipped: zstd and jq are not both installed");
        return;
    }
    for path in recordings() {
        // rows are arrays; the header and the first line of each block are objects
        let script = format!("zstdcat '{}' | jq -c 'type' | sort | uniq -c", path.display());
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let count = |word: &str| -> usize {
            let line = text.lines().find(|line| line.contains(word)).unwrap_or_default();
            line.split_whitespace().next().map_or(0, |count| count.parse().unwrap())
        };
        let mut replay = Replay::open(&path).unwrap();
        let frames = std::iter::from_fn(|| replay.next_frame().unwrap()).count();
        assert_eq!(count("array"), frames, "{}", path.display());
        assert!(count("object") > 1, "{}", path.display());
    }
}
