//! The other end of a simulated node, as its `serve` would tell of it: one rail for each of ours.
//!
//! It is loaded by our READs alone, so that what it sends is what arrives here. A rail of its own tells nothing else than
//! its counters.

use super::world::{Counter, Grows};
use probes::model::{FarSample, Rail, RailFrame};

/// What a rail had sent before the session began.
const SENT_BEFORE: u64 = 1 << 40;

/// The other end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FarEnd {
    /// Its name.
    pub(super) hostname: String,
    /// Names of its rails' further counters.
    pub(super) names: Vec<String>,
    /// Those of each rail, in the order of our rails, and of the names.
    pub(super) rails: Vec<Vec<Counter>>,
}

/// What arrived here between the two samples of a load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// Gigabytes at each of them since the load began.
    pub(super) gb: [f64; 2],
    /// What holds the rail back.
    pub(super) held_by: Option<Grows>,
    /// Time between the two, nanoseconds.
    pub(super) ns: u64,
}

impl FarEnd {
    /// What it tells of the rail that ours at this position is connected with.
    pub(super) fn sample(&self, at: usize, ours: &Rail, arrived: Arrived) -> FarSample {
        let counters = self.rails.get(at).map_or(&[][..], Vec::as_slice);
        let frame = |gb: f64| RailFrame {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "some hundred gigabytes"
            )]
            tx_bytes: Some(SENT_BEFORE + (gb * 1e9) as u64),
            counters: counters.iter().map(|counter| Some(counter.after(gb, arrived.held_by))).collect(),
            ..RailFrame::default()
        };
        FarSample {
            device: ours.device.clone(),
            hostname: Some(self.hostname.clone()),
            rail: Rail {
                device: ours.device.clone(),
                port: 1,
                link_layer: ours.link_layer,
                path_mtu: ours.path_mtu,
                line_gbit_per_s: ours.line_gbit_per_s,
                counters: self.names.clone(),
                ..Rail::default()
            },
            from: frame(arrived.gb[0]),
            to: frame(arrived.gb[1]),
            ns: arrived.ns,
        }
    }

    /// Lets a counter of a rail grow where its NIC has it.
    pub(super) fn grow(&mut self, at: usize, name: &str, per_gb: f64, grows: Grows) {
        let counters = self.rails.get_mut(at).into_iter().flatten().zip(&self.names);
        for (counter, _) in counters.filter(|(_, known)| *known == name) {
            (counter.per_gb, counter.grows) = (counter.per_gb + per_gb, grows);
        }
    }

    /// Whether its NICs count this.
    pub(super) fn counts(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}
