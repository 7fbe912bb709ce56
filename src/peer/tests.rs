//! Both ends over loopback TCP, with an engine that moves nothing.

mod returning;

use super::agreement::{Agreed, negotiate};
use super::attendance::{Attendance, Ended};
use super::diary::Diary;
use super::error::PeerError;
use super::fake::{self, Fake};
use super::link::Link;
use super::message::{Hello, Message, Progress};
use super::party::Party;
use super::server::{listen, serve};
use super::target::Target;
use super::token::Token;
use super::{Door, End, server::Say};
use probes::load::Params;
use probes::model::Failure;
use std::future::pending;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
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
async fn stopping_the_server_ends_the_load_with_its_reason() {
    let server = Served::new().await;
    let engine = server.engine.clone();
    let (link, _, party) = server.join(&fake::end("n1", 1)).await.unwrap();
    let (attended, _finish) = run(link, party.clone());
    while engine.begun.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let lines = server.stop().await;
    let Ended::There(reason) = attended.await.unwrap() else { panic!("the server was stopped") };
    assert_eq!(reason, "`railscope serve` was stopped by Ctrl-C");
    assert!(party.traffic.is_over());
    assert_eq!(engine.alive.load(Ordering::SeqCst), 0);
    let last = lines.last().unwrap();
    assert!(last.starts_with("n1 (127.0.0.1): stopped: `railscope serve` was stopped by Ctrl-C;"), "{last}");
}

#[tokio::test]
async fn a_server_stopped_while_opening_tells_the_client() {
    let server = Served::new().await;
    let client = Arc::new(Fake::default());
    client.hangs.store(true, Ordering::SeqCst);
    let end = fake::end_with("n1", 1, client.clone());
    let target = server.target();
    let joining = tokio::spawn(async move {
        negotiate(&end, &target, Params::default(), &mut pin!(pending())).await.err().unwrap()
    });
    while server.lines().is_empty() {
        tokio::task::yield_now().await;
    }
    server.stop().await;
    let error = joining.await.unwrap().to_string();
    client.hangs.store(false, Ordering::SeqCst);
    assert_eq!(error, "n2 (127.0.0.1) left: `railscope serve` was stopped by Ctrl-C");
}

#[tokio::test]
async fn a_client_stopped_while_opening_says_goodbye() {
    let server = Served::new().await;
    server.engine.hangs.store(true, Ordering::SeqCst);
    let lines = server.said.clone();
    let mut opening = pin!(async {
        while lines.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        "Ctrl-C"
    });
    let stopped = negotiate(&fake::end("n1", 1), &server.target(), Params::default(), &mut opening).await;
    let error = stopped.err().unwrap().to_string();
    assert_eq!(error, "stopped by Ctrl-C before the load began");
    while server.lines().len() < 2 {
        tokio::task::yield_now().await;
    }
    server.engine.hangs.store(false, Ordering::SeqCst);
    assert_eq!(server.lines()[1], "n1 (127.0.0.1) left: stopped by Ctrl-C before the load began");
    server.join(&fake::end("n3", 3)).await.unwrap();
}

#[tokio::test]
async fn a_client_that_is_killed_frees_the_server() {
    let server = Served::new().await;
    let (link, _, party) = server.join(&fake::end("n1", 1)).await.unwrap();
    drop((link, party));
    while server.lines().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert!(
        server.lines()[1].contains("closed the control connection without a word"),
        "{:?}",
        server.lines()
    );
    server.join(&fake::end("n3", 3)).await.unwrap();
}

#[tokio::test]
async fn a_rail_that_fails_on_one_end_is_left_out_on_both() {
    let server = Served::new().await;
    server.engine.broken.lock().unwrap().push("mlx5_1".to_owned());
    let (link, agreed, party) = server.join(&fake::end("n1", 1)).await.unwrap();
    assert_eq!(
        agreed.left_out,
        [Failure::new(Some("mlx5_1"), "n2 (127.0.0.1): mlx5_1: ibv_reg_mr: no memory")]
    );
    let (attended, finish) = run(link, party);
    finish.send(()).unwrap();
    attended.await.unwrap();
    let lines = server.stop().await;
    assert_eq!(lines[1], "n1 (127.0.0.1): left out: mlx5_1: ibv_reg_mr: no memory");
    assert!(lines.last().unwrap().contains("1.000 GB in"), "{lines:?}");
    assert!(lines.last().unwrap().contains("over 1 of 2 rails"), "{lines:?}");
}

