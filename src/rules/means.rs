//! What rate rules judge: means over the last minute, or over the session where that shows too little.

use super::Limits;
use crate::ceilings::Bytes;
use crate::timeline::{HostTimeline, Interval, LegSums, Quality, RailSums, Sum, Timeline};
use probes::model::{Frame, Load, LoadOp, RailId, Session};
use std::collections::BTreeSet;

/// Fewest intervals (three frames) that a stepped session needs, whatever its virtual time.
const STEPPED_INTERVALS: u64 = 2;

/// What a mean was taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// The last minute.
    Window,
    /// Everything since the session began.
    Session,
}

/// What a message about the whole session adds where the last minute was fine.
pub(super) const OVER: &str = ", over the whole session, not in its last minute";

/// Rates of one rail under load.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnderLoad {
    /// Payload of our own load, measured intervals.
    pub load: Sum,
    /// What the NIC counted in good intervals.
    pub counted: LegSums,
}

impl UnderLoad {
    /// Sum of one rail; nothing of a session with a load over TCP, or one that was held back.
    pub(super) fn of(timeline: &HostTimeline, rail: RailId, over: Over) -> Self {
        if timeline.sums().functional_check || timeline.sums().held_back {
            return Self::default();
        }
        match over {
            Over::Session => timeline.sums().rails.get(rail.0).map_or_else(Self::default, |sums| Self {
                load: sums.load,
                counted: LegSums { rx: sums.loaded_rx, tx: sums.loaded_tx },
            }),
            Over::Window => InWindow::of(timeline, rail, |_| true).under_load,
        }
    }

    /// What the NIC counted in the load's direction.
    pub(super) fn counted_in(&self, op: LoadOp) -> Sum {
        in_direction(&self.counted, op)
    }

    /// The mean that can be judged: payload where the load is ours, else what the NIC counted.
    pub(super) fn rate(&self, op: LoadOp, long_enough: impl Fn(&Sum) -> bool) -> Option<Rate> {
        let sums = [(self.load, Bytes::Payload), (self.counted_in(op), Bytes::Counted)];
        let (sum, bytes) = sums.into_iter().find(|(sum, _)| long_enough(sum))?;
        Some(Rate { gb_per_s: sum.mean_gb_per_s()?, bytes })
    }
}

/// A mean rate under load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    /// GB/s of these bytes.
    pub gb_per_s: f64,
    /// Which bytes it counts, and a ceiling beside it must.
    pub bytes: Bytes,
}

/// Sums over intervals of the last minute.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InWindow {
    /// Of those under load.
    pub under_load: UnderLoad,
    /// What the NIC counted in good ones, whether or not a load covered them.
    pub counted: LegSums,
}

impl InWindow {
    /// Of one rail, over those that are wanted.
    pub(super) fn of(timeline: &HostTimeline, rail: RailId, wanted: impl Fn(&Interval) -> bool) -> Self {
        let mut sums = Self::default();
        for interval in timeline.intervals().filter(|interval| wanted(interval)) {
            let Some(rates) = interval.rails.get(rail.0) else { continue };
            if rates.measured {
                sums.under_load.load.add(rates.load_gb_per_s, interval.ns());
            }
            if rates.quality == Quality::Good {
                let loaded = Some(&mut sums.under_load.counted).filter(|_| rates.under_load);
                for legs in [Some(&mut sums.counted), loaded].into_iter().flatten() {
                    legs.rx.add(rates.rx_gb_per_s, rates.counted_ns);
                    legs.tx.add(rates.tx_gb_per_s, rates.counted_ns);
                }
            }
        }
        sums
    }
}

/// The direction in which the load's data go.
pub(super) fn in_direction(sums: &LegSums, op: LoadOp) -> Sum {
    match op {
        LoadOp::Read => sums.rx,
        LoadOp::Write => sums.tx,
    }
}

/// Whether a rate was seen long enough to judge it.
///
/// Three seconds while watching. A stepped session has neither a wall clock nor a simulator behind it;
/// there three frames do, since its time is whatever the steps say.
pub(super) fn held(session: &Session, limits: &Limits, sum: &Sum) -> bool {
    // times of live samples are never round: a three-second run is a little short of three seconds
    let long_enough = sum.ns >= limits.hold_s * 1e9 * 0.99;
    sum.count > 0 && (long_enough || (session.is_stepped() && sum.count >= STEPPED_INTERVALS))
}

