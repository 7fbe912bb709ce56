use super::draw;
use crate::app::{Action, Keymap, Progressed, Sweeping};
use crate::sweep::bound::Bound;
use crate::sweep::{Grid, Point, Sweep};
use crate::view::{Colours, Theme};
use probes::load::Params;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::time::{Duration, Instant};
use widgets::Symbols;

/// Rates of three curves, Gb/s: one that is bound by its window, and two that reach the wire.
const RATES: [[f64; 11]; 3] = [
    [6.5, 13.1, 26.0, 52.2, 104.0, 203.0, 311.0, 352.0, 371.0, 380.0, 381.0],
    [26.1, 52.0, 103.5, 205.0, 366.0, 388.0, 391.0, 391.5, 391.8, 392.0, 391.9],
    [44.0, 89.0, 171.0, 340.0, 389.0, 391.0, 340.0, 391.9, 392.0, 392.1, 392.0],
];

fn measured(points: usize) -> Sweep {
    let grid = Grid::new(&"1K..1M".parse().unwrap(), &[1, 4, 16], &[1]).unwrap();
    let mut sweep = Sweep::new(Params { duration_s: Some(15.0), ..Params::default() }, 15.0, grid);
    sweep.host.hostname = Some("gpu17".into());
    sweep.host.peer = Some("gpu18".into());
    sweep.host.transport = "verbs".into();
    sweep.host.rails = vec!["mlx5_bond_1".into()];
    for (spot, rate) in sweep.grid.spots().into_iter().zip(RATES.into_iter().flatten()).take(points) {
        let mut point = Point { spot, window_s: 15.0, ..Point::default() };
        point.all.gbit_per_s = Some(rate);
        point.all.gb_per_s = Some(rate / 8.0);
        point.all.mpps = Some(rate * 1e3 / 8.0 / spot.size_bytes as f64);
        let (by, because) = if rate > 380.0 {
            ("link", "48.98 of 49.02 GB/s the wire carries in messages of that size")
        } else {
            ("read-window", "0.82 of 0.82 GB/s: 16 READs of 1K a queue pair in 20.0 us")
        };
        point.bound = Bound { by: by.into(), because: because.into() };
        sweep.add(point);
    }
    sweep
}

fn screen(sweeping: &Sweeping, theme: Theme, now: Instant, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(sweeping, &Keymap::default(), theme, now, frame)).unwrap();
    terminal.backend().to_string()
}

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

#[test]
fn a_sweep_is_drawn_as_curves() {
    let sweeping = Sweeping::saved(measured(33), None);
    for size in SIZES {
        let name = format!("sweep_{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, screen(&sweeping, Theme::default(), Instant::now(), size));
    }
}

#[test]
fn the_curves_fill_in_while_it_goes_on() {
    let now = Instant::now();
    let mut sweeping = Sweeping::begun(measured(0), None);
    assert!(screen(&sweeping, Theme::default(), now, (80, 24)).contains("no point is measured yet"));
    sweeping.learn(Progressed::Measured(Box::new(measured(16))));
    let next = measured(0).grid.spots()[16];
    sweeping.learn(Progressed::Begun(next, Duration::from_secs(289), now));
    let later = now + Duration::from_secs(5);
    insta::assert_snapshot!("sweep_going_on_80x24", screen(&sweeping, Theme::default(), later, (80, 24)));
    sweeping.act(Action::Quit);
    sweeping.learn(Progressed::Over(Some("stopped with 17 of its points not measured".into())));
    let over = screen(&sweeping, Theme::default(), later, (120, 40));
    assert!(over.contains("■ STOPPED at 16 of 33 points") && over.contains("stopped with 17"), "{over}");
}

#[test]
fn a_sweep_is_of_seven_bits_on_an_ascii_terminal() {
    let theme = Theme { colours: Colours::None, symbols: Symbols::Ascii };
    let screen = screen(&Sweeping::saved(measured(33), None), theme, Instant::now(), (120, 40));
    assert!(screen.is_ascii(), "{screen}");
}

#[test]
fn no_size_and_no_count_of_points_is_too_small() {
    for points in [0, 1, 2, 12, 33] {
        let sweeping = Sweeping::saved(measured(points), None);
        for width in [1, 60, 61, 80, 250] {
            for height in [1, 15, 16, 24, 70] {
                screen(&sweeping, Theme::default(), Instant::now(), (width, height));
            }
        }
    }
}
