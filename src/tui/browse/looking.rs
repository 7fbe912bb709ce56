//! What is known of the sessions of a folder, one file after the other, for the list and for pictures of it.

use crate::app::{Entry, How, Known, Sessions, State, Summary, SweepSummary};
use crate::report::{LoadBlock, alike};
use crate::rules::{Finding, Severity};
use crate::session::{FrameSource, Replay, Stop, begins_as_recording};
use crate::sweep::Sweep;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// All that is known of a folder's sessions, once it was looked into; for pictures of the list.
#[must_use]
pub fn known_of(folder: PathBuf, how: &How) -> Sessions {
    let (send, mut news) = unbounded_channel();
    look_into(&folder, how, &Stop::new(), &send);
    drop(send);
    let mut sessions = Sessions::new(folder, None);
    while let Some(known) = news.blocking_recv() {
        sessions.learn(known);
    }
    sessions
}

/// Tells the files of a folder, and then what each of them is, until it is stopped or nobody listens.
pub(super) fn look_into(folder: &Path, how: &How, stop: &Stop, send: &UnboundedSender<Known>) {
    let entries = match list(folder) {
        Ok((entries, others)) => {
            if send.send(Known::Files(entries.clone(), others)).is_err() {
                return;
            }
            entries
        }
        Err(error) => {
            // nobody waits for it once the screen is left
            let _ = send.send(Known::Unreadable(format!("{}: {error}", folder.display())));
            return;
        }
    };
    for (at, entry) in entries.iter().enumerate() {
        if stop.is_stopped() {
            return;
        }
        let state = if Sweep::is_in(&entry.path) {
            sweep_summary(&entry.path)
        } else {
            summary(&entry.path, how).map(|summary| State::Read(Box::new(summary)))
        };
        let state = state.unwrap_or_else(State::Damaged);
        if send.send(Known::File(at, state)).is_err() {
            return;
        }
    }
}

/// The recordings and sweeps of a folder, the newest first, and how many other files it has.
fn list(folder: &Path) -> std::io::Result<(Vec<Entry>, usize)> {
    let mut found: Vec<(SystemTime, Entry)> = Vec::new();
    let mut others = 0;
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        // through links; what is gone meanwhile is not there
        let Ok(about) = fs::metadata(&path) else { continue };
        if !about.is_file() {
            continue;
        }
        let is_named_so = path.extension().is_some_and(|ending| ending == "rsz");
        if is_named_so || begins_as_recording(&path) || Sweep::is_in(&path) {
            let changed = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            found.push((changed, Entry::unread(path, about.len())));
        } else {
            others += 1;
        }
    }
    found.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.path.cmp(&other.path)));
    Ok((found.into_iter().map(|(_, entry)| entry).collect(), others))
}

/// What a session is, from its header and its last minute.
///
/// # Errors
///
/// In words, why it cannot be opened.
fn summary(path: &Path, how: &How) -> Result<Summary, String> {
    let mut replay = Replay::open(path).map_err(|error| without_name(path, &error.to_string()))?;
    let session = replay.session();
    let span_ns = replay.span_ns();
    let end = span_ns.and_then(|(_, last_ns)| replay.seek(last_ns).ok());
    let found = end.map(|sought| {
        let timeline = sought.timeline(session.clone());
        let mut findings = how.judge(&timeline);
        if let Some(error) = error_of_load(&timeline) {
            findings.insert(0, error);
        }
        (alike::kinds_in(&findings, &timeline), findings)
    });
    let (kinds, findings) = found.unzip();
    Ok(Summary {
        host: session.topology().host.hostname.clone(),
        peer: session.hosts.get(1).and_then(|peer| peer.host.hostname.clone()),
        started_unix_ms: session.started_unix_ms,
        length_ns: span_ns.map(|(_, last_ns)| last_ns),
        rails: session.topology().rails.len(),
        simulated: session.simulated.is_some(),
        findings,
        kinds: kinds.unwrap_or_default(),
        warning: replay.warning(),
    })
}

