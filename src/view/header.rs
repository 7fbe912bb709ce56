//! The two lines at the top: what is looked at, where in time, and what our load does.

use super::segments::{Segment, paint};
use super::theme::Theme;
use super::units::{exact_position, position, seconds, time_of_day};
use crate::app::{Action, App, Mode, View};
use crate::session::Now;
use crate::settings::{Period, Size};
use crate::timeline::HostTimeline;
use probes::model::{Experiment, ExperimentEdge, Load, LoadOp, LoadOrigin, WorkerPhase};
use ratatui::Frame;
use ratatui::layout::Rect;
use std::time::Duration;

/// Lines it takes.
pub const HEIGHT: u16 = 2;

/// Draws it.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) {
    let [top, bottom] = [0, 1].map(|line| Rect { y: area.y + line, height: 1, ..area });
    let symbols = app.theme().symbols;
    let buffer = frame.buffer_mut();
    paint(identity(app), time(app), top, buffer, symbols);
    paint(vec![Segment::new(load(app), app.theme().strong(), 0)], setting(app), bottom, buffer, symbols);
}

/// Whether what is seen is real; and whose it is.
fn identity(app: &App) -> Vec<Segment> {
    let theme = app.theme();
    let session = app.shown().session();
    let host = &app.shown().topology().host;
    let mut pieces = vec![Segment::new(format!(" {} ", kind(app)), theme.sign(), 0)];
    if let Some(simulated) = &session.simulated {
        pieces.push(Segment::new(
            format!("{}, seed {}", simulated.scenario, simulated.seed),
            theme.plain(),
            0,
        ));
    }
    pieces.push(Segment::new(tail(&app.how().title, theme), theme.plain(), 0));
    pieces.push(Segment::new(host.hostname.as_deref().unwrap_or("host unknown"), theme.strong(), 0));
    if let Some(peer) = session.hosts.get(1) {
        let name = peer.host.hostname.as_deref().unwrap_or("host unknown");
        pieces.push(Segment::new(format!("with {name}"), theme.plain(), 1));
    }
    pieces.push(Segment::new(host.kernel.as_deref().unwrap_or_default(), theme.dim(), 3));
    pieces.push(Segment::new(host.cpu_model.as_deref().unwrap_or_default(), theme.dim(), 4));
    pieces
}

/// The end of a long path, where the file's name is.
fn tail(title: &str, theme: Theme) -> String {
    const MOST: usize = 30;
    let count = title.chars().count();
    if count <= MOST {
        return title.to_owned();
    }
    let end: String = title.chars().skip(count + 1 - MOST).collect();
    format!("{}{end}", theme.pick("…", "~"))
}

fn kind(app: &App) -> &'static str {
    let simulated = app.shown().session().simulated.is_some();
    match (app.how().mode, simulated) {
        (Mode::Replay, true) => "REPLAY, SIMULATED",
        (Mode::Replay, false) => "REPLAY",
        (Mode::Tree, _) => "COPIED TREE",
        (_, true) => "SIMULATED",
        (_, false) => "REAL",
    }
}

fn time(app: &App) -> Vec<Segment> {
    let theme = app.theme();
    let at = |timeline: &crate::timeline::Timeline| timeline.local().latest().map_or(0, |frame| frame.at_ns);
    let shown = at(app.shown());
    let mut pieces = Vec::new();
    if let Some(began) = app.shown().session().started_unix_ms {
        pieces.push(Segment::new(time_of_day(began + shown / 1_000_000), theme.dim(), 2));
    }
    if app.how().mode.is_past() && app.speed() != 1.0 {
        let speed = app.speed();
        let text =
            if speed < 1.0 { format!("1/{:.0} speed", speed.recip()) } else { format!("{speed:.0}x speed") };
        pieces.push(Segment::new(text, theme.plain(), 1));
    }
    let newest = at(app.newest());
    let interval_ns = app.shown().session().interval_ns.min(app.interval_ns());
    let (text, style) = if app.is_paused() {
        let sign = theme.pick("⏸", "=");
        let shown_at = exact_position(shown, interval_ns);
        let behind = newest.saturating_sub(shown);
        // a load is held, a picture is paused
        let text = if app.how().mode.is_past() || behind < 1_000_000_000 {
            format!(" {sign} PAUSED at {shown_at} ")
        } else {
            format!(" {sign} PAUSED at {shown_at}, {} behind ", position(behind))
        };
        (text, theme.sign())
    } else if let Some(ending) = app.ending() {
        let word = if ending.reason.is_some() { "STOPPED" } else { "ENDED" };
        (format!(" {} {word} at {} ", theme.pick("■", "#"), position(shown)), theme.sign())
    } else {
        (format!("{} {}", theme.pick("▶", ">"), position(shown)), theme.strong())
    };
    pieces.push(Segment::new(text, style, 0));
    pieces
}

