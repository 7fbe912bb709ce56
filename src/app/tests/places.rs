//! Where one is: views, popups, and the way back.

use super::{app, code, press};
use crate::app::{Command, Mode, Msg, Seek, View};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use probes::model::Frame;
use std::sync::Arc;

#[test]
fn a_key_of_no_use_says_so_and_changes_nothing_behind_a_popup() {
    let mut app = app(Mode::Live);
    press(&mut app, 'x');
    assert_eq!(app.notice(), Some("x does nothing here; ? shows what does"));
    press(&mut app, '5');
    press(&mut app, 's');
    assert_eq!(app.notice(), Some("s does nothing in Load: it is of the Home view (1)"));
    press(&mut app, '?');
    for key in "x125mgsX".chars() {
        assert!(matches!(press(&mut app, key), Command::None | Command::DrawNow), "{key}");
        assert_eq!((app.view(), app.prompt().is_none(), app.notice()), (View::Load, true, None), "{key}");
    }
}

#[test]
fn a_popup_is_left_by_the_key_that_leaves_and_control_c_leaves_the_program() {
    for open in ['?', 'v'] {
        let mut app = app(Mode::Live);
        press(&mut app, open);
        assert_eq!((press(&mut app, 'q'), app.popups().is_open()), (Command::DrawNow, false), "{open}");
        press(&mut app, open);
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(app.update(Msg::Key(control_c)), Command::Quit);
    }
}

#[test]
fn back_goes_where_one_came_from() {
    let mut live = app(Mode::Live);
    press(&mut live, '2');
    code(&mut live, KeyCode::Enter);
    assert_eq!(live.view(), View::Rail);
    code(&mut live, KeyCode::Esc);
    assert_eq!(live.view(), View::Topology);
    code(&mut live, KeyCode::Esc);
    assert_eq!((live.view(), code(&mut live, KeyCode::Esc)), (View::Home, Command::DrawNow));
    assert!(live.notice().unwrap().ends_with("q leaves"), "what goes on is not ended by one Esc too many");
    press(&mut live, 'z');
    code(&mut live, KeyCode::Esc);
    assert!(!live.heat_is_open());
    let mut replay = app(Mode::Replay);
    assert_eq!(code(&mut replay, KeyCode::Esc), Command::Quit);
}

#[test]
fn a_word_at_the_foot_makes_room_for_the_keys_once_it_could_be_read() {
    let mut app = app(Mode::Live);
    let frame = |app: &mut crate::app::App, at_s: u64| {
        app.update(Msg::Frame(Arc::new(Frame { at_ns: at_s * 1_000_000_000, ..Frame::default() })));
    };
    frame(&mut app, 100);
    press(&mut app, 'X');
    assert!(app.notice().is_some());
    frame(&mut app, 107);
    assert!(app.notice().is_some());
    frame(&mut app, 108);
    assert_eq!(app.notice(), None);
}

#[test]
fn a_session_that_was_left_for_the_list_is_gone_on_with_where_it_was() {
    let mut app = app(Mode::Replay);
    app.how.at_ns = Some(7_000_000_000);
    let seek = Seek { number: 1, to_ns: 7_000_000_000, pace: None };
    assert_eq!((app.begin(), app.is_paused(), app.begin()), (Some(Command::Seek(seek)), true, None));
}

#[test]
fn the_interval_of_a_recording_is_that_of_its_frames() {
    let mut app = app(Mode::Replay);
    let frame = |app: &mut crate::app::App, at_ms: u64| {
        app.update(Msg::Frame(Arc::new(Frame { at_ns: at_ms * 1_000_000, ..Frame::default() })));
    };
    for at_ms in [0, 98, 203, 300] {
        frame(&mut app, at_ms);
    }
    assert_eq!(app.interval_ns(), 100_000_000, "as its header has it");
    for at_ms in [801, 1299, 1800, 2302] {
        frame(&mut app, at_ms);
    }
    assert_eq!(app.interval_ns(), 500_000_000, "a key changed it");
}