/// Mean rate of a rail under load in the load's direction: payload where the load is ours, else what the
/// NIC counted; over the last minute, or over the session where that shows too little. `None` where neither
/// was long enough to judge.
pub(super) fn under_load(id: RailId, timeline: &Timeline, limits: &Limits, op: LoadOp) -> Option<Rate> {
    let long_enough = |sum: &Sum| held(timeline.session(), limits, sum);
    let mut overs = [Over::Window, Over::Session].into_iter();
    overs.find_map(|over| UnderLoad::of(timeline.local(), id, over).rate(op, long_enough))
}

/// The same under this load alone, where the last minute had others too, which asked for other sizes or queue pairs: a mean
/// over a ladder of loads is no level of any of them. `None` of a load that is held back: its rates are what was asked for.
pub(super) fn under_this_load(id: RailId, timeline: &Timeline, limits: &Limits, load: &Load) -> Option<Rate> {
    if load.is_held_back() {
        return None;
    }
    let local = timeline.local();
    let others = |frame: &Frame| frame.load.as_deref().is_some_and(|other| !asks_alike(other, load));
    if !local.frames().any(others) {
        return under_load(id, timeline, limits, load.op);
    }
    let of_this: BTreeSet<u64> = local
        .frames()
        .filter(|frame| frame.load.as_deref().is_some_and(|other| asks_alike(other, load)))
        .map(|frame| frame.at_ns)
        .collect();
    let sums = InWindow::of(local, id, |interval| of_this.contains(&interval.to_ns)).under_load;
    sums.rate(load.op, |sum| held(timeline.session(), limits, sum))
}

/// Whether two loads want as much of their rails.
fn asks_alike(a: &Load, b: &Load) -> bool {
    let asks = |load: &Load| {
        (
            load.op,
            load.size_bytes,
            load.qps,
            load.depth,
            load.read_depth,
            load.rate_gb_per_s.map(f64::to_bits),
        )
    };
    asks(a) == asks(b) && a.target == b.target && a.devices == b.devices
}

/// What the NIC counted in good intervals, whether or not a load covered them.
pub(super) fn counted(timeline: &HostTimeline, id: RailId, over: Over) -> LegSums {
    let of_session = |rail: &RailSums| LegSums { rx: rail.rx, tx: rail.tx };
    match over {
        Over::Session => timeline.sums().rails.get(id.0).map(of_session).unwrap_or_default(),
        Over::Window => InWindow::of(timeline, id, |_| true).counted,
    }
}

/// The same of those intervals of the last minute that began at this second or later.
pub(super) fn counted_since(timeline: &HostTimeline, id: RailId, since_s: f64) -> LegSums {
    InWindow::of(timeline, id, |interval| interval.from_ns as f64 / 1e9 >= since_s).counted
}

/// The load of the newest frame in the last minute that had one.
pub(super) fn newest_load(timeline: &Timeline) -> Option<&Load> {
    timeline.local().newest_load()
}

/// The same where it can be judged: a load over TCP says nothing about a rail.
pub(super) fn latest_load(timeline: &Timeline) -> Option<&Load> {
    newest_load(timeline).filter(|load| !load.is_functional_check())
}

/// Direction of the newest load; of a load longer ago, the direction in which more was counted.
pub(super) fn load_direction(timeline: &Timeline) -> Option<LoadOp> {
    if let Some(load) = latest_load(timeline) {
        return Some(load.op);
    }
    if timeline.local().sums().functional_check {
        return None;
    }
    let rails = &timeline.local().sums().rails;
    let loaded = rails.iter().any(|r| r.loaded_rx.count + r.loaded_tx.count + r.load.count > 0);
    let bytes = |sum: fn(&RailSums) -> Sum| rails.iter().map(|r| sum(r).bytes).sum::<f64>();
    loaded.then(|| if bytes(|r| r.loaded_tx) > bytes(|r| r.loaded_rx) { LoadOp::Write } else { LoadOp::Read })
}
