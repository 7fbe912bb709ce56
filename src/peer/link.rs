//! The control connection with its heartbeat: whoever is gone is noticed, whatever this end is doing.

use super::error::PeerError;
use super::message::Message;
use super::wire::{broken, read_greeting, read_message, write_greeting, write_message};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, timeout};

/// Messages that wait for their turn; more than any step of the protocol has.
const QUEUE: usize = 2048;

/// Most characters that are told of a sentence of the peer's: its errors with their cause and advice have room.
const MOST_CHARS: usize = 500;

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Connecting, and each step in which the peer only has to answer.
    pub answer: Duration,
    /// Opening devices, registering memory, connecting queue pairs.
    pub opening: Duration,
    /// Between two signs of life.
    pub keep_alive: Duration,
    /// Without a sign of life, the peer counts as gone.
    pub silence: Duration,
    /// The peer's last words.
    pub farewell: Duration,
    /// From the failure of a rail to the first try to open it anew; later ones wait twice as long each.
    pub retry: Duration,
    /// Most of that.
    pub retry_most: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(5),
            opening: Duration::from_mins(1),
            keep_alive: Duration::from_millis(500),
            silence: Duration::from_secs(3),
            farewell: Duration::from_secs(2),
            retry: Duration::from_secs(1),
            retry_most: Duration::from_secs(16),
        }
    }
}

/// A greeted control connection.
#[derive(Debug)]
pub struct Link {
    peer: String,
    timing: Timing,
    inbox: mpsc::Receiver<Result<Message, PeerError>>,
    early: VecDeque<Message>,
    outbox: mpsc::Sender<Message>,
    writer: JoinHandle<()>,
    reader: JoinHandle<()>,
}

impl Link {
    /// Greets the peer and starts the heartbeat.
    ///
    /// # Errors
    ///
    /// It is not railscope, or of another protocol version.
    pub async fn greet<S>(stream: S, peer: String, timing: Timing) -> Result<Self, PeerError>
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (reading, mut writing) = tokio::io::split(stream);
        let mut reading = BufReader::new(reading);
        write_greeting(&mut writing, &peer).await?;
        read_greeting(&mut reading, &peer, timing.silence).await?;
        let (received, inbox) = mpsc::channel(QUEUE);
        let (outbox, to_send) = mpsc::channel(QUEUE);
        let writer = tokio::spawn(write(writing, to_send, received.clone(), peer.clone(), timing));
        let reader = tokio::spawn(read(reading, received, peer.clone(), timing));
        Ok(Self { peer, timing, inbox, early: VecDeque::new(), outbox, writer, reader })
    }

    /// Address or host of the peer, for messages.
    #[must_use]
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// Calls the peer by its host name and address from now on.
    pub fn rename(&mut self, peer: String) {
        self.peer = peer;
    }

    /// How long things may take.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Sends a message.
    ///
    /// # Errors
    ///
    /// The connection is gone.
    pub async fn send(&self, message: Message) -> Result<(), PeerError> {
        self.outbox.send(message).await.map_err(|_| PeerError::Closed { peer: self.peer.clone() })
    }

    /// Sends a message that may be left out, unless much else waits to be sent.
    pub fn offer(&self, message: Message) {
        if self.outbox.capacity() > QUEUE / 2 {
            // a connection that is gone is noticed by whoever listens
            let _ = self.outbox.try_send(message);
        }
    }

    /// The next message that is not `KeepAlive`; waits as long as the peer lives.
    ///
    /// # Errors
    ///
    /// The connection is gone, or the peer said `Error`, `Busy` or (out of a load) `Bye` or `Stop`.
    pub async fn next(&mut self) -> Result<Message, PeerError> {
        match self.early.pop_front() {
            Some(message) => Ok(message),
            None => self.receive().await,
        }
    }

    /// The next message, which the peer must send within `limit`.
    ///
    /// # Errors
    ///
    /// As [`Link::next`]; or it came too late.
    pub async fn next_within(&mut self, limit: Duration, wanted: &'static str) -> Result<Message, PeerError> {
        timeout(limit, self.next()).await.unwrap_or_else(|_| {
            Err(PeerError::Late { peer: self.peer.clone(), wanted, seconds: limit.as_secs_f64() })
        })
    }

    /// Waits for `work` while watching the peer; what the peer says meanwhile is kept for later.
    ///
    /// # Errors
    ///
    /// The peer is gone, leaves or says that it cannot go on.
    pub async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> Result<T, PeerError> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                message = self.receive() => {
                    let message = message?;
                    let leaves = matches!(message, Message::Bye { .. } | Message::Stop { .. });
                    if leaves || self.early.len() >= QUEUE {
                        return Err(self.out_of_turn(&message, "nothing"));
                    }
                    self.early.push_back(message);
                }
            }
        }
    }

    /// The error that `message` is not what was due.
    #[must_use]
    pub fn out_of_turn(&self, message: &Message, wanted: &'static str) -> PeerError {
        let peer = self.peer.clone();
        match message {
            Message::Bye { reason } | Message::Stop { reason } => {
                PeerError::Left { peer, reason: printable(reason) }
            }
            _ => PeerError::OutOfTurn { peer, got: message.kind(), wanted },
        }
    }

    /// Sends what is still to be sent and closes the connection.
    pub async fn close(self) {
        let Self { inbox, outbox, mut writer, reader, timing, .. } = self;
        drop((inbox, outbox));
        if timeout(timing.farewell, &mut writer).await.is_err() {
            writer.abort();
        }
        reader.abort();
    }

    async fn receive(&mut self) -> Result<Message, PeerError> {
        let peer = self.peer.clone();
        let gone = || PeerError::Closed { peer: peer.clone() };
        let received = self.inbox.recv().await.ok_or_else(gone)?;
        match received.map_err(|error| error.of(&peer))? {
            Message::Error { text } => Err(PeerError::Refused { peer, text: printable(&text) }),
            Message::Busy { with, for_s } => Err(PeerError::Busy { peer, with: printable(&with), for_s }),
            message => Ok(message),
        }
    }
}

