//! What the threads of our load did and cost, all of them together: one line or two under the rates.

use super::Theme;
use super::segments::{Segment, paint};
use super::units::Rates;
use crate::app::App;
use crate::report::{LoadBlock, PerfRow};
use crate::timeline::Timeline;
use probes::model::{Load, LoadOp, LoadOrigin};
use ratatui::Frame;
use ratatui::layout::Rect;

/// From this width on everything goes into one line, whatever the figures are, so that nothing jumps.
const WIDE: u16 = 118;
/// Below this height of all that is not the header it has to.
const LOW: u16 = 18;

/// Lines it takes of an area of this size; none without a load of ours.
pub fn height(app: &App, area: Rect) -> u16 {
    match app.shown().local().load() {
        Some(load) if load.origin == LoadOrigin::Ours => {
            1 + u16::from(area.width < WIDE && area.height >= LOW && !is_simulated(app.shown(), load))
        }
        _ => 0,
    }
}

fn is_simulated(timeline: &Timeline, load: &Load) -> bool {
    timeline.session().simulated.is_some() || load.is_simulated()
}

/// Draws it into as many lines as there are.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) {
    let Some(load) = LoadBlock::of(app.shown()).filter(|_| area.height > 0) else { return };
    let theme = app.theme();
    let mut did = did(&load, app.rates(), theme);
    let cost = if load.simulated { not_modelled(theme) } else { cost(&load.perf, theme) };
    let buffer = frame.buffer_mut();
    if area.height == 1 {
        did.extend(cost);
    } else {
        paint(cost, Vec::new(), Rect { y: area.y + 1, height: 1, ..area }, buffer, theme.symbols);
    }
    paint(did, Vec::new(), Rect { height: 1, ..area }, buffer, theme.symbols);
}

/// What has to stand beside a rate that is no figure of the fabric.
pub fn no_figure_of_the_fabric(timeline: &Timeline) -> Vec<&'static str> {
    let Some(load) = timeline.local().load() else { return Vec::new() };
    let labels = [
        (is_simulated(timeline, load), "simulated"),
        (load.loopback, "loopback, not fabric"),
        (load.is_functional_check(), "functional check"),
    ];
    labels.into_iter().filter(|(is, _)| *is).map(|(_, label)| label).collect()
}

/// Threads, latency, the other direction, restarts, and the GPU that the data lie in.
fn did(load: &LoadBlock, unit: Rates, theme: Theme) -> Vec<Segment> {
    let plain = |text: String, rank| Segment::new(text, theme.plain(), rank);
    let threads = load.workers.unwrap_or(load.threads.len());
    let mut pieces = vec![plain(format!("{threads} {}", if threads == 1 { "thread" } else { "threads" }), 1)];
    let us = theme.pick("µs", "us");
    match (load.latency_us.p50, load.latency_us.p99) {
        (Some(p50), Some(p99)) => {
            pieces.push(plain(format!("p50 {} p99 {}", time(p50, us), time(p99, us)), 0));
        }
        (Some(p50), None) => {
            pieces.push(plain(format!("p50 {}, p99: too few samples", time(p50, us)), 0));
        }
        (None, _) if load.simulated => {}
        (None, _) => pieces.push(Segment::new("latency: not measured yet", theme.dim(), 2)),
    }
    if load.bidirectional {
        let op = match load.op {
            LoadOp::Read => "READ",
            LoadOp::Write => "WRITE",
        };
        let rate = load.peer_gb_per_s.map(|rate| format!("{} {}", unit.text(rate), unit.word()));
        pieces.push(plain(format!("peer {op} {}", rate.as_deref().unwrap_or("not told yet")), 0));
    }
    pieces.push(match load.restarts {
        0 => Segment::new("no restarts", theme.dim(), 3),
        1 => Segment::new("1 restart", theme.strong(), 0),
        several => Segment::new(format!("{several} restarts"), theme.strong(), 0),
    });
    if let Some(gpu) = &load.gpu {
        let way = load.threads.iter().find_map(|thread| thread.registered);
        let way = way.map(|way| format!(" ({})", way.word())).unwrap_or_default();
        pieces.push(plain(format!("in {gpu}{way}"), 0));
    }
    pieces
}

/// Microseconds in three or four digits: `4.21 µs`, `88.0 µs`, `1.25 ms`.
pub fn time(us: f64, unit: &str) -> String {
    match us {
        us if us < 10.0 => format!("{us:.2} {unit}"),
        us if us < 1000.0 => format!("{us:.1} {unit}"),
        us if us < 1e6 => format!("{:.2} ms", us / 1e3),
        us => format!("{:.2} s", us / 1e6),
    }
}

