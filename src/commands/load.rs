//! `railscope load`: reads from a `railscope serve` over every rail at once.

use super::watch;
use crate::cli::LoadArgs;
use crate::peer::client::{Connected, connect};
use crate::peer::{End, Ended, perftest, request};
use crate::printable::tell;
use crate::session::{DEFAULT_EVERY, Live, Stop};
use crate::settings::FailOn;
use crate::tui::{How, Mode};
use anyhow::{Context, bail, ensure};
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: LoadArgs) -> anyhow::Result<ExitCode> {
    let target = request::target(&args.knobs).map_err(anyhow::Error::msg)?;
    let params = request::params(&args).map_err(anyhow::Error::msg)?;
    let common = args.common.with_config()?;
    ensure!(common.steps.is_none(), "--steps: counters that are stepped cannot be loaded");
    if let Some(file) = &common.record {
        // before the peer registers memory for nothing
        ensure!(!file.exists(), "{}: is there already; choose another name", file.display());
    }
    let (root, end) = End::of(&common, args.knobs.gid_index)?;
    let topology = (*end.topology).clone();
    let mut connected = connect(end, target, params)?;
    for line in introduction(&connected) {
        tell(line);
    }
    let every = common.overlay.every.map_or(DEFAULT_EVERY, |period| period.0);
    let load = connected.take_load().context("a load can be watched once")?;
    let stop = Stop::new();
    let source = Box::new(Live::new(root, topology, every, None, Some(load), stop.clone()));
    connected.go();
    let title = connected.agreed.peer.host.clone();
    let code = watch::run(source, &common, How { title, mode: Mode::Load, stop, ..How::default() });
    let failures = connected.failures();
    for line in &failures {
        tell(line);
    }
    let some_failed = !failures.is_empty() || !connected.agreed.left_out.is_empty();
    let all_failed = connected.all_failed();
    let ended = connected.finish();
    // what the rules find cannot make it better that a rail failed
    let code = match code? {
        _ if some_failed && common.fail_on() != FailOn::Never => ExitCode::from(1),
        code => code,
    };
    match ended {
        Ended::Here if all_failed => bail!("every rail failed, for the reasons above"),
        Ended::Here => Ok(code),
        Ended::There(reason) => {
            tell(format_args!("ended by the peer: {reason}"));
            Ok(code)
        }
        Ended::Lost(error) => Err(anyhow::Error::new(error).context("the load was cut short")),
    }
}

/// What was agreed, before anything moves.
fn introduction(connected: &Connected) -> Vec<String> {
    let read_depths = connected.read_depths();
    let mut lines = connected.agreed.introduction(&read_depths);
    let commands = perftest::commands(&connected.agreed, &read_depths);
    if !commands.is_empty() {
        lines.push("the same with perftest, all at once:".to_owned());
    }
    for command in commands {
        lines.extend(command.lines().map(|line| format!("  {line}")));
    }
    lines
}
