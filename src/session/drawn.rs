//! A topology that another tool wrote: one frame, in which nothing is counted.

use super::open::header;
use super::{FrameSource, SourceError};
use probes::model::{Frame, RailFrame, Session, Topology};
use std::sync::Arc;
use std::time::Duration;

/// A source over a topology file. What it is gets judged, for what it moves there is no counter.
#[derive(Debug)]
pub struct Drawn {
    session: Arc<Session>,
    is_over: bool,
}

impl Drawn {
    /// One frame of this topology.
    #[must_use]
    pub fn new(topology: Topology, every: Duration) -> Self {
        Self { session: header(topology, every, None), is_over: false }
    }
}

impl FrameSource for Drawn {
    fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(None);
        }
        let rails = vec![RailFrame::default(); self.session.topology().rails.len()];
        Ok(Some(Frame { rails, ..Frame::default() }))
    }
}

#[cfg(test)]
mod tests {
    use super::Drawn;
    use crate::session::FrameSource;
    use probes::model::{Rail, Topology};
    use std::time::Duration;

    #[test]
    fn there_is_one_frame_with_every_rate_unknown() {
        let topology = Topology { rails: vec![Rail::default()], ..Topology::default() };
        let mut source = Drawn::new(topology, Duration::from_secs(1));
        let frame = source.next_frame().unwrap().unwrap();
        assert_eq!((frame.rails.len(), frame.rails[0].rx_bytes), (1, None));
        assert_eq!(source.next_frame().unwrap(), None);
    }
}
