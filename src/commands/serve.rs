//! `railscope serve`: offers buffers on every rail for another host's `railscope load` to read.

use crate::cli::{ServeArgs, ServeCarrier};
use crate::peer::lookout::Lookout;
use crate::peer::server::{Say, listen, serve};
use crate::peer::{Door, End, invitation};
use crate::printable::Printable;
use crate::signals::Signals;
use anyhow::{Context, ensure};
use probes::ffi::verbs::Devices;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

/// How long what still opens or closes devices may take at the end.
const LET_GO: std::time::Duration = std::time::Duration::from_secs(2);

/// How often the rails are looked at; a read of a port's state is a command to its firmware.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_secs(1);

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let common = args.common.with_config()?;
    for (flag, given) in
        [("--json", common.json), ("--record", common.record.is_some()), ("--steps", common.steps.is_some())]
    {
        ensure!(!given, "{flag}: `serve` measures nothing; use it with `railscope load` on the other host");
    }
    let door = Door::with_token(args.token.as_deref()).map_err(anyhow::Error::msg)?;
    let (root, end) = End::of(&common, None)?;
    let known = devices(args.transport)?;
    let mut end = end.with_memory(args.memory)?;
    end.door = Door { max_clients: usize::from(args.max_clients), ..door };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot wait for clients")?;
    runtime.block_on(async {
        // before anyone reads that Ctrl-C ends it
        let mut signals = Signals::catch();
        let listener = listen(args.listen).await?;
        let listening = listener.local_addr().context("the address that is listened on")?;
        for line in greeting(&end, listening, known.as_deref()) {
            say(&line);
        }
        let stopped = async {
            tokio::select! {
                signal = signals.received() => signal,
                () = over(common.duration.map(|period| period.0)) => "the end of --for",
            }
        };
        let lookout = Lookout::over(root, &end.offers);
        let tell: Say = Arc::new(say);
        tokio::select! {
            () = serve(listener, end, tell, stopped) => {}
            () = keep_looking(lookout) => {}
        }
        say("railscope serve: stopped");
        anyhow::Ok(())
    })?;
    // a device that hangs in the kernel must not keep us
    runtime.shutdown_timeout(LET_GO);
    Ok(ExitCode::SUCCESS)
}

/// What is offered, and what to type on the other host.
fn greeting(end: &End, listening: std::net::SocketAddr, known: Option<&[String]>) -> Vec<String> {
    let mut lines = vec![format!("railscope serve: rails of {}:", end.me.host)];
    lines.extend(end.offers.iter().map(|offer| format!("  {offer}")));
    lines.extend(without_rdma(end, known));
    lines.extend(end.gpu.iter().map(|gpu| format!("data lie in the memory of {}", gpu.label())));
    lines.push("type on the other host:".to_owned());
    let netdevs: Vec<String> = end.offers.iter().filter_map(|offer| offer.netdev.clone()).collect();
    let addresses = probes::addresses::addresses();
    // no device was asked for: only loads over TCP are served
    let flags = if known.is_none() { " --transport tcp" } else { "" };
    lines.extend(
        invitation::lines(listening, &addresses, &netdevs, flags).into_iter().map(|line| format!("  {line}")),
    );
    if end.door.token.is_some() {
        lines.push("with --token FILE, a file with the same secret".to_owned());
    }
    if end.door.max_clients > 1 {
        lines.push(format!("up to {} clients at a time", end.door.max_clients));
    }
    lines.push("Ctrl-C ends it".to_owned());
    lines
}

/// Devices that the verbs library lists; `None` where only loads over TCP are served, which need none.
///
/// # Errors
///
/// There is no verbs library: what to install.
fn devices(carrier: ServeCarrier) -> anyhow::Result<Option<Vec<String>>> {
    if carrier == ServeCarrier::Tcp {
        return Ok(None);
    }
    let devices = Devices::list()
        .context("no RDMA here; `railscope serve --transport tcp` serves functional checks without it")?;
    Ok(Some(devices.names()))
}

/// What queue pairs cannot use, whatever sysfs says of it; over TCP it can be tried all the same.
fn without_rdma(end: &End, known: Option<&[String]>) -> Vec<String> {
    const ONLY_TCP: &str = "only a load with --transport tcp can use";
    let Some(known) = known else {
        return vec![
            "over TCP alone: functional checks, with `--transport tcp` at the other end too".to_owned(),
        ];
    };
    let listed = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let strangers = end.offers.iter().filter(|offer| !known.contains(&offer.device));
    strangers
        .map(|offer| {
            let device = &offer.device;
            format!(
                "NO RDMA over {device}, {ONLY_TCP} it: the verbs library lists {listed}; is its provider installed, \
                 and /dev/infiniband passed into this container?"
            )
        })
        .collect()
}

/// Says what becomes of the rails, for as long as the server runs.
async fn keep_looking(mut lookout: Lookout) {
    let mut look = tokio::time::interval(LOOK_EVERY);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        look.tick().await;
        // a device that hangs in the kernel must not keep clients waiting for a sign of life
        let looked = tokio::task::spawn_blocking(move || {
            let lines = lookout.look();
            (lookout, lines)
        });
        let Ok((again, lines)) = looked.await else { return std::future::pending().await };
        lookout = again;
        for line in lines {
            say(&line);
        }
    }
}

/// Prints a line; stdout may be gone (closed pipe), and clients are served all the same.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{}", Printable(line));
}

async fn over(after: Option<std::time::Duration>) {
    match after {
        Some(after) => tokio::time::sleep(after).await,
        None => std::future::pending().await,
    }
}
