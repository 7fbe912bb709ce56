//! The screen as a person meets it: the program on a terminal of its own, with keys, signals and other sizes.

mod anew;
mod every_key;
mod person;
mod storm;

use person::Person;
use std::path::Path;

#[test]
fn a_session_of_keys_and_sizes_ends_with_the_terminal_as_it_was() {
    let mut person = Person::runs(&["demo"]);
    person.sees("SIMULATED");
    person.sees("mlx5_bond_8");
    person.sees("Findings");
    person.types("?");
    person.sees("keys and signs");
    person.types("\x1b");
    person.sees_no_more("keys and signs");
    person.types(" ");
    person.sees("PAUSED at");
    person.types("u");
    person.sees("Gb/s");
    person.resizes(120, 40);
    person.sees("ceiling");
    person.resizes(50, 10);
    person.sees("railscope needs 60x15");
    person.resizes(80, 24);
    person.types(" ");
    person.sees_no_more("PAUSED at");
    person.types("q");
    assert_eq!(person.is_left(), 0);
}

#[test]
fn rails_are_filtered_sorted_and_clicked_on() {
    let mut person = Person::runs(&["demo"]);
    person.sees("mlx5_bond_8");
    person.types("/bond_3");
    person.sees("filter:");
    person.sees_no_more("mlx5_bond_8");
    person.types("\x1b");
    person.sees("mlx5_bond_8");
    person.types("s");
    person.sees("by rate, highest first");
    person.types(".");
    person.sees("last 2 min");
    person.types(">");
    person.sees("no other interval: the simulation");
    // the tab of the machine: button 0 down and up at column 14, line 3
    person.types("\x1b[<0;14;3M\x1b[<0;14;3m");
    person.sees("NUMA nodes");
    person.types("q");
    assert_eq!(person.is_left(), 0);
}

#[test]
fn a_terminal_that_cannot_place_text_is_refused() {
    let mut person = Person::on("dumb", &["demo"]);
    person.sees("no text can be placed");
    assert_eq!(person.is_left(), 2);
}

#[test]
fn control_c_is_a_key_that_leaves() {
    let mut person = Person::runs(&["demo"]);
    person.sees("mlx5_bond_8");
    person.types("\x03");
    assert_eq!(person.is_left(), 0);
}

#[test]
fn signals_restore_the_terminal_and_close_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["TERM", "INT", "HUP"] {
        let file = folder.path().join(format!("{name}.rsz"));
        let file = file.to_str().unwrap();
        let mut person = Person::runs(&["demo", "--record", file]);
        person.sees("REC");
        person.sees("READ");
        person.signals(name);
        assert_eq!(person.is_left(), 0, "{name}");
        is_whole(Path::new(file));
    }
}

/// A recording that was not closed is said to be cut.
fn is_whole(file: &Path) {
    let report =
        assert_cmd::Command::new(env!("CARGO_BIN_EXE_railscope")).arg("report").arg(file).output().unwrap();
    let said = String::from_utf8_lossy(&report.stderr);
    assert!(report.status.code() != Some(2) && said.is_empty(), "{said}");
}

#[test]
fn a_demo_with_a_time_leaves_by_itself() {
    let mut person = Person::runs(&["demo", "--for", "1s"]);
    assert_eq!(person.is_left(), 0);
}

#[test]
fn a_replay_is_gone_about_in_by_keys_and_mouse() {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/mixed.rsz");
    let mut person = Person::runs(&["replay", recording]);
    person.sees("REPLAY, SIMULATED");
    person.types(" ");
    person.sees("PAUSED at");
    person.types("\x1b[H");
    person.sees("PAUSED at 0:00.0");
    // the whole of it was looked through behind the screen
    person.waits_until("it is looked through", |screen| !screen.contents().contains("····"));
    person.types("]]]");
    person.sees("PAUSED at 0:00.3");
    person.types("[");
    person.sees("PAUSED at 0:00.2");
    person.types("g");
    person.sees("go to:");
    person.types("7.5\r");
    person.sees("PAUSED at 0:07.5");
    person.types("g-1s\r");
    person.sees("PAUSED at 0:06.5");
    person.types("gnever\r");
    person.sees("is no time");
    person.types("\x1b");
    person.sees_no_more("go to:");
    person.types("n");
    person.sees("no further finding begins");
    person.types("N");
    person.sees("begins");
    // a click in the middle of the row of the session's length
    person.types("\x1b[<0;40;23M\x1b[<0;40;23m");
    person.sees("PAUSED at 0:04.9");
    person.types("m");
    person.sees("is not changed");
    person.resizes(120, 40);
    person.sees("ceiling");
    person.types("\x1b[F");
    person.sees("PAUSED at 0:10.0");
    person.types("]");
    person.sees("last frame");
    person.types("q");
    assert_eq!(person.is_left(), 0);
}

