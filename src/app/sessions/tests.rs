//! The list of sessions, key by key.

use super::{Choice, Entry, Known, Sessions, State, Summary};
use crate::app::Action;
use crate::rules::{Finding, Severity};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::path::PathBuf;

fn listed(names: &[&str]) -> Sessions {
    let mut sessions = Sessions::new("runs".into(), Some("elsewhere/b.rsz".into()));
    let entry = |name: &&str| Entry::unread(PathBuf::from("runs").join(name), 1000);
    sessions.learn(Known::Files(names.iter().map(entry).collect(), 0));
    sessions
}

#[test]
fn the_file_that_was_looked_at_is_selected_and_keys_move_from_there() {
    let mut sessions = listed(&["a.rsz", "b.rsz", "c.rsz"]);
    assert_eq!(sessions.selected(), 1);
    for (action, at) in [(Action::Down, 2), (Action::Down, 2), (Action::First, 0), (Action::End, 2)] {
        assert_eq!(sessions.act(action), Choice::Draw);
        assert_eq!(sessions.selected(), at, "{action:?}");
    }
    assert_eq!(sessions.act(Action::Open), Choice::Open("runs/c.rsz".into()));
    assert_eq!(sessions.act(Action::Copy), Choice::Copy("railscope replay runs/c.rsz".into()));
    assert_eq!(sessions.act(Action::Back), Choice::Back, "to where one came from");
    assert_eq!(sessions.act(Action::Quit), Choice::Leave);
    assert_eq!(Sessions::new("runs".into(), None).act(Action::Back), Choice::Leave);
}

#[test]
fn a_filter_lists_files_by_name_host_and_code_and_keys_keep_to_them() {
    let mut sessions = listed(&["a.rsz", "b.rsz", "c.rsz", "d.rsz"]);
    let summary = Summary {
        host: Some("gpu17".into()),
        findings: Some(vec![Finding::new("half-rate", Severity::Warning, ["mlx5_3"], "")]),
        ..Summary::default()
    };
    for at in [2, 3] {
        sessions.learn(Known::File(at, State::Read(Box::new(summary.clone()))));
    }
    let mut typed = |text: &str| {
        assert_eq!(sessions.act(Action::Filter), Choice::Draw);
        let keys = text.chars().map(KeyCode::Char).chain([KeyCode::Enter]);
        keys.for_each(|key| drop(sessions.types(KeyEvent::new(key, KeyModifiers::NONE))));
        let listed: Vec<String> = sessions.listed().iter().map(|(_, entry)| entry.name()).collect();
        let selected = sessions.entry().map(Entry::name);
        assert_eq!(sessions.act(Action::Back), Choice::Draw, "all are listed again");
        (listed.join(" "), selected)
    };
    assert_eq!(typed("HALF gpu17"), ("c.rsz d.rsz".into(), Some("c.rsz".into())));
    assert_eq!(typed("d.r"), ("d.rsz".into(), Some("d.rsz".into())));
    assert_eq!(typed("nothing"), (String::new(), None));
    assert_eq!(typed("rsz"), ("a.rsz b.rsz c.rsz d.rsz".into(), Some("d.rsz".into())), "it stayed selected");
}

#[test]
fn what_is_damaged_is_not_opened() {
    let mut sessions = listed(&["a.rsz", "b.rsz"]);
    sessions.learn(Known::File(1, State::Damaged("is no recording".into())));
    assert_eq!((sessions.unread(), sessions.counts()), (1, (0, 0, 1)));
    assert_eq!(sessions.act(Action::Open), Choice::Draw);
    assert!(sessions.notice().unwrap().starts_with("it cannot be opened"));
}

#[test]
fn nothing_happens_in_an_empty_folder() {
    let mut sessions = listed(&[]);
    assert_eq!(sessions.act(Action::Open), Choice::None);
    assert_eq!(sessions.act(Action::Copy), Choice::None);
    assert_eq!((sessions.act(Action::Down), sessions.selected()), (Choice::Draw, 0));
}

#[test]
fn what_becomes_known_puts_a_file_on_the_list_and_takes_it_off() {
    let mut sessions = listed(&["a.rsz", "b.rsz", "c.rsz"]);
    sessions.act(Action::Filter);
    for char in "damaged".chars() {
        sessions.types(KeyEvent::new(KeyCode::Char(char), KeyModifiers::NONE));
    }
    let names =
        |sessions: &Sessions| sessions.listed().iter().map(|(_, entry)| entry.name()).collect::<Vec<_>>();
    assert_eq!(names(&sessions), Vec::<String>::new());
    for at in [2, 0] {
        sessions.learn(Known::File(at, State::Damaged("is no recording".into())));
    }
    assert_eq!((names(&sessions), sessions.selected()), (vec!["a.rsz".into(), "c.rsz".into()], 2));
    sessions.learn(Known::File(2, State::Read(Box::default())));
    assert_eq!((names(&sessions), sessions.selected()), (vec!["a.rsz".into()], 0));
}