/// What a simulation has no figures of.
fn not_modelled(theme: Theme) -> Vec<Segment> {
    vec![Segment::new("latency, IPC, GHz, cycles/B: not modelled", theme.dim(), 0)]
}

/// Instructions a cycle, effective frequency and cycles a byte; what is not known by the word for why.
fn cost(perf: &PerfRow, theme: Theme) -> Vec<Segment> {
    let state = |names: &[&str]| names.iter().find_map(|name| perf.state.get(*name)).map(String::as_str);
    let figures = [
        (
            "IPC",
            perf.instructions_per_cycle.map(|n| format!("IPC {n:.2}")),
            state(&["cycles", "instructions"]),
        ),
        ("GHz", perf.effective_ghz.map(|n| format!("{n:.2} GHz")), state(&["cycles", "on_cpu_ns"])),
        ("cycles/B", perf.cycles_per_byte.map(|n| format!("{n:.3} cycles/B")), state(&["cycles"])),
    ];
    let unknown = if perf.measured_s.is_none() { "not measured yet" } else { "not known" };
    let mut pieces = Vec::new();
    let mut missing: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, figure, state) in figures {
        match (figure, state) {
            (Some(figure), None) => pieces.push(Segment::new(figure, theme.plain(), 0)),
            (Some(figure), Some(state)) => {
                pieces.push(Segment::new(format!("{figure} ({state})"), theme.plain(), 0));
            }
            (None, state) => {
                let why = state.unwrap_or(unknown);
                match missing.iter_mut().find(|(other, _)| *other == why) {
                    Some((_, names)) => names.push(name),
                    None => missing.push((why, vec![name])),
                }
            }
        }
    }
    let missing = missing.into_iter().map(|(why, names)| format!("{}: {why}", names.join(", ")));
    pieces.extend(missing.map(|text| Segment::new(text, theme.dim(), 0)));
    pieces
}

#[cfg(test)]
mod tests {
    use super::{cost, time};
    use crate::report::PerfRow;
    use crate::view::Theme;
    use crate::view::segments::paint;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    fn shown(perf: &PerfRow) -> String {
        let theme = Theme::default();
        let mut buffer = Buffer::empty(Rect::new(0, 0, 90, 1));
        paint(cost(perf, theme), Vec::new(), buffer.area, &mut buffer, theme.symbols);
        let text: String = (0..90).map(|x| buffer[(x, 0)].symbol().to_owned()).collect();
        text.trim_end().to_owned()
    }

    fn of(known: bool, states: &[(&str, &str)]) -> PerfRow {
        let figure = |value| known.then_some(value);
        PerfRow {
            measured_s: Some(3.0),
            instructions_per_cycle: figure(2.014),
            effective_ghz: figure(2.6),
            cycles_per_byte: figure(0.396),
            state: states.iter().map(|(name, state)| ((*name).to_owned(), (*state).to_owned())).collect(),
            ..PerfRow::default()
        }
    }

    #[test]
    fn what_is_missing_says_its_own_word_and_none_is_zero() {
        assert_eq!(shown(&of(true, &[])), "IPC 2.01  2.60 GHz  0.396 cycles/B");
        for word in ["not supported", "not permitted", "simulated"] {
            let missing = of(false, &[("cycles", word), ("instructions", word)]);
            assert_eq!(shown(&missing), format!("IPC, GHz, cycles/B: {word}"));
        }
        assert_eq!(
            shown(&of(true, &[("cycles", "multiplexed"), ("instructions", "multiplexed")])),
            "IPC 2.01 (multiplexed)  2.60 GHz (multiplexed)  0.396 cycles/B (multiplexed)"
        );
        let user = PerfRow { effective_ghz: None, ..of(true, &[("cycles", "user space only")]) };
        assert_eq!(
            shown(&user),
            "IPC 2.01 (user space only)  0.396 cycles/B (user space only)  GHz: user space only"
        );
        assert_eq!(shown(&PerfRow::default()), "IPC, GHz, cycles/B: not measured yet");
    }

    #[test]
    fn times_have_three_digits_or_four() {
        let texts = [0.95, 4.214, 88.04, 999.9, 1250.0, 2_500_000.0].map(|us| time(us, "us"));
        assert_eq!(texts, ["0.95 us", "4.21 us", "88.0 us", "999.9 us", "1.25 ms", "2.50 s"]);
    }
}
