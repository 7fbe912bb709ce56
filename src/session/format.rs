//! The text inside a session file: the header line, and the names of the columns of its rows.

use super::SourceError;
use crate::timeline::Sums;
use probes::model::{Load, PerfFrame, Process, Session, Topology};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// First word of the header line.
const FORMAT: &str = "railscope-session";
/// Goes up when an older railscope would read a file wrongly. New columns and new keys do not count:
/// readers leave out what they do not know.
pub(super) const VERSION: u32 = 1;

/// Columns of a row: one frame of one host.
pub(super) const ROW: &[&str] = &[
    "host",
    "seq",
    "at_ns",
    "rails",
    "workers",
    "load",
    "processes",
    "sampled_in_ns",
    "peer_bytes",
    "peer_ns",
    "topology",
    "marks",
    "failures",
    "experiment",
];
/// Columns of a rail.
pub(super) const RAIL: &[&str] = &["rx_bytes", "tx_bytes", "counters", "legs", "state", "phys_state", "lost"];
/// Columns of a leg of a bond.
pub(super) const LEG: &[&str] =
    &["rx_rdma_bytes", "tx_rdma_bytes", "rx_port_bytes", "tx_port_bytes", "link_up", "active"];
/// Columns of a worker.
pub(super) const WORKER: &[&str] = &[
    "rail",
    "phase",
    "bytes",
    "operations",
    "polls",
    "empty_polls",
    "perf",
    "errors",
    "latency",
    "round_trip_ns",
    "restarts",
    "measured_bytes",
    "measured_ns",
];
/// Columns of a worker's cost.
pub(super) const PERF: &[&str] = &PerfFrame::NAMES;

/// How to read a row, for whoever looks at the file with other tools.
const ROWS: &str = "Each line after a block's first is a row: an array in the order of columns.row, with arrays in \
                    the order of the other columns inside. What is missing at the end of an array is null. A counter \
                    is absolute where its host first has it in a block, and then the difference (modulo 2^64) to the \
                    last one that was not null; so are seq and at_ns. A worker's \
                    latency is a flat list of bucket, growth, bucket, growth, without the buckets that did not grow. true for load or processes: the same as the \
                    host's last one, which a block's first line repeats. topology: what the host is from this row on, \
                    in full; null where nothing changed.";

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    format: String,
    version: u32,
    session: Session,
    rows: String,
    columns: BTreeMap<String, Vec<String>>,
}

/// What of it can be read whatever the version is.
#[derive(Deserialize)]
struct Stamp {
    format: String,
    version: u32,
    session: Option<Maker>,
}

#[derive(Deserialize)]
struct Maker {
    generated_by: Option<String>,
}

impl Header {
    pub(super) fn new(session: &Session) -> Self {
        let names = |columns: &[&str]| columns.iter().map(|&name| name.to_owned()).collect();
        let columns = [("row", ROW), ("rail", RAIL), ("leg", LEG), ("worker", WORKER), ("perf", PERF)];
        Self {
            format: FORMAT.into(),
            version: VERSION,
            session: session.clone(),
            rows: ROWS.into(),
            columns: columns.map(|(of, list)| (of.to_owned(), names(list))).into(),
        }
    }

    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("a header has only string keys");
        line.push(b'\n');
        line
    }

    /// Reads the header line.
    ///
    /// # Errors
    ///
    /// It is none, or of a version this program does not know.
    pub(super) fn read(path: &str, text: &[u8]) -> Result<(Session, Columns), SourceError> {
        let refuse = |reason: String| SourceError::File { path: path.to_owned(), reason };
        let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let stamp: Stamp =
            serde_json::from_slice(line).ok().filter(|stamp: &Stamp| stamp.format == FORMAT).ok_or_else(
                || refuse("is no railscope recording (its first line is another program's)".into()),
            )?;
        if stamp.version > VERSION {
            let maker =
                stamp.session.and_then(|s| s.generated_by).unwrap_or_else(|| "a newer railscope".into());
            return Err(refuse(format!(
                "was written by {maker} in session format {}; this railscope reads up to {VERSION}: update it",
                stamp.version
            )));
        }
        let header: Self =
            serde_json::from_slice(line).map_err(|e| refuse(format!("its header cannot be read: {e}")))?;
        if !(1..=2).contains(&header.session.hosts.len()) {
            return Err(refuse(format!(
                "its header names {} hosts; a session has one or two",
                header.session.hosts.len()
            )));
        }
        let columns = Columns::read(&header.columns);
        Ok((header.session, columns))
    }
}

/// The first line of a block: enough to go on from here without the blocks before.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct BlockHead {
    /// Counts up from 0.
    pub block: u64,
    /// Time of the first row on the clock of the session's first host.
    pub first_ns: u64,
    /// Time of the last row, likewise.
    pub last_ns: u64,
    /// Rows in the block.
    pub frames: u64,
    /// Running sums of each host before the block.
    #[serde(default)]
    pub sums: Vec<Sums>,
    /// Load of each host before the block.
    #[serde(default)]
    pub load: Vec<Option<Arc<Load>>>,
    /// Processes of each host before the block.
    #[serde(default)]
    pub processes: Vec<Option<Arc<Vec<Process>>>>,
    /// Where it stands what each host is before the block; `None` is the header.
    #[serde(default, skip_serializing_if = "none_at_all")]
    pub topology: Vec<Option<Look>>,
    /// Rows of frames before the block that hold the newest reading of each counter, the newest frame of a host last;
    /// their numbers are differences among themselves, not to the block's rows.
    #[serde(default)]
    pub before: Vec<Value>,
    /// Of each host and rail, since when a load has covered it without a break, nanoseconds on the host's own clock.
    #[serde(default, skip_serializing_if = "none_in_any")]
    pub loaded_since: Vec<Vec<Option<u64>>>,
}

/// Where a later look at a host stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Look {
    /// In the block of this number: the last one in its rows, else the one in its first line.
    Block(u64),
    /// Here, since the block that had it could not be written.
    Here(Arc<Topology>),
}

fn none_at_all<T>(list: &[Option<T>]) -> bool {
    list.iter().all(Option::is_none)
}

fn none_in_any<T>(lists: &[Vec<Option<T>>]) -> bool {
    lists.iter().all(|list| none_at_all(list))
}

/// What of a block's first line a search needs.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct BlockSpan {
    pub first_ns: u64,
    pub last_ns: u64,
}

/// Positions of the columns in this file's rows; a column that the file lacks is beyond every row's end.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub row: Vec<usize>,
    pub rail: Vec<usize>,
    pub leg: Vec<usize>,
    pub worker: Vec<usize>,
    pub perf: Vec<usize>,
}

impl Columns {
    fn read(named: &BTreeMap<String, Vec<String>>) -> Self {
        let positions = |of: &str, known: &[&str]| {
            let there = named.get(of).map_or(&[][..], Vec::as_slice);
            known.iter().map(|name| there.iter().position(|n| n == name).unwrap_or(usize::MAX)).collect()
        };
        Self {
            row: positions("row", ROW),
            rail: positions("rail", RAIL),
            leg: positions("leg", LEG),
            worker: positions("worker", WORKER),
            perf: positions("perf", PERF),
        }
    }
}