fn setting(app: &App) -> Vec<Segment> {
    let theme = app.theme();
    let mut pieces = Vec::new();
    if !app.filter().is_empty() {
        pieces.push(Segment::new(format!(" filter: {} ", theme.text(app.filter())), theme.sign(), 0));
    }
    pieces.push(Segment::new(app.rates().word(), theme.plain(), 0));
    let every = Period(Duration::from_nanos(app.interval_ns()));
    pieces.push(Segment::new(format!("every {every}"), theme.plain(), 0));
    if let Some(cost) = sample_cost(app.shown().local()) {
        pieces.push(Segment::new(cost, theme.dim(), 2));
    }
    if let Some(file) = &app.how().recording {
        let path = file.path();
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let sign = match app.recording_trouble() {
            None => theme.pick("● REC", "* REC"),
            Some(_) => theme.pick("✗ REC", "X REC"),
        };
        pieces.push(Segment::new(sign, theme.recording(), 0));
        pieces.push(Segment::new(name, theme.plain(), 1));
    }
    pieces
}

/// What a sample of this node takes, as a mean of a second; a simulation and an old recording do not know.
fn sample_cost(host: &HostTimeline) -> Option<String> {
    let since = host.latest()?.at_ns.saturating_sub(1_000_000_000);
    let costs: Vec<u64> =
        host.frames().rev().take_while(|f| f.at_ns > since).filter_map(|f| f.sampled_in_ns).collect();
    let mean_ms = costs.iter().map(|ns| *ns as f64 / 1e6).sum::<f64>() / costs.len() as f64;
    (!costs.is_empty()).then(|| format!("a sample takes {mean_ms:.1} ms"))
}

/// What our load does, or that there is none; trouble with the session or its recording matters more.
fn load(app: &App) -> String {
    if let Some(trouble) = app.recording_trouble() {
        return format!("recording: {trouble}");
    }
    if let Some(reason) = app.ending().and_then(|ending| ending.reason.as_ref()) {
        return reason.clone();
    }
    if let Some(text) = app.goes_on().filter(|_| !app.is_paused()).and_then(without_load) {
        return text;
    }
    let host = app.shown().local();
    let experiment = host.latest().and_then(|frame| frame.experiment.as_deref());
    match (host.load(), experiment) {
        (_, Some(experiment)) => of_diagnosis(app, experiment),
        (None, None) if app.is_diagnosing() => "diagnosis: its first load".to_owned(),
        (None, None) => "watching; no load".to_owned(),
        (Some(load), None) => describe(load, host, app.theme().pick("×", "x")),
    }
}

/// What is to be said where the load that was has ended; `None` while a load or a diagnosis goes on.
fn without_load(now: Now) -> Option<String> {
    match now {
        Now::Load | Now::Diagnosis => None,
        Now::Ending(then) => Some(format!("what went on is being ended; then {then}")),
        Now::Opening(words) => Some(format!("the load is being started {words}")),
        Now::Diagnosed => {
            Some("no load: the diagnosis is over; Esc in Experiments starts it again".to_owned())
        }
        Now::Refused(why) => Some(format!("NO LOAD: {why}")),
    }
}

