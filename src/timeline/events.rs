//! What happens at one moment: links that go down and come back, devices that go, facts that change, marks.

use super::changes::changes;
use super::interval::Interval;
use super::measured;
use super::sums::Sums;
use probes::model::{ExperimentEdge, Frame, LegFrame, Rail, RailFrame, Topology};
use serde::{Deserialize, Serialize};

/// Most events a session keeps, and most marks; a flapping port must not fill the memory, nor hide what was said.
const MOST: usize = 1000;

/// How long after a link went down or up senders may still try again what was lost with it: four tries of a queue pair's
/// timeout of 2.1 s (IBTA 1.4, 9.7.6.1.3, value 19), rounded up.
const LOST_WITH_A_LINK_S: f64 = 10.0;

/// What a mark is called among events.
const MARK: &str = "mark";

/// Something that happened at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Seconds since the session began.
    pub at_s: f64,
    /// RDMA device, PCI address or `host`.
    pub device: String,
    /// Port of the device, of a device with several; `None` of one with a single port, and in older sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u32>,
    /// `link-down`, `link-up`, `leg-down`, `leg-up`, `device-lost`, `device-back`, `device-new`, `counter-reset`,
    /// `mark`, or the fact that changed: `gid-changed`, `mtu-changed`, `link-changed`, `firmware-changed`,
    /// `bond-changed`, `card-lost`, `setting-changed`.
    pub what: String,
    /// The same in words, with what was before and after; the text of a mark. `None` where there is no more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Event {
    /// Whether the user set it.
    #[must_use]
    pub fn is_mark(&self) -> bool {
        self.what == MARK
    }

    /// Whether it happened to this rail: of a device with several ports, to this one.
    #[must_use]
    pub fn is_of(&self, rail: &Rail) -> bool {
        self.device == rail.device && self.port.is_none_or(|port| port == rail.port)
    }

    /// Whether the link of a port, or of a leg, went down.
    #[must_use]
    pub fn is_link_loss(&self) -> bool {
        matches!(self.what.as_str(), "link-down" | "leg-down")
    }

    /// Whether such a link went down or came back.
    #[must_use]
    pub fn is_link_turn(&self) -> bool {
        self.is_link_loss() || matches!(self.what.as_str(), "link-up" | "leg-up")
    }

    /// Whether a rail could do another rate from then on: a link of its port, its legs or its PCIe path is not what it was.
    #[must_use]
    pub fn is_of_a_limit(&self) -> bool {
        self.is_link_turn() || self.what == "link-changed"
    }
}

impl Sums {
    /// Whether the rail's link, or a leg of its bond, went down or up in this interval or shortly before it: what was under
    /// way over it is lost then, and is sent again.
    pub(crate) fn link_changed(&self, rail: &Rail, interval: &Interval) -> bool {
        let (from_s, to_s) = (interval.from_ns as f64 / 1e9, interval.to_ns as f64 / 1e9);
        self.events.iter().any(|event| {
            event.is_link_turn()
                && event.is_of(rail)
                && event.at_s <= to_s
                && from_s <= event.at_s + LOST_WITH_A_LINK_S
        })
    }

    /// Keeps an event, if there is room; of a device with several ports that of the port.
    pub(super) fn note(
        &mut self,
        at_ns: u64,
        (device, port): (&str, Option<u32>),
        what: &str,
        text: Option<String>,
    ) {
        let event =
            Event { at_s: at_ns as f64 / 1e9, device: device.to_owned(), port, what: what.to_owned(), text };
        let alike = self.events.iter().filter(|other| other.is_mark() == event.is_mark()).count();
        if alike < MOST {
            self.events.push(event);
        }
    }

    /// Takes the facts that a second look at the host found changed.
    pub(super) fn note_changes(&mut self, then: &Topology, now: &Topology, at_ns: u64) {
        for change in changes(then, now) {
            self.note(at_ns, (&change.device, change.port), change.what, Some(change.text));
        }
    }

    /// Takes what one more frame tells beside its counters; `before` is the frame before it.
    pub(super) fn note_events(&mut self, topology: &Topology, before: Option<&Frame>, frame: &Frame) {
        self.frames += 1;
        let is_made = frame.experiment.as_ref().is_some_and(|load| load.edge == ExperimentEdge::Ends);
        self.planned_loads += u64::from(is_made);
        self.until_ns = frame.at_ns;
        measured::add(&mut self.workers, frame);
        self.held_back |= frame.load.as_ref().is_some_and(|load| load.is_held_back());
        self.functional_check |= frame.load.as_ref().is_some_and(|load| load.is_functional_check());
        self.note_failures(frame);
        for (at, (known, rail)) in topology.rails.iter().zip(&frame.rails).enumerate() {
            let was_lost = before.and_then(|f| f.rails.get(at)).is_some_and(|r| r.lost);
            let device = || (known.device.as_str(), port_of(known, topology));
            match (was_lost, rail.lost) {
                (false, true) => self.note(frame.at_ns, device(), "device-lost", None),
                (true, false) => self.note(frame.at_ns, device(), "device-back", None),
                _ => {}
            }
            self.note_state(frame.at_ns, device, rail, at);
            self.note_legs(frame.at_ns, known, &rail.legs, at);
        }
        for text in &frame.marks {
            self.note(frame.at_ns, ("host", None), MARK, Some(text.clone()));
        }
    }

    fn note_state<'a>(
        &mut self,
        at_ns: u64,
        device: impl FnOnce() -> (&'a str, Option<u32>),
        read: &RailFrame,
        at: usize,
    ) {
        let (Some(now), Some(slot)) = (&read.state, self.states.get_mut(at)) else { return };
        let Some(then) = slot.replace(now.clone()) else { return };
        let what = match (then.as_str(), now.as_str()) {
            ("ACTIVE", "ACTIVE") => return,
            ("ACTIVE", _) => "link-down",
            (_, "ACTIVE") => "link-up",
            _ => return,
        };
        self.note(at_ns, device(), what, Some(format!("port {then} → {now}")));
    }

    fn note_legs(&mut self, at_ns: u64, known: &Rail, read: &[LegFrame], at: usize) {
        let Some(slots) = self.legs_up.get_mut(at) else { return };
        slots.resize(slots.len().max(read.len()), None);
        let legs = known.bond.iter().flat_map(|bond| &bond.legs);
        let mut turned = Vec::new();
        for ((slot, leg), read) in slots.iter_mut().zip(legs).zip(read) {
            if let Some(now) = read.link_up
                && slot.replace(now).is_some_and(|then| then != now)
            {
                let (what, word) = if now { ("leg-up", "up") } else { ("leg-down", "down") };
                turned.push((what, format!("leg {} {word}", leg.netdev)));
            }
        }
        for (what, text) in turned {
            self.note(at_ns, (&known.device, None), what, Some(text));
        }
    }
}

/// Port of a rail whose device has several.
pub(super) fn port_of(rail: &Rail, topology: &Topology) -> Option<u32> {
    let of_device = topology.rails.iter().filter(|other| other.device == rail.device);
    (of_device.count() > 1).then_some(rail.port)
}
