//! The thread of a striped load: one for several units, one on each rail.

use super::connect::ConnectedStripe;
use super::control::{Control, Happening, lock};
use super::drive::{Idle, NAP, PATIENT_POLLS};
use super::layout::Layout;
use super::rail::{self, OpenRail};
use super::striped::{Stripe, Striped};
use super::thread::{Obituary, Opened, Order, Thread};
use super::{LoadError, Pumped};
use crate::bind;
use crate::ffi::verbs::Region;
use crate::model::{CpuSet, LoadOp, WorkerPhase};
use crate::perf::Meter;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The units that one thread carries: what each would start with on a thread of its own.
pub(super) struct Crew {
    pub(super) control: Arc<Control>,
    pub(super) units: Vec<Thread>,
}

/// A unit that is connected, and what is looked at in the end.
struct Aboard<'a> {
    unit: &'a Thread,
    local: Arc<Region>,
    layout: Layout,
}

impl Crew {
    /// The whole life of the thread.
    pub(super) fn run(self) {
        let _obituaries: Vec<Obituary<'_>> = self.units.iter().map(|unit| Obituary(&unit.worker)).collect();
        let cpus = self.bind();
        // one for the thread, not for each unit
        let mut meter = Some(Meter::open());
        let opened = self.open(cpus.as_ref());
        if let Some(cpus) = &cpus {
            // it could be bound before
            let _ = bind::this_thread(cpus);
        }
        let (mut aboard, mut rails) = (Vec::new(), Vec::new());
        for (unit, open) in opened {
            let Ok(Order::Connect(peer)) = unit.orders.recv() else {
                // the unit is left out
                unit.worker.counts.set_phase(WorkerPhase::Done);
                continue;
            };
            let connected = open.connect_stripe(&peer);
            let answer = connected.map(|ConnectedStripe { read_depth, stripe, local, layout }| {
                if let Some(meter) = meter.take() {
                    *lock(&unit.worker.meter) = Some(meter);
                }
                rails.push(stripe);
                aboard.push(Aboard { unit, local, layout });
                read_depth
            });
            if answer.is_err() {
                unit.worker.counts.set_phase(WorkerPhase::Failed);
            }
            let _ = unit.connected.send(answer);
        }
        let Some(first) = aboard.first() else { return };
        if self.control.wait_while(WorkerPhase::Waiting, None) == WorkerPhase::Done {
            for Aboard { unit, .. } in &aboard {
                unit.worker.counts.set_phase(WorkerPhase::Done);
            }
            return;
        }
        if let Some(meter) = &mut *lock(&first.unit.worker.meter) {
            meter.start();
        }
        let mut striped = Striped::new(rails, first.unit.params.batch);
        if first.unit.params.op == LoadOp::Read {
            self.time_round_trips(&mut striped, &aboard);
        }
        self.drive(&mut striped, &aboard);
        if let Some(meter) = &mut *lock(&first.unit.worker.meter) {
            meter.finish();
        }
        finish(striped, &aboard);
    }

    /// Binds the thread to the CPUs of all of its units. `None` where one of them may run anywhere.
    fn bind(&self) -> Option<CpuSet> {
        let places = self.units.iter().filter_map(|unit| unit.place.as_ref().ok());
        let sets: Option<Vec<&CpuSet>> = places.map(|place| place.cpus.as_ref()).collect();
        let cpus: CpuSet = sets?.into_iter().flat_map(CpuSet::iter).collect();
        (!cpus.is_empty() && bind::this_thread(&cpus).is_ok()).then_some(cpus)
    }

    /// Opens one rail after the other, each from its own CPUs, so that what it allocates lies near it.
    fn open(&self, cpus: Option<&CpuSet>) -> Vec<(&Thread, OpenRail)> {
        let mut all = Vec::new();
        for unit in &self.units {
            let open = match &unit.place {
                Ok(place) => {
                    if let (Some(own), true) = (&place.cpus, cpus.is_some()) {
                        let _ = bind::this_thread(own);
                    }
                    rail::open(&unit.rail, &unit.params, unit.role, place)
                }
                Err(error) => Err(LoadError::Other(error.clone())),
            };
            match open {
                Ok(open) => {
                    // nobody listens to a load that was given up meanwhile; then no peer comes either
                    let _ = unit.opened.send(Ok(Opened::of(&open, cpus)));
                    all.push((unit, open));
                }
                Err(error) => {
                    unit.worker.counts.set_phase(WorkerPhase::Failed);
                    let _ = unit.opened.send(Err(error));
                }
            }
        }
        all
    }