/// What a sweep amounts to.
///
/// # Errors
///
/// In words, why it cannot be opened.
fn sweep_summary(path: &Path) -> Result<State, String> {
    let sweep = Sweep::open(path).map_err(|error| without_name(path, &error.to_string()))?.with_statements();
    Ok(State::Sweep(Box::new(SweepSummary {
        points: (sweep.points.len(), sweep.grid.spots().len()),
        host: sweep.host.hostname,
        started_unix_ms: sweep.started_unix_ms,
        rails: sweep.host.rails.len(),
        simulated: sweep.host.simulated,
        statements: sweep.statements,
    })))
}

/// What was said of the file without its name, which the list has.
fn without_name(path: &Path, said: &str) -> String {
    let name = format!("{}: ", path.display());
    said.strip_prefix(&name).unwrap_or(said).to_owned()
}

/// What went wrong with the load, which is no rule's: it makes a report's verdict all the same.
fn error_of_load(timeline: &crate::timeline::Timeline) -> Option<Finding> {
    let load = LoadBlock::of(timeline).filter(LoadBlock::met_errors)?;
    let counts: Vec<String> = load.errors.iter().map(|(status, count)| format!("{count} {status}")).collect();
    let first = load.failures.first().map(|failure| failure.text.clone());
    let message = first.unwrap_or_else(|| format!("operations failed: {}", counts.join(", ")));
    Some(Finding::new("load", Severity::Error, load.devices.clone(), message))
}

#[cfg(test)]
mod tests {
    use super::{list, look_into, summary};
    use crate::app::{How, Known, State};
    use crate::rules::Severity;
    use crate::session::{FrameSource, Recorded, Stop};
    use crate::sim::{Pace, Simulated};
    use std::path::Path;
    use std::time::Duration;
    use tokio::sync::mpsc::unbounded_channel;

    fn record(folder: &Path, name: &str, scenario: &str) {
        let (every, end) = (Duration::from_millis(500), Duration::from_secs(20));
        let source = Simulated::new(scenario, 1, every, Pace::AsFastAsPossible, Some(end)).unwrap();
        let mut recorded = Recorded::create(source, &folder.join(name)).unwrap();
        while recorded.next_frame().unwrap().is_some() {}
    }

    #[test]
    fn a_session_is_summed_up_from_its_end() {
        let folder = tempfile::tempdir().unwrap();
        record(folder.path(), "mixed.rsz", "mixed");
        let summary = summary(&folder.path().join("mixed.rsz"), &How::default()).unwrap();
        assert_eq!((summary.rails, summary.length_ns), (8, Some(20_000_000_000)));
        assert_eq!(summary.worst().unwrap().severity, Severity::Warning);
        assert!(summary.simulated && summary.warning.is_none());
    }

    #[test]
    fn what_is_damaged_is_listed_with_the_reason_and_what_is_no_session_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        record(folder.path(), "without-ending", "healthy");
        std::fs::write(folder.path().join("empty.rsz"), "").unwrap();
        std::fs::write(folder.path().join("notes.txt"), "a cable was moved").unwrap();
        std::fs::create_dir(folder.path().join("older.rsz")).unwrap();
        assert_eq!(list(folder.path()).unwrap().1, 1, "a folder is no file");
        let (send, mut news) = unbounded_channel();
        look_into(folder.path(), &How::default(), &Stop::new(), &send);
        drop(send);
        let Some(Known::Files(entries, _)) = news.blocking_recv() else { panic!("files come first") };
        let mut states = Vec::new();
        while let Some(Known::File(at, state)) = news.blocking_recv() {
            states.push((entries[at].name(), state));
        }
        states.sort_by(|(a, _), (b, _)| a.cmp(b));
        let [(empty, State::Damaged(why)), (fine, State::Read(summary))] = &states[..] else {
            panic!("{states:?}")
        };
        assert_eq!((empty.as_str(), fine.as_str()), ("empty.rsz", "without-ending"));
        assert!(why.starts_with("is no railscope recording"), "{why}");
        assert_eq!(summary.rails, 8);
    }

    #[test]
    fn a_folder_that_is_none_is_said() {
        let (send, mut news) = unbounded_channel();
        look_into(Path::new("/no/such/folder"), &How::default(), &Stop::new(), &send);
        let Some(Known::Unreadable(why)) = news.blocking_recv() else { panic!("it is none") };
        assert!(why.starts_with("/no/such/folder: No such file"), "{why}");
    }
}