#[tokio::test]
async fn a_rail_that_fails_in_mid_load_is_tried_again_until_both_ends_are_back() {
    let server = Served::new().await;
    let client = Arc::new(Fake::default());
    client.fails_once.lock().unwrap().push("mlx5_1".to_owned());
    client.refusals.store(1, Ordering::SeqCst);
    server.engine.refusals.store(1, Ordering::SeqCst);
    let mut end = fake::end_with("n1", 1, client);
    (end.timing.retry, end.timing.retry_most) = (Duration::from_millis(10), Duration::from_millis(40));
    let (link, _, party) = server.join(&end).await.unwrap();
    let (hear, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let say: Say = Arc::new(move |line: &str| drop(hear.send(line.to_owned())));
    let diary = Arc::new(Diary::default());
    let (attended, finish) = run_and_say(link, party.clone(), say, diary.clone());
    let mut lines = Vec::new();
    while lines.len() < 4 {
        lines.push(heard.recv().await.unwrap());
    }
    assert_eq!(
        lines[..3],
        [
            "mlx5_1: RETRY_EXC_ERR: gone; it is tried again in 0.01 s",
            "tried again: mlx5_1 port 1: the port is DOWN; next in 0.02 s",
            "tried again: n2 (127.0.0.1): mlx5_1 port 1: the port is DOWN; next in 0.04 s",
        ]
    );
    assert!(lines[3].starts_with("mlx5_1: back after "), "{lines:?}");
    // that it failed is the engine's to tell
    let kept: Vec<_> = lines[1..].iter().map(|line| Failure::new(Some("mlx5_1"), line)).collect();
    assert_eq!(diary.take(), kept);
    assert_eq!(party.traffic.workers()[1].restarts, 1);
    finish.send(()).unwrap();
    assert!(matches!(attended.await.unwrap(), Ended::Here));
    assert!(server.stop().await.last().unwrap().contains("over 2 of 2 rails"));
}

#[tokio::test]
async fn no_rail_at_all_is_an_error_on_both_ends() {
    let server = Served::new().await;
    let client = Arc::new(Fake::default());
    client.broken.lock().unwrap().extend(["mlx5_0".to_owned(), "mlx5_1".to_owned()]);
    let error = server.join(&fake::end_with("n1", 1, client)).await.err().unwrap().to_string();
    assert_eq!(error, "mlx5_0: ibv_reg_mr: no memory; mlx5_1: ibv_reg_mr: no memory");
    let lines = server.stop().await;
    assert!(lines[1].starts_with("n1 (127.0.0.1): mlx5_0: ibv_reg_mr"), "{lines:?}");
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

/// A door with this secret.
fn door(secret: &str) -> Door {
    Door { token: Some(Token::new(secret.as_bytes().to_vec()).unwrap()), ..Door::default() }
}

/// A client with this door.
fn visitor(door: Door) -> End {
    End { door, ..fake::end("n1", 1) }
}

#[tokio::test]
async fn both_ends_with_one_token_agree() {
    let server = Served::behind(door("0123456789abcdef")).await;
    let (_link, agreed, _traffic) = server.join(&visitor(door("0123456789abcdef"))).await.unwrap();
    assert_eq!(agreed.plan.lines.len(), 2);
}

#[tokio::test]
async fn a_client_without_the_token_is_one_line_on_both_ends() {
    let server = Served::behind(door("0123456789abcdef")).await;
    let error = server.join(&visitor(Door::default())).await.err().unwrap().to_string();
    assert!(error.contains("serves only who knows its token: give --token FILE"), "{error}");
    let error = server.join(&visitor(door("fedcba9876543210"))).await.err().unwrap().to_string();
    assert!(error.contains("the token of the client is not the one that this `railscope serve`"), "{error}");
    let lines = server.stop().await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("n1 (127.0.0.1) says: ") && lines[0].contains("--token FILE"), "{lines:?}");
    assert!(lines[1].starts_with("n1 (127.0.0.1): the token of the client is not the one"), "{lines:?}");
}

#[tokio::test]
async fn a_client_with_a_token_does_not_trust_a_server_without() {
    let server = Served::new().await;
    let error = server.join(&visitor(door("0123456789abcdef"))).await.err().unwrap().to_string();
    assert!(
        error.contains("was started without --token, so it cannot show that it knows this one"),
        "{error}"
    );
}

#[tokio::test]
async fn who_leaves_the_proof_out_or_sends_the_challenge_back_learns_no_rail() {
    let server = Served::behind(door("0123456789abcdef")).await;
    for trick in 0..2 {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let mut link = Link::greet(stream, "n2".to_owned(), fake::end("x", 9).timing).await.unwrap();
        let me = Hello { host: "x".to_owned(), version: "0.1.0".to_owned(), boot_id: None };
        link.send(Message::Hello(me)).await.unwrap();
        let Message::Challenge { nonce } = link.next().await.unwrap() else { panic!("it asks first") };
        let answer = match trick {
            0 => Message::Ready,
            _ => Message::Proof { nonce: Some(nonce.clone()), proof: nonce },
        };
        link.send(answer).await.unwrap();
        let said = link.next().await.unwrap_err();
        assert!(matches!(said, PeerError::Refused { .. }), "{said}");
    }
    assert_eq!(server.engine.alive.load(Ordering::SeqCst), 0);
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

#[tokio::test(start_paused = true)]
async fn a_server_that_freezes_at_the_end_is_noticed_by_its_missing_goodbye() {
    let (near, mut far) = tokio::io::duplex(1 << 20);
    crate::peer::wire::write_greeting(&mut far, "n1").await.unwrap();
    let link = Link::greet(near, "n2".to_owned(), fake::end("n1", 1).timing).await.unwrap();
    let party = {
        let (client, server) = (fake::end("n1", 1), fake::end("n2", 2));
        let pairs = crate::peer::matching::matching(&client.offers, &server.offers);
        let plan = crate::peer::message::Plan::new(&pairs, &client.offers, &server.offers, Params::default());
        let plan = plan.unwrap();
        let (topology, rails, params) = plan.for_end(probes::load::Role::Reader, &client).unwrap();
        let mut opened = client.engine.open(&topology, &rails, &params, probes::load::Role::Reader);
        let ends = opened.endpoints().into_iter().map(Result::ok).collect();
        let traffic = opened.connect(ends).unwrap();
        Party { traffic, slots: plan.slots().collect(), plan, role: probes::load::Role::Reader }
    };
    let (attended, finish) = run(link, party);
    finish.send(()).unwrap();
    let Ended::Lost(error) = attended.await.unwrap() else { panic!("nothing came from the server") };
    assert!(error.to_string().starts_with("n2 fell silent 3 s ago and did not say goodbye"), "{error}");
}
