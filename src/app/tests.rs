//! Every behaviour of the screen, without a terminal, a thread or a clock.

use super::{App, Command, History, How, Mode, Msg, Seek, Sought, Wheel, Zoom};
use crate::outline::Outline;
use crate::rules::{Finding, Severity};
use crate::session::Every;
use crate::timeline::Timeline;
use crate::view::{Spot, Theme};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use probes::model::{Frame, Session, Topology};
use std::sync::Arc;

mod opened;
mod places;

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
    let seq = |timeline: &Timeline| timeline.local().latest().unwrap().seq;
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
fn what_is_live_has_no_other_speed_and_says_so() {
    let mut app = app(Mode::Live);
    press(&mut app, '+');
    assert!(app.notice().unwrap().contains("one speed"), "{:?}", app.notice());
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
fn a_step_beyond_the_end_says_so_whichever_was_first() {
    let last = |app: &App| app.notice() == Some("this is the last frame");
    let mut app = app(Mode::Replay);
    frame(&mut app, 0);
    assert_eq!(press(&mut app, ']'), Command::Step);
    assert!(!last(&app));
    app.update(Msg::Ended(None));
    assert!(last(&app), "the step was on its way when the source had ended already");
    press(&mut app, ' ');
    press(&mut app, ']');
    assert!(last(&app));
}

#[test]
fn escape_closes_the_help_before_it_leaves() {
    let mut app = app(Mode::Replay);
    let escape = |app: &mut App| app.update(Msg::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)));
    press(&mut app, '?');
    assert!(app.popups().help().is_some());
    assert_eq!(escape(&mut app), Command::DrawNow);
    assert!(app.popups().help().is_none());
    assert_eq!(escape(&mut app), Command::Quit);
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

fn seq(app: &App) -> u64 {
    app.shown().local().latest().unwrap().seq
}

