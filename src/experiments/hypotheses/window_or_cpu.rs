//! H6: the READs that may be under way, or the thread that posts them.
//!
//! A queue pair brings what its READs under way carry in a round trip (IBTA 1.4, 9.4.4), and the time of one READ alone is
//! the least that a round trip takes: under load it is longer, by the queues on the way. So a rail well below that bound may
//! still be at it. What settles it is to have more under way: twice the queue pairs bring up to twice as much then, and
//! nothing where the wire, PCIe, memory or the thread is full. A thread that gets too little done shows otherwise: its polls
//! are seldom empty, and a second one brings more from the same queue pairs.

use super::{Answer, Case, Hypothesis, not_measurable};
use crate::experiments::plan::Kind;
use crate::experiments::rounds::Compared;
use crate::rules::rate;

/// Share of the READ window from which on it is the limit whatever else is tried.
const AT_WINDOW: f64 = 0.9;
/// Share of it below which it is none: a round trip that takes three times as long under load as alone had better be looked
/// for in the fabric.
const MAY_BE_WINDOW: f64 = 0.3;
/// Twice as many READs under way bring at least this much more where they are what is missing.
const GROWS_WITH_IT: f64 = 1.25;
/// Empty polls below this share are rare.
const RARE_EMPTY_POLLS: f64 = 0.05;

impl Case<'_> {
    pub(super) fn window_or_cpu(&self) -> Hypothesis {
        let hypothesis = |answer, because, code| Hypothesis {
            id: "H6",
            says: "the READs outstanding, or the posting thread",
            answer,
            because,
            code,
        };
        let (seen, alone) = match (self.shown(&Kind::Alone), self.rates(&Kind::Alone)) {
            (Ok(seen), Ok(alone)) => (seen, alone),
            (Err(why), _) | (_, Err(why)) => {
                return hypothesis(Answer::Unknown, not_measurable(&why), "read-window");
            }
        };
        let (more_qps, queues) = self.tried(|kind| matches!(kind, Kind::Queues(_)));
        let share = seen.read_window_gb_per_s.map(|window| alone.mean() / window);
        let window = match (seen.read_window_gb_per_s, seen.round_trip_us) {
            (Some(window), round_trip) => format!(
                "{} of {} GB/s that its READs bring over a round trip{}",
                rate(alone.mean()),
                rate(window),
                self.beside_control(round_trip)
            ),
            (None, _) => "the round trip was not measured".to_owned(),
        };
        let with_queues = match &queues {
            Ok(more) => format!("; with {more_qps} {} GB/s", rate(more.mean())),
            Err(_) => String::new(),
        };
        let grows = queues
            .as_ref()
            .ok()
            .map(|more| more.beside(&alone) == Compared::More && more.mean() >= GROWS_WITH_IT * alone.mean());
        if share.is_some_and(|share| share >= AT_WINDOW)
            || (share.is_some_and(|share| share >= MAY_BE_WINDOW) && grows == Some(true))
        {
            return hypothesis(Answer::Yes, format!("{window}{with_queues}"), "read-window");
        }
        // where nothing grows with the READs under way, they are not what is missing, whatever a round trip takes
        let is_no_window = grows == Some(false) || (grows.is_none() && share.is_some());
        let polls = seen.empty_poll_share.map_or_else(
            || "empty polls not counted".to_owned(),
            |share| format!("{:.0} % of polls found nothing", share * 100.0),
        );
        let (more_threads, threads) = self.tried(|kind| matches!(kind, Kind::Workers(_)));
        match threads {
            Ok(more) => {
                let is_rare = seen.empty_poll_share.is_some_and(|share| share < RARE_EMPTY_POLLS);
                let answer = match (more.beside(&alone), is_rare) {
                    (Compared::More, true) => Answer::Yes,
                    (Compared::Same | Compared::Less, _) if is_no_window => Answer::No,
                    // where it gains, and the thread had time left, something else is in it
                    _ => Answer::Unknown,
                };
                let says = format!(
                    "{window}{with_queues}; with {more_threads} {} instead of {} GB/s; {polls}{}",
                    rate(more.mean()),
                    rate(alone.mean()),
                    self.noise()
                );
                hypothesis(answer, says, "cpu-bound")
            }
            Err(why) => hypothesis(
                Answer::Unknown,
                format!("{window}{with_queues}; {}; {polls}", not_measurable(&why)),
                "cpu-bound",
            ),
        }
    }

    /// What was tried of such a kind, and what it brought.
    fn tried(&self, is_it: fn(&Kind) -> bool) -> (String, Result<crate::experiments::rounds::Rates, String>) {
        let device = &self.rail.device;
        let kind = self
            .seen
            .iter()
            .map(|seen| &seen.step)
            .find(|step| is_it(&step.kind) && step.is(&step.kind, device));
        match kind {
            Some(step) => (step.kind.to_string(), self.rates(&step.kind)),
            None => (String::new(), Err("more threads and queue pairs: were not tried".to_owned())),
        }
    }

    /// How long a READ alone takes, beside the healthy rail's.
    fn beside_control(&self, round_trip_us: Option<f64>) -> String {
        let Some(own) = round_trip_us else { return String::new() };
        let control = self.control.and_then(|device| {
            let seen = self.seen.iter().find(|seen| seen.step.is(&Kind::Alone, device))?;
            seen.of(device)?.round_trip_us
        });
        match control {
            Some(control) => format!(" of {own:.0} us (the healthy rail's takes {control:.0})"),
            None => format!(" of {own:.0} us"),
        }
    }
}
