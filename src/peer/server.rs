//! `serve`: one client at a time, or as many as it is told, until told to stop.

use super::clock::now_ns;
use super::end::End;
use super::error::PeerError;
use super::joining::join;
use super::link::{Link, printable_name};
use super::message::{Hello, Message};
use super::offer::listed;
use super::party::Party;
use super::proving::ask;
use super::seats::{Full, Seat, Seats};
use super::telling::Telling;
use super::watching::Watching;
use probes::load::{Role, Transport};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Takes a line for people.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// Listens at `address`.
///
/// # Errors
///
/// The port is taken, not allowed, or the address is not of this host.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, PeerError> {
    use std::io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
    TcpListener::bind(address).await.map_err(|cause| {
        let hint = match cause.kind() {
            AddrInUse => "another `railscope serve`? stop it, or choose a port with --listen ADDR:PORT",
            AddrNotAvailable => "the address is not one of this host; leave it out or see `ip address`",
            PermissionDenied => "ports below 1024 need root; choose a higher one with --listen ADDR:PORT",
            _ => "choose another with --listen ADDR:PORT",
        };
        PeerError::Listen { address: address.to_string(), cause, hint }
    })
}

/// Serves clients until `stopped` says what stopped it; then tells a client that is there, and returns
/// when that one has let go.
pub async fn serve(listener: TcpListener, end: End, say: Say, stopped: impl Future<Output = &'static str>) {
    let (ending, ended) = watch::channel(None);
    let seats = Seats::new(end.door.max_clients);
    let server = Server { end: Arc::new(end), say, seats, ended };
    let mut clients = JoinSet::new();
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => {
                    clients.spawn(server.clone().attend(stream, address));
                }
                // out of files, or the client is gone already: the next one may do better
                Err(error) => {
                    (server.say)(&format!("a client could not be accepted: {error}"));
                    tokio::time::sleep(server.end.timing.keep_alive).await;
                }
            },
            Some(_) = clients.join_next() => {}
            reason = &mut stopped => {
                ending.send_replace(Some(reason));
                break;
            }
        }
    }
    drop(listener);
    let limit = server.end.timing.farewell * 2;
    let _ = timeout(limit, async { while clients.join_next().await.is_some() {} }).await;
}

/// The threads of a client whom nobody waits for any more: a server that must end does not wait for a device that
/// hangs.
struct Parting(Option<Party>);

impl Drop for Parting {
    fn drop(&mut self) {
        if let Some(party) = self.0.take() {
            let _ = std::thread::Builder::new().name("parting".to_owned()).spawn(move || drop(party));
        }
    }
}

#[derive(Clone)]
struct Server {
    end: Arc<End>,
    say: Say,
    seats: Seats,
    ended: watch::Receiver<Option<&'static str>>,
}

impl Server {
    async fn attend(self, stream: TcpStream, address: SocketAddr) {
        // messages are small and wait for answers
        let _ = stream.set_nodelay(true);
        let mut link = match Link::greet(stream, address.to_string(), self.end.timing).await {
            Ok(link) => link,
            Err(error) => return self.tell(&error.to_string()),
        };
        match self.receive(&mut link, address).await {
            Ok(()) => {}
            Err(error) => {
                let (error_text, name) = (error.to_string(), link.peer());
                let named = error_text.contains(name);
                self.tell(&if named { error_text } else { format!("{name}: {error_text}") });
                let parting = match &error {
                    PeerError::StoppedHere(reason) => {
                        Some(Message::Bye { reason: format!("`railscope serve` was stopped by {reason}") })
                    }
                    error if error.is_ours() => Some(Message::Error { text: error.to_string() }),
                    _ => None,
                };
                if let Some(parting) = parting {
                    let _ = link.send(parting).await;
                }
            }
        }
        link.close().await;
    }

    fn tell(&self, line: &str) {
        (self.say)(line);
    }

