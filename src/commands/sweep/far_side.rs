//! The peer's host during one load, as `serve` told of it.

use crate::experiments::far;
use crate::peer::Agreed;
use probes::model::FarSample;

/// What the peer's rails counted during one load, and why one is not seen.
#[derive(Debug, Default)]
pub(in crate::commands) struct FarSide {
    /// Of each of our rails that was seen at the other end.
    pub(in crate::commands) samples: Vec<FarSample>,
    /// Why one was not; `None` where all were.
    pub(in crate::commands) gap: Option<String>,
}

impl FarSide {
    /// Nobody was seen, because of this.
    pub(in crate::commands) fn unseen(why: &str) -> Self {
        Self { samples: Vec::new(), gap: Some(why.to_owned()) }
    }

    /// What came of the peer in a load that is over.
    pub(super) fn of(agreed: &Agreed) -> Self {
        let Some(sight) = &agreed.sight else {
            return Self { samples: Vec::new(), gap: agreed.why_unseen() };
        };
        if let Some(why) = sight.misfit() {
            return Self::unseen(&format!("it told something that does not fit: {why}"));
        }
        let (samples, gap) = far::samples(&sight.topology, &sight.inbox.drain(), &agreed.pairs());
        Self { samples, gap }
    }
}
