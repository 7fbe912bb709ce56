//! Each thread of the load: its rail, rate, place and errors.

use crate::app::App;
use crate::report::{LoadBlock, ThreadRow};
use crate::rules::Severity;
use crate::timeline::gb_per_s;
use crate::view::groups::devices;
use crate::view::page::Page;
use crate::view::units::percent;
use probes::model::{Frame, WorkerPhase};
use ratatui::text::Span;
use widgets::{padded, padded_left, shorten, width};

/// Rates are means of this time.
const MEAN_NS: u64 = 1_000_000_000;
/// Cells of a thread's name, and of its CPUs.
const NAME: usize = 16;
const CPUS: usize = 14;

/// Draws a row for each thread.
pub fn draw(app: &App, load: &LoadBlock, page: &mut Page) {
    let theme = page.theme();
    if load.threads.is_empty() {
        page.heading("Threads", "none of ours: this load is described, not run");
        return;
    }
    page.heading("Threads", &format!("{}, mean of a second", app.rates().word()));
    let head = format!(
        "{:<NAME$} {:<9} {:>7} {:>4} {:<CPUS$} {:<6} {:>6} {:>5}",
        "", "phase", "now", "QPs", "CPUs", "buffer", "empty", "IPC"
    );
    page.line(vec![Span::styled(head, theme.dim())]);
    let rates = rates(app);
    // a simulation polls nothing
    let polls = !load.simulated;
    for (at, thread) in load.threads.iter().enumerate() {
        let number = thread.number.map(|number| format!(" #{number}")).unwrap_or_default();
        let room = NAME.saturating_sub(width(&number));
        let all = devices(app.with_load().topology());
        let name = format!("{}{number}", shorten(&thread.device, &all, room, theme.symbols));
        let rate = rates.get(at).copied().flatten().map_or("-".to_owned(), |rate| app.rates().text(rate));
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let cells = [
            (name, NAME, Side::Left),
            (phase(thread.phase).to_owned(), 9, Side::Left),
            (rate, 7, Side::Right),
            (or_dash(thread.qps.map(|qps| qps.to_string())), 4, Side::Right),
            (thread.cpus.as_ref().map_or("not bound".to_owned(), ToString::to_string), CPUS, Side::Left),
            (or_dash(thread.buffer_node.map(|node| format!("N{node}"))), 6, Side::Left),
            (or_dash(thread.empty_poll_share.filter(|_| polls).map(percent)), 6, Side::Right),
            (or_dash(thread.perf.instructions_per_cycle.map(|ipc| format!("{ipc:.2}"))), 5, Side::Right),
        ];
        let text: String = cells
            .into_iter()
            .map(|(text, cells, side)| {
                let text = theme.text(&text);
                match side {
                    Side::Left => padded(&text, cells, theme.symbols) + " ",
                    Side::Right => padded_left(&text, cells, theme.symbols) + " ",
                }
            })
            .collect();
        let trouble = trouble(thread);
        let style = if trouble.is_empty() { theme.plain() } else { theme.severity(Severity::Error) };
        page.line(vec![Span::styled(text, style), Span::styled(trouble, style)]);
    }
}

enum Side {
    Left,
    Right,
}

fn phase(phase: WorkerPhase) -> &'static str {
    match phase {
        WorkerPhase::Waiting => "waiting",
        WorkerPhase::Warmup => "warm-up",
        WorkerPhase::Measuring => "measuring",
        WorkerPhase::Done => "done",
        WorkerPhase::Failed => "FAILED",
    }
}

/// Errors and restarts, in words.
fn trouble(thread: &ThreadRow) -> String {
    let errors = thread.errors.iter().map(|(status, count)| format!("{count} {status}"));
    let back = (thread.restarts > 0).then(|| format!("back {}x", thread.restarts));
    errors.chain(back).collect::<Vec<_>>().join(", ")
}

/// What each thread moved in the last second, GB/s; `None` while it does not run.
fn rates(app: &App) -> Vec<Option<f64>> {
    let host = app.with_load().local();
    let Some(newest) = host.frames().rev().find(|frame| !frame.workers.is_empty()) else { return Vec::new() };
    let since_ns = newest.at_ns.saturating_sub(MEAN_NS);
    // threads of the load before have counted from another zero
    let number = |frame: &Frame| frame.load.as_ref().map(|load| load.earlier);
    let then = host
        .frames()
        .rev()
        .take_while(|frame| frame.at_ns >= since_ns)
        .filter(|frame| !frame.workers.is_empty() && number(frame) == number(newest))
        .last();
    let Some(then) = then else { return Vec::new() };
    let runs = |phase| matches!(phase, WorkerPhase::Warmup | WorkerPhase::Measuring);
    let pairs = then.workers.iter().zip(&newest.workers);
    pairs
        .map(|(old, new)| {
            let moved = new.bytes.checked_sub(old.bytes).filter(|_| runs(old.phase) && runs(new.phase))?;
            gb_per_s(moved, newest.at_ns.saturating_sub(then.at_ns))
        })
        .collect()
}
