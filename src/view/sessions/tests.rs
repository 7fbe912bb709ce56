use super::draw;
use crate::app::{Entry, Keymap, Known, Sessions, State, Summary, SweepSummary};
use crate::rules::{Finding, Severity};
use crate::view::{Colours, Theme};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use widgets::Symbols;

fn finding(severity: Severity, code: &'static str, message: &str, advice: &str) -> Finding {
    Finding { advice: advice.into(), ..Finding::new(code, severity, ["mlx5_bond_3"], message) }
}

fn read(begun_s: u64, minutes: u64, findings: Vec<Finding>) -> Summary {
    Summary {
        host: Some("gpu17".into()),
        started_unix_ms: Some(1_764_385_445_000 + 1000 * begun_s),
        length_ns: Some(minutes * 60_000_000_000),
        rails: 8,
        findings: Some(findings),
        ..Summary::default()
    }
}

/// A folder with one of everything.
fn a_folder() -> Sessions {
    let mut sessions = Sessions::new("/var/lib/rails/gpu17".into(), None);
    let half = finding(
        Severity::Warning,
        "half-rate",
        "mlx5_bond_3 reads 24.5 GB/s, the fastest rail 49.0",
        "look at the legs: `cat /proc/net/bonding/bond3`",
    );
    let lost = finding(Severity::Error, "link-down", "mlx5_bond_5 is DOWN", "reseat the cable");
    let states = [
        ("tonight.rsz", 3_300_000, State::Read(Box::new(read(7200, 90, vec![lost, half.clone()])))),
        (
            "with-a-name-that-says-all-there-is-to-say.rsz",
            91_000,
            State::Read(Box::new(read(3600, 2, vec![half]))),
        ),
        (
            "fine.rsz",
            120_000,
            State::Read(Box::new(Summary { peer: Some("gpu18".into()), ..read(0, 5, vec![]) })),
        ),
        (
            "cut.rsz",
            64_000,
            State::Read(Box::new(Summary {
                warning: Some("is cut short: its last 812 bytes are no whole block and are left out".into()),
                simulated: true,
                host: None,
                findings: None,
                ..read(60, 1, vec![])
            })),
        ),
        ("empty.rsz", 0, State::Damaged("empty.rsz: is no railscope recording".into())),
        (
            "n1-n2.json",
            44_000,
            State::Sweep(Box::new(SweepSummary {
                host: Some("gpu17".into()),
                started_unix_ms: Some(1_764_385_445_000),
                rails: 2,
                simulated: false,
                points: (21, 22),
                statements: vec!["1 QP: peak 52.46 Gb/s at 1M, trough 1.20 Gb/s at 1K".into()],
            })),
        ),
        ("new.rsz", 5_000_000_000, State::Unread),
    ];
    let entries = states.iter().map(|(name, bytes, _)| Entry::unread(format!("/x/{name}").into(), *bytes));
    sessions.learn(Known::Files(entries.collect(), 2));
    for (at, (_, _, state)) in states.into_iter().enumerate() {
        sessions.learn(Known::File(at, state));
    }
    sessions
}

fn screen(sessions: &Sessions, theme: Theme, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(sessions, &Keymap::default(), theme, frame)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn a_folder_of_sessions_is_told_in_a_line_each() {
    for size in [(80, 24), (120, 40), (200, 60)] {
        let name = format!("sessions_{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, screen(&a_folder(), Theme::default(), size));
    }
}

#[test]
fn a_list_is_of_seven_bits_on_an_ascii_terminal() {
    let theme = Theme { colours: Colours::None, symbols: Symbols::Ascii };
    assert!(screen(&a_folder(), theme, (120, 40)).is_ascii());
}

#[test]
fn a_long_list_shows_the_selected_one() {
    let mut sessions = Sessions::new("runs".into(), Some("runs/70.rsz".into()));
    let entry = |at: u64| Entry::unread(format!("runs/{at}.rsz").into(), at);
    sessions.learn(Known::Files((0..100).map(entry).collect(), 0));
    let screen = screen(&sessions, Theme::default(), (80, 24));
    assert!(screen.contains("▶ 70.rsz") && screen.contains("100 not read yet"), "{screen}");
}

#[test]
fn the_folder_keeps_its_place_beside_long_counts() {
    for (folder, shown) in
        [("/scratch/runs/gpu17", "/scratch/runs/gpu17"), ("/a/very/long/way/".repeat(9).leak(), "long/way")]
    {
        let mut sessions = Sessions::new(folder.into(), None);
        let entry = |at: u64| Entry::unread(format!("{folder}/{at}.rsz").into(), at);
        sessions.learn(Known::Files((0..5000).map(entry).collect(), 0));
        for at in 0..3000 {
            let severity = if at % 2 == 0 { Severity::Error } else { Severity::Warning };
            let found = vec![finding(severity, "half-rate", "", "")];
            sessions.learn(Known::File(at, State::Read(Box::new(read(0, 1, found)))));
        }
        let head = screen(&sessions, Theme::default(), (80, 24)).lines().next().unwrap().to_owned();
        assert!(head.contains(shown) && head.contains("5000 sessions"), "{head}");
        let wide = screen(&sessions, Theme::default(), (300, 24)).lines().next().unwrap().to_owned();
        for count in ["5000 sessions", "1500 with errors", "1500 with warnings", "2000 not read yet"] {
            assert!(wide.contains(count), "{wide}");
        }
    }
}

#[test]
fn a_folder_without_sessions_says_how_to_make_one() {
    let mut sessions = Sessions::new("runs".into(), None);
    sessions.learn(Known::Files(Vec::new(), 3));
    let screen = screen(&sessions, Theme::default(), (80, 24));
    assert!(screen.contains("3 files are there") && screen.contains("railscope record"), "{screen}");
}

#[test]
fn no_size_is_too_small_or_too_large() {
    for width in [1, 60, 61, 79, 80, 99, 100, 250] {
        for height in [1, 15, 16, 24, 70] {
            screen(&a_folder(), Theme::default(), (width, height));
        }
    }
}
