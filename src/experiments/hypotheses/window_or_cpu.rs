//! H6: the READs that may be under way, or the thread that posts them.
//!
//! A queue pair brings what its READs under way carry in a round trip (IBTA 1.4, 9.4.4). The window is the cause only when
//! the rail runs at it, and the round trip that counts is the one under load, which nobody can time apart from the queues
//! that the load itself makes: READs under way over the rate is always "the round trip". So it is asked the other way round.
//! With twice the queue pairs twice as many READs are under way. Where they are what is missing, the round trip does not
//! change and the rate doubles, or ends at what a healthy rail does. Where anything else is full (the wire, PCIe, memory, a
//! switch), the READs wait there, the round trip doubles, and the rate stays. What lies between the two decides nothing:
//! more queue pairs also win a larger part of a link that others use, and meet more legs of a bond.
//!
//! A thread that gets too little done shows otherwise: its polls are seldom empty, and a second one brings more from the
//! same queue pairs.

use super::{Answer, Case, Hypothesis, inconclusive, not_measurable};
use crate::ceilings::Ceilings;
use crate::experiments::plan::Kind;
use crate::experiments::rounds::{Compared, Rates};
use crate::experiments::slow::alike;
use crate::rules::rate;

/// Share of the window over the round trip without load from which on it is the limit, where nothing more was tried.
const AT_WINDOW: f64 = 0.9;
/// Share of it below which it is none: a round trip that takes three times as long under load as alone had better be looked
/// for in the fabric.
const MAY_BE_WINDOW: f64 = 0.3;
/// A rate that follows the READs under way within a tenth runs at its window.
const IN_PROPORTION: f64 = 0.9;
/// Nearer than this to what bounds a rail that lacks nothing it has grown as far as it can.
const AT_CEILING: f64 = 0.85;
/// Empty polls below this share are rare.
const RARE_EMPTY_POLLS: f64 = 0.05;

/// What more READs under way bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    /// As many times as much as there are, or all that a healthy rail does.
    Full,
    /// Something between.
    Part,
    /// Nothing.
    None,
    /// That was not tried.
    Untried,
}

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
            Ok(more) => {
                let times = if alone.mean() > 0.0 { more.mean() / alone.mean() } else { 0.0 };
                format!("; with {more_qps} {} GB/s, {times:.1} times as much", rate(more.mean()))
            }
            Err(_) => String::new(),
        };
        let grows = queues.as_ref().map_or(Growth::Untried, |more| self.grows(&alone, more));
        let is_window = match grows {
            Growth::Full => share.is_some_and(|share| share >= MAY_BE_WINDOW),
            Growth::Untried => share.is_some_and(|share| share >= AT_WINDOW),
            Growth::Part | Growth::None => false,
        };
        if is_window {
            let says = match (&queues, seen.round_trip_us, share) {
                // the proof is what more of them bring; the window over the time of a READ alone is far above the rate
                (Ok(more), Some(round_trip), Some(share)) if grows == Growth::Full && share < AT_WINDOW => {
                    format!(
                        "with {more_qps} {} instead of {} GB/s, {:.1} times as much; a READ takes {:.0} us under load, \
                         alone {}",
                        rate(more.mean()),
                        rate(alone.mean()),
                        more.mean() / alone.mean(),
                        round_trip / share,
                        self.beside_control(Some(round_trip)).trim_start_matches(" of "),
                    )
                }
                _ => format!("{window}{with_queues}"),
            };
            return hypothesis(Answer::Yes, says, "read-window");
        }
        // where nothing grows with the READs under way, they are not what is missing, whatever a round trip takes
        let is_no_window = match grows {
            Growth::None => true,
            Growth::Untried => share.is_some_and(|share| share < MAY_BE_WINDOW),
            Growth::Full | Growth::Part => false,
        };
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
                    _ => Answer::Inconclusive,
                };
                let says = format!(
                    "{window}{with_queues}; with {more_threads} {} instead of {} GB/s; {polls}{}",
                    rate(more.mean()),
                    rate(alone.mean()),
                    self.noise()
                );
                let says = if answer == Answer::Inconclusive { inconclusive(&says) } else { says };
                hypothesis(answer, says, "cpu-bound")
            }
            Err(why) => hypothesis(
                Answer::Inconclusive,
                inconclusive(&format!("{window}{with_queues}; {}; {polls}", not_measurable(&why))),
                "cpu-bound",
            ),
        }
    }

    /// What twice as many READs under way bring.
    fn grows(&self, alone: &Rates, more: &Rates) -> Growth {
        if more.beside(alone) != Compared::More {
            return Growth::None;
        }
        // what bounds a rail that lacks nothing: its own ceiling, and what a rail like it does
        let like = self
            .control
            .filter(|control| alike(self.topology, &self.rail.device).iter().any(|device| device == control));
        let like = like.and_then(|control| Rates::of(self.seen, &Kind::Alone, control).ok());
        let ends_at = [Ceilings::of(self.rail).lowest(), like.map(|rates| rates.mean())];
        let ends_at = ends_at.into_iter().flatten().reduce(f64::min);
        let follows = more.mean() >= IN_PROPORTION * 2.0 * alone.mean();
        let is_full = ends_at.is_some_and(|most| more.mean() >= AT_CEILING * most);
        if follows || is_full { Growth::Full } else { Growth::Part }
    }

    /// What was tried of such a kind, and what it brought.
    fn tried(&self, is_it: fn(&Kind) -> bool) -> (String, Result<Rates, String>) {
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

#[cfg(test)]
mod tests {
    use crate::experiments::Answer;
    use crate::experiments::plan::Kind;
    use crate::experiments::testing::{Host, answer, four_rails};

    /// H6 of a rail at 20 of 33 GB/s (8 queue pairs, 16 READs of 256 KiB, 1 ms) that does this with twice the queue pairs.
    fn with_twice_the_queue_pairs(brings: f64) -> (Answer, &'static str, String) {
        let mut topology = four_rails();
        topology.rails[1].max_read_depth = Some(16);
        let host = Host::of(topology, |step, device| match (device, &step.kind) {
            ("mlx5_1", Kind::Queues(_)) => Some(brings),
            ("mlx5_1", _) => Some(20.0),
            _ => Some(48.0),
        })
        .with_round_trip_us(1000);
        let (_, rails) = host.diagnose();
        let (holds, because) = answer(&rails, "mlx5_1", "H6");
        (holds, rails[0].cause.unwrap(), because)
    }

    #[test]
    fn a_rate_that_doubles_with_the_reads_under_way_runs_at_its_window() {
        let (holds, cause, because) = with_twice_the_queue_pairs(39.0);
        assert_eq!((holds, cause), (Answer::Yes, "read-window"), "{because}");
        assert_eq!(
            because,
            "with 16 queue pairs 39.0 instead of 20.0 GB/s, 1.9 times as much; a READ takes 1678 us under load, \
             alone 1000 us (the healthy rail's takes 1000)"
        );
    }

    #[test]
    fn a_rate_that_gains_less_than_the_reads_under_way_is_not_proven_to_be_at_its_window() {
        let (holds, cause, because) = with_twice_the_queue_pairs(27.0);
        assert_eq!((holds, cause), (Answer::Inconclusive, "slow-unexplained"), "{because}");
        assert!(because.starts_with("inconclusive: 20.0 of 33.6 GB/s"), "{because}");
    }

    #[test]
    fn a_rate_that_stays_is_not_at_its_window_however_near_it_seems() {
        assert_eq!(with_twice_the_queue_pairs(20.0).0, Answer::No);
    }
}