#[test]
fn what_is_live_steps_back_and_takes_marks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("marked.rsz");
    let file = file.to_str().unwrap();
    let mut person = Person::runs(&["demo", "--record", file]);
    person.sees("0:01");
    person.types("m");
    person.sees("mark:");
    person.types("cable of bond3\r");
    person.sees("mark set");
    person.types("[[[");
    person.sees("PAUSED at");
    person.sees(" behind");
    person.types("m");
    person.sees("no mark:");
    person.types("\x1b[F");
    person.sees_no_more("PAUSED at");
    person.types("E");
    person.sees("mark: cable of bond3");
    person.types("q");
    assert_eq!(person.is_left(), 0);
    is_whole(Path::new(file));
}

#[test]
fn a_replay_stays_at_its_end_until_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("short.rsz");
    let recorded = assert_cmd::Command::new(env!("CARGO_BIN_EXE_railscope"))
        .args(["demo", "--headless", "--for", "2s", "--record"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(recorded.status.code() != Some(2), "{}", String::from_utf8_lossy(&recorded.stderr));
    let mut person = Person::runs(&["replay", file.to_str().unwrap()]);
    person.sees("REPLAY, SIMULATED");
    person.types("++");
    person.sees("ENDED at 0:02");
    person.types("q");
    assert_eq!(person.is_left(), 0);
}

#[test]
fn a_folder_is_listed_and_a_session_of_it_leads_back_to_the_list() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["healthy.rsz", "mixed.rsz"] {
        let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings").join(name);
        std::fs::copy(recording, folder.path().join(name)).unwrap();
    }
    let mut person = Person::runs(&["replay", folder.path().to_str().unwrap()]);
    person.sees("SESSIONS");
    person.sees("mixed.rsz");
    person.sees_no_more("not read yet");
    person.types("\r");
    person.sees("REPLAY");
    person.types("q");
    person.sees("SESSIONS");
    person.types("j\r");
    person.sees("REPLAY");
    // ends the program, wherever it was opened from
    person.types("\x03");
    assert_eq!(person.is_left(), 0);
}

#[test]
fn the_sessions_beside_a_replay_are_a_key_away() {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/mixed.rsz");
    let mut person = Person::runs(&["replay", recording]);
    person.sees("REPLAY");
    person.types(" g7.5\r");
    person.sees("PAUSED at 0:07.5");
    person.types("b");
    person.sees("\u{25b6} mixed.rsz");
    person.types("/gen4\r");
    person.sees("\u{25b6} gen4-slot.rsz");
    person.sees("1 listed");
    person.types("\x1b");
    person.sees_no_more("listed");
    person.types("?");
    person.sees("keys and signs");
    person.types("q");
    person.sees_no_more("keys and signs");
    person.types("z");
    person.sees("z does nothing here");
    // back to where one came from
    person.types("\x1b");
    person.sees("PAUSED at 0:07.5");
    person.types("b");
    person.sees("SESSIONS");
    person.types("q");
    assert_eq!(person.is_left(), 0);
}

#[test]
fn a_load_is_held_and_let_go_by_keys() {
    let mut person = Person::runs(&["demo"]);
    person.sees("measuring");
    person.types("5");
    person.sees("Change it");
    person.types("X");
    person.sees("load: held");
    person.types("X");
    person.sees("load: no rate cap");
    person.types("R12.5\r");
    person.sees("load: at most 12.5 GB/s a rail");
    person.types("q");
    assert_eq!(person.is_left(), 0);
}
