use crate::app::{App, How, Mode, Msg, View};
use crate::commands::diagnose::simulated_session;
use crate::view::{Theme, draw};
use insta::assert_snapshot;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;

/// A diagnosis of the simulated node after so many samples.
fn after(samples: usize) -> App {
    let mut source = simulated_session("mixed", 1).unwrap();
    let how = How { mode: Mode::Diagnosis, view: View::Experiments, ..How::default() };
    let mut app = App::new(source.session(), how, Theme::default());
    for _ in 0..samples {
        let Some(frame) = source.next_frame().unwrap() else {
            app.update(Msg::Ended(None));
            break;
        };
        app.update(Msg::Frame(Arc::new(frame)));
    }
    app.prepare();
    app
}

fn screen(app: &App, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| _ = draw(app, frame)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn the_table_fills_in_as_the_loads_are_made() {
    assert_snapshot!("experiments_begun_80x24", screen(&after(6), (80, 24)));
    assert_snapshot!("experiments_half_120x40", screen(&after(50), (120, 40)));
}

#[test]
fn a_whole_diagnosis_at_three_sizes() {
    let app = after(usize::MAX);
    assert!(app.ending().is_some() && app.diagnosed().unwrap().now.is_none());
    for size in [(80, 24), (120, 40), (200, 60)] {
        assert_snapshot!(format!("experiments_{}x{}", size.0, size.1), screen(&app, size));
    }
}

#[test]
fn a_planned_load_is_no_finding_about_a_load() {
    let app = after(usize::MAX);
    let codes: Vec<&str> = app.findings().iter().map(|finding| finding.code.as_ref()).collect();
    assert!(!codes.contains(&"cross-numa") && !codes.contains(&"counter-reset"), "{codes:?}");
}

#[test]
fn the_load_view_tells_the_planned_load_that_goes_on_and_not_that_there_is_none() {
    let mut app = after(6).at_view(View::Load);
    app.prepare();
    for size in [(80, 24), (120, 40), (200, 60)] {
        let text = screen(&app, size);
        for told in ["mlx5_bond_4: alone", "READ 256K, 8 queue pairs a rail", "mlx5_bond_3: 24.0 GB/s"] {
            assert!(text.contains(told), "{told}\n{text}");
        }
        assert!(!text.contains("No load"), "{text}");
    }
    let home = screen(&after(6).at_view(View::Home), (80, 24));
    assert!(home.contains("diagnosis (verdict: 6), last made: "), "{home}");
    let mut over = after(usize::MAX).at_view(View::Load);
    over.prepare();
    let text = screen(&over, (80, 24));
    assert!(text.contains("the diagnosis is over") && text.contains("6 Experiments"), "{text}");
}

#[test]
fn a_session_without_a_diagnosis_says_how_to_make_one() {
    let mut source = crate::sim::Simulated::new(
        "healthy",
        1,
        std::time::Duration::from_millis(100),
        crate::sim::Pace::AsFastAsPossible,
        Some(std::time::Duration::from_secs(1)),
    )
    .unwrap();
    let session = crate::session::FrameSource::session(&source);
    let mut app = App::new(session, How { view: View::Experiments, ..How::default() }, Theme::default());
    while let Some(frame) = crate::session::FrameSource::next_frame(&mut source).unwrap() {
        app.update(Msg::Frame(Arc::new(frame)));
    }
    app.prepare();
    let text = screen(&app, (80, 24));
    assert!(text.contains("railscope diagnose PEER --screen"), "{text}");
}