    /// Everything with one client; the error is told to it where it can be.
    async fn receive(&self, link: &mut Link, address: SocketAddr) -> Result<(), PeerError> {
        let limit = link.timing().answer;
        let hello = match link.next_within(limit, "its name").await? {
            Message::Hello(hello) => hello,
            other => return Err(link.out_of_turn(&other, "`hello`")),
        };
        let host = printable_name(&hello.host);
        link.rename(format!("{host} ({})", address.ip().to_canonical()));
        ask(link, &self.end).await?;
        let seat = match self.seats.take(link.peer()) {
            Ok(seat) => seat,
            Err(Full { with, for_s }) => {
                self.tell(&format!("{}: turned away, busy with {with}", link.peer()));
                return link.send(Message::Busy { with, for_s }).await;
            }
        };
        let mut ended = self.ended.clone();
        let (party, telling) = tokio::select! {
            joined = self.negotiate(link, &hello, &seat) => joined?,
            reason = stopped(&mut ended) => return Err(PeerError::StoppedHere(reason)),
        };
        let mut party = Parting(Some(party));
        let done = match &party.0 {
            Some(party) => {
                Watching::new(link, party, self.say.clone()).telling(telling).watch(&mut ended).await
            }
            None => Ok(()),
        };
        // the client has stopped or is gone: its reads find nobody from here on
        let party = party.0.take();
        let _ = timeout(link.timing().farewell, tokio::task::spawn_blocking(move || drop(party))).await;
        drop(seat);
        if done.is_ok() {
            link.send(Message::Bye { reason: "done".to_owned() }).await?;
        }
        done
    }

    /// From `hello` to `go`.
    async fn negotiate(
        &self,
        link: &mut Link,
        hello: &Hello,
        seat: &Seat,
    ) -> Result<(Party, Option<Telling>), PeerError> {
        let limit = link.timing().answer;
        link.send(Message::Hello(self.end.me.clone())).await?;
        link.send(Message::Rails { rails: self.end.offers.clone(), frames: self.end.root.is_some() }).await?;
        let plan = match link.next_within(limit, "its plan").await? {
            Message::Plan(plan) => plan,
            other => return Err(link.out_of_turn(&other, "`plan`")),
        };
        plan.check(&self.end.offers)?;
        plan.check_memory(&self.end)?;
        seat.claim(plan.bytes(), self.end.memory_bytes()).map_err(PeerError::BadPlan)?;
        let is_here = self.end.me.is_same_machine(hello) == Some(true);
        let here = if is_here { " (this machine: loopback, no fabric)" } else { "" };
        let rails: Vec<&str> = plan.ports(Role::Target).map(|p| p.device.as_str()).collect();
        let over = match plan.params.transport {
            Transport::Verbs => "",
            Transport::Tcp => " over TCP (a functional check)",
        };
        self.tell(&format!("{}: {}{over}{here}", link.peer(), plan.what(&listed(&rails, "no rail"))));
        let joined = join(link, &self.end, &plan, Role::Target).await?;
        for line in &joined.left_out {
            self.tell(&format!("{}: left out: {line}", link.peer()));
        }
        let mut telling = self.telling(link, plan.wants_frames).await?;
        loop {
            match link.next_within(link.timing().opening, "its word to go").await? {
                Message::Go => break,
                Message::Clock { .. } if telling.is_some() => {
                    link.send(Message::Clock { now_ns: now_ns() }).await?;
                }
                other => return Err(link.out_of_turn(&other, "`go`")),
            }
        }
        joined.party.traffic.go();
        if let Some(telling) = &mut telling {
            telling.begin();
        }
        Ok((joined.party, telling))
    }

    /// Tells a client that wants it what this host is; what its samples then come from.
    async fn telling(&self, link: &mut Link, wanted: bool) -> Result<Option<Telling>, PeerError> {
        let Some(root) = self.end.root.clone().filter(|_| wanted) else { return Ok(None) };
        let topology = (*self.end.topology).clone();
        let open = tokio::task::spawn_blocking(move || Telling::open(root, topology));
        let opened = link.meanwhile(open).await?;
        let telling = opened.map_err(|error| PeerError::Rails(format!("looking at this host: {error}")))?;
        telling.introduce(link).await?;
        Ok(Some(telling))
    }
}

/// Waits until this end is told to stop.
pub(super) async fn stopped(ended: &mut watch::Receiver<Option<&'static str>>) -> &'static str {
    match ended.wait_for(Option::is_some).await.map(|reason| *reason) {
        Ok(Some(reason)) => reason,
        // the sender lives as long as the server does
        _ => std::future::pending().await,
    }
}
