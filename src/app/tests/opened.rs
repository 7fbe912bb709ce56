//! Findings that say the same of several rails are one in the list, and open the rails they name.

use super::{App, code, press};
use crate::app::{Focus, How, Mode, Msg, View};
use crate::rules::{Finding, Severity};
use crate::view::Theme;
use crate::view::fixture::{Node, host_of};
use crossterm::event::KeyCode;
use probes::model::{Frame, Process, ProcessSource};
use std::sync::Arc;

fn firmware(rail: usize) -> Finding {
    let message = format!("mlx5_bond_{rail}: firmware 28.39.1002, the others of its board 28.41.1000");
    Finding::new("fw-differs", Severity::Warning, [format!("mlx5_bond_{rail}")], message)
}

fn on_eight_rails(findings: Vec<Finding>) -> App {
    let mut app = App::new(host_of(8), How { mode: Mode::Live, ..How::default() }, Theme::default());
    app.show_findings(findings);
    app
}

/// The rail in sight.
fn rail(app: &App) -> String {
    let id = app.rail_at(app.selection().rail.unwrap()).unwrap();
    app.shown().topology().rails[id.0].device.clone()
}

#[test]
fn findings_that_are_alike_are_one_place_in_the_list() {
    let other = Finding::new("numa-balancing", Severity::Info, ["host"], "it is on");
    let mut app = on_eight_rails([2, 4, 7].map(firmware).into_iter().chain([other]).collect());
    let told: Vec<String> = app
        .told_findings()
        .iter()
        .map(|told| format!("{} {}", told.first.code, told.devices().collect::<Vec<_>>().join(",")))
        .collect();
    assert_eq!(told, ["fw-differs mlx5_bond_2,mlx5_bond_4,mlx5_bond_7", "numa-balancing host"]);
    press(&mut app, 'l');
    press(&mut app, 'j');
    press(&mut app, 'j');
    assert_eq!(app.selection().finding, Some(1), "there are two places");
    press(&mut app, 'k');
    // another of them comes to be the first
    app.show_findings(vec![firmware(1), firmware(2), firmware(4)]);
    assert_eq!(app.selection().finding, Some(0));
}

#[test]
fn of_a_card_with_two_ports_the_one_that_is_spoken_of_is_opened() {
    let mut node = Node::with_rails(2);
    node.topology.rails[1].device = node.topology.rails[0].device.clone();
    node.topology.rails[1].port = 2;
    let flap = |at: usize| {
        Finding::on_ports("flap", Severity::Warning, [&node.topology.rails[at]], format!("port {}", at + 1))
    };
    let (first, second) = (flap(0), flap(1));
    let mut app = App::new(node.session(), How { mode: Mode::Live, ..How::default() }, Theme::default());
    app.show_findings(vec![first.clone(), second.clone()]);
    press(&mut app, 'l');
    press(&mut app, 'j');
    assert_eq!(app.selection().finding, Some(1));
    app.show_findings(vec![first, second]);
    assert_eq!(app.selection().finding, Some(1), "the other port's is another finding");
    code(&mut app, KeyCode::Enter);
    let id = app.rail_at(app.selection().rail.unwrap()).unwrap();
    assert_eq!((app.view(), id.0), (View::Rail, 1));
    assert_eq!(app.among().map(|(_, among, _)| among.len()), Some(1));
}

#[test]
fn a_place_of_the_list_opens_the_rails_it_names() {
    let mut app = on_eight_rails([2, 4, 7].map(firmware).to_vec());
    press(&mut app, 'l');
    code(&mut app, KeyCode::Enter);
    assert_eq!((app.view(), rail(&app).as_str()), (View::Rail, "mlx5_bond_2"));
    for (key, device, at) in
        [('l', "mlx5_bond_4", 1), ('l', "mlx5_bond_7", 2), ('l', "mlx5_bond_7", 2), ('h', "mlx5_bond_4", 1)]
    {
        press(&mut app, key);
        assert_eq!((rail(&app).as_str(), app.among().map(|(_, _, at)| at)), (device, Some(at)));
    }
    code(&mut app, KeyCode::Esc);
    assert_eq!((app.view(), app.selection().focus), (View::Home, Focus::Findings));
    // by the key of the view, all rails are gone through
    press(&mut app, '3');
    press(&mut app, 'l');
    assert_eq!((rail(&app).as_str(), app.among()), ("mlx5_bond_5", None));
}

#[test]
fn a_finding_of_no_rail_opens_none_and_says_so() {
    let mut app = on_eight_rails(vec![Finding::new("numa-balancing", Severity::Info, ["host"], "it is on")]);
    press(&mut app, 'l');
    code(&mut app, KeyCode::Enter);
    assert_eq!(app.view(), View::Home);
    assert_eq!(app.notice(), Some("numa-balancing names no rail that is listed here"));
}

#[test]
fn a_row_of_the_placement_opens_its_rail_and_escape_leads_back() {
    let node = Node::with_rails(4);
    let mut app = App::new(node.session(), How { mode: Mode::Live, ..How::default() }, Theme::default());
    let process = |pid, device: &str| Process {
        pid,
        name: "reader".into(),
        device: device.into(),
        queue_pairs: Some(4),
        source: ProcessSource::QueuePairs,
        cpus_allowed: None,
        bound_threads: Vec::new(),
        mems_allowed: None,
        last_cpus: Vec::new(),
        large_mapping_bytes_by_node: None,

        registered_large_bytes: None,

        gpu: None,
        rank: None,
    };
    let processes = Some(Arc::new(vec![process(1, "mlx5_bond_2"), process(2, "mlx5_bond_4")]));
    app.update(Msg::Frame(Arc::new(Frame { processes, ..Frame::default() })));
    press(&mut app, '4');
    app.drawn(crate::view::Seen { lines: 2, ..crate::view::Seen::default() });
    press(&mut app, 'j');
    // the filter takes the process by its name, and no rail
    for key in "/reader".chars() {
        press(&mut app, key);
    }
    code(&mut app, KeyCode::Enter);
    code(&mut app, KeyCode::Enter);
    assert_eq!((app.view(), rail(&app).as_str()), (View::Rail, "mlx5_bond_4"));
    assert_eq!(app.notice(), Some("the filter has ended: it does not list this rail"));
    code(&mut app, KeyCode::Esc);
    assert_eq!((app.view(), app.line()), (View::Placement, 1));
}
