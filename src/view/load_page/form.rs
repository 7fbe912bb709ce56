//! The form of a load: every knob with its value, its flag, and the keys that change it while it runs.

use crate::app::{Action, App, Mode};
use crate::printable::for_shell;
use crate::report::LoadBlock;
use crate::rules::Severity;
use crate::session::{Asked, Now};
use crate::settings::{Period, Size};
use crate::view::page::Page;
use probes::model::{LoadOp, LoadOrigin};
use ratatui::style::Style;
use ratatui::text::Span;
use std::time::Duration;
use widgets::padded;

/// Cells of the columns: the knob, its flag.
const KNOB: usize = 20;
const FLAG: usize = 15;
/// Below this width they are shorter.
const NARROW: usize = 70;

/// One knob.
struct Knob {
    name: &'static str,
    flag: &'static str,
    /// `None` where the session does not tell.
    value: Option<String>,
}

/// Whether there is a form: of a load of our own that goes on.
pub fn is_there(app: &App, load: &LoadBlock) -> bool {
    load.origin == LoadOrigin::Ours && !app.how().mode.is_past()
}

/// Draws it.
pub fn draw(app: &App, load: &LoadBlock, page: &mut Page) {
    let theme = page.theme();
    page.heading("Change it", &what_keys_do(app));
    let keys = app.keys();
    if app.can_steer() {
        let held = app.cap_gb_per_s() == Some(0.0);
        let key = |action| keys.first(action);
        let lines = [
            (
                key(Action::HoldLoad),
                if held { "lets it go on as before" } else { "holds it: nothing is posted" },
            ),
            (
                format!("{} {}", key(Action::Slower), key(Action::Faster)),
                "lower and raise the rate cap of each rail",
            ),
            (key(Action::Rate), "types the rate cap"),
        ];
        for (key, what) in lines.into_iter().filter(|(key, _)| !key.trim().is_empty()) {
            page.row(&key, what, theme.plain());
        }
    }
    let (now, anew) = (app.goes_on(), keys.first(Action::StartAnew));
    match &now {
        Some(Now::Refused(why)) => {
            page.row("REFUSED", why, theme.severity(Severity::Warning));
            page.row("", "nothing moves; below are the knobs and figures of the load before", theme.plain());
        }
        Some(Now::Ending(then)) => {
            page.row("now", &format!("what went on is being ended; then {then}"), theme.strong());
        }
        Some(Now::Opening(words)) => page.row("now", &format!("it is being started {words}"), theme.strong()),
        Some(Now::Diagnosis) => page.row("now", "a diagnosis goes on: the load is over", theme.strong()),
        Some(Now::Diagnosed) => page.row("now", "the diagnosis is over; no load moves", theme.strong()),
        Some(Now::Load) | None => {}
    }
    let other = if now.is_some() && !anew.is_empty() {
        page.row(
            &anew,
            "starts it anew with other knobs, by their flags: the load ends, and goes on with new queue pairs",
            theme.plain(),
        );
        if app.how().mode == Mode::Demo {
            "the line below starts the demo in another terminal, as it was before knobs were changed here"
        } else {
            "the line below starts it in another terminal"
        }
    } else if app.how().mode == Mode::Demo {
        "every other knob stays as the demo has it; `railscope load PEER` takes each"
    } else {
        "every other knob needs new queue pairs: leave, and start the line below with another value"
    };
    page.row("else", other, theme.dim());
    page.row("line", &command(app, load), theme.strong());
    let is_live = |knob: &Knob| knob.flag == "--rate" && app.can_steer();
    let (live, fixed): (Vec<Knob>, Vec<Knob>) = knobs(app, load).into_iter().partition(is_live);
    if !live.is_empty() {
        page.heading("Knobs that change at once", "by the keys above");
        for knob in live {
            knob.draw(theme.strong(), page);
        }
    }
    let beside = match now {
        Some(Now::Load) | None => "as they are now",
        Some(_) => "as they were",
    };
    page.heading("Knobs of a new start", beside);
    for knob in fixed {
        knob.draw(theme.plain(), page);
    }
}

impl Knob {
    fn draw(self, style: Style, page: &mut Page) {
        let Some(value) = self.value else { return };
        let theme = page.theme();
        // on a narrow screen the value matters more than the flag's blanks
        let (name, flag) = if page.cells() < NARROW { (KNOB - 2, FLAG - 4) } else { (KNOB, FLAG) };
        let column = |text: &str, cells: usize| padded(text, cells, theme.symbols) + " ";
        page.line(vec![
            Span::styled(column(self.name, name), theme.dim()),
            Span::styled(column(self.flag, flag), theme.dim()),
            Span::styled(value, style),
        ]);
    }
}

fn what_keys_do(app: &App) -> String {
    if app.can_steer() {
        return "while it runs; each change is a mark of the session".to_owned();
    }
    if app.ending().is_some() {
        return "it is over".to_owned();
    }
    "its rate cannot be changed while it runs: only that of one over RDMA, in one direction, per rail, can"
        .to_owned()
}