/// The planned load whose sample a frame is.
fn of_diagnosis(app: &App, experiment: &Experiment) -> String {
    let rail = match experiment.devices.as_slice() {
        [rail] => format!("{rail}, "),
        _ => String::new(),
    };
    let outcome = if experiment.edge == ExperimentEdge::Failed { ": failed" } else { "" };
    // elsewhere one does not see that there is a verdict
    let key = app.keys().first(Action::Go(View::Experiments));
    let verdict = if app.view() == View::Experiments || key.is_empty() {
        String::new()
    } else {
        format!(" (verdict: {key})")
    };
    format!("diagnosis{verdict}, last made: {rail}{}{outcome}", experiment.kind)
}

fn describe(load: &Load, host: &HostTimeline, times: &str) -> String {
    let op = match load.op {
        LoadOp::Read => "READ",
        LoadOp::Write => "WRITE",
    };
    let size = load.size_bytes.map(|bytes| format!(" {}", Size(bytes))).unwrap_or_default();
    let qps = load.qps.map(|qps| format!(" {times} {qps} QPs")).unwrap_or_default();
    let both = if load.bidirectional { " both ways" } else { "" };
    let mut text = format!("{op}{size}{qps}{both}");
    if load.is_functional_check() {
        text += " over TCP";
    }
    if load.loopback {
        text += ", loopback";
    }
    match load.rate_gb_per_s {
        None => {}
        Some(0.0) => text += ", HELD by a key",
        Some(rate) => text = format!("{text}, at most {rate} GB/s a rail"),
    }
    if let Some(why) = &load.ended {
        return format!("{text}, ended: {why}");
    }
    match load.origin {
        LoadOrigin::Described => text += ", described beside the tree",
        LoadOrigin::Ours => {
            text += ", ";
            text += &progress(load, host);
        }
    }
    text
}

fn progress(load: &Load, host: &HostTimeline) -> String {
    let workers = host.latest().map(|frame| frame.workers.as_slice()).unwrap_or_default();
    let any = |phase| workers.iter().any(|worker| worker.phase == phase);
    let measured_s = host.sums().rails.iter().map(|sums| sums.load.ns / 1e9).fold(0.0, f64::max);
    let of = load.duration_s.map(|s| format!("/{}", seconds(s))).unwrap_or_default();
    let mut text = if any(WorkerPhase::Measuring) {
        // whole seconds that are over, of which none is called so before it is
        format!("measuring {:.0}{of} s", (measured_s + 0.001).floor())
    } else if any(WorkerPhase::Warmup) {
        let warmup = load.warmup_s.map(|s| format!(" {} s", seconds(s))).unwrap_or_default();
        format!("warming up{warmup}")
    } else if any(WorkerPhase::Waiting) || workers.is_empty() {
        "connecting".to_owned()
    } else if workers.iter().all(|worker| worker.phase == WorkerPhase::Failed) {
        "nothing moves".to_owned()
    } else {
        format!("done, {measured_s:.0} s measured")
    };
    let failed = workers.iter().filter(|worker| worker.phase == WorkerPhase::Failed).count();
    if failed > 0 {
        text = format!("{text}, {failed} of {} failed", workers.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::sample_cost;
    use crate::timeline::Timeline;
    use probes::model::{Frame, Session, Topology};
    use std::sync::Arc;

    #[test]
    fn the_cost_of_a_sample_is_a_mean_of_the_last_second_and_unknown_without_figures() {
        let cost = |ms: &[Option<u64>]| {
            let session = Session {
                generated_by: "test".into(),
                started_unix_ms: None,
                interval_ns: 500_000_000,
                hosts: vec![Arc::new(Topology::default())],
                clock_offset_ns: None,
                simulated: None,
            };
            let mut timeline = Timeline::new(Arc::new(session));
            for (at, ms) in (0..).zip(ms) {
                let sampled_in_ns = ms.map(|ms| ms * 1_000_000);
                timeline.push(Frame { at_ns: at * 500_000_000, sampled_in_ns, ..Frame::default() });
            }
            sample_cost(timeline.local())
        };
        assert_eq!(cost(&[Some(90), Some(1), Some(4)]).as_deref(), Some("a sample takes 2.5 ms"));
        assert_eq!(cost(&[None, None]), None);
    }
}
