//! The other views at the sizes that people have, of the recordings that are shipped.

use super::fixture::{Node, a_mixed_bag};
use super::stage::{of_timeline, press, recorded, screen, terminal};
use super::{Colours, Theme, command_beside};
use crate::app::{App, Command, View};
use crate::timeline::Timeline;
use crossterm::event::KeyCode;
use probes::model::{Frame, GidChoice, Process, ProcessSource};
use ratatui::style::Color;
use std::sync::Arc;
use widgets::Symbols;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn at_every_size(name: &str, mut app: App) {
    for size in SIZES {
        let label = format!("{name}_{}x{}", size.0, size.1);
        insta::assert_snapshot!(label, screen(&mut app, size));
    }
}

#[test]
fn the_machine_is_drawn_with_the_switch_that_two_rails_share() {
    at_every_size("topology_shared-uplink", recorded("shared-uplink.rsz", View::Topology).with_rail(3));
}

#[test]
fn one_rail_is_told_in_full() {
    at_every_size("rail_mixed", recorded("mixed.rsz", View::Rail).with_rail(2));
}

#[test]
fn growing_counters_come_first_with_their_meaning() {
    let mut app = recorded("congested.rsz", View::Rail);
    let device = app
        .findings()
        .iter()
        .find(|finding| finding.code == "ecn-cnp")
        .map(|finding| finding.devices[0].clone())
        .unwrap();
    let position = super::position_of(app.shown().topology(), &device).unwrap();
    app = app.with_rail(position);
    let screen = screen(&mut app, (200, 60));
    let line = screen.lines().find(|line| line.contains("! np_ecn_marked_roce_packets")).unwrap();
    assert!(line.contains("packets that a switch marked as congested"), "{line}");
}

#[test]
fn who_sits_far_from_its_rail_is_told_first() {
    at_every_size("placement_cross-numa", recorded("cross-numa.rsz", View::Placement));
}

#[test]
fn a_load_is_told_in_full() {
    at_every_size("load_mixed", recorded("mixed.rsz", View::Load));
    let mut real = super::tests::a_real_load().at_view(View::Load);
    insta::assert_snapshot!("load_real", screen(&mut real, (200, 60)));
    let mut none = of_timeline(&with_processes(), View::Load);
    assert!(screen(&mut none, (80, 24)).contains("`railscope load PEER`"));
}

#[test]
fn rates_over_the_session_show_where_there_is_room_or_when_asked_for() {
    let mut app = recorded("mixed.rsz", View::Home);
    insta::assert_snapshot!("home_mixed_200x60", screen(&mut app, (200, 60)));
    assert!(screen(&mut app, (200, 60)).contains("Rates over the session"));
    assert!(!screen(&mut app, (80, 24)).contains("Rates over the session"));
    press(&mut app, KeyCode::Char('z'));
    insta::assert_snapshot!("home_rates_80x24", screen(&mut app, (80, 24)));
}

#[test]
fn what_shared_links_leave_a_rail_is_marked_on_its_bar() {
    let screen = screen(&mut recorded("shared-uplink.rsz", View::Home), (120, 40));
    let marked = screen.lines().filter(|line| line.contains('◆') && line.contains("mlx5_bond_")).count();
    assert_eq!(marked, 2, "{screen}");
}

/// Two processes, one on the wrong node, and one of which little is known.
fn with_processes() -> Timeline {
    let node = Node::with_rails(2);
    let mut timeline = Timeline::new(node.session());
    let process = |pid, name: &str, device: &str, cpus: Option<&str>| Process {
        pid,
        name: name.into(),
        device: device.into(),
        queue_pairs: Some(4),
        source: ProcessSource::QueuePairs,
        cpus_allowed: cpus.map(|cpus| cpus.parse().unwrap()),
        bound_threads: Vec::new(),
        mems_allowed: None,
        last_cpus: Vec::new(),
        large_mapping_bytes_by_node: cpus.map(|_| [(0, 98 << 30), (1, 2 << 30)].into()),

        registered_large_bytes: None,

        gpu: None,
        rank: None,
    };
    let processes = vec![
        process(4711, "python3", "mlx5_bond_1", Some("0-95")),
        process(4712, "python3-of-a-very-long-name", "mlx5_bond_2", Some("0-95")),
        process(9, "日本語の名前は広い文字です", "mlx5_bond_2", None),
    ];
    timeline.push(Frame { processes: Some(Arc::new(processes)), ..Frame::default() });
    timeline
}

#[test]
fn of_a_rail_in_full_no_command_of_another_is_copied() {
    let advice = |rail| command_beside(&recorded("mixed.rsz", View::Rail).with_rail(rail));
    let app = recorded("mixed.rsz", View::Rail);
    let warned = app.findings().iter().filter(|found| found.severity > crate::rules::Severity::Info);
    let warned: Vec<String> = warned.flat_map(|found| found.devices.clone()).collect();
    let rails = app.shown().topology().rails.len();
    let device = |at| app.shown().topology().rails[app.rail_at(at).unwrap().0].device.clone();
    let with_command: Vec<String> = (0..rails).filter(|at| advice(*at).is_some()).map(device).collect();
    assert!(!with_command.is_empty() && with_command.len() < rails, "{with_command:?} of {rails}");
    assert!(with_command.iter().all(|device| warned.contains(device)), "{with_command:?}, {warned:?}");
}

