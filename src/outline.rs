//! What happened when in a session: how bad it was over its whole length, where findings begin, events.
//!
//! A session of a day keeps to some hundred kilobytes: the length is cut into a fixed number of buckets, which grow
//! wider as it grows, and moments are kept up to a number.

mod buckets;
mod heat;

pub use buckets::Look;
pub use heat::Heat;

use crate::experiments::told::Told;
use crate::rules::{Finding, Severity};
use crate::timeline::{Event, Timeline};
use buckets::Buckets;
use probes::model::Frame;
use std::borrow::Cow;

/// Most moments of a session that are kept.
const MOST_MOMENTS: usize = 4096;

/// What a moment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A finding begins.
    Begins(Severity),
    /// A port, a device, a fact of the host or a load changed.
    Event,
    /// A person set a mark.
    Mark,
}

/// Something at one time of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since the session began, on the clock of its first host.
    pub at_ns: u64,
    /// What it is.
    pub kind: Kind,
    /// What happened, for people: `link-down mlx5_3`.
    pub text: String,
}

/// The devices of a finding, and the ports it speaks of.
type Subject = (Vec<String>, Vec<(String, u32)>);

fn subject(finding: &Finding) -> Subject {
    (finding.devices.clone(), finding.ports.clone())
}

/// What happened when in a session, as far as it was looked at.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    span_ns: Option<(u64, u64)>,
    buckets: Buckets,
    moments: Vec<Moment>,
    heat: Heat,
    /// Codes and subjects of the findings at the last look.
    present: Vec<(Cow<'static, str>, Subject)>,
    looked_to_ns: Option<u64>,
    /// How many events of the timeline are among the moments.
    events: usize,
    was_loaded: Option<bool>,
    is_whole: bool,
    experiments: Told,
}

/// Which way along the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// Later.
    Later,
    /// Earlier.
    Earlier,
}

impl Outline {
    /// Of a session of this first and last time, at which nobody has looked yet.
    #[must_use]
    pub fn of_span(first_ns: u64, last_ns: u64) -> Self {
        Self {
            span_ns: Some((first_ns, last_ns)),
            buckets: Buckets::over(first_ns, last_ns),
            ..Self::default()
        }
    }

    /// Takes a frame, for what it shows by itself: where loads begin and end.
    pub fn frame(&mut self, frame: &Frame) {
        if frame.host != 0 {
            return;
        }
        self.experiments.frame(frame);
        self.reach(frame.at_ns);
        let is_loaded = frame.load.is_some();
        match self.was_loaded.replace(is_loaded) {
            Some(false) if is_loaded => self.add(frame.at_ns, Kind::Event, "load begins".to_owned()),
            Some(true) if !is_loaded => self.add(frame.at_ns, Kind::Event, "load ends".to_owned()),
            _ => {}
        }
    }

    /// Takes what the rules find on the timeline as it stands now.
    pub fn look(&mut self, timeline: &Timeline, findings: &[Finding]) {
        let host = timeline.local();
        let Some(at_ns) = host.latest().map(|frame| frame.at_ns) else { return };
        self.reach(at_ns);
        let worst = findings.iter().map(|finding| finding.severity).max();
        let since_ns = self.looked_to_ns.unwrap_or(0);
        for interval in host.intervals().rev().take_while(|interval| interval.to_ns > since_ns) {
            self.heat.add(interval);
        }
        self.buckets.fill(self.looked_to_ns, at_ns, worst.map_or(Look::Clear, Look::Found));
        self.note_events(timeline);
        for finding in findings {
            let is_new =
                !self.present.iter().any(|(code, on)| *code == finding.code && *on == subject(finding));
            if is_new {
                let text = format!("{} {} begins", finding.code, finding.devices.join(", "));
                self.add(at_ns, Kind::Begins(finding.severity), text);
            }
        }
        self.present = findings.iter().map(|f| (f.code.clone(), subject(f))).collect();
        self.looked_to_ns = Some(at_ns);
    }

    /// Takes what happened since events were noted last.
    pub fn note_events(&mut self, timeline: &Timeline) {
        let events = &timeline.local().sums().events;
        if events.len() == self.events {
            return;
        }
        let now_ns = timeline.local().latest().map_or(u64::MAX, |frame| frame.at_ns);
        for event in events.iter().skip(self.events) {
            // an event's time has passed through seconds
            let at_ns = nanoseconds(event.at_s).min(now_ns);
            let kind = if event.is_mark() { Kind::Mark } else { Kind::Event };
            self.add(at_ns, kind, in_words(event));
        }
        self.events = events.len();
        // events are known later than they happen
        self.moments.sort_by_key(|moment| moment.at_ns);
    }

    /// Says that there is nothing behind the last look.
    pub fn end(&mut self) {
        self.is_whole = true;
    }

    /// First and last time; `None` before the first frame.
    #[must_use]
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        self.span_ns
    }

    /// Up to where it was looked at; `None` before the first look.
    #[must_use]
    pub fn looked_to_ns(&self) -> Option<u64> {
        self.looked_to_ns
    }

    /// Whether all of it was looked at.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The planned loads of a diagnosis.
    #[must_use]
    pub fn experiments(&self) -> &Told {
        &self.experiments
    }

    /// Everything that happened, oldest first.
    #[must_use]
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// The worst that was seen from one time up to, and without, another.
    #[must_use]
    pub fn worst(&self, from_ns: u64, to_ns: u64) -> Look {
        self.buckets.worst(from_ns, to_ns)
    }

    /// What each rail moved over its length.
    #[must_use]
    pub fn heat(&self) -> &Heat {
        &self.heat
    }

    /// The nearest moment of this kind that is later, or earlier, than `at_ns`.
    #[must_use]
    pub fn nearest(&self, at_ns: u64, towards: Towards, is_meant: impl Fn(Kind) -> bool) -> Option<&Moment> {
        let mut meant = self.moments.iter().filter(|moment| is_meant(moment.kind));
        match towards {
            Towards::Later => meant.find(|moment| moment.at_ns > at_ns),
            Towards::Earlier => {
                let last = meant.rfind(|moment| moment.at_ns < at_ns)?.at_ns;
                // of several at one time the first, as in the other direction
                self.moments.iter().find(|moment| moment.at_ns == last && is_meant(moment.kind))
            }
        }
    }

    fn reach(&mut self, at_ns: u64) {
        let (first, last) = self.span_ns.unwrap_or((at_ns, at_ns));
        self.span_ns = Some((first.min(at_ns), last.max(at_ns)));
    }

    /// Keeps a moment, where there is room for one more.
    fn add(&mut self, at_ns: u64, kind: Kind, text: String) {
        if self.moments.len() < MOST_MOMENTS {
            self.moments.push(Moment { at_ns, kind, text });
        }
    }
}

/// An event as it is told at the foot of the screen.
fn in_words(event: &Event) -> String {
    match (&event.text, event.is_mark()) {
        (Some(text), true) if !text.is_empty() => format!("mark: {text}"),
        (_, true) => "mark".to_owned(),
        (Some(text), false) => format!("{} {}: {text}", event.what, event.device),
        (None, false) => format!("{} {}", event.what, event.device),
    }
}

/// Nanoseconds of a time in seconds, which came from nanoseconds.
fn nanoseconds(at_s: f64) -> u64 {
    let time = std::time::Duration::try_from_secs_f64(at_s.max(0.0)).unwrap_or_default();
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