/// Words of the peer as they may stand in a terminal: one line, no control characters, bounded.
#[must_use]
pub fn printable(words: &str) -> String {
    printable_most(words, MOST_CHARS)
}

/// A name that the peer has given to something, of itself or a rail: as [`printable`], and as short as names are.
#[must_use]
pub fn printable_name(name: &str) -> String {
    printable_most(name, 200)
}

fn printable_most(words: &str, most: usize) -> String {
    let mut kept: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(most).collect();
    if words.chars().nth(most).is_some() {
        kept.pop();
        kept.push('…');
    }
    kept
}

/// Hands on what comes in, until the peer is gone or silent.
async fn read<S: AsyncRead>(
    mut from: BufReader<ReadHalf<S>>,
    to: mpsc::Sender<Result<Message, PeerError>>,
    peer: String,
    timing: Timing,
) {
    loop {
        let received = timeout(timing.silence, read_message(&mut from, &peer)).await;
        let received = received.unwrap_or_else(|_| {
            Err(PeerError::Silent { peer: peer.clone(), seconds: timing.silence.as_secs_f64() })
        });
        let over = received.is_err();
        if !matches!(received, Ok(Message::KeepAlive)) && to.send(received).await.is_err() || over {
            return;
        }
    }
}

/// Sends what is to be sent, and signs of life in between.
async fn write<S: AsyncWrite>(
    mut to: WriteHalf<S>,
    mut messages: mpsc::Receiver<Message>,
    errors: mpsc::Sender<Result<Message, PeerError>>,
    peer: String,
    timing: Timing,
) {
    let mut tick = tokio::time::interval(timing.keep_alive);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            message = messages.recv() => match message {
                Some(message) => message,
                None => break,
            },
            _ = tick.tick() => Message::KeepAlive,
        };
        let sent = timeout(timing.silence, write_message(&mut to, &message, &peer)).await;
        let sent = sent.unwrap_or_else(|_| {
            Err(PeerError::Silent { peer: peer.clone(), seconds: timing.silence.as_secs_f64() })
        });
        if let Err(error) = sent {
            // the reader knows as much of a connection that is gone
            let _ = errors.try_send(Err(error));
            return;
        }
    }
    let _ = to.shutdown().await.map_err(|cause| broken(&peer, cause));
}

#[cfg(test)]
mod tests;