fn knobs(app: &App, load: &LoadBlock) -> Vec<Knob> {
    let knob = |name, flag, value| Knob { name, flag, value };
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let asked = app.asked();
    let cap = match app.cap_gb_per_s() {
        None => "none, as much as goes".to_owned(),
        Some(0.0) => "0: HELD, nothing is posted".to_owned(),
        Some(rate) => format!("{} {} a rail", app.rates().text(rate), app.rates().word()),
    };
    let op = match (load.op, load.bidirectional) {
        (LoadOp::Read, false) => "READ",
        (LoadOp::Write, false) => "WRITE",
        (LoadOp::Read, true) => "READ both ways",
        (LoadOp::Write, true) => "WRITE both ways",
    };
    vec![
        knob("rate cap", "--rate", Some(cap)),
        knob("operation", "--op, -b", Some(op.to_owned())),
        knob("rails", "-d", Some(load.devices.join(" "))),
        knob("message", "-s", load.size_bytes.map(|bytes| Size(bytes).to_string())),
        knob("queue pairs a rail", "-q", number(load.qps)),
        knob("send queue depth", "-t", number(load.depth)),
        knob("READ depth", "-o", number(load.read_depth)),
        knob("chain", "-l", number(load.chain)),
        knob("a completion every", "-Q", number(load.cq_mod)),
        knob("path MTU", "-m", number(load.path_mtu)),
        knob("threads a rail", "--workers", load.workers_per_rail.map(|count| count.to_string())),
        knob("batch of pages", "--batch", number(load.batch)),
        knob("placement", "--place", load.place.clone()),
        knob(
            "working set",
            "--working-set",
            Some(load.working_set_bytes.map_or("hot".to_owned(), |bytes| Size(bytes).to_string())),
        ),
        knob("memory", "--memory", load.gpu.clone()),
        knob("bond leg", "--leg", number(load.leg)),
        knob("timeout", "-u", asked.as_ref().map(|asked| asked.timeout.to_string())),
        knob(
            "GID index",
            "-x",
            asked
                .as_ref()
                .map(|asked| number(asked.gid_index).unwrap_or("recommended of each rail".to_owned())),
        ),
        knob("traffic class", "--tclass", asked.map(|asked| asked.traffic_class.to_string())),
        knob("warm-up", "--warmup", load.warmup_s.and_then(period)),
        knob("ends after", "--for", Some(load.duration_s.and_then(period).unwrap_or("until stopped".into()))),
    ]
}

fn period(s: f64) -> Option<String> {
    Duration::try_from_secs_f64(s).ok().map(|time| Period(time).to_string())
}

/// The line that starts the same load, as far as the session knows it: not its timeout, GID index and traffic class.
pub fn command(app: &App, load: &LoadBlock) -> String {
    if let Some(Asked { line, .. }) = app.asked() {
        return line;
    }
    let mut words = vec!["railscope".to_owned()];
    if let (Mode::Demo, Some(simulated)) = (app.how().mode, &app.with_load().session().simulated) {
        words.extend(["demo", "--scenario"].map(str::to_owned));
        words.extend([for_shell(&simulated.scenario), "--seed".to_owned(), simulated.seed.to_string()]);
        return words.join(" ");
    }
    words.push("load".to_owned());
    if load.simulated {
        words.extend(["--transport", "sim"].map(str::to_owned));
    } else {
        let peer = app.how().title.as_str();
        words.push(if peer.is_empty() { "PEER".to_owned() } else { for_shell(peer) });
        words.extend(load.functional_check.then(|| "--transport tcp".to_owned()));
    }
    if load.devices.len() < app.with_load().topology().rails.len() {
        words.push(format!("-d {}", for_shell(&load.devices.join(","))));
    }
    if load.op == LoadOp::Write {
        words.push("--op write".to_owned());
    }
    words.extend(load.bidirectional.then(|| "-b".to_owned()));
    let mut flag = |flag: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("{flag} {}", for_shell(&value))));
    };
    flag("--shape striped --batch", load.batch.map(|batch| batch.to_string()));
    flag("-s", load.size_bytes.map(|bytes| Size(bytes).to_string()));
    flag("-q", load.qps.map(|count| count.to_string()));
    // a simulation models none of these
    let told = |value: Option<u32>| value.filter(|_| !load.simulated).map(|value| value.to_string());
    flag("-t", told(load.depth));
    flag("-o", told(load.read_depth));
    flag("-l", told(load.chain));
    flag("-Q", told(load.cq_mod));
    flag("-m", told(load.path_mtu));
    let workers = load.workers_per_rail.filter(|count| *count > 1);
    flag("--workers", workers.map(|count| count.to_string()));
    flag("--place", load.place.clone().filter(|place| place != "local"));
    flag("--working-set", load.working_set_bytes.map(|bytes| Size(bytes).to_string()));
    flag("--rate", app.cap_gb_per_s().filter(|rate| *rate > 0.0).map(|rate| rate.to_string()));
    let gpu = load.gpu.as_deref().and_then(|name| name.strip_prefix("gpu"));
    flag("--memory", gpu.map(|number| format!("gpu:{number}")));
    flag("--leg", load.leg.map(|leg| leg.to_string()));
    flag("--warmup", load.warmup_s.filter(|s| *s != 2.0).and_then(period));
    flag("--for", load.duration_s.and_then(period));
    words.join(" ")
}
