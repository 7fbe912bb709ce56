//! `railscope load`: reads from a `railscope serve` over every rail at once, or writes to it, or both ends do.

mod seeking;

use super::watch;
use crate::cli::{Carrier, LoadArgs};
use crate::peer::client::{Connected, connect};
use crate::peer::{Door, End, Ended, perftest, request};
use crate::printable::tell;
use crate::session::{self, Both, DEFAULT_EVERY, Every, FrameSource, Gentle, Live, Stop, Throttle};
use crate::settings::{Common, FailOn};
use crate::sim::{Pace, Setup, Simulated};
use crate::tui::{How, Mode};
use anyhow::{Context, bail, ensure};
use probes::load::Params;
use probes::model::Topology;
use probes::root::Root;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Simulated time without a screen unless told otherwise: nobody is there to end it.
const USUAL_TIME: Duration = Duration::from_secs(10);

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: LoadArgs) -> anyhow::Result<ExitCode> {
    let args = args.with_preset();
    if args.transport == Carrier::Sim {
        return simulated(args);
    }
    let target = request::target(&args.knobs).map_err(anyhow::Error::msg)?;
    let params = request::params(&args).map_err(anyhow::Error::msg)?;
    let door = Door::with_token(args.knobs.token.as_deref()).map_err(anyhow::Error::msg)?;
    let of_preset = args.words_of_preset();
    let common = args.common.with_config()?;
    ensure!(common.steps.is_none(), "--steps: counters that are stepped cannot be loaded");
    if let Some(file) = &common.record {
        // before the peer registers memory for nothing
        ensure!(!file.exists(), "{}: is there already; choose another name", file.display());
    }
    let (root, end) = End::of(&common, args.knobs.gid_index)?;
    // before the peer registers memory for nothing
    probes::load::check_place(&end.topology, &params.place)?;
    let mut end = end.with_memory(params.memory)?;
    end.door = door;
    let topology = (*end.topology).clone();
    let told = Arc::new(Told::new(watch::has_screen(&common)));
    let say = told.clone();
    let sought = seeking::seek(&root, &end, &target, &params)?;
    let labels = seeking::labels(&sought);
    let params = Params { labels, ..params };
    let can_be_held = params.can_be_held();
    let mut connected = connect(end, target, params, Arc::new(move |line: &str| say.say(line)))?;
    for line in introduction(&connected)
        .into_iter()
        .chain(of_preset)
        .chain(request::cold_words(&args.knobs))
        .chain(connected.path_mtu())
        .chain(connected.pages())
        .chain(connected.crowding())
        .chain(seeking::words(&sought))
    {
        tell(line);
    }
    connected.keep_sought(sought);
    let watched =
        Watched { common: &common, root, topology, told: &told, can_be_held, is_gentle: args.gentle };
    watched.until_it_ends(connected)
}

/// A load that may begin, and all that it is watched with.
struct Watched<'a> {
    common: &'a Common,
    root: Root,
    topology: Topology,
    told: &'a Told,
    /// Whether its rate can be changed while it runs.
    can_be_held: bool,
    /// Whether it is to end before it harms anybody.
    is_gentle: bool,
}

impl Watched<'_> {
    fn until_it_ends(self, mut connected: Connected) -> anyhow::Result<ExitCode> {
        let common = self.common;
        let every = common.overlay.every.map_or(DEFAULT_EVERY, |period| period.0);
        let load = connected.take_load().context("a load can be watched once")?;
        let stop = Stop::new();
        let throttle = Throttle::new();
        let changing = watch::has_screen(common).then(|| Every::new(every));
        let live = Live::new(self.root, self.topology, every, None, Some(load), stop.clone());
        let live = live.changing(changing.clone()).held_by(throttle.clone());
        let began = live.began();
        let (source, strained) = gentle(Box::new(live), &stop, self.is_gentle);
        let sight = connected.agreed.sight.clone();
        let source = match &sight {
            Some(sight) => {
                let offset_ns = sight.clock_offset_ns(began);
                Box::new(Both::new(source, sight.inbox.clone(), sight.topology.clone(), offset_ns))
            }
            None => source,
        };
        connected.go();
        let title = connected.agreed.peer.host.clone();
        let sums = connected.sums();
        let mut outcome = Outcome::default();
        let end = || {
            let why;
            (outcome, why) = Outcome::of(connected, self.told);
            why
        };
        let throttle = self.can_be_held.then_some(throttle);
        let how = How { title, mode: Mode::Load, stop, throttle, every: changing, ..How::default() };
        let code = watch::run_until(source, common, how, end);
        if let Some(line) = sums.line() {
            tell(line);
        }
        if let Some(why) = sight.and_then(|sight| sight.misfit()) {
            tell(format_args!("a sample of the peer's host was left out: {why}"));
        }
        if let Some(why) = strained.get() {
            tell(why);
        }
        let is_amiss = outcome.some_failed || strained.get().is_some();
        let code = match code? {
            // a recording that is not whole
            code if code == ExitCode::from(2) => code,
            // what the rules find cannot make it better that a rail failed
            _ if is_amiss && common.fail_on() != FailOn::Never => ExitCode::from(1),
            code => code,
        };
        outcome.or(code)
    }
}

/// How a load came to its end, and what became of its rails.
struct Outcome {
    ended: Ended,
    some_failed: bool,
    all_failed: bool,
}

