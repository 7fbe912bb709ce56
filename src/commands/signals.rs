//! Ctrl-C and SIGTERM end a session; they never end the program, so that files are closed and reports printed.

use crate::session::Stop;
use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

/// From now on SIGINT, SIGTERM and SIGHUP tell `stop` to end, for as long as the program runs.
///
/// # Errors
///
/// The system gives no thread or no signal handler.
pub fn end_on_signals(stop: Stop) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("signals")?;
    // registered before this function returns: a signal right after it must not kill the program
    let (mut interrupt, mut terminate, mut hangup) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?)
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                        _ = hangup.recv() => {}
                    }
                    stop.stop();
                }
            });
        })
        .context("no thread for signals")?;
    Ok(())
}
