//! What has no room on a small screen says so, and can be got at; keys go to what is selected.

use super::stage::{of_timeline, press, recorded, screen};
use crate::app::{App, How, Mode, View};
use crossterm::event::KeyCode;
use probes::model::{Frame, Process, ProcessSource, RailId};
use std::sync::Arc;

const SMALL: [(u16, u16); 2] = [(60, 15), (80, 24)];

/// Text of the screen without its frame of quotes, its words one blank apart.
fn words(picture: &str) -> String {
    picture.replace('"', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn device(app: &App) -> String {
    let RailId(at) = app.rail_at(app.selection().rail.unwrap()).unwrap();
    app.shown().topology().rails[at].device.clone()
}

#[test]
fn a_finding_that_is_cut_says_so_and_its_advice_is_read_by_keys_to_its_last_word() {
    for size in SMALL {
        let mut app = recorded("mixed.rsz", View::Home);
        let first = screen(&mut app, size);
        assert!(first.contains("of 5 ↕ l j/k"), "that there are more, and the keys\n{first}");
        let last_words = "same bond on the peer";
        assert!(!words(&first).contains(last_words) && words(&first).contains('…'), "{first}");
        press(&mut app, KeyCode::Char('l'));
        let mut all = String::new();
        for _ in 0..12 {
            all += &words(&screen(&mut app, size));
            if all.contains(last_words) {
                break;
            }
            press(&mut app, KeyCode::Char('j'));
        }
        assert!(all.contains(last_words) && app.selection().finding == Some(0), "{size:?}\n{all}");
    }
}

#[test]
fn rails_with_findings_are_in_sight_before_a_key_chose_one() {
    for (file, device) in [("cross-numa.rsz", "mlx5_bond_5"), ("mixed.rsz", "mlx5_bond_3")] {
        let picture = screen(&mut recorded(file, View::Home), (60, 15));
        let is_row = |line: &&str| line.contains(device) && line.contains("READ");
        assert_eq!(picture.lines().filter(is_row).count(), 1, "{file}\n{picture}");
    }
}

#[test]
fn what_mends_a_process_is_whole_in_placement_or_says_where_it_is() {
    let command = "`--place cpu:1,mem:1`";
    let mut app = recorded("cross-numa.rsz", View::Placement);
    let whole = screen(&mut app, (80, 24));
    assert!(words(&whole).contains(command), "{whole}");
    let small = screen(&mut app, (60, 15));
    assert!(small.contains("lines more: Enter opens the rail"), "{small}");
    press(&mut app, KeyCode::Enter);
    let mut all = String::new();
    for _ in 0..20 {
        all += &words(&screen(&mut app, (60, 15)));
        press(&mut app, KeyCode::Char('j'));
    }
    assert!(all.contains("cpu:1,mem:1"), "{all}");
}

#[test]
fn the_key_of_the_rail_view_opens_what_is_selected_and_enter_at_first_the_worst() {
    for key in [KeyCode::Enter, KeyCode::Char('3')] {
        let mut app = recorded("cross-numa.rsz", View::Home);
        press(&mut app, key);
        assert_eq!((app.view(), device(&app).as_str()), (View::Rail, "mlx5_bond_5"));
    }
    let mut app = recorded("cross-numa.rsz", View::Placement);
    screen(&mut app, (80, 24));
    press(&mut app, KeyCode::Char('j'));
    let row = super::device_beside(&app).unwrap();
    assert_ne!(row, "mlx5_bond_5");
    press(&mut app, KeyCode::Char('3'));
    assert_eq!((app.view(), device(&app)), (View::Rail, row));
}

#[test]
fn a_rail_names_its_users() {
    let mut node = super::fixture::Node::with_rails(2);
    node.topology.rails[0].numa_node = Some(0);
    let mut timeline = crate::timeline::Timeline::new(node.session());
    let process = Process {
        pid: 4711,
        name: "python3".into(),
        device: "mlx5_bond_1".into(),
        queue_pairs: Some(4),
        source: ProcessSource::QueuePairs,
        cpus_allowed: Some("0-95".parse().unwrap()),
        bound_threads: Vec::new(),
        mems_allowed: None,
        last_cpus: Vec::new(),
        large_mapping_bytes_by_node: None,
        registered_large_bytes: None,
        gpu: None,
        rank: None,
    };
    timeline.push(Frame { processes: Some(Arc::new(vec![process])), ..Frame::default() });
    let mut app = of_timeline(&timeline, View::Rail).with_rail(0);
    let with = screen(&mut app, (120, 40));
    assert!(with.contains("python3 (PID 4711): CPUs N0"), "{with}");
    let without = screen(&mut app.with_rail(1), (120, 40));
    assert!(without.contains("no process has a queue pair"), "{without}");
}

#[test]
fn facts_that_are_unknown_are_counted_as_the_report_lists_them_and_their_command_is_of_the_session() {
    let mut node = super::fixture::Node::with_rails(4);
    let gap = |rail: &probes::model::Rail| probes::model::Gap {
        probe: "pcie".into(),
        subject: rail.device.clone(),
        reason: "current_link_speed: no such file".into(),
    };
    node.topology.gaps = node.topology.rails.iter().map(gap).collect();
    for (mode, text) in [
        (Mode::Live, "1 fact unknown: railscope probe"),
        (Mode::Replay, "1 fact unknown: railscope report FILE"),
    ] {
        let how = How { mode, ..How::default() };
        let mut app = App::new(node.session(), how, super::Theme::default());
        let picture = screen(&mut app, (120, 40));
        assert!(picture.contains(text), "{picture}");
    }
}

#[test]
fn beside_findings_without_a_load_a_low_rate_is_said_to_be_none() {
    let node = super::fixture::Node::with_rails(2);
    let mut timeline = crate::timeline::Timeline::new(node.session());
    timeline.push(Frame::default());
    let mut app = of_timeline(&timeline, View::Home);
    app.show_findings(vec![crate::rules::Finding::new(
        "mrrs",
        crate::rules::Severity::Warning,
        ["mlx5_bond_1"],
        "low",
    )]);
    assert!(screen(&mut app, (80, 24)).contains("no load: a low rate alone is no finding"));
    assert!(!screen(&mut recorded("mixed.rsz", View::Home), (80, 24)).contains("no load:"));
}
