//! `railscope serve`: offers buffers on every rail for another host's `railscope load` to read.

use crate::cli::ServeArgs;
use crate::peer::server::{Say, listen, serve};
use crate::peer::signals::Signals;
use crate::peer::{Door, End, invitation};
use crate::printable::Printable;
use anyhow::{Context, ensure};
use probes::ffi::verbs::Devices;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

/// How long what still opens or closes devices may take at the end.
const LET_GO: std::time::Duration = std::time::Duration::from_secs(2);

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
    let (_, end) = End::of(&common, None)?;
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
        for line in greeting(&end, listening) {
            say(&line);
        }
        let stopped = async {
            tokio::select! {
                signal = signals.received() => signal,
                () = over(common.duration.map(|period| period.0)) => "the end of --for",
            }
        };
        let tell: Say = Arc::new(say);
        serve(listener, end, tell, stopped).await;
        say("railscope serve: stopped");
        anyhow::Ok(())
    })?;
    // a device that hangs in the kernel must not keep us
    runtime.shutdown_timeout(LET_GO);
    Ok(ExitCode::SUCCESS)
}

/// What is offered, and what to type on the other host.
fn greeting(end: &End, listening: std::net::SocketAddr) -> Vec<String> {
    let mut lines = vec![format!("railscope serve: rails of {}:", end.me.host)];
    lines.extend(end.offers.iter().map(|offer| format!("  {offer}")));
    lines.extend(without_rdma(end));
    lines.extend(end.gpu.iter().map(|gpu| format!("data lie in the memory of {}", gpu.label())));
    lines.push("type on the other host:".to_owned());
    let netdevs: Vec<String> = end.offers.iter().filter_map(|offer| offer.netdev.clone()).collect();
    let addresses = probes::addresses::addresses();
    lines.extend(
        invitation::lines(listening, &addresses, &netdevs).into_iter().map(|line| format!("  {line}")),
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

/// Rails that queue pairs cannot use, whatever sysfs says of them; over TCP they can be tried all the same.
fn without_rdma(end: &End) -> Vec<String> {
    const ONLY_TCP: &str = "only a load with --transport tcp can use";
    let known = match Devices::list() {
        Ok(devices) => devices.names(),
        Err(why) => return vec![format!("NO RDMA HERE, {ONLY_TCP} these rails: {why}")],
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
