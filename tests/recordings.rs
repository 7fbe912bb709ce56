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
