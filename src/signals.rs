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
        Self::listen().unwrap_or(Self(None))
    }

    /// The same, where nothing is to go on without them.
    ///
    /// # Errors
    ///
    /// The system gives no signal handler.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn listen() -> std::io::Result<Self> {
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Self(Some((interrupt, terminate, Hangup::listen()?))))
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
