//! `railscope sweep`: one point after the other against one `railscope serve`.

pub(super) mod far_side;
pub(super) mod measuring;
mod progress;
mod screen;
mod simulation;

use super::{signals, watch};
use crate::app::Sweeping;
use crate::cli::{SweepArgs, SweepCarrier, SweepPreset};
use crate::peer::request;
use crate::printable::{Printable, tell};
use crate::session::Stop;
use crate::settings::{Common, FailOn};
use crate::sweep::saved::Where;
use crate::sweep::text::Text;
use crate::sweep::{Grid, Point, Resume, Sizes, Sweep, svg};
use crate::tui::{self, Left};
use anyhow::{Context, bail, ensure};
use measuring::{Bench, Measured, Peer};
use probes::load::Params;
use probes::model::LoadOp;
use probes::times::unix_ms;
use progress::{Lines, Pace, Watch};
use simulation::Simulation;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Time measured at each point unless told otherwise.
const DEFAULT_WINDOW: Duration = Duration::from_secs(15);

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: &SweepArgs) -> anyhow::Result<ExitCode> {
    let common = args.common.clone().with_config()?;
    refuse(&common)?;
    if let Some(file) = &args.show {
        return look_at(Sweep::open(file)?, &common, args.svg.as_deref());
    }
    ensure!(
        !args.screen || watch::has_screen(&common),
        "--screen: stdout is no terminal, or --headless or --json is given; leave the flag out"
    );
    let window = common.duration.map_or(DEFAULT_WINDOW, |period| period.0);
    let mut sweep = asked(args, window)?;
    if let Some(file) = &args.save {
        let resume = if args.resume { Resume::Yes } else { Resume::No };
        sweep = sweep.resumed(file, resume)?;
        // before the first point is measured for nothing
        Sweep::try_place(file)?;
    }
    if let Some(line) = sweep.grid.left_out() {
        tell(line);
    }
    let stop = Stop::new();
    let bench: Box<dyn Bench> = match args.transport {
        SweepCarrier::Verbs => Box::new(Peer::new(&args.knobs, &common, stop.clone())?),
        SweepCarrier::Sim => Box::new(Simulation::new(&args.knobs, &common, stop.clone())?),
        SweepCarrier::Tcp => bail!(
            "--transport tcp: a functional check and no performance figure, so there is nothing to sweep; \
             `railscope load --transport tcp` makes it"
        ),
    };
    let save = args.save.as_deref();
    let ended = if args.screen {
        screen::run(&*bench, &mut sweep, save, &stop, &common.screen)
    } else {
        signals::end_on_signals(stop)?;
        measure(&*bench, &mut sweep, save, &mut Lines::default())
    };
    if sweep.points.is_empty() {
        ended?;
        bail!("stopped before the first point was measured");
    }
    let failed = sweep.points.iter().any(|point| point.left_out.is_some());
    let missing = sweep.missing().len();
    print(sweep, &common, args.svg.as_deref())?;
    ended?;
    if missing > 0 {
        let again = if args.save.is_some() { "; --resume goes on with the rest" } else { "" };
        bail!("stopped with {missing} of its points not measured{again}");
    }
    Ok(ExitCode::from(u8::from(failed && common.fail_on() != FailOn::Never)))
}

