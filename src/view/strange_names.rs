//! Names that others made up, in every view: wide ones, long ones, and such as a terminal would obey.

use super::fixture::Node;
use super::stage::{of_timeline, terminal};
use super::{Colours, Theme};
use crate::app::{App, How, Msg, View};
use crate::printable::spelt;
use crate::rules::{Finding, Severity};
use crate::timeline::Timeline;
use probes::model::{Frame, Process, ProcessSource, RailFrame};
use std::sync::Arc;
use widgets::Symbols;

const STRANGE: [&str; 5] = [
    "\u{1b}[31mred\u{1b}]0;title\u{7}",
    "帯域幅の広い名前のある装置",
    "\u{202e}turned\u{2069}\u{200f}",
    "tab\tand\r\u{8}\u{9b}2J",
    "e\u{301}\u{200d}\u{1f468}\u{200d}\u{1f469}",
];

/// A node on which everything is called so.
fn a_strange_node() -> App {
    let long = "long-".repeat(40);
    let name = |at: usize, what: &str| {
        let strange = STRANGE.get(at).copied().unwrap_or(&long);
        format!("{what}{strange}")
    };
    let mut node = Node::with_rails(STRANGE.len() + 1);
    node.topology.host.hostname = Some(name(0, "host"));
    node.topology.host.kernel = Some(name(2, "6.1"));
    for (at, rail) in node.topology.rails.iter_mut().enumerate() {
        rail.device = name(at, &format!("mlx5_{at}"));
        rail.netdev = Some(name(at, &format!("eth{at}")));
        rail.firmware = Some(name(at, "28.39"));
        for (leg, bond) in rail.bond.iter_mut().flat_map(|bond| &mut bond.legs).enumerate() {
            bond.netdev = name(at, &format!("leg{leg}"));
        }
        for gid in &mut rail.gids {
            gid.netdev = Some(name(at, "gid"));
        }
    }
    let devices: Vec<String> = node.topology.rails.iter().map(|rail| rail.device.clone()).collect();
    for (at, device) in devices.iter().enumerate() {
        node.topology.gap("counters", device, name(at, "port_rcv_data: "));
    }
    let mut timeline = Timeline::new(node.session());
    for seq in 0..20_u64 {
        let processes = devices.iter().enumerate().map(|(at, device)| Process {
            pid: 100 + u32::try_from(at).unwrap(),
            name: name(at, "comm"),
            device: device.clone(),
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
        });
        let rail =
            RailFrame { rx_bytes: Some(seq * 4_000_000_000), tx_bytes: Some(seq), ..RailFrame::default() };
        timeline.push(Frame {
            seq,
            at_ns: seq * 100_000_000,
            rails: vec![rail; devices.len()],
            processes: Some(Arc::new(processes.collect())),
            ..Frame::default()
        });
    }
    let mut app = of_timeline(&timeline, View::Home);
    let finding = |(at, device): (usize, &String)| {
        Finding::new("link-down", Severity::Warning, [device.clone()], name(at, "it says "))
            .advise(name(at, "look at `ip link show "))
    };
    let mut findings: Vec<Finding> = devices.iter().enumerate().map(finding).collect();
    findings.extend(app.findings().to_vec());
    app.show_findings(findings);
    app
}

fn themes() -> [Theme; 2] {
    let theme = |symbols| Theme { colours: Colours::None, symbols };
    [theme(Symbols::Unicode), theme(Symbols::Ascii)]
}

#[test]
fn nothing_that_a_terminal_would_obey_comes_onto_the_screen() {
    let mut wrong = std::collections::BTreeSet::new();
    for theme in themes() {
        for view in View::ALL {
            for (width, height) in [(60, 15), (80, 24), (120, 40), (250, 70)] {
                for rail in 0..=STRANGE.len() {
                    let mut app = a_strange_node().at_view(view).with_rail(rail);
                    app.set_theme(theme);
                    let terminal = terminal(&mut app, width, height);
                    let buffer = terminal.backend().buffer();
                    for y in 0..height {
                        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
                        let is_plain = theme.symbols == Symbols::Unicode || line.is_ascii();
                        if spelt(&line) != line || line.contains(char::is_control) || !is_plain {
                            wrong.insert(format!("{view} at {width}x{height}: {line}"));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn no_name_moves_a_column() {
    for theme in themes() {
        for (width, height) in [(80, 24), (120, 40), (250, 70)] {
            let mut app = a_strange_node();
            app.set_theme(theme);
            let terminal = terminal(&mut app, width, height);
            let buffer = terminal.backend().buffer();
            let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<Vec<_>>();
            let starts: Vec<usize> = (0..height)
                .map(line)
                .filter(|cells| ["40.0", "80%", "rx "].iter().all(|text| cells.concat().contains(text)))
                .filter_map(|cells| (0..cells.len()).find(|at| cells[*at..].concat().starts_with("rx ")))
                .collect();
            assert_eq!(starts.len(), STRANGE.len() + 1, "{width}x{height}\n{}", terminal.backend());
            assert!(starts.windows(2).all(|two| two[0] == two[1]), "{starts:?}\n{}", terminal.backend());
        }
    }
}

#[test]
fn a_title_of_a_strange_file_is_spelt_out() {
    let how = How { title: format!("{}.rsz", STRANGE[0]), ..How::default() };
    let mut app = App::new(Node::with_rails(2).session(), how, Theme::default());
    app.update(Msg::Frame(Arc::new(Frame::default())));
    let screen = terminal(&mut app, 200, 24).backend().to_string();
    assert!(screen.contains(r"\u{1b}[31mred"), "{screen}");
}
