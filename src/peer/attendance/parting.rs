//! The end of a load: our threads come to rest, and both ends say goodbye.

use super::super::error::PeerError;
use super::super::message::Message;
use super::{Attendance, Running};
use probes::model::WorkerPhase;
use std::time::Duration;
use tokio::time::{sleep, timeout};

impl Attendance {
    /// Waits until nothing of ours is out: the server frees its buffers at our goodbye.
    pub(super) async fn rest(&self, begun: bool) {
        if !begun || self.party.traffic.is_over() {
            return;
        }
        // nothing more will be said
        self.party.let_go();
        let at_rest = async {
            while !self.party.traffic.is_over() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = timeout(self.link.timing().farewell, at_rest).await;
    }

    /// Names the devices whose driver still keeps a thread of ours, which asked it to close queue pairs.
    pub(super) fn tell_unclosed(&self) {
        if self.party.traffic.is_over() {
            return;
        }
        let load = self.party.traffic.load();
        let is_at_work = |phase| !matches!(phase, WorkerPhase::Done | WorkerPhase::Failed);
        let workers = self.party.traffic.workers().into_iter().enumerate();
        let at_work = workers.filter(|(_, worker)| is_at_work(worker.phase));
        let mut devices: Vec<(usize, &str)> =
            at_work.filter_map(|(at, _)| Some((at, load.workers.get(at)?.device.as_str()))).collect();
        devices.dedup_by_key(|(_, device)| *device);
        let seconds = self.link.timing().farewell.as_secs();
        for (at, device) in devices {
            let line = format!(
                "{device}: its queue pairs are not closed {seconds} s after the load was to end: its driver does not \
                 answer; what is left open the kernel closes when railscope ends"
            );
            self.tell(at, &line);
        }
    }

    /// Says goodbye, and waits for the server's.
    ///
    /// # Errors
    ///
    /// The server is gone, silent, or does not say it.
    pub(super) async fn part(
        &mut self,
        running: &mut Running,
        seconds: f64,
        reason: String,
    ) -> Result<(), PeerError> {
        let farewell = self.link.timing().farewell;
        running.seconds.get_or_insert(seconds);
        let _ = self.link.send(Message::Progress(self.progress(running, seconds))).await;
        // a connection that is gone is heard below, with the reason
        let _ = self.link.send(Message::Bye { reason }).await;
        let peer = self.link.peer().to_owned();
        let answered = async {
            loop {
                match self.link.next().await {
                    Ok(Message::Progress(progress)) => self.progress_there(running, progress, false),
                    Ok(Message::Frame { frame }) => self.see(&frame),
                    Ok(Message::Bye { .. }) => return Ok(()),
                    Err(error) => return Err(error),
                    Ok(_) => {}
                }
            }
        };
        // its threads come to rest, and it frees its memory
        let limit = farewell * 3;
        match timeout(limit, answered).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(PeerError::Silent { seconds, .. })) => Err(PeerError::NoGoodbye { peer, seconds }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(PeerError::Late { peer, wanted: "its goodbye", seconds: limit.as_secs_f64() }),
        }
    }
}
