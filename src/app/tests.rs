//! Every behaviour of the screen, without a terminal, a thread or a clock.

use super::{App, Command, How, Mode, Msg};
use crate::rules::{Finding, Severity};
use crate::view::Theme;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use probes::model::{Frame, Session, Topology};
use std::sync::Arc;

fn app(mode: Mode) -> App {
    let session = Session {
        generated_by: String::new(),
        started_unix_ms: None,
        interval_ns: 100_000_000,
        hosts: vec![Arc::new(Topology::default())],
        clock_offset_ns: None,
        simulated: None,
    };
    App::new(Arc::new(session), How { mode, ..How::default() }, Theme::default())
}

fn press(app: &mut App, char: char) -> Command {
    app.update(Msg::Key(KeyEvent::new(KeyCode::Char(char), KeyModifiers::NONE)))
}

fn frame(app: &mut App, seq: u64) -> Command {
    app.update(Msg::Frame(Arc::new(Frame { seq, at_ns: seq * 100_000_000, ..Frame::default() })))
}

fn seqs(app: &App) -> (u64, u64) {
    let seq = |timeline: &crate::timeline::Timeline| timeline.local().latest().unwrap().seq;
    (seq(app.shown()), seq(app.newest()))
}

#[test]
fn holding_the_picture_does_not_hold_the_session() {
    let mut app = app(Mode::Live);
    frame(&mut app, 0);
    assert_eq!(press(&mut app, ' '), Command::DrawNow);
    frame(&mut app, 1);
    assert_eq!(seqs(&app), (0, 1));
    press(&mut app, ' ');
    assert_eq!(seqs(&app), (1, 1));
}

#[test]
fn a_replay_stops_when_held_and_goes_at_the_speed_asked_for() {
    let mut app = app(Mode::Replay);
    frame(&mut app, 0);
    let steps = ['+', '+', ' ', '-', ' ', '-'].map(|key| press(&mut app, key));
    let paces = [Some(2.0), Some(4.0), None, None, Some(2.0), Some(1.0)];
    assert_eq!(steps, paces.map(Command::Pace));
}

#[test]
fn what_is_live_has_no_other_speed() {
    assert_eq!(press(&mut app(Mode::Live), '+'), Command::None);
}

#[test]
fn what_is_past_stays_at_its_end_and_everything_else_leaves() {
    for mode in [Mode::Replay, Mode::Tree] {
        assert_eq!(app(mode).update(Msg::Ended(None)), Command::Draw);
    }
    for mode in [Mode::Live, Mode::Demo, Mode::Load] {
        assert_eq!(app(mode).update(Msg::Ended(None)), Command::Quit);
    }
}

#[test]
fn escape_closes_the_help_before_it_leaves() {
    let mut app = app(Mode::Live);
    let escape = |app: &mut App| app.update(Msg::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)));
    press(&mut app, '?');
    assert!(app.help_is_open());
    assert_eq!(escape(&mut app), Command::DrawNow);
    assert!(!app.help_is_open());
    assert_eq!(escape(&mut app), Command::Quit);
}

#[test]
fn a_key_of_no_use_changes_nothing() {
    assert_eq!(press(&mut app(Mode::Live), 'x'), Command::None);
}

#[test]
fn the_selected_finding_stays_selected_when_others_come() {
    let finding = |code: &'static str| Finding::new(code, Severity::Warning, ["mlx5_0"], "");
    let mut app = app(Mode::Live);
    app.show_findings(vec![finding("mtu-differs"), finding("rail-imbalance")]);
    press(&mut app, 'l');
    press(&mut app, 'j');
    assert_eq!(app.selection().finding, Some(1));
    app.show_findings(vec![finding("gid-none"), finding("mtu-differs"), finding("rail-imbalance")]);
    assert_eq!(app.selection().finding, Some(2));
    app.show_findings(vec![]);
    assert_eq!(app.selection().finding, None);
}
