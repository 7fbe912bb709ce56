//! The end of a load: our threads come to rest, and both ends say goodbye.

use super::super::error::PeerError;
use super::super::message::Message;
use super::{Attendance, Running};
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
