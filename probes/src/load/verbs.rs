//! READs and WRITEs over reliable-connected queue pairs of one rail.

use super::cap::Cap;
use super::failing::{Failing, Why};
use super::latency::Stopwatch;
use super::layout::{Layout, Ticket};
use super::ledger::Ledger;
use super::round_trip::{Next, RoundTrip};
use super::{LoadError, LoadTransport, Pumped};
use crate::ffi::verbs::{CompletionQueue, Error, Ring};
use std::collections::VecDeque;

/// Connected queue pairs of one rail, each with its prepared requests, and one completion queue for all.
pub(super) struct VerbsTransport {
    device: String,
    size_bytes: u64,
    lanes: Vec<Lane>,
    queue: CompletionQueue,
    round_trip: RoundTrip,
    primed: bool,
    /// Chains freed by the completion that ends them.
    group: usize,
    /// Requests of such a group; the last of a queue pair may have fewer.
    group_requests: u32,
    posting: Posting,
    held: Option<Held>,
    stopwatch: Stopwatch,
    failing: Option<Failing>,
}

/// Whether what has completed is posted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Posting {
    /// At once.
    Freely,
    /// When the rate lets it go.
    Held,
    /// No more.
    Ended,
}

/// What a rate holds back.
struct Held {
    cap: Cap,
    /// Groups of chains that may be posted, in the order in which they became free.
    waiting: VecDeque<Waiting>,
}

/// A group of chains of a queue pair, all of whose requests are accounted for.
struct Waiting {
    lane: usize,
    group: usize,
    /// Id of the completion that ends it; `None` before it was posted for the first time.
    id: Option<u64>,
}

/// One queue pair.
struct Lane {
    ring: Ring,
    ledger: Ledger,
}

impl VerbsTransport {
    /// Takes connected queue pairs with their requests of `size_bytes` each.
    pub(super) fn new(
        device: String,
        size_bytes: u64,
        depth: u32,
        layout: &Layout,
        rings: Vec<Ring>,
        queue: CompletionQueue,
    ) -> Self {
        let ledger = Ledger::new(depth);
        let lanes = rings.into_iter().map(|ring| Lane { ring, ledger }).collect();
        let stopwatch = Stopwatch::new(layout.chain() * layout.group());
        let group = layout.group() as usize;
        let round_trip = RoundTrip::new(false);
        Self {
            device,
            size_bytes,
            lanes,
            queue,
            round_trip,
            primed: false,
            group,
            posting: Posting::Freely,
            held: None,
            group_requests: layout.chain() * layout.group(),
            stopwatch,
            failing: None,
        }
    }

    /// The same with single READs timed before the load begins.
    pub(super) fn with_round_trip(self) -> Self {
        Self { round_trip: RoundTrip::new(true), ..self }
    }

    /// Good operations of each queue pair so far.
    pub(super) fn operations(&self) -> Vec<u64> {
        self.lanes.iter().map(|lane| lane.ledger.good).collect()
    }

    /// A step of timing single READs, which are counted nowhere else.
    #[cold]
    fn time_round_trip(&mut self) -> Result<Pumped, LoadError> {
        if self.round_trip.next() == Next::Post {
            let Some(lane) = self.lanes.first_mut() else { return Ok(Pumped::default()) };
            self.round_trip.posts();
            lane.ring.post_single()?;
        }
        let Some(completion) = self.queue.poll()?.first() else {
            return Ok(Pumped { polls: 1, empty_polls: 1, ..Pumped::default() });
        };
        let status = completion.status();
        if status.is_success() {
            return Ok(Pumped { polls: 1, round_trip_ns: self.round_trip.completes(), ..Pumped::default() });
        }
        let mut failing = Failing::new(Why::Completion(status));
        failing.count(status);
        Err(failing.into_error(&self.device))
    }

    /// A queue for what a rate holds back, with nothing in it.
    #[cold]
    fn holding(&self, gb_per_s: f64) -> Held {
        let groups = self.lanes.iter().map(|lane| lane.ring.chains().div_ceil(self.group));
        let waiting = VecDeque::with_capacity(groups.sum());
        Held { cap: Cap::new(gb_per_s), waiting }
    }

    /// Posts what waits, as far as the rate lets it.
    fn post_held(&mut self) -> Result<(), Error> {
        let Some(held) = &mut self.held else { return Ok(()) };
        while let Some(next) = held.waiting.front()
            && held.cap.has_some()
        {
            let lane = &mut self.lanes[next.lane];
            if let Some(id) = next.id {
                self.stopwatch.posts(id);
            }
            let first = next.group * self.group;
            for chain in first..(first + self.group).min(lane.ring.chains()) {
                lane.ring.post(chain)?;
            }
            let before = u32::try_from(next.group).unwrap_or(u32::MAX).saturating_mul(self.group_requests);
            let requests = self.group_requests.min(lane.ledger.depth.saturating_sub(before));
            lane.ledger.idle = lane.ledger.idle.saturating_sub(requests);
            held.cap.take(u64::from(requests) * self.size_bytes);
            held.waiting.pop_front();
        }
        if held.cap.is_lifted() && held.waiting.is_empty() {
            self.posting = Posting::Freely;
        }
        Ok(())
    }

