//! A disk that fills up while a session is recorded: a small file system in memory, which takes root to mount.

use assert_cmd::Command;
use railscope::session::{FrameSource, Replay};
use std::path::{Path, PathBuf};
use std::process::Command as Program;

/// A file system of half a megabyte; gone when this is dropped.
struct Small {
    folder: tempfile::TempDir,
}

impl Small {
    /// Mounts it; why not, where that is not allowed.
    fn mount() -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Program::new("mount")
            .args(["-t", "tmpfs", "-o", "size=512k", "railscope-test"])
            .arg(folder.path())
            .output()
            .map_err(|error| format!("mount: {error}"))?;
        if !mounted.status.success() {
            return Err(String::from_utf8_lossy(&mounted.stderr).trim().to_owned());
        }
        Ok(Self { folder })
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("a.rsz")
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Program::new("umount").arg(self.folder.path()).status();
    }
}

fn frames(path: &Path) -> (u64, Option<String>) {
    let mut replay = Replay::open(path).unwrap();
    let frames = std::iter::from_fn(|| replay.next_frame().unwrap()).count();
    (frames as u64, replay.warning())
}

#[test]
fn a_full_disk_ends_no_session_and_the_file_is_readable_up_to_there() {
    let small = match Small::mount() {
        Ok(small) => small,
        Err(why) => {
            eprintln!("skipped: no file system can be mounted here: {why}");
            return;
        }
    };
    let file = small.file();
    let record = ["demo", "--headless", "--json", "--for", "3m", "--fail-on", "never", "--record"];
    let output = Command::cargo_bin("railscope").unwrap().args(record).arg(&file).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["session"]["frames"], 1801, "the session went on to its end");
    assert!(said.contains("frames are not in the recording: cannot be written"), "{said}");
    assert!(said.contains("make room; what was written so far can be replayed"), "{said}");
    assert_eq!(output.status.code(), Some(2), "{said}");
    let (kept, warning) = frames(&file);
    let lost: u64 =
        said.split(" frames are not").next().and_then(|text| text.rsplit(' ').next()?.parse().ok()).unwrap();
    assert_eq!(kept + lost, 1801, "{said}");
    println!("{kept} frames kept, {lost} counted as lost; {warning:?}");
}
