//! Opening a load: the peer is asked, queue pairs are made and connected, and nothing moves yet.

use super::ending::Told;
use super::seeking;
use crate::cli::{Carrier, LoadArgs};
use crate::commands::way::Way;
use crate::peer::client::{Connected, connect_until};
use crate::peer::{perftest, request};
use crate::session::Stop;
use crate::settings::Common;
use anyhow::ensure;
use probes::load::Params;
use std::sync::Arc;

/// What the flags ask for, as far as it can be told without a peer.
///
/// # Errors
///
/// In words: flags that do not go together, or a simulation.
pub(super) fn params(args: &LoadArgs) -> Result<Params, String> {
    if args.transport == Carrier::Sim {
        return Err(
            "--transport sim: nobody is at the other end; leave, and start `railscope load --transport sim`"
                .into(),
        );
    }
    request::params(args)
}

/// Opens the load that the flags ask for, on the rails as they are now; with it what is worth saying of it.
///
/// # Errors
///
/// In one line: flags that do not go together, no such rail, node or GPU, a peer that is not there or turns this end away,
/// no rail that could be opened, or told to stop.
pub(super) fn open(
    args: &LoadArgs,
    common: &Common,
    way: Way,
    told: &Arc<Told>,
    stop: &Stop,
) -> anyhow::Result<(Connected, Vec<String>)> {
    ensure!(common.steps.is_none(), "--steps: counters that are stepped cannot be loaded");
    let params = params(args).map_err(anyhow::Error::msg)?;
    let Way { root, end, target } = way;
    // before the peer registers memory for nothing
    probes::load::check_place(&end.topology, &params.place)?;
    let sought = seeking::seek(&root, &end, &target, &params, stop)?;
    let params = Params { labels: seeking::labels(&sought), ..params };
    let say = told.clone();
    let mut connected = connect_until(stop, end, target, params, Arc::new(move |line: &str| say.say(line)))?;
    let lines = introduction(&connected)
        .into_iter()
        .chain(args.words_of_preset())
        .chain(request::cold_words(&args.knobs))
        .chain(connected.path_mtu())
        .chain(connected.pages())
        .chain(connected.crowding())
        .chain(seeking::words(&sought))
        .collect();
    connected.keep_sought(sought);
    Ok((connected, lines))
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
