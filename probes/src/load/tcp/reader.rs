//! The end that asks: a window of messages on each connection.

use super::{GULP_BYTES, Places, REQUEST_BYTES, is_pattern};
use crate::load::{LoadError, LoadTransport, Params, Pumped};
use crate::model::LoadOp;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;

/// Requests sent at a time: a few hundred bytes, and the window is refilled in small lumps.
const MOST_REQUESTS: usize = 32;

/// Connections of one rail, each in the place of a queue pair.
pub(super) struct TcpTransport {
    device: String,
    op: LoadOp,
    depth: u64,
    places: Places,
    lanes: Vec<Lane>,
    /// What a WRITE sends; empty of a READ.
    memory: Vec<u8>,
    /// What was received last.
    gulp: Vec<u8>,
    wrong_messages: u64,
}

struct Lane {
    stream: TcpStream,
    number: u64,
    /// Messages asked for, and those that are done.
    posted: u64,
    done: u64,
    /// Requests that are to be sent, from `sent` on. Of a WRITE it is one, and its data follow it.
    requests: Vec<u8>,
    sent: usize,
    /// Bytes of the oldest message of a READ that have come, and whether all of them were right.
    arrived: u64,
    is_right: bool,
}

impl TcpTransport {
    pub(super) fn new(
        device: String,
        params: &Params,
        places: Places,
        streams: Vec<TcpStream>,
        memory: Vec<u8>,
    ) -> Self {
        let lane = |(number, stream)| Lane {
            stream,
            number,
            posted: 0,
            done: 0,
            requests: Vec::with_capacity(MOST_REQUESTS * REQUEST_BYTES),
            sent: 0,
            arrived: 0,
            is_right: true,
        };
        Self {
            device,
            op: params.op,
            depth: u64::from(params.depth.max(1)),
            places,
            lanes: (0..).zip(streams).map(lane).collect(),
            memory,
            gulp: vec![0; GULP_BYTES],
            wrong_messages: 0,
        }
    }

    /// Asks for these places from now on, whatever was agreed.
    #[cfg(test)]
    pub(super) fn claim(&mut self, places: Places) {
        self.places = places;
        self.lanes[1].number = 2;
    }

    /// Messages whose data were not what the other end holds.
    pub(super) fn wrong_messages(&self) -> u64 {
        self.wrong_messages
    }
}

impl Lane {
    /// Adds a request for the next message.
    fn post(&mut self, places: &Places) {
        let offset = places.offset(self.number, self.posted);
        self.requests.extend_from_slice(&offset.to_le_bytes());
        self.requests.extend_from_slice(&places.size_bytes.to_le_bytes());
        self.posted += 1;
    }

    /// Sends requests for READs while the window is open; says whether anything went.
    fn ask(&mut self, places: &Places, depth: u64) -> io::Result<bool> {
        if self.sent == self.requests.len() {
            self.requests.clear();
            self.sent = 0;
            while self.posted - self.done < depth && self.requests.len() < MOST_REQUESTS * REQUEST_BYTES {
                self.post(places);
            }
            if self.requests.is_empty() {
                return Ok(false);
            }
        }
        let went = now(self.stream.write(&self.requests[self.sent..]))?;
        self.sent += went.unwrap_or(0);
        Ok(went.is_some())
    }

    /// Sends a WRITE with its data, or goes on with one; says whether anything went.
    fn give(&mut self, places: &Places, depth: u64, memory: &[u8]) -> io::Result<bool> {
        let whole = REQUEST_BYTES + usize::try_from(places.size_bytes).unwrap_or(usize::MAX);
        if self.requests.is_empty() {
            if self.posted - self.done >= depth {
                return Ok(false);
            }
            self.post(places);
        }
        let offset = places.offset(self.number, self.posted - 1);
        let data = usize::try_from(offset).unwrap_or(usize::MAX);
        let data = &memory[data..data + whole - REQUEST_BYTES];
        let head = &self.requests[self.sent.min(REQUEST_BYTES)..];
        let rest = &data[self.sent.saturating_sub(REQUEST_BYTES)..];
        let went = now(self.stream.write_vectored(&[IoSlice::new(head), IoSlice::new(rest)]))?;
        self.sent += went.unwrap_or(0);
        if self.sent == whole {
            self.requests.clear();
            self.sent = 0;
        }
        Ok(went.is_some())
    }

    /// Takes data of READs; says how many messages are whole with it, and how many of them are wrong.
    fn take(&mut self, places: &Places, mut data: &[u8]) -> (u64, u64) {
        let (mut whole, mut wrong) = (0, 0);
        while !data.is_empty() && self.done < self.posted {
            let missing = usize::try_from(places.size_bytes - self.arrived).unwrap_or(usize::MAX);
            let (part, rest) = data.split_at(missing.min(data.len()));
            self.is_right &= is_pattern(places.offset(self.number, self.done) + self.arrived, part);
            self.arrived += part.len() as u64;
            data = rest;
            if self.arrived == places.size_bytes {
                whole += 1;
                wrong += u64::from(!self.is_right);
                self.done += 1;
                (self.arrived, self.is_right) = (0, true);
            }
        }
        (whole, wrong)
    }
}

impl LoadTransport for TcpTransport {
    fn pump(&mut self) -> Result<Pumped, LoadError> {
        let (mut operations, mut moved) = (0, false);
        for lane in &mut self.lanes {
            let failed = |cause: io::Error| {
                LoadError::Other(format!("{}: TCP connection to the peer: {cause}", self.device))
            };
            let went = match self.op {
                LoadOp::Read => lane.ask(&self.places, self.depth),
                LoadOp::Write => lane.give(&self.places, self.depth, &self.memory),
            };
            moved |= went.map_err(failed)?;
            let Some(came) = now(lane.stream.read(&mut self.gulp)).map_err(failed)? else { continue };
            if came == 0 {
                return Err(LoadError::Other(format!(
                    "{}: the peer closed its TCP connection: its railscope ended, or this rail failed there",
                    self.device
                )));
            }
            moved = true;
            let data = &self.gulp[..came];
            let (whole, wrong) = match self.op {
                LoadOp::Read => lane.take(&self.places, data),
                // one byte for each message
                LoadOp::Write => {
                    let whole = (came as u64).min(lane.posted - lane.done);
                    lane.done += whole;
                    (whole, data.iter().filter(|answer| **answer != 0).count() as u64)
                }
            };
            operations += whole;
            self.wrong_messages += wrong;
        }
        let bytes = operations * self.places.size_bytes;
        Ok(Pumped { bytes, operations, polls: 1, empty_polls: u64::from(!moved), ..Pumped::default() })
    }
}

/// What was done at once; `None` when nothing could be.
pub(super) fn now(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        done => done.map(Some),
    }
}
