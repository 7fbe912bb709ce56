//! Rows become frames again. What a row lacks is `None`; a cell of the wrong kind is an error.

use super::base::{Base, Last, PerfBase, RailBase, WorkerBase, slot};
use super::format::Columns;
use probes::model::{Frame, Latencies, LegFrame, Measured, PerfFrame, RailFrame, WorkerFrame};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// Cells of one array, found by the position of their column.
struct Cells<'a> {
    row: &'a [Value],
    positions: &'a [usize],
    of: &'static [&'static str],
}

type Read<T> = Result<T, String>;

impl<'a> Cells<'a> {
    fn of(value: &'a Value, positions: &'a [usize], of: &'static [&'static str]) -> Read<Self> {
        let row = value.as_array().ok_or_else(|| format!("an array was expected, not {}", short(value)))?;
        Ok(Self { row, positions, of })
    }

    /// The cell of the column with this number; null where the row ends before it or the file has no such column.
    fn get(&self, column: usize) -> &'a Value {
        self.row.get(self.positions[column]).unwrap_or(&Value::Null)
    }

    fn wrong(&self, column: usize) -> String {
        format!("{} cannot be {}", self.of[column], short(self.get(column)))
    }

    fn number(&self, column: usize, last: &mut Last) -> Read<Option<u64>> {
        number(self.get(column), last).map_err(|NoNumber| self.wrong(column))
    }

    fn count(&self, column: usize, last: &mut Last) -> Read<u64> {
        self.number(column, last)?.ok_or_else(|| self.wrong(column))
    }

    fn list(&self, column: usize) -> Read<&'a [Value]> {
        match self.get(column) {
            Value::Null => Ok(&[]),
            Value::Array(list) => Ok(list),
            _ => Err(self.wrong(column)),
        }
    }

    fn text(&self, column: usize) -> Read<Option<String>> {
        match self.get(column) {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.clone())),
            _ => Err(self.wrong(column)),
        }
    }

    fn truth(&self, column: usize) -> Read<Option<bool>> {
        match self.get(column) {
            Value::Null => Ok(None),
            Value::Bool(truth) => Ok(Some(*truth)),
            Value::Number(n) if n.as_u64() == Some(0) => Ok(Some(false)),
            Value::Number(n) if n.as_u64() == Some(1) => Ok(Some(true)),
            _ => Err(self.wrong(column)),
        }
    }

    fn model<T: DeserializeOwned + Default>(&self, column: usize) -> Read<T> {
        match self.get(column) {
            Value::Null => Ok(T::default()),
            value => serde_json::from_value(value.clone()).map_err(|e| format!("{}: {e}", self.of[column])),
        }
    }

    fn shared<T: DeserializeOwned>(&self, column: usize, last: &mut Option<Arc<T>>) -> Read<Option<Arc<T>>> {
        match self.get(column) {
            Value::Null => Ok(None),
            Value::Bool(true) => last.clone().map(Some).ok_or_else(|| self.wrong(column)),
            value => {
                let new =
                    serde_json::from_value(value.clone()).map_err(|e| format!("{}: {e}", self.of[column]))?;
                *last = Some(Arc::new(new));
                Ok(last.clone())
            }
        }
    }
}

/// No counter.
struct NoNumber;

fn number(value: &Value, last: &mut Last) -> Result<Option<u64>, NoNumber> {
    if value.is_null() {
        return Ok(None);
    }
    let now = match last.0 {
        None => value.as_u64().ok_or(NoNumber)?,
        Some(then) => then.wrapping_add(value.as_i64().ok_or(NoNumber)?.cast_unsigned()),
    };
    last.0 = Some(now);
    Ok(last.0)
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(40).collect()
}

/// Reads one line of a block. `bases` has one entry per host of the session.
pub(super) fn frame(line: &[u8], columns: &Columns, bases: &mut [Base]) -> Read<Frame> {
    let value: Value = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    row(&value, columns, bases)
}