/// Looks at a sweep that was saved: on the screen, or where there is none in words.
///
/// # Errors
///
/// The terminal is gone, or stdout cannot be written to.
pub(super) fn look_at(sweep: Sweep, common: &Common, picture: Option<&Path>) -> anyhow::Result<ExitCode> {
    if watch::has_screen(common) && picture.is_none() {
        show(sweep, common)?;
    } else {
        print(sweep, common, picture)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows a sweep that was saved until it is left.
///
/// # Errors
///
/// The terminal is gone.
pub(super) fn show(sweep: Sweep, common: &Common) -> anyhow::Result<Left> {
    // nothing more comes: its other end is gone
    let (_, news) = tokio::sync::mpsc::unbounded_channel();
    tui::sweep(Sweeping::saved(sweep, common.screen.unit), news, Stop::new(), &common.screen)
}

/// Flags of those who watch, which mean nothing here.
fn refuse(common: &Common) -> anyhow::Result<()> {
    for (given, flag, instead) in [
        (common.record.is_some(), "--record", "--save keeps a sweep; `railscope load --record` a session"),
        (common.steps.is_some(), "--steps", "counters that are stepped cannot be loaded"),
        (common.overlay.every.is_some(), "--every", "a point has two samples, at both ends of its window"),
    ] {
        ensure!(!given, "{flag}: {instead}");
    }
    Ok(())
}

/// The sweep that the flags ask for, without a point.
fn asked(args: &SweepArgs, window: Duration) -> anyhow::Result<Sweep> {
    let or = |list: &[u32], default: &[u32]| if list.is_empty() { default.to_vec() } else { list.to_vec() };
    let sizes = match (&args.sizes, args.preset) {
        (Some(sizes), _) => sizes.clone(),
        (None, None) => "1K..1M".parse::<Sizes>().map_err(anyhow::Error::msg)?,
        (None, Some(SweepPreset::Qp4Msgsweep)) => {
            "1K,2K,4K,8K,16K,64K,256K,1M".parse::<Sizes>().map_err(anyhow::Error::msg)?
        }
    };
    let grid =
        Grid::new(&sizes, &or(&args.qps, &[1, 4]), &or(&args.workers, &[1])).map_err(anyhow::Error::msg)?;
    ensure!(
        !args.knobs.bidirectional,
        "--bidirectional (-b): a row of a sweep has one direction; `railscope load -b` has both, one point at a time"
    );
    let knobs = request::knobs(&args.knobs).map_err(anyhow::Error::msg)?;
    let op = match (args.preset, args.knobs.op) {
        (Some(SweepPreset::Qp4Msgsweep), None) => LoadOp::Write,
        _ => knobs.op,
    };
    let params = Params { op, duration_s: Some(window.as_secs_f64()), ..knobs };
    Ok(Sweep::new(params, window.as_secs_f64(), grid))
}

/// Measures what is missing, until it is told to stop.
fn measure(
    bench: &dyn Bench,
    sweep: &mut Sweep,
    save: Option<&Path>,
    watch: &mut dyn Watch,
) -> anyhow::Result<()> {
    let missing = sweep.missing();
    let window = Duration::try_from_secs_f64(sweep.window_s).context("--for")?;
    let each = window + Duration::try_from_secs_f64(sweep.params.warmup_s).context("--warmup")?;
    let mut pace = Pace::new(missing.len(), each);
    let mut unsaved = None;
    for spot in missing {
        watch.begin(spot, pace.left());
        let params = Params {
            size_bytes: spot.size_bytes,
            qps: spot.qps,
            workers: spot.workers,
            ..sweep.params.clone()
        };
        let measured = bench.measure(&params, window).with_context(|| spot.to_string())?;
        let Some(measured) = measured else { break };
        describe(sweep, &measured)?;
        let point = Point::between(spot, &measured.topology, &measured.from, &measured.to);
        let mut point = point.ended(&measured.last, measured.failures);
        point.perftest = measured.perftest;
        pace.one_more();
        sweep.add(point.clone());
        watch.end(sweep, &point, pace.left());
        if let Some(file) = save {
            // the rest is measured and printed all the same, and a later point saves this one too
            unsaved = sweep.save(file).err();
            if let Some(why) = &unsaved {
                tell(format_args!("not saved: {why}; the sweep goes on"));
            }
        }
    }
    unsaved.map_or(Ok(()), |why| Err(anyhow::Error::new(why).context("the sweep is not saved")))
}

/// What the first measurement tells of both hosts.
///
/// # Errors
///
/// A sweep that is gone on with was measured between other hosts or over other rails.
fn describe(sweep: &mut Sweep, measured: &Measured) -> anyhow::Result<()> {
    let host = &measured.topology.host;
    let load = measured.to.load.as_deref();
    sweep.started_unix_ms = sweep.started_unix_ms.or_else(unix_ms);
    let driven = |device: &&String| measured.topology.rail(device).is_some();
    let with_firmware = |device: &String| {
        let firmware = measured.topology.rail(device).and_then(|(_, rail)| rail.firmware.as_deref());
        firmware.map_or_else(|| device.clone(), |firmware| format!("{device} ({firmware})"))
    };
    let now = Where {
        hostname: host
            .hostname
            .clone()
            .or_else(|| Some(measured.here.clone()))
            .filter(|name| !name.is_empty()),
        cpu_model: host.cpu_model.clone(),
        kernel: host.kernel.clone(),
        peer: measured.peer.clone(),
        simulated: measured.peer.is_none(),
        loopback: load.is_some_and(|load| load.loopback),
        transport: load.and_then(|load| load.transport.clone()).unwrap_or_default(),
        rails: load
            .map_or_else(Vec::new, |load| load.devices.iter().filter(driven).map(with_firmware).collect()),
    };
    let then = &sweep.host;
    ensure!(
        sweep.points.is_empty()
            || (&then.hostname, &then.peer, &then.rails) == (&now.hostname, &now.peer, &now.rails),
        "the points of this sweep so far are of {} and {} over {}, not of {} and {} over {}: give another --save",
        then.hostname.as_deref().unwrap_or("?"),
        then.peer.as_deref().unwrap_or("a simulation"),
        then.rails.join(", "),
        now.hostname.as_deref().unwrap_or("?"),
        now.peer.as_deref().unwrap_or("a simulation"),
        now.rails.join(", ")
    );
    sweep.host = now;
    if let Some(load) = load {
        sweep.unavailable.clone_from(&load.perf_gaps);
    }
    Ok(())
}

fn print(sweep: Sweep, common: &Common, picture: Option<&Path>) -> anyhow::Result<()> {
    let sweep = sweep.with_statements();
    if let Some(file) = picture {
        match svg::picture(&sweep) {
            Ok(text) => std::fs::write(file, text).with_context(|| file.display().to_string())?,
            Err(why) => tell(format_args!("{}: {why}", file.display())),
        }
    }
    let mut out = BufWriter::new(super::output::stdout()?);
    let written = if common.json {
        serde_json::to_writer_pretty(&mut out, &sweep)
            .map_err(std::io::Error::from)
            .and_then(|()| writeln!(out))
    } else {
        write!(out, "{}", Printable(Text(&sweep)))
    };
    match written.and_then(|()| out.flush()) {
        // whoever reads has seen enough (`| head`)
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("the sweep cannot be written to stdout"),
    }
}

#[cfg(test)]
mod tests;
