//! The end that is asked: answers each connection in order, whatever the others do.

use super::reader::now;
use super::{GULP_BYTES, Places, REQUEST_BYTES, is_pattern};
use crate::load::control::{Control, Worker};
use crate::model::{LoadOp, WorkerPhase};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Requests, and answers to WRITEs, that may wait on one connection; who sends more is not listened to meanwhile.
const MOST_WAITING: usize = 4096;
/// Turns without any work after which the thread sleeps between turns.
const PATIENT_TURNS: u32 = 64;
/// Short against the time a full window takes over TCP.
const NAP: Duration = Duration::from_micros(50);
/// The same before the load begins.
const LONG_NAP: Duration = Duration::from_millis(2);

/// The connections of one worker, and the memory they ask for.
pub(super) struct Answering {
    op: LoadOp,
    places: Places,
    /// What READs get; empty for WRITEs.
    memory: Vec<u8>,
    lanes: Vec<Option<Lane>>,
    gulp: Vec<u8>,
}

struct Lane {
    stream: TcpStream,
    /// The request that is coming in.
    head: [u8; REQUEST_BYTES],
    head_bytes: usize,
    /// Asked for by READs, oldest first: offset and bytes that are left to send.
    asked: VecDeque<(u64, u64)>,
    /// The WRITE that is coming in: where its next byte belongs, how many are left, and whether all were right.
    incoming: Option<(u64, u64, bool)>,
    /// Answers to WRITEs that are to be sent.
    answers: Vec<u8>,
}

impl Answering {
    pub(super) fn new(streams: Vec<TcpStream>, op: LoadOp, places: Places, memory: Vec<u8>) -> Self {
        let lane = |stream| {
            Some(Lane {
                stream,
                head: [0; REQUEST_BYTES],
                head_bytes: 0,
                asked: VecDeque::new(),
                incoming: None,
                answers: Vec::new(),
            })
        };
        let lanes = streams.into_iter().map(lane).collect();
        Self { op, places, memory, lanes, gulp: vec![0; GULP_BYTES] }
    }

    /// Answers until the load is over.
    pub(super) fn run(mut self, control: &Control, worker: &Worker) -> WorkerPhase {
        let mut idle_turns: u32 = 0;
        loop {
            let phase = control.phase();
            if phase == WorkerPhase::Done {
                return WorkerPhase::Done;
            }
            if worker.counts.phase() != phase {
                worker.counts.set_phase(phase);
            }
            if self.turn() {
                idle_turns = 0;
                continue;
            }
            idle_turns = idle_turns.saturating_add(1);
            match phase {
                WorkerPhase::Waiting => std::thread::sleep(LONG_NAP),
                _ if idle_turns <= PATIENT_TURNS => std::thread::yield_now(),
                _ => std::thread::sleep(NAP),
            }
        }
    }

    /// Serves each connection once; says whether there was anything to do. A connection that ends, or asks for
    /// what there is not, is closed.
    pub(super) fn turn(&mut self) -> bool {
        let mut moved = false;
        for place in &mut self.lanes {
            let Some(lane) = place else { continue };
            match lane.turn(self.op, &self.places, &self.memory, &mut self.gulp) {
                Ok(some) => moved |= some,
                Err(_) => *place = None,
            }
        }
        moved
    }

    /// Holds other data than the pattern from now on.
    #[cfg(test)]
    pub(super) fn spoil(&mut self) {
        self.memory.iter_mut().for_each(|byte| *byte ^= 1);
    }

    /// Connections that are still there.
    #[cfg(test)]
    pub(super) fn open(&self) -> usize {
        self.lanes.iter().flatten().count()
    }
}

impl Lane {
    fn turn(&mut self, op: LoadOp, places: &Places, memory: &[u8], gulp: &mut [u8]) -> io::Result<bool> {
        let mut moved = self.answer(memory)?;
        if self.asked.len() < MOST_WAITING && self.answers.len() < MOST_WAITING {
            // no more READ requests at a time than may wait
            let most = if op == LoadOp::Read { MOST_WAITING * REQUEST_BYTES } else { gulp.len() };
            let most = most.min(gulp.len());
            if let Some(came) = now(self.stream.read(&mut gulp[..most]))? {
                if came == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                self.hear(op, places, &gulp[..came])?;
                moved = true;
            }
        }
        Ok(moved)
    }

    /// Sends what waits.
    fn answer(&mut self, memory: &[u8]) -> io::Result<bool> {
        if let Some((offset, left)) = self.asked.front_mut() {
            let [from, bytes] = [*offset, *left].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
            let Some(went) = now(self.stream.write(&memory[from..from + bytes]))? else { return Ok(false) };
            *offset += went as u64;
            *left -= went as u64;
            if *left == 0 {
                self.asked.pop_front();
            }
            return Ok(true);
        }
        if self.answers.is_empty() {
            return Ok(false);
        }
        let Some(went) = now(self.stream.write(&self.answers))? else { return Ok(false) };
        self.answers.drain(..went);
        Ok(true)
    }

    /// Takes in what came: requests, and data of WRITEs between them.
    fn hear(&mut self, op: LoadOp, places: &Places, mut data: &[u8]) -> io::Result<()> {
        while !data.is_empty() {
            if let Some((offset, left, is_right)) = &mut self.incoming {
                let (part, rest) =
                    data.split_at(data.len().min(usize::try_from(*left).unwrap_or(usize::MAX)));
                *is_right &= is_pattern(*offset, part);
                *offset += part.len() as u64;
                *left -= part.len() as u64;
                data = rest;
                if *left == 0 {
                    self.answers.push(u8::from(!*is_right));
                    self.incoming = None;
                }
                continue;
            }
            let (part, rest) = data.split_at(data.len().min(REQUEST_BYTES - self.head_bytes));
            self.head[self.head_bytes..self.head_bytes + part.len()].copy_from_slice(part);
            self.head_bytes += part.len();
            data = rest;
            if self.head_bytes < REQUEST_BYTES {
                break;
            }
            self.head_bytes = 0;
            let [offset, bytes] = [0, 8].map(|at| {
                u64::from_le_bytes(self.head[at..at + 8].try_into().expect("eight of sixteen bytes"))
            });
            let end = offset.checked_add(bytes).filter(|end| *end <= places.bytes() && bytes > 0);
            if end.is_none() {
                return Err(io::ErrorKind::InvalidData.into());
            }
            match op {
                LoadOp::Read => self.asked.push_back((offset, bytes)),
                LoadOp::Write => self.incoming = Some((offset, bytes, true)),
            }
        }
        Ok(())
    }
}
