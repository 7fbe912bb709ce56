//! READ and WRITE imitated over TCP: a functional check on any host, never a performance figure.
//!
//! ```text
//! reader                                             target
//!   connects each queue pair from the rail's address ─▶ listens at the rail's address, one port per worker
//!   hello: magic, token, number of the queue pair    ─▶ turns away who does not know the token
//!   READ:  request (offset, length)                  ─▶ ◀── the bytes at that place
//!   WRITE: request (offset, length) and the bytes    ─▶ ◀── one byte: 0 as expected, 1 not
//! ```
//!
//! As on a reliable queue pair, up to `depth` messages are under way on each connection and are answered in order.
//! Every byte is held against the pattern by the end that receives it. The NIC counts none of this as RDMA, and the
//! kernel's TCP stack is what is measured; so nobody judges the rates.

mod open;
mod reader;
mod target;
#[cfg(test)]
mod tests;

use super::control::lock;
use super::drive::{Idle, drive};
use super::pattern;
use super::thread::{Opened, Order, Thread};
use super::{LoadError, Params, WorkingSet};
use crate::ffi::verbs::RelaxedOrdering;
use crate::model::{CpuSet, WorkerPhase};
use open::{OpenTcp, Traffic};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Where a rail's TCP connections of one worker begin or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpEnd {
    /// Address of the rail.
    pub address: IpAddr,
    /// Port that the target listens on; 0 of a reader.
    pub port: u16,
    /// What a connection must show to be served: random, told over the control connection.
    pub token: u64,
}

/// First bytes of each connection.
const MAGIC: [u8; 8] = *b"rsc-tcp1";
/// Magic, token, number of the queue pair.
const HELLO_BYTES: usize = 20;
/// Offset and length of a message, eight bytes each, least significant first.
const REQUEST_BYTES: usize = 16;
/// Bytes taken from a connection at a time.
const GULP_BYTES: usize = 256 << 10;

/// Where the messages of a worker lie in the target's memory.
#[derive(Clone, Copy, Debug)]
struct Places {
    size_bytes: u64,
    /// From one place to the next: whole words of the pattern.
    step_bytes: u64,
    /// Places of one queue pair.
    each: u64,
    qps: u64,
}

impl Places {
    fn new(params: &Params) -> Self {
        let qps = u64::from(params.qps.max(1));
        let size_bytes = params.size_bytes.max(1);
        let step_bytes = size_bytes.next_multiple_of(8);
        let each = match params.working_set {
            WorkingSet::Hot => 1,
            WorkingSet::Bytes(bytes) => (bytes / u64::from(params.workers.max(1)) / qps / step_bytes).max(1),
        };
        Self { size_bytes, step_bytes, each, qps }
    }

    /// Bytes of the whole memory.
    fn bytes(&self) -> u64 {
        self.step_bytes.saturating_mul(self.each).saturating_mul(self.qps)
    }

    /// Offset of the `number`-th message of a queue pair.
    fn offset(&self, lane: u64, number: u64) -> u64 {
        (lane * self.each + number % self.each) * self.step_bytes
    }
}

/// The pattern as bytes, least significant byte of each word first.
fn filled(bytes: u64) -> Result<Vec<u8>, String> {
    let wanted = usize::try_from(bytes).unwrap_or(usize::MAX);
    let mut memory = Vec::new();
    memory.try_reserve_exact(wanted).map_err(|error| format!("a buffer of {bytes} bytes: {error}"))?;
    // places are whole words
    (0..wanted / 8).for_each(|at| memory.extend_from_slice(&pattern::word(at).to_le_bytes()));
    Ok(memory)
}

/// Whether `data` is what the pattern holds from `offset` on.
fn is_pattern(offset: u64, data: &[u8]) -> bool {
    let at = usize::try_from(offset / 8).unwrap_or(usize::MAX);
    let skip = usize::try_from(offset % 8).unwrap_or(0);
    let head = data.len().min((8 - skip) % 8);
    let (first, rest) = data.split_at(head);
    if first != &pattern::word(at).to_le_bytes()[skip..skip + head] {
        return false;
    }
    let next = at + usize::from(skip > 0);
    let (words, tail) = rest.as_chunks::<8>();
    let whole = words.iter().zip(next..).all(|(bytes, at)| *bytes == pattern::word(at).to_le_bytes());
    whole && *tail == pattern::word(next + words.len()).to_le_bytes()[..tail.len()]
}

impl Thread {
    /// The rest of the thread's life where TCP carries the bytes.
    pub(super) fn over_tcp(&self, cpus: Option<CpuSet>) -> WorkerPhase {
        let open = match OpenTcp::new(&self.rail, &self.params, self.role) {
            Ok(open) => open,
            Err(error) => {
                let _ = self.opened.send(Err(error));
                return WorkerPhase::Failed;
            }
        };
        let endpoint = open.endpoint.clone();
        let relaxed_ordering = RelaxedOrdering::NotSupported;
        let _ = self.opened.send(Ok(Opened {
            endpoint,
            cpus,
            buffer_node: None,
            page_bytes: None,
            relaxed_ordering,
        }));
        let Ok(Order::Connect(peer)) = self.orders.recv() else { return WorkerPhase::Done };
        let traffic = match open.connect(&peer) {
            Ok(traffic) => traffic,
            Err(error) => {
                let _ = self.connected.send(Err(error));
                return WorkerPhase::Failed;
            }
        };
        let _ = self.connected.send(Ok(self.params.depth));
        match traffic {
            Traffic::Target(answering) => answering.run(&self.control, &self.worker),
            Traffic::Reader(mut transport) => {
                if self.control.wait_while(WorkerPhase::Waiting, None) == WorkerPhase::Done {
                    return WorkerPhase::Done;
                }
                if let Some(meter) = &mut *lock(&self.worker.meter) {
                    meter.start();
                }
                let share = self.params.share_of_operations();
                let end = drive(&mut transport, &self.control, &self.worker, Idle::Yield, share);
                self.last_words(end, transport.wrong_messages())
            }
        }
    }

    fn last_words(&self, end: Result<(), LoadError>, wrong_messages: u64) -> WorkerPhase {
        if wrong_messages > 0 {
            let messages = if wrong_messages == 1 { "message" } else { "messages" };
            let text = format!(
                "{}: {wrong_messages} {messages} over TCP arrived with other data than were sent",
                self.worker.device
            );
            self.worker.report([("DATA_MISMATCH".to_owned(), wrong_messages)], text);
        }
        if let Err(error) = end {
            self.worker.report([], error.to_string());
            return WorkerPhase::Failed;
        }
        WorkerPhase::Done
    }
}
