//! The load in full: what was asked for, what each thread does and costs, and how long operations take.

mod experiment;
pub mod form;
mod histogram;
mod threads;

use super::load::no_figure_of_the_fabric;
use super::page::{self, Page};
use super::units::seconds;
use crate::app::App;
use crate::report::{LatencyRow, LoadBlock, PerfRow};
use crate::rules::Severity;
use crate::settings::Size;
use probes::model::{LoadOp, LoadOrigin};
use ratatui::Frame;
use ratatui::layout::Rect;

/// Draws it; tells how many lines keys can scroll to.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) -> usize {
    let theme = app.theme();
    let (columns, cells) = page::columns(area);
    if let Some(table) = experiment::shown(app) {
        let mut page = Page::new(area.width, theme);
        experiment::draw(app, table, &mut page);
        return page::draw(vec![page.into_lines()], app.line(), area, frame, theme);
    }
    let Some(load) = LoadBlock::of(app.with_load()) else {
        let mut page = Page::new(area.width, theme);
        if app.is_diagnosing() && app.ending().is_none() {
            page.heading("Experiment", "the first load of a diagnosis goes on");
            return page::draw(vec![page.into_lines()], app.line(), area, frame, theme);
        }
        page.heading("No load", "this session has none so far: what is seen is other programs' traffic");
        page.row(
            "start",
            "on the peer `railscope serve`, which prints the line to type here: `railscope load PEER`",
            theme.plain(),
        );
        page.row("try", "`railscope demo` shows a load on a simulated node", theme.plain());
        return page::draw(vec![page.into_lines()], app.line(), area, frame, theme);
    };
    let mut left = Page::new(cells, theme);
    if form::is_there(app, &load) {
        header_of(app, &load, &mut left);
        form::draw(app, &load, &mut left);
    } else {
        asked_for(app, &load, &mut left);
    }
    latency(&load, &mut left);
    histogram::draw(app, &mut left);
    cost(&load.perf, load.simulated, &mut left);
    let mut right = if columns == 1 { left.clone() } else { Page::new(cells, theme) };
    threads::draw(app, &load, &mut right);
    failures(&load, &mut right);
    let pages = if columns == 1 { vec![right] } else { vec![left, right] };
    page::draw(pages.into_iter().map(Page::into_lines).collect(), app.line(), area, frame, theme)
}

/// The line that starts the same load; `None` where there is none of our own that goes on.
pub fn command(app: &App) -> Option<String> {
    let none_planned = experiment::shown(app).is_none();
    let load = LoadBlock::of(app.with_load()).filter(|load| none_planned && form::is_there(app, load))?;
    Some(form::command(app, &load))
}

/// What it is, and what its figures are not.
fn header_of(app: &App, load: &LoadBlock, page: &mut Page) {
    let op = match load.op {
        LoadOp::Read => "READ",
        LoadOp::Write => "WRITE",
    };
    let labels = no_figure_of_the_fabric(app.with_load());
    let whose = match load.origin {
        LoadOrigin::Ours => "railscope's own",
        LoadOrigin::Described => "described beside the tree",
    };
    let beside = [vec![whose], labels].concat().join("; ");
    let beside = match load.earlier_loads {
        0 => beside,
        earlier => format!("{beside}; load {} of this session, figures of it alone", earlier + 1),
    };
    let both = if load.bidirectional { " both ways" } else { "" };
    page.heading(&format!("{op}{both}"), &beside);
    if let Some(why) = &load.ended {
        page.row("ended", why, page.theme().severity(Severity::Warning));
    }
}

/// Every knob that the session knows of.
fn asked_for(app: &App, load: &LoadBlock, page: &mut Page) {
    let theme = page.theme();
    header_of(app, load, page);
    let number = |what: &str, value: Option<u32>| value.map(|value| format!("{what} {value}"));
    let size = load.size_bytes.map(|bytes| format!("message {}", Size(bytes)));
    let mut lines = vec![
        (
            "size",
            vec![
                size,
                number("queue pairs a rail", load.qps),
                number("depth", load.depth),
                number("READ depth", load.read_depth),
            ],
        ),
        (
            "posting",
            vec![
                number("chain", load.chain),
                number("a completion every", load.cq_mod),
                number("batch of pages", load.batch),
                number("path MTU", load.path_mtu),
            ],
        ),
        (
            "threads",
            vec![
                load.workers.map(|count| format!("{count} in all")),
                load.workers_per_rail.map(|count| format!("{count} a rail")),
                load.place.as_ref().map(|place| format!("placed {place}")),
                Some(match load.working_set_bytes {
                    Some(bytes) => format!("working set {}", Size(bytes)),
                    None => "memory re-used (hot)".to_owned(),
                }),
            ],
        ),
        (
            "bounds",
            vec![
                Some(load.rate_gb_per_s.map_or("no rate cap".to_owned(), |cap| {
                    format!("at most {} {} a rail", app.rates().text(cap), app.rates().word())
                })),
                load.leg.map(|leg| format!("leg {leg} of each bond")),
                load.warmup_s.map(|s| format!("warm-up {} s", seconds(s))),
                Some(load.duration_s.map_or("until stopped".to_owned(), |s| format!("for {} s", seconds(s)))),
            ],
        ),
    ];
    if load.origin == LoadOrigin::Described {
        // nobody told what it does in detail
        lines.truncate(1);
    }
    for (label, parts) in lines {
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            page.row(label, &parts.join(", "), theme.plain());
        }
    }
    if let Some(gpu) = &load.gpu {
        page.row("memory", &format!("of {gpu}"), theme.plain());
    }
}