    /// Posts nothing any more: what is out completes.
    pub(super) fn stop_posting(&mut self) {
        self.posting = Posting::Ended;
    }

    /// Whether nothing is out.
    pub(super) fn is_at_rest(&self) -> bool {
        !self.primed || self.lanes.iter().all(|lane| lane.ledger.idle == lane.ledger.depth)
    }

    /// Fills every queue, a chain of each in turn; with a rate, lets every group of each wait in turn.
    #[cold]
    fn prime(&mut self) -> Result<(), LoadError> {
        self.primed = true;
        if let Some(held) = &mut self.held {
            let groups =
                self.lanes.iter().map(|lane| lane.ring.chains().div_ceil(self.group)).max().unwrap_or(0);
            for group in 0..groups {
                let lanes = 0..self.lanes.len();
                held.waiting.extend(lanes.map(|lane| Waiting { lane, group, id: None }));
            }
            for lane in &mut self.lanes {
                lane.ledger.idle = lane.ledger.depth;
            }
            return Ok(());
        }
        let chains = self.lanes.iter().map(|lane| lane.ring.chains()).max().unwrap_or(0);
        for chain in 0..chains {
            for lane in &mut self.lanes {
                lane.ring.post(chain)?;
            }
        }
        Ok(())
    }
}

impl LoadTransport for VerbsTransport {
    #[cold]
    fn hold_to(&mut self, gb_per_s: Option<f64>) {
        if self.posting == Posting::Ended {
            return;
        }
        match (gb_per_s, &mut self.held) {
            (Some(rate), Some(held)) => held.cap.change(rate),
            (Some(rate), None) => self.held = Some(self.holding(rate)),
            // what waits goes out with the next pump
            (None, Some(held)) => held.cap.lift(),
            (None, None) => return,
        }
        self.posting = Posting::Held;
    }

    fn pump(&mut self) -> Result<Pumped, LoadError> {
        if !self.primed && self.posting != Posting::Ended {
            if self.round_trip.next() != Next::Begin {
                return self.time_round_trip();
            }
            self.prime()?;
        }
        let mut operations = 0;
        let mut latency_ns = None;
        let completions = self.queue.poll()?;
        let empty = completions.is_empty();
        for completion in completions {
            let ticket = Ticket::from_id(completion.id());
            let lane = &mut self.lanes[ticket.lane as usize];
            let accounted = lane.ledger.through(ticket.slot);
            let status = completion.status();
            if status.is_success() {
                lane.ledger.good += u64::from(accounted);
                operations += accounted;
            } else {
                // those before it in its queue pair went well, or they would have completed with an error themselves
                lane.ledger.good += u64::from(accounted - 1);
                operations += accounted - 1;
                let failing = self.failing.get_or_insert_with(|| Failing::new(Why::Completion(status)));
                failing.count(status);
            }
            if ticket.ends_group && self.failing.is_none() && self.posting == Posting::Freely {
                // all of the group is accounted for, and so is everything that was posted before it
                lane.ledger.idle = 0;
                latency_ns = self.stopwatch.sees(completion.id()).or(latency_ns);
                self.stopwatch.posts(completion.id());
                let first = ticket.group as usize * self.group;
                for chain in first..(first + self.group).min(lane.ring.chains()) {
                    if let Err(error) = lane.ring.post(chain) {
                        self.failing = Some(Failing::new(Why::Refused(error)));
                        break;
                    }
                }
            } else if let Some(held) = self.held.as_mut().filter(|_| ticket.ends_group) {
                let id = completion.id();
                latency_ns = self.stopwatch.sees(id).or(latency_ns);
                let (lane, group) = (ticket.lane as usize, ticket.group as usize);
                held.waiting.push_back(Waiting { lane, group, id: Some(id) });
            }
        }
        if empty {
            self.stopwatch.idles();
        }
        if self.posting == Posting::Held
            && self.failing.is_none()
            && let Err(error) = self.post_held()
        {
            self.failing = Some(Failing::new(Why::Refused(error)));
        }
        if let Some(failing) = self.failing.take() {
            let nothing_is_out = self.lanes.iter().all(|lane| lane.ledger.idle == lane.ledger.depth);
            self.failing = Some(failing.after_poll(empty, nothing_is_out, &self.device)?);
        }
        let operations = u64::from(operations);
        Ok(Pumped {
            bytes: operations * self.size_bytes,
            operations,
            polls: 1,
            empty_polls: u64::from(empty),
            latency_ns,
            round_trip_ns: None,
        })
    }
}