    /// Times single READs on each rail, from which its READ window follows.
    fn time_round_trips(&self, striped: &mut Striped, aboard: &[Aboard<'_>]) {
        let mut failed: Vec<(usize, LoadError)> = Vec::new();
        let is_over = || self.control.phase() == WorkerPhase::Done;
        let waits = || match idle(aboard) {
            Idle::Spin => std::hint::spin_loop(),
            Idle::Yield => std::thread::yield_now(),
        };
        striped.time_round_trips(is_over, waits, |at, timed| match timed {
            Ok(ns) => {
                let timed = Pumped { round_trip_ns: Some(ns), ..Pumped::default() };
                aboard[at].unit.worker.counts.add(timed);
            }
            Err(error) => failed.push((at, error)),
        });
        let none_is_left = striped.is_empty();
        for (at, error) in failed {
            fail(aboard[at].unit, error, none_is_left);
        }
    }

    /// Pumps until the load is over, or no rail is left. No lock, no allocation and no system call in between, unless
    /// a device is a software one, and the clock once a batch.
    fn drive(&self, striped: &mut Striped, aboard: &[Aboard<'_>]) {
        if striped.is_empty() {
            return;
        }
        let idle = idle(aboard);
        let mut seen = WorkerPhase::Waiting;
        let mut empty_polls: u32 = 0;
        let mut failed: Vec<(usize, LoadError)> = Vec::new();
        loop {
            let phase = self.control.phase();
            if phase != seen {
                if phase == WorkerPhase::Done {
                    return;
                }
                for Aboard { unit, .. } in aboard {
                    if unit.worker.counts.phase() != WorkerPhase::Failed {
                        unit.worker.counts.set_phase(phase);
                    }
                }
                seen = phase;
            }
            let mut operations = 0;
            striped.pump(|at, achieved: Result<Pumped, LoadError>| match achieved {
                Ok(pumped) => {
                    operations += pumped.operations;
                    aboard[at].unit.worker.counts.add(pumped);
                }
                Err(error) => failed.push((at, error)),
            });
            if operations > 0 {
                empty_polls = 0;
                continue;
            }
            if !failed.is_empty() {
                let none_is_left = striped.is_empty();
                for (at, error) in failed.drain(..) {
                    fail(aboard[at].unit, error, none_is_left);
                }
                if none_is_left {
                    return;
                }
            }
            empty_polls = empty_polls.saturating_add(1);
            match idle {
                Idle::Spin => std::hint::spin_loop(),
                Idle::Yield if empty_polls <= PATIENT_POLLS => std::thread::yield_now(),
                Idle::Yield => std::thread::sleep(NAP),
            }
        }
    }
}

/// What the thread does while nothing completes: a software device among its rails needs the CPU.
fn idle(aboard: &[Aboard<'_>]) -> Idle {
    let is_software = |of: &Aboard<'_>| Idle::of_driver(of.unit.rail.driver.as_deref()) == Idle::Yield;
    if aboard.iter().any(is_software) { Idle::Yield } else { Idle::Spin }
}

/// Tells that the rail of a unit is done for.
#[cold]
fn fail(unit: &Thread, error: LoadError, none_is_left: bool) {
    let worker = &unit.worker;
    let counts =
        if let LoadError::Completion { counts, .. } = &error { counts.clone() } else { BTreeMap::new() };
    let rest = if none_is_left { "" } else { ", whose other rails go on" };
    let text = format!("{}; not tried again in a striped load{rest}", worker.unit.name(error));
    worker.report(counts, text.clone());
    worker.counts.set_phase(WorkerPhase::Failed);
    worker.tell(Happening::Failed(text));
}

/// Closes the rails that are left, and looks at their data.
fn finish(striped: Striped, aboard: &[Aboard<'_>]) {
    let rails = striped.into_rails();
    let operations: Vec<_> = rails.iter().map(|rail| rail.as_ref().map(Stripe::operations)).collect();
    // destroys the queue pairs: from here on no data move
    drop(rails);
    let left: Vec<_> =
        aboard.iter().zip(&operations).filter_map(|(of, done)| Some((of, done.as_ref()?))).collect();
    for (of, operations) in &left {
        if of.unit.params.op == LoadOp::Write {
            of.unit.worker.tell(Happening::AtRest((*operations).clone()));
        }
    }
    for (of, operations) in left {
        let verdict = of.unit.last_word(false);
        of.unit.judge(Some(&of.local), &of.layout, operations, verdict);
        of.unit.worker.counts.set_phase(WorkerPhase::Done);
    }
}
