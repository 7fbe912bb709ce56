//! Ctrl-C and SIGTERM end a session and not the program, so that files are closed and reports printed; asked
//! again, they end the program.

use crate::printable::tell;
use crate::session::Stop;
use crate::signals::Signals;
use anyhow::Context;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// A second signal so soon is an echo of the first: a terminal and a wrapper both pass Ctrl-C on.
const ECHO: Duration = Duration::from_secs(1);

/// From now on SIGINT, SIGTERM and SIGHUP tell `stop` to end, for as long as the program runs.
///
/// A later one ends the program at once: its source hangs, in a pipe or in a device that does not answer.
///
/// # Errors
///
/// The system gives no thread or no signal handler.
pub fn end_on_signals(stop: Stop) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("signals")?;
    // registered before this function returns: a signal right after it must not kill the program
    let mut signals = {
        let _inside = runtime.enter();
        Signals::listen()?
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            runtime.block_on(async {
                let mut first: Option<Instant> = None;
                loop {
                    signals.received().await;
                    stop.stop();
                    if first.get_or_insert_with(Instant::now).elapsed() > ECHO {
                        tell("ended at once, as it was asked twice; a recording of it has no end mark");
                        std::process::exit(2);
                    }
                }
            });
        })
        .context("no thread for signals")?;
    Ok(())
}

/// From now on a file that may not grow beyond the limit of `ulimit -f` is an error of that file, as a full disk is,
/// and no end of the program.
///
/// Source: setrlimit(2), `RLIMIT_FSIZE`.
pub fn outlive_file_size_limit() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    let _inside = runtime.enter();
    // the handler stays for as long as the program runs; without one the session ends with its recording
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}
