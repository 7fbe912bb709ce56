//! Frames become rows. The order of cells here is the order of the columns in [`super::format`].

use super::base::{Base, Last, PerfBase, RailBase, WorkerBase, slot};
use probes::model::{Frame, Latencies, LegFrame, PerfFrame, RailFrame, WorkerFrame};
use serde::Serialize;
use serde_json::Value;
use std::io::Write;
use std::sync::Arc;

/// One array being written.
struct Row<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
    /// Where cells end that are to stay even if they look as if they said nothing.
    said: usize,
}

impl<'a> Row<'a> {
    fn begin(out: &'a mut Vec<u8>) -> Self {
        out.push(b'[');
        let said = out.len();
        Self { out, empty: true, said }
    }

    fn next(&mut self) -> &mut Vec<u8> {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
        self.out
    }

    fn json(&mut self, value: &impl Serialize) {
        serde_json::to_writer(self.next(), value).expect("the model has only string keys");
    }

    fn word<T: Serialize>(&mut self, value: Option<&T>) {
        self.json(&value);
    }

    fn number(&mut self, value: Option<u64>, last: &mut Last) {
        let out = self.next();
        // a Vec takes every write
        let _ = match (value, last.0) {
            (None, _) => out.write_all(b"null"),
            (Some(now), None) => write!(out, "{now}"),
            (Some(now), Some(then)) => write!(out, "{}", now.wrapping_sub(then).cast_signed()),
        };
        last.0 = value.or(last.0);
    }

    /// `null` for none, `true` for the one before, else the thing itself.
    fn shared<T: Serialize + PartialEq>(&mut self, value: Option<&Arc<T>>, last: &mut Option<Arc<T>>) {
        match value {
            None => self.json(&()),
            Some(now) if last.as_ref().is_some_and(|then| Arc::ptr_eq(now, then) || now == then) => {
                self.json(&true);
            }
            Some(now) => {
                self.json(now);
                *last = Some(now.clone());
            }
        }
        if value.is_some() {
            // nobody on the rails is another thing than nobody asked
            self.said = self.out.len();
        }
    }

    fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut write: impl FnMut(usize, T, &mut Row<'_>)) {
        let mut list = Row::begin(self.next());
        for (at, item) in items.into_iter().enumerate() {
            write(at, item, &mut list);
        }
        list.out.push(b']');
    }

    fn row(&mut self, write: impl FnOnce(&mut Row<'_>)) {
        let mut row = Row::begin(self.next());
        write(&mut row);
        row.end();
    }

    /// Leaves out the cells at the end that say nothing.
    fn end(self) {
        const SILENT: [&[u8]; 4] = [b",null", b",[]", b",false", b",{}"];
        while let Some(cell) = SILENT.iter().find(|cell| self.out[self.said..].ends_with(cell)) {
            self.out.truncate(self.out.len() - cell.len());
        }
        self.out.push(b']');
    }
}

/// One frame as a row that stands inside another line.
pub(super) fn value(of: &Frame, base: &mut Base) -> Value {
    let mut line = Vec::new();
    frame(&mut line, of, base);
    serde_json::from_slice(&line).expect("a row is JSON")
}

/// Writes one frame as one line.
pub(super) fn frame(out: &mut Vec<u8>, frame: &Frame, base: &mut Base) {
    // taken apart by name, here and below, so that a new field cannot be forgotten in the file
    let Frame {
        host,
        seq,
        at_ns,
        rails,
        processes,
        load,
        workers,
        peer,
        failures,
        sampled_in_ns,
        topology,
        marks,
        experiment,
    } = frame;
    let mut row = Row::begin(out);
    row.json(host);
    row.number(Some(*seq), &mut base.seq);
    row.number(Some(*at_ns), &mut base.at_ns);
    row.list(rails, |at, it, list| list.row(|row| rail(row, it, slot(&mut base.rails, at))));
    row.list(workers, |at, it, list| list.row(|row| worker(row, it, slot(&mut base.workers, at))));
    row.shared(load.as_ref(), &mut base.load);
    row.shared(processes.as_ref(), &mut base.processes);
    row.word(sampled_in_ns.as_ref());
    row.number(peer.map(|peer| peer.bytes), &mut base.peer[0]);
    row.number(peer.map(|peer| peer.ns), &mut base.peer[1]);
    row.word(topology.as_ref());
    row.json(marks);
    row.json(failures);
    row.word(experiment.as_ref());
    row.end();
    out.push(b'\n');
}

fn rail(row: &mut Row<'_>, rail: &RailFrame, base: &mut RailBase) {
    let RailFrame { rx_bytes, tx_bytes, state, phys_state, counters, legs, lost } = rail;
    row.number(*rx_bytes, &mut base.rx_bytes);
    row.number(*tx_bytes, &mut base.tx_bytes);
    row.list(counters, |at, value, list| list.number(*value, slot(&mut base.counters, at)));
    row.list(legs, |at, it, list| list.row(|row| leg(row, it, slot(&mut base.legs, at))));
    row.word(state.as_ref());
    row.word(phys_state.as_ref());
    row.json(lost);
}

fn leg(row: &mut Row<'_>, leg: &LegFrame, base: &mut [Last; 4]) {
    let LegFrame { rx_rdma_bytes, tx_rdma_bytes, rx_port_bytes, tx_port_bytes, link_up, active } = leg;
    for (value, last) in [rx_rdma_bytes, tx_rdma_bytes, rx_port_bytes, tx_port_bytes].into_iter().zip(base) {
        row.number(*value, last);
    }
    // as numbers: a false at the end would be left out, and then read as unknown
    row.word(link_up.map(u8::from).as_ref());
    row.word(active.map(u8::from).as_ref());
}

fn worker(row: &mut Row<'_>, worker: &WorkerFrame, base: &mut WorkerBase) {
    let WorkerFrame {
        rail,
        phase,
        bytes,
        operations,
        polls,
        empty_polls,
        errors,
        restarts,
        perf: cost,
        latency: took,
        round_trip_ns,
        measured,
    } = worker;
    row.word(rail.as_ref());
    row.json(phase);
    for (value, last) in [bytes, operations, polls, empty_polls].into_iter().zip(&mut base.counts) {
        row.number(Some(*value), last);
    }
    row.row(|row| perf(row, cost, &mut base.perf));
    row.json(errors);
    row.row(|row| latency(row, took, &mut base.latency));
    row.json(round_trip_ns);
    row.word((*restarts > 0).then_some(restarts));
    row.number(measured.map(|measured| measured.bytes), &mut base.measured[0]);
    row.number(measured.map(|measured| measured.ns), &mut base.measured[1]);
}

/// The buckets that differ from the last ones, each with its difference modulo 2^64.
fn latency(row: &mut Row<'_>, now: &Latencies, base: &mut Latencies) {
    if now != base {
        for (bucket, growth) in now.growth(base) {
            row.json(&bucket);
            row.json(&growth.cast_signed());
        }
        base.clone_from(now);
    }
}

fn perf(row: &mut Row<'_>, perf: &PerfFrame, base: &mut PerfBase) {
    for (value, last) in perf.values().into_iter().zip(base) {
        row.number(value, last);
    }
}
