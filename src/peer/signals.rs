//! Being told to stop from outside.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C and SIGTERM, from the moment this was made.
///
/// SIGHUP keeps its meaning, so that `nohup railscope serve` outlives its terminal.
#[derive(Debug)]
pub struct Signals(Option<(Signal, Signal)>);

impl Signals {
    /// From now on these signals no longer kill the program; where they cannot be had, they still do.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn catch() -> Self {
        let both = signal(SignalKind::interrupt()).and_then(|i| Ok((i, signal(SignalKind::terminate())?)));
        Self(both.ok())
    }

    /// Waits for one of them and says which.
    pub async fn received(&mut self) -> &'static str {
        let Some((interrupt, terminate)) = &mut self.0 else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => "Ctrl-C",
            _ = terminate.recv() => "SIGTERM",
        }
    }
}