/// The same of a row that was read already.
pub(super) fn row(value: &Value, columns: &Columns, bases: &mut [Base]) -> Read<Frame> {
    let row = Cells::of(value, &columns.row, super::format::ROW)?;
    let host = row.get(0).as_u64().and_then(|host| usize::try_from(host).ok());
    let (host, base) =
        host.and_then(|host| Some((host, bases.get_mut(host)?))).ok_or_else(|| row.wrong(0))?;
    let seq = row.count(1, &mut base.seq)?;
    let at_ns = row.count(2, &mut base.at_ns)?;
    let rails = row.list(3)?.iter().enumerate();
    let rails =
        rails.map(|(at, value)| rail(value, columns, slot(&mut base.rails, at))).collect::<Read<_>>()?;
    let workers = row.list(4)?.iter().enumerate();
    let workers = workers
        .map(|(at, value)| worker(value, columns, slot(&mut base.workers, at)))
        .collect::<Read<_>>()?;
    let load = row.shared(5, &mut base.load)?;
    let processes = row.shared(6, &mut base.processes)?;
    let sampled_in_ns = row.number(7, &mut Last::default())?;
    let [bytes, ns] = &mut base.peer;
    let peer = row.number(8, bytes)?.zip(row.number(9, ns)?).map(|(bytes, ns)| Measured { bytes, ns });
    let topology = row.model::<Option<_>>(10)?.map(Arc::new);
    let marks = row.model(11)?;
    let failures = row.model(12)?;
    // one that is not known here is of a newer railscope, and left out like a column that is not
    let experiment = row.model::<Option<Value>>(13)?.and_then(|value| serde_json::from_value(value).ok());
    Ok(Frame {
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
        experiment: experiment.map(Arc::new),
    })
}

fn rail(value: &Value, columns: &Columns, base: &mut RailBase) -> Read<RailFrame> {
    let row = Cells::of(value, &columns.rail, super::format::RAIL)?;
    let counters = row.list(2)?.iter().enumerate();
    let legs = row.list(3)?.iter().enumerate();
    Ok(RailFrame {
        rx_bytes: row.number(0, &mut base.rx_bytes)?,
        tx_bytes: row.number(1, &mut base.tx_bytes)?,
        counters: counters
            .map(|(at, value)| number(value, slot(&mut base.counters, at)).map_err(|NoNumber| row.wrong(2)))
            .collect::<Read<_>>()?,
        legs: legs.map(|(at, value)| leg(value, columns, slot(&mut base.legs, at))).collect::<Read<_>>()?,
        state: row.text(4)?,
        phys_state: row.text(5)?,
        lost: row.truth(6)?.unwrap_or(false),
    })
}

fn leg(value: &Value, columns: &Columns, base: &mut [Last; 4]) -> Read<LegFrame> {
    let row = Cells::of(value, &columns.leg, super::format::LEG)?;
    let [rx_rdma, tx_rdma, rx_port, tx_port] = base;
    Ok(LegFrame {
        rx_rdma_bytes: row.number(0, rx_rdma)?,
        tx_rdma_bytes: row.number(1, tx_rdma)?,
        rx_port_bytes: row.number(2, rx_port)?,
        tx_port_bytes: row.number(3, tx_port)?,
        link_up: row.truth(4)?,
        active: row.truth(5)?,
    })
}

fn worker(value: &Value, columns: &Columns, base: &mut WorkerBase) -> Read<WorkerFrame> {
    let row = Cells::of(value, &columns.worker, super::format::WORKER)?;
    let [bytes, operations, polls, empty_polls] = &mut base.counts;
    let [measured_bytes, measured_ns] = &mut base.measured;
    let measured = row.number(11, measured_bytes)?.zip(row.number(12, measured_ns)?);
    Ok(WorkerFrame {
        rail: row.model(0)?,
        phase: row.model(1)?,
        bytes: row.count(2, bytes)?,
        operations: row.count(3, operations)?,
        polls: row.count(4, polls)?,
        empty_polls: row.count(5, empty_polls)?,
        perf: perf(row.get(6), columns, &mut base.perf)?,
        errors: row.model(7)?,
        latency: latency(row.list(8)?, &mut base.latency).ok_or_else(|| row.wrong(8))?,
        round_trip_ns: row.model(9)?,
        restarts: row.model(10)?,
        measured: measured.map(|(bytes, ns)| Measured { bytes, ns }),
    })
}

fn latency(growth: &[Value], base: &mut Latencies) -> Option<Latencies> {
    if !growth.is_empty() {
        let pairs = growth.chunks(2).map(|pair| {
            let bucket = usize::try_from(pair.first()?.as_u64()?).ok()?;
            Some((bucket, pair.get(1)?.as_i64()?.cast_unsigned()))
        });
        *base = base.grown(pairs.collect::<Option<Vec<_>>>()?);
    }
    Some(base.clone())
}

fn perf(value: &Value, columns: &Columns, base: &mut PerfBase) -> Read<PerfFrame> {
    if value.is_null() {
        return Ok(PerfFrame::default());
    }
    let row = Cells::of(value, &columns.perf, super::format::PERF)?;
    let mut values = [None; PerfFrame::NAMES.len()];
    for (column, (value, last)) in values.iter_mut().zip(base).enumerate() {
        *value = row.number(column, last)?;
    }
    Ok(PerfFrame::of_values(values))
}
