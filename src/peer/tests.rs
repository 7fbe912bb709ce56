//! Both ends over loopback TCP, with an engine that moves nothing.

mod failing;
mod returning;
mod stopping;
mod token;

use super::agreement::{Agreed, negotiate};
use super::attendance::{Attendance, Ended};
use super::diary::Diary;
use super::error::PeerError;
use super::fake::{self, Fake};
use super::link::Link;
use super::message::{Message, Progress};
use super::party::Party;
use super::server::{listen, serve};
use super::target::Target;
use super::{Door, End, server::Say};
use probes::load::Params;
use std::future::pending;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server, what it said, and how to stop it.
struct Served {
    address: SocketAddr,
    engine: Arc<Fake>,
    said: Arc<Mutex<Vec<String>>>,
    stop: Option<oneshot::Sender<&'static str>>,
    task: JoinHandle<()>,
}

impl Served {
    async fn new() -> Self {
        Self::behind(Door::default()).await
    }

    async fn behind(door: Door) -> Self {
        let engine = Arc::new(Fake::default());
        Self::at(End { door, ..fake::end_with("n2", 2, engine.clone()) }, engine).await
    }

    async fn at(end: End, engine: Arc<Fake>) -> Self {
        let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = said.clone();
        let say: Say = Arc::new(move |line: &str| heard.lock().unwrap().push(line.to_owned()));
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(listener, end, say, async { stopped.await.unwrap_or("the test") }));
        Self { address, engine, said, stop: Some(stop), task }
    }

    fn target(&self) -> Target {
        Target { host: self.address.ip().to_string(), port: self.address.port() }
    }

    async fn join(&self, end: &End) -> Result<(Link, Agreed, Party), PeerError> {
        negotiate(end, &self.target(), Params::default(), &mut pin!(pending())).await
    }

    /// The lines said so far; ports of clients are left out.
    fn lines(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    async fn stop(mut self) -> Vec<String> {
        self.stop.take().unwrap().send("Ctrl-C").unwrap();
        (&mut self.task).await.unwrap();
        self.lines()
    }
}

/// Lets the load begin; `finish` ends it.
fn run(link: Link, party: Party) -> (JoinHandle<Ended>, oneshot::Sender<()>) {
    run_and_say(link, party, Arc::new(|_: &str| {}), Arc::default())
}

fn run_and_say(
    link: Link,
    party: Party,
    say: Say,
    diary: Arc<Diary>,
) -> (JoinHandle<Ended>, oneshot::Sender<()>) {
    let (go, may_go) = oneshot::channel();
    let (finish, finished) = oneshot::channel();
    go.send(()).unwrap();
    let attendance = Attendance { link, party, say, there: Arc::default(), diary, sight: None };
    let attended =
        tokio::spawn(async move { attendance.attend(may_go, finished, &mut pin!(pending())).await });
    (attended, finish)
}

#[tokio::test]
async fn a_load_is_agreed_run_and_ended_on_both_ends() {
    let server = Served::new().await;
    let (link, agreed, party) = server.join(&fake::end("n1", 1)).await.unwrap();
    assert_eq!((agreed.peer.host.as_str(), agreed.loopback, agreed.plan.lines.len()), ("n2", false, 2));
    let (attended, finish) = run(link, party.clone());
    finish.send(()).unwrap();
    assert!(matches!(attended.await.unwrap(), Ended::Here));
    assert!(party.traffic.is_over());
    assert_eq!(server.engine.alive.load(Ordering::SeqCst), 0);
    let lines = server.stop().await;
    assert_eq!(lines[0], "n1 (127.0.0.1): reads 64K x 4 queue pairs a rail from mlx5_0, mlx5_1");
    assert!(lines[1].starts_with("n1 (127.0.0.1): done; 2.000 GB in "), "{}", lines[1]);
    assert!(lines[1].contains("over 2 of 2 rails"), "{}", lines[1]);
}

#[tokio::test]
async fn the_server_goes_on_after_a_client_left() {
    let server = Served::new().await;
    for _ in 0..3 {
        let (link, _, party) = server.join(&fake::end("n1", 1)).await.unwrap();
        let (attended, finish) = run(link, party);
        finish.send(()).unwrap();
        attended.await.unwrap();
    }
    assert_eq!(server.stop().await.len(), 6);
}

#[tokio::test]
async fn one_machine_at_both_ends_is_loopback() {
    let server = Served::new().await;
    let (_link, agreed, _party) = server.join(&fake::end("n2", 1)).await.unwrap();
    assert!(agreed.loopback);
    assert!(server.lines()[0].ends_with("(this machine: loopback, no fabric)"), "{:?}", server.lines());
}