fn latency(load: &LoadBlock, page: &mut Page) {
    let theme = page.theme();
    let what = if load.batch.is_some() { "Latency of a batch" } else { "Latency of an operation" };
    let LatencyRow { p50, p90, p99, p99_9, samples } = load.latency_us;
    if let (None, why) = (p50, &load.latency_unknown) {
        page.heading(what, why.as_deref().unwrap_or("not measured yet"));
        return;
    }
    page.heading(what, &format!("{samples} samples, with their wait behind what was queued before them"));
    let us = theme.pick("µs", "us");
    let word = |name: &str, value: Option<f64>| match value {
        Some(value) => format!("{name} {}", super::load::time(value, us)),
        None => format!("{name}: too few samples"),
    };
    let words = [word("p50", p50), word("p90", p90), word("p99", p99), word("p99.9", p99_9)];
    page.row("", &words.join(", "), theme.strong());
}

/// What all threads cost together; what is not known, by the word for why.
fn cost(perf: &PerfRow, simulated: bool, page: &mut Page) {
    let theme = page.theme();
    if simulated {
        page.heading("Cost of the threads", "not modelled by the simulation");
        return;
    }
    let Some(measured_s) = perf.measured_s else {
        page.heading("Cost of the threads", "not measured yet");
        return;
    };
    page.heading("Cost of the threads", &format!("all together, over {} s", seconds(measured_s)));
    let figure =
        |name: &str, value: Option<f64>, digits: usize| value.map(|value| format!("{name} {value:.digits$}"));
    let first = [
        figure("IPC", perf.instructions_per_cycle, 2),
        figure("GHz", perf.effective_ghz, 2),
        figure("cycles a byte", perf.cycles_per_byte, 3),
    ];
    let per_s = |name: &str, count: Option<u64>| {
        count.map(|count| format!("{name} {}/s", short(count as f64 / measured_s)))
    };
    let misses = [
        per_s("L1d load misses", perf.l1d_load_misses),
        per_s("LLC load misses", perf.llc_load_misses),
        per_s("LLC store misses", perf.llc_store_misses),
        per_s("dTLB load misses", perf.dtlb_load_misses),
        per_s("cache misses", perf.cache_misses),
    ];
    let moves =
        [per_s("context switches", perf.context_switches), per_s("moves to another CPU", perf.migrations)];
    for (label, parts) in [("CPU", first.to_vec()), ("memory", misses.to_vec()), ("kernel", moves.to_vec())] {
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let text = if parts.is_empty() { "none known".to_owned() } else { parts.join(", ") };
        page.row(label, &text, if parts.is_empty() { theme.dim() } else { theme.plain() });
    }
    let mut by_state: std::collections::BTreeMap<&str, Vec<&str>> = std::collections::BTreeMap::new();
    for (name, state) in &perf.state {
        by_state.entry(state).or_default().push(name);
    }
    for (state, names) in by_state {
        page.row("", &format!("{state}: {}", names.join(", ")), theme.dim());
    }
}

/// `12`, `48.2k`, `3.1M`.
fn short(number: f64) -> String {
    match number {
        number if number < 10.0 => format!("{number:.1}"),
        number if number < 10_000.0 => format!("{number:.0}"),
        number if number < 1e6 => format!("{:.1}k", number / 1e3),
        number if number < 1e9 => format!("{:.1}M", number / 1e6),
        number => format!("{:.1}G", number / 1e9),
    }
}

/// What went wrong, in the order in which it came.
fn failures(load: &LoadBlock, page: &mut Page) {
    let theme = page.theme();
    let errors: u64 = load.errors.values().sum();
    if errors == 0 && load.failures.is_empty() {
        page.heading("Errors", "none");
        return;
    }
    let by_status: Vec<String> =
        load.errors.iter().map(|(status, count)| format!("{count} {status}")).collect();
    page.heading("Errors", &by_status.join(", "));
    for failure in &load.failures {
        page.row(&format!("{} s", seconds(failure.at_s)), &failure.text, theme.severity(Severity::Error));
    }
    if load.more_failures > 0 {
        page.row("", &format!("and {} more", load.more_failures), theme.dim());
    }
}
