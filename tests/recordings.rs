//! Every recording in `recordings/` opens whole and gives the report that is kept beside it.
//!
//! A report that changes on purpose is accepted with `INSTA_UPDATE=always cargo test --test recordings`, in the
//! commit that says why.

use railscope::experiments::told::Told;
use railscope::report::{self, Report};
use railscope::rules::{Finding, Limits, diagnose};
use railscope::session::{FrameSource, Recorded, Replay};
use railscope::timeline::{Interval, Past, Timeline};
use std::path::{Path, PathBuf};

fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut recordings: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|e| e == "rsz")).collect();
    recordings.sort();
    recordings
}

/// The report as `railscope report` prints it.
fn report(path: &Path) -> Report {
    let mut replay = Replay::open(path).unwrap();
    let mut timeline = Timeline::new(replay.session());
    let mut told = Told::default();
    while let Some(frame) = replay.next_frame().unwrap() {
        told.frame(&frame);
        timeline.push(frame);
    }
    assert_eq!(replay.warning(), None, "{}", path.display());
    let limits = Limits::default();
    let diagnosis = told.diagnosis(timeline.session(), &limits).map(Box::new);
    Report { diagnosis, ..report::build(&timeline, &limits, &[]) }
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
        let report = report(&path);
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

fn found(timeline: &Timeline) -> Vec<Finding> {
    diagnose(timeline.topology(), timeline, &Limits::default())
}

/// What is known after each frame, and what is found after every seventh, which is any place in a second by and by: a
/// finding is made of nothing but what is known.
#[derive(Debug, PartialEq)]
struct Known {
    at_ns: u64,
    past: Vec<Past>,
    newest: Option<Interval>,
    found: Option<Vec<Finding>>,
}

fn course(mut source: impl FrameSource) -> Vec<Known> {
    let session = source.session();
    let mut timeline = Timeline::new(session.clone());
    let mut course = Vec::new();
    while let Some(frame) = source.next_frame().unwrap() {
        let at_ns = session.on_first_clock(frame.host, frame.at_ns);
        timeline.push(frame);
        course.push(Known {
            at_ns,
            past: timeline.past(),
            newest: timeline.local().intervals().next_back().cloned(),
            found: course.len().is_multiple_of(7).then(|| found(&timeline)),
        });
    }
    course
}

fn is_judged_live_as_it_is_replayed(path: &Path, again: &Path) {
    let live = course(Recorded::create(Replay::open(path).unwrap(), again).unwrap());
    assert!(live.len() > 5, "{}", path.display());
    let mut replay = Replay::open(again).unwrap();
    for then in live.iter().filter(|then| then.found.is_some()).rev().step_by(4) {
        let there = replay.seek(then.at_ns).unwrap().timeline(replay.session());
        assert!(there.past() == then.past, "{} at {} ns", path.display(), then.at_ns);
        assert_eq!(Some(found(&there)), then.found, "{} at {} ns", path.display(), then.at_ns);
    }
    for (live, replayed) in live.iter().zip(course(Replay::open(again).unwrap())) {
        // a whole past is too much to print
        assert!(live == &replayed, "{} at {} ns: {:?}", path.display(), live.at_ns, live.found);
    }
}

#[test]
fn every_recording_is_judged_live_as_it_is_replayed_and_as_it_is_at_any_place() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for path in recordings() {
            let again = folder.path().join(path.file_name().unwrap());
            scope.spawn(move || is_judged_live_as_it_is_replayed(&path, &again));
        }
    });
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
