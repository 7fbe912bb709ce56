//! `serve` tells what it sees of itself: what its host is, and a sample each second, while a client's load runs.

use super::clock::then_ns;
use super::error::PeerError;
use super::link::Link;
use super::message::Message;
use super::sight::parts;
use crate::session::{FrameSource, Live, Stop};
use probes::model::{Frame, Topology};
use probes::root::Root;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// Between two samples: everything that is dear to read is read then, and nothing in between, so that it costs the load
/// nothing.
const EVERY: Duration = Duration::from_secs(1);

/// Samples that wait for a slow connection; more are left out.
const QUEUE: usize = 8;

/// This host's own samples, for one client.
pub(super) struct Telling {
    /// Until it begins; behind a lock, as what looks a second time is not to be shared.
    live: Mutex<Option<Live>>,
    topology: Arc<Topology>,
    /// When its times begin, on the clock of [`now_ns`](super::clock::now_ns).
    began_ns: i64,
    stop: Stop,
    frames: Option<mpsc::Receiver<Frame>>,
}

impl Telling {
    /// Opens everything that is sampled; nothing is yet. Blocks meanwhile.
    pub(super) fn open(root: Root, topology: Topology) -> Self {
        let stop = Stop::new();
        let live = Live::new(root, topology, EVERY, None, None, stop.clone());
        let began_ns = then_ns(live.began());
        let topology = live.session().hosts.first().cloned().unwrap_or_default();
        Self { began_ns, topology, live: Mutex::new(Some(live)), stop, frames: None }
    }

    /// Tells what this host is.
    ///
    /// # Errors
    ///
    /// The connection is gone.
    pub(super) async fn introduce(&self, link: &Link) -> Result<(), PeerError> {
        for part in parts(&self.topology, self.began_ns) {
            link.send(part).await?;
        }
        Ok(())
    }

    /// Begins to sample, on a thread of its own.
    pub(super) fn begin(&mut self) {
        let live = self.live.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut live) = live else { return };
        let (to, frames) = mpsc::channel(QUEUE);
        let sample = move || {
            while let Ok(Some(frame)) = live.next_frame() {
                if matches!(to.try_send(frame), Err(mpsc::error::TrySendError::Closed(_))) {
                    return;
                }
            }
        };
        // without a thread the client sees what this host is, and no samples
        if std::thread::Builder::new().name("frames".to_owned()).spawn(sample).is_ok() {
            self.frames = Some(frames);
        }
    }

    /// Waits for the next sample, as a message; for ever where there is none.
    pub(super) async fn next(&mut self) -> Message {
        loop {
            let Some(frames) = &mut self.frames else { return std::future::pending().await };
            let Some(frame) = frames.recv().await else {
                self.frames = None;
                continue;
            };
            if let Ok(frame) = serde_json::to_string(&frame) {
                return Message::Frame { frame };
            }
        }
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.stop.stop();
    }
}
