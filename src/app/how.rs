//! How a session is looked at.

use super::View;
use crate::rules::{self, Finding, Limits};
use crate::session::{Anew, Every, Marks, RecordingStatus, Stop, Throttle};
use crate::settings::Screen;
use crate::timeline::Timeline;
use std::sync::Arc;

/// What kind of session is on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The rails of this node, as they are.
    #[default]
    Live,
    /// A simulation.
    Demo,
    /// The rails of this node, with our load on them.
    Load,
    /// Planned loads, one after the other.
    Diagnosis,
    /// A session file, at the pace of its own times.
    Replay,
    /// A copied tree: one look at it, or its steps at the pace of their own times.
    Tree,
}

impl Mode {
    /// Whether every moment of the session can be gone to at once.
    #[must_use]
    pub fn is_seekable(self) -> bool {
        self == Self::Replay
    }

    /// Whether the frames are of another time: they are shown at the pace of their own times, can be held and
    /// hurried, and stay on the screen when there are no more.
    #[must_use]
    pub fn is_past(self) -> bool {
        match self {
            Self::Replay | Self::Tree => true,
            Self::Live | Self::Demo | Self::Load | Self::Diagnosis => false,
        }
    }

    /// Whether it stays on the screen when there are no more frames: what came of it is to be read.
    #[must_use]
    pub fn stays(self) -> bool {
        self.is_past() || self == Self::Diagnosis
    }
}

/// How a session is looked at.
#[derive(Clone, Debug, Default)]
pub struct How {
    /// What is looked at, in a word or two: the file of a replay, the peer of a load. May be empty.
    pub title: String,
    /// What kind of session it is.
    pub mode: Mode,
    /// Limits of the rules.
    pub limits: Limits,
    /// Findings of these codes are left out.
    pub ignore: Vec<String>,
    /// How the file fares that the session is being written into; `None` without one.
    pub recording: Option<Arc<RecordingStatus>>,
    /// Ends the source while it waits for its next sample. A source that does not know it is left after that sample.
    pub stop: Stop,
    /// Sets marks on the session, which its frames and its recording then carry; a replay takes none.
    pub marks: Marks,
    /// Changes the rate of the load while it runs; `None` where there is none, or it cannot be changed.
    pub throttle: Option<Throttle>,
    /// Time between samples, where it can be changed while they come.
    pub every: Option<Every>,
    /// Keys, colours, unit and columns.
    pub screen: Screen,
    /// The view that is shown first.
    pub view: View,
    /// Time of a session file that is shown first, nanoseconds; `None` plays it from its start.
    pub at_ns: Option<u64>,
    /// Has another load begin in the session, or a diagnosis; `None` where neither can.
    pub anew: Option<Anew>,
}

impl How {
    /// What the rules find, worst first, without what is to be ignored; of a session of two hosts on both, with the name of
    /// the other one before what is its.
    #[must_use]
    pub fn judge(&self, timeline: &Timeline) -> Vec<Finding> {
        let mut findings = rules::diagnose(timeline.topology(), timeline, &self.limits);
        if let Some(there) = timeline.as_seen_by_peer() {
            let host = there.topology().host.hostname.clone().unwrap_or_else(|| "peer".to_owned());
            let found = rules::diagnose(there.topology(), &there, &self.limits);
            findings.extend(found.into_iter().map(|finding| Finding {
                devices: finding.devices.iter().map(|device| format!("{host}:{device}")).collect(),
                ports:
                    finding.ports.iter().map(|(device, port)| (format!("{host}:{device}"), *port)).collect(),
                message: format!("on {host}: {}", finding.message),
                ..finding
            }));
            // the sort is stable: of equal severity ours come first
            findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
            rules::bring_causes(&mut findings);
        }
        findings.retain(|finding| !self.ignore.iter().any(|code| *code == finding.code));
        findings
    }
}