#[tokio::test]
async fn a_second_client_is_told_who_is_served() {
    let server = Served::new().await;
    let (_link, _, _party) = server.join(&fake::end("n1", 1)).await.unwrap();
    let error = server.join(&fake::end("n3", 3)).await.err().unwrap().to_string();
    assert!(error.contains("is busy: it serves n1 (127.0.0.1) since 0 s"), "{error}");
    assert_eq!(server.lines()[1], "n3 (127.0.0.1): turned away, busy with n1 (127.0.0.1)");
}

#[tokio::test]
async fn rails_that_do_not_go_together_are_named_with_the_reason() {
    let server = Served::new().await;
    let mut end = fake::end("n1", 1);
    for offer in &mut end.offers {
        offer.state = Some("DOWN".to_owned());
    }
    let error = server.join(&end).await.err().unwrap().to_string();
    assert_eq!(
        error,
        "no rail of this host goes with one of n2 (127.0.0.1): mlx5_0: it is DOWN, mlx5_1: it is DOWN"
    );
}

#[tokio::test]
async fn garbage_and_other_versions_do_not_disturb_the_server() {
    let server = Served::new().await;
    for bytes in
        [&b"GET / HTTP/1.1\r\nHost: n2\r\n\r\n"[..], b"railscope 9 3.0.0\n", b"\0\0\0\0\0\0\0\0\0\0\0\0"]
    {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut heard = Vec::new();
        // a reset is as good an end as any
        let _ = stream.read_to_end(&mut heard).await;
    }
    server.join(&fake::end("n1", 1)).await.unwrap();
    let lines = server.lines();
    assert!(lines[0].contains("is not railscope (a web browser or probe)"), "{lines:?}");
    assert!(lines[1].contains("runs railscope 3.0.0 (control protocol 9)"), "{lines:?}");
    assert!(lines[2].contains("is not railscope (it says"), "{lines:?}");
}

#[tokio::test]
async fn a_peer_that_is_not_there_is_one_clear_line() {
    let server = Served::new().await;
    let target = server.target();
    server.stop().await;
    let error = negotiate(&fake::end("n1", 1), &target, Params::default(), &mut pin!(pending())).await;
    let error = error.err().unwrap().to_string();
    assert!(
        error.contains(&format!("cannot reach 127.0.0.1:{}: Connection refused", target.port)),
        "{error}"
    );
    assert!(error.contains("is `railscope serve` running there"), "{error}");
}

#[tokio::test]
async fn a_port_in_use_is_one_clear_line() {
    let server = Served::new().await;
    let error = listen(server.address).await.unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("cannot listen on {}: Address already in use", server.address)),
        "{error}"
    );
    assert!(error.contains("choose a port with --listen ADDR:PORT"), "{error}");
}

#[tokio::test]
async fn several_clients_are_served_at_a_time_where_that_was_asked_for() {
    let server = Served::behind(Door { max_clients: 2, ..Door::default() }).await;
    let first = server.join(&fake::end("n1", 1)).await.unwrap();
    let (link, _, traffic) = server.join(&fake::end("n3", 3)).await.unwrap();
    let error = server.join(&fake::end("n4", 4)).await.err().unwrap().to_string();
    assert!(error.contains("it serves n1 (127.0.0.1), n3 (127.0.0.1) since 0 s"), "{error}");
    let (attended, finish) = run(link, traffic);
    finish.send(()).unwrap();
    attended.await.unwrap();
    let _third = server.join(&fake::end("n4", 4)).await.unwrap();
    drop(first);
}

#[tokio::test]
async fn a_client_that_names_threads_without_end_is_shown_out_and_the_next_is_served() {
    let server = Served::new().await;
    let (mut link, _, _party) = server.join(&fake::end("n1", 1)).await.unwrap();
    link.send(Message::Go).await.unwrap();
    let failed = vec!["mlx5_0".to_owned(); 100_000];
    link.send(Message::Progress(Progress { failed, ..Progress::default() })).await.unwrap();
    let said = link.next().await.unwrap_err().to_string();
    assert!(said.contains("does not fit the plan: 100000 failed threads: at most 2 are possible"), "{said}");
    drop(link);
    server.join(&fake::end("n3", 3)).await.unwrap();
}

#[tokio::test]
async fn a_thread_that_never_failed_is_not_opened_anew() {
    let server = Served::new().await;
    let (mut link, _, party) = server.join(&fake::end("n1", 1)).await.unwrap();
    link.send(Message::Go).await.unwrap();
    let end = party.traffic.reopen(0).unwrap();
    link.send(Message::Reopen { slot: party.slot(0), end }).await.unwrap();
    let said = link.next().await.unwrap_err().to_string();
    assert!(said.contains("sent `reopen` when a thread that has failed was due"), "{said}");
}
