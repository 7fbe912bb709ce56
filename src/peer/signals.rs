//! Being told to stop from outside.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for Ctrl-C or SIGTERM and says which; for ever where signals cannot be had.
///
/// SIGHUP keeps its meaning, so that `nohup railscope serve` outlives its terminal.
pub async fn interrupted() -> &'static str {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => "Ctrl-C",
        _ = terminate.recv() => "SIGTERM",
    }
}
