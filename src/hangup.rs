//! The terminal that goes away.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGHUP, unless the program was started with it ignored.
///
/// `nohup railscope record FILE &` must outlive its terminal, and a handler of ours would undo the ignoring.
#[derive(Debug)]
pub struct Hangup(Option<Signal>);

impl Hangup {
    /// Listens from now on.
    ///
    /// # Errors
    ///
    /// The system gives no signal handler.
    pub fn listen() -> std::io::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        if is_ignored(&status) { Ok(Self(None)) } else { signal(SignalKind::hangup()).map(Some).map(Self) }
    }

    /// Waits for it; for ever where it is ignored.
    pub async fn recv(&mut self) {
        match &mut self.0 {
            Some(hangup) => {
                hangup.recv().await;
            }
            None => std::future::pending().await,
        }
    }
}

/// Whether SIGHUP, signal 1, is in the mask of ignored signals.
///
/// Source: proc(5), `SigIgn` of `/proc/PID/status`.
fn is_ignored(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::is_ignored;

    #[test]
    fn nohup_is_seen_in_the_mask_of_ignored_signals() {
        assert!(is_ignored("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n"));
        assert!(!is_ignored("SigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n"));
        assert!(!is_ignored(""));
    }
}