#[test]
fn the_command_of_the_selected_row_is_copied() {
    let mut app = of_timeline(&with_processes(), View::Placement);
    let first = screen(&mut app, (120, 40));
    insta::assert_snapshot!("placement_processes", first);
    let command = "numactl --cpunodebind=1 --membind=1 python3-of-a-very-long-name";
    assert_eq!(
        command_beside(&app).map(|beside| (beside.command, beside.is_open)),
        Some((command.to_owned(), true))
    );
    assert_eq!(press(&mut app, KeyCode::Char('c')), Command::Copy(command.to_owned()));
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Down);
    assert_eq!((app.line(), command_beside(&app)), (2, None));
    assert_eq!(press(&mut app, KeyCode::Char('c')), Command::DrawNow);
    assert_eq!(app.notice(), Some("there is no command here to copy"));
}

#[test]
fn keys_go_from_view_to_view_and_back_home() {
    let mut app = recorded("mixed.rsz", View::Home);
    press(&mut app, KeyCode::Char('j'));
    press(&mut app, KeyCode::Char('j'));
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.view(), View::Rail);
    assert!(screen(&mut app, (80, 24)).contains("rail 2 of 8"));
    press(&mut app, KeyCode::Right);
    assert!(screen(&mut app, (80, 24)).contains("rail 3 of 8"));
    press(&mut app, KeyCode::Tab);
    assert_eq!(app.view(), View::Placement);
    press(&mut app, KeyCode::BackTab);
    press(&mut app, KeyCode::BackTab);
    assert_eq!(app.view(), View::Topology);
    assert_eq!(press(&mut app, KeyCode::Esc), Command::DrawNow);
    assert_eq!((app.view(), press(&mut app, KeyCode::Esc)), (View::Home, Command::Quit));
}

#[test]
fn a_page_scrolls_to_its_last_line_and_no_further() {
    let mut app = recorded("mixed.rsz", View::Rail).with_rail(2);
    screen(&mut app, (80, 24));
    press(&mut app, KeyCode::Char('G'));
    let end = screen(&mut app, (80, 24));
    press(&mut app, KeyCode::Down);
    assert_eq!(screen(&mut app, (80, 24)), end);
    press(&mut app, KeyCode::Up);
    assert_ne!(screen(&mut app, (80, 24)), end, "no key press is lost");
}

#[test]
fn every_view_is_of_seven_bits_on_an_ascii_terminal_and_without_colours_where_none_are_wanted() {
    for view in View::ALL {
        let mut app = recorded("shared-uplink.rsz", view);
        app.set_theme(Theme { colours: Colours::None, symbols: Symbols::Ascii });
        let terminal = terminal(&mut app, 120, 40);
        let strange = terminal.backend().to_string();
        assert_eq!(strange.chars().filter(|char| !char.is_ascii()).collect::<String>(), "", "{view}");
        assert!(terminal.backend().buffer().content.iter().all(|cell| cell.fg == Color::Reset), "{view}");
    }
}

#[test]
fn themes_with_a_ground_of_their_own_leave_no_cell_to_the_terminal() {
    for colours in [Colours::Dark, Colours::Light] {
        let mut app = recorded("mixed.rsz", View::Home);
        app.set_theme(Theme { colours, symbols: Symbols::Unicode });
        let terminal = terminal(&mut app, 120, 40);
        let is_bare = |cell: &ratatui::buffer::Cell| cell.fg == Color::Reset || cell.bg == Color::Reset;
        assert!(!terminal.backend().buffer().content.iter().any(is_bare), "{colours:?}");
    }
}

#[test]
fn no_view_panics_at_any_size_or_with_anything_unknown() {
    let bare = Timeline::new(Node::with_rails(0).session());
    let mut long = Node::with_rails(64);
    long.topology.rails[0].device = "mlx5_with_a_name_that_is_far_too_long_for_a_column".into();
    long.topology.rails[1].gid = Some(GidChoice { index: 3, reason: "why ".repeat(99) });
    let long = Timeline::new(long.session());
    for timeline in [bare, a_mixed_bag(), with_processes(), long] {
        for view in View::ALL {
            let mut app = of_timeline(&timeline, view);
            for width in [1, 30, 60, 61, 80, 109, 110, 149, 150, 250] {
                for height in [1, 15, 16, 19, 20, 24, 70] {
                    screen(&mut app, (width, height));
                    press(&mut app, KeyCode::Char('j'));
                }
            }
        }
    }
}

#[test]
fn rails_can_be_told_apart_on_the_smallest_screen_in_every_view() {
    let mut node = Node::with_rails(4);
    for (at, rail) in node.topology.rails.iter_mut().enumerate() {
        rail.device = format!("rocep{}s0f0np0_of_a_long_name", at + 1);
    }
    let timeline = Timeline::new(node.session());
    for view in [View::Home, View::Topology] {
        let screen = screen(&mut of_timeline(&timeline, view), (60, 15));
        let mut names: Vec<&str> = screen
            .lines()
            .flat_map(|line| line.split([' ', '"', '│', '├', '└']))
            .filter(|word| word.starts_with("ro") && word.contains('…'))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert!(count >= 2 && names.len() == count, "{view}\n{screen}");
    }
}

#[test]
fn the_cause_is_told_first_and_marks_its_rail() {
    for (file, code, badge, device) in [
        ("gen4-slot.rsz", "pcie-capped-by-slot", "↓ slot", "mlx5_bond_2"),
        ("shared-uplink.rsz", "shared-pcie", "◆ shared", "mlx5_bond_3"),
    ] {
        let mut app = recorded(file, View::Home);
        assert_eq!(app.findings()[0].code, code);
        let screen = screen(&mut app, (120, 40));
        let row = screen.lines().find(|line| line.contains(device) && line.contains("ACTIVE")).unwrap();
        assert!(row.contains(badge), "{row}");
    }
}
