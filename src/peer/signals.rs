//! Being told to stop from outside.

use crate::hangup::Hangup;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, SIGTERM and SIGHUP, from the moment this was made.
#[derive(Debug)]
pub struct Signals(Option<(Signal, Signal, Hangup)>);

impl Signals {
    /// From now on these signals no longer kill the program; where they cannot be had, they still do.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn catch() -> Self {
        let all =
            || Ok((signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, Hangup::listen()?));
        let all: std::io::Result<_> = all();
        Self(all.ok())
    }

    /// Waits for one of them and says which.
    pub async fn received(&mut self) -> &'static str {
        let Some((interrupt, terminate, hangup)) = &mut self.0 else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => "Ctrl-C",
            _ = terminate.recv() => "SIGTERM",
            () = hangup.recv() => "SIGHUP, as its terminal was closed",
        }
    }
}