fn code(app: &mut App, code: KeyCode) -> Command {
    app.update(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

#[test]
fn what_is_live_is_stepped_back_through_while_it_goes_on() {
    let mut app = app(Mode::Live);
    (0..5).for_each(|seq| _ = frame(&mut app, seq));
    let shown = ["[", "[", "]", "[", "[", "[", "["].map(|key| {
        press(&mut app, key.chars().next().unwrap());
        seq(&app)
    });
    assert_eq!(shown, [3, 2, 3, 2, 1, 0, 0]);
    assert!(app.notice().unwrap().contains("not kept"), "{:?}", app.notice());
    frame(&mut app, 5);
    assert_eq!(seqs(&app), (0, 5));
    code(&mut app, KeyCode::End);
    assert_eq!((seqs(&app), app.is_paused()), ((5, 5), false));
}

#[test]
fn what_is_live_goes_back_to_a_time_that_is_typed() {
    let mut app = app(Mode::Live);
    (0..=100).for_each(|seq| _ = frame(&mut app, seq));
    let type_in = |app: &mut App, text: &str| {
        press(app, 'g');
        text.chars().for_each(|char| _ = press(app, char));
        code(app, KeyCode::Enter)
    };
    type_in(&mut app, "-2s");
    assert_eq!(seqs(&app), (80, 100));
    type_in(&mut app, "0:04.2");
    assert_eq!(seqs(&app), (42, 100));
    type_in(&mut app, "1h");
    assert_eq!((seq(&app), app.notice()), (42, Some("1:00:00 has not come yet")));
    type_in(&mut app, "soon");
    assert!(app.prompt().unwrap().refusal.as_deref().unwrap().starts_with("`soon` is no time"));
    code(&mut app, KeyCode::Esc);
    assert_eq!(app.prompt(), None);
}

/// A replay of frames 0 to 9 that is held at the last of them.
fn held_replay() -> App {
    let mut app = app(Mode::Replay);
    (0..10).for_each(|seq| _ = frame(&mut app, seq));
    app.update(Msg::Outlined(Arc::new(Outline::of_span(0, 100_000_000_000))));
    press(&mut app, ' ');
    app
}

#[test]
fn a_replay_steps_within_what_it_has_and_asks_for_what_it_has_not() {
    let mut app = held_replay();
    assert_eq!(press(&mut app, ']'), Command::Step);
    frame(&mut app, 10);
    assert_eq!(seq(&app), 10);
    assert_eq!((press(&mut app, '['), seq(&app)), (Command::Pace(None), 9));
    assert_eq!((press(&mut app, ']'), seq(&app)), (Command::Pace(None), 10));
    press(&mut app, '[');
    // going on is from here, which the file has to be asked for
    let seek = Seek { number: 1, to_ns: 900_000_000, pace: Some(1.0) };
    assert_eq!(press(&mut app, ' '), Command::Seek(seek));
}

#[test]
fn frames_of_a_place_that_was_left_are_not_shown() {
    let mut app = held_replay();
    assert_eq!(code(&mut app, KeyCode::End), Command::Seek(Seek { number: 1, to_ns: u64::MAX, pace: None }));
    assert_eq!(frame(&mut app, 10), Command::None);
    let session = Arc::new(app.newest().session().clone());
    let far = Arc::new(Frame { seq: 999, at_ns: 99_900_000_000, ..Frame::default() });
    let place = Ok(History::after(Timeline::new(session), vec![far]));
    app.update(Msg::Sought(Box::new(Sought { number: 1, place })));
    assert_eq!(seq(&app), 999);
    frame(&mut app, 1000);
    assert_eq!(seq(&app), 1000);
}

#[test]
fn a_place_that_cannot_be_read_is_told_and_the_picture_stays() {
    let mut app = held_replay();
    code(&mut app, KeyCode::Home);
    app.update(Msg::Sought(Box::new(Sought { number: 1, place: Err("block 7 is damaged".into()) })));
    assert_eq!((app.notice(), seq(&app)), (Some("block 7 is damaged"), 9));
    press(&mut app, 'u');
    assert_eq!(app.notice(), None, "until the next key");
}

#[test]
fn a_replay_goes_from_finding_to_finding_and_says_which() {
    let mut app = held_replay();
    let mut outline = Outline::of_span(0, 100_000_000_000);
    let begun = Finding::new("half-rate", Severity::Warning, ["mlx5_3"], "");
    outline.look(app.newest(), std::slice::from_ref(&begun));
    app.update(Msg::Outlined(Arc::new(outline.clone())));
    press(&mut app, '[');
    let seek = Seek { number: 1, to_ns: 900_000_000, pace: None };
    assert_eq!(press(&mut app, 'n'), Command::Seek(seek));
    assert_eq!(app.notice(), Some("0:00: half-rate mlx5_3 begins"));
    press(&mut app, 'e');
    assert_eq!(app.notice(), Some("no further event up to 0:00; still looking"));
    outline.end();
    app.update(Msg::Outlined(Arc::new(outline)));
    press(&mut app, 'e');
    assert_eq!(app.notice(), Some("no further event"));
}

#[test]
fn a_place_that_is_pointed_at_is_gone_to() {
    let mut app = held_replay();
    let seek = Seek { number: 1, to_ns: 50_000_000_000, pace: None };
    assert_eq!(app.update(Msg::Clicked(Spot::Share(0.5))), Command::Seek(seek));
}

#[test]
fn a_mark_is_what_was_typed_and_a_recording_is_not_changed() {
    let mut live = app(Mode::Live);
    frame(&mut live, 0);
    press(&mut live, 'm');
    "quit now?".chars().for_each(|char| _ = press(&mut live, char));
    live.update(Msg::Pasted(" yes".into()));
    assert_eq!(live.prompt().unwrap().text, "quit now? yes");
    code(&mut live, KeyCode::Enter);
    assert!(live.notice().unwrap().starts_with("mark set"), "{:?}", live.notice());
    let mut past = app(Mode::Replay);
    press(&mut past, 'm');
    assert!(past.prompt().is_none() && past.notice().unwrap().contains("is not changed"));
}

#[test]
fn a_mark_is_refused_where_it_would_belong_to_another_moment() {
    let mut app = app(Mode::Live);
    (0..5).for_each(|seq| _ = frame(&mut app, seq));
    press(&mut app, 'm');
    assert!(app.prompt().is_some());
    code(&mut app, KeyCode::Esc);
    press(&mut app, '[');
    press(&mut app, 'm');
    assert!(app.prompt().is_none() && app.notice().unwrap().starts_with("no mark: "), "{:?}", app.notice());
    code(&mut app, KeyCode::End);
    press(&mut app, 'm');
    assert!(app.prompt().is_some());
}

#[test]
fn the_interval_of_what_is_live_is_changed_and_of_all_else_it_is_said_why_not() {
    let mut live = app(Mode::Live);
    let every = Every::new(std::time::Duration::from_millis(100));
    live.how.every = Some(every.clone());
    press(&mut live, '>');
    assert_eq!((every.get().as_millis(), live.interval_ns()), (200, 200_000_000));
    assert_eq!(live.notice(), Some("sampling every 200ms from here on"));
    press(&mut live, '<');
    press(&mut live, '<');
    assert_eq!(live.notice(), Some("100ms is the shortest interval that keys go to"));
    for (mode, why) in [(Mode::Replay, "recorded"), (Mode::Tree, "copied tree"), (Mode::Demo, "simulation")] {
        let mut app = app(mode);
        press(&mut app, '>');
        let notice = app.notice().unwrap();
        assert!(notice.starts_with("no other interval") && notice.contains(why), "{notice}");
    }
}

#[test]
fn the_wheel_zooms_the_past_and_keys_do_too() {
    let mut app = app(Mode::Live);
    app.update(Msg::Turned(Wheel::Down, Some(Spot::Past)));
    assert_eq!(app.zoom(), Zoom::TwoMinutes);
    press(&mut app, '.');
    assert_eq!((app.zoom(), app.notice()), (Zoom::TenMinutes, Some("trends and strips: last 10 min")));
    press(&mut app, ',');
    app.update(Msg::Turned(Wheel::Up, Some(Spot::Past)));
    assert_eq!(app.zoom(), Zoom::Minute);
}