impl Default for Outcome {
    fn default() -> Self {
        Self { ended: Ended::Here, some_failed: false, all_failed: false }
    }
}

impl Outcome {
    /// Ends the load and tells what failed; in words why it ended, where that was before its time.
    fn of(connected: Connected, told: &Told) -> (Self, Option<String>) {
        let failures = connected.failures();
        told.end(&failures);
        let some_failed = !failures.is_empty() || !connected.agreed.left_out.is_empty();
        let all_failed = connected.all_failed();
        let has_measured = connected.has_measured();
        let ended = connected.finish();
        let why = match &ended {
            Ended::There(reason) => Some(format!("by the peer: {reason}")),
            Ended::Lost(error) => Some(error.to_string()),
            Ended::Here if has_measured || some_failed => None,
            Ended::Here => Some("stopped before anything was measured".to_owned()),
        };
        (Self { ended, some_failed, all_failed }, why)
    }

    /// The exit code of the report, unless the load itself is the error.
    fn or(self, code: ExitCode) -> anyhow::Result<ExitCode> {
        match self.ended {
            Ended::Here if self.all_failed => bail!("every rail failed, for the reasons above"),
            Ended::Here => Ok(code),
            Ended::There(reason) => {
                tell(format_args!("ended by the peer: {reason}"));
                Ok(code)
            }
            Ended::Lost(error) => Err(anyhow::Error::new(error).context("the load was cut short")),
        }
    }
}

/// What happened to rails while the load ran: told at once where there is no screen, else after it.
struct Told {
    with_screen: bool,
    since: Instant,
    lines: Mutex<Vec<String>>,
}

impl Told {
    fn new(with_screen: bool) -> Self {
        Self { with_screen, since: Instant::now(), lines: Mutex::default() }
    }

    fn say(&self, line: &str) {
        let line = format!("{:.1} s: {line}", self.since.elapsed().as_secs_f64());
        if !self.with_screen {
            tell(&line);
        }
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Tells what was kept for the end, and of `failures` those that nobody has heard of.
    fn end(&self, failures: &[String]) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines.iter().filter(|_| self.with_screen) {
            tell(line);
        }
        // that it came back was told, too
        let cause = |failure: &str| failure.split(" (it came back").next().unwrap_or_default().to_owned();
        let unheard = |failure: &&String| !lines.iter().any(|line| line.contains(&cause(failure)));
        for line in failures.iter().filter(unheard) {
            tell(line);
        }
    }
}

/// What was agreed, before anything moves.
fn introduction(connected: &Connected) -> Vec<String> {
    let read_depths = connected.read_depths();
    let mut lines = connected.agreed.introduction(&read_depths);
    let commands = perftest::commands(&connected.agreed, &connected.used());
    if !commands.is_empty() {
        lines.push("the same with perftest, all at once:".to_owned());
    }
    for command in commands {
        lines.extend(command.lines().map(|line| format!("  {line}")));
    }
    lines.extend(perftest::differences(&connected.agreed).into_iter().map(|line| format!("  {line}")));
    lines
}

/// What the rails of this node, or of a copied tree, should do by their ceilings.
fn simulated(args: LoadArgs) -> anyhow::Result<ExitCode> {
    ensure!(
        args.knobs.peer.is_none() && args.knobs.port.is_none(),
        "--transport sim: nobody is at the other end; leave PEER and --port out"
    );
    ensure!(
        args.knobs.token.is_none() && !args.gentle,
        "--token, --gentle: --transport sim has nobody to show it to and \
        nothing to spare; leave them out"
    );
    let params = request::params(&args).map_err(anyhow::Error::msg)?;
    Setup::check(&params).map_err(anyhow::Error::msg)?;
    let of_preset = args.words_of_preset();
    let common = args.common.with_config()?;
    ensure!(common.steps.is_none(), "--steps: counters that are stepped cannot be loaded");
    let (_, mut topology) = session::node(&common)?;
    for line in Setup::leave_out(&mut topology) {
        tell(format_args!("left out: {line}"));
    }
    ensure!(!topology.rails.is_empty(), "no rail here can be simulated, for the reasons above");
    tell(
        "simulated: what these rails should do by their wires and PCIe paths, each by itself; nothing is measured",
    );
    for line in of_preset.into_iter().chain(Setup::not_modelled(&params)) {
        tell(line);
    }
    let time = common.duration.map(|period| period.0);
    let (pace, time) = if watch::has_screen(&common) {
        (Pace::RealTime, time)
    } else {
        (Pace::AsFastAsPossible, Some(time.unwrap_or(USUAL_TIME)))
    };
    let every = common.overlay.every.map_or(DEFAULT_EVERY, |period| period.0);
    let stop = Stop::new();
    let source = Simulated::with(topology, &Setup::of(&params, time), 1, every, pace)?;
    let throttle = Throttle::new();
    let source = Box::new(source.stopped_by(stop.clone()).held_by(throttle.clone()));
    watch::run(source, &common, How { mode: Mode::Load, stop, throttle: Some(throttle), ..How::default() })
}

/// The source, which `--gentle` may end before its time, and why it did.
fn gentle(
    source: Box<dyn FrameSource>,
    stop: &Stop,
    asked: bool,
) -> (Box<dyn FrameSource>, Arc<OnceLock<String>>) {
    if !asked {
        return (source, Arc::default());
    }
    let source = Gentle::new(source, stop.clone());
    let ended = source.ended();
    (Box::new(source), ended)
}
