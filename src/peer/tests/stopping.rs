//! Either end is stopped, killed or freezes.

use super::{Served, run, run_and_say};
use crate::peer::agreement::negotiate;
use crate::peer::attendance::Ended;
use crate::peer::fake::{self, Fake};
use crate::peer::link::Link;
use crate::peer::wire::write_greeting;
use probes::load::{Params, Role};
use std::future::pending;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

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

#[tokio::test(start_paused = true)]
async fn a_driver_that_does_not_close_queue_pairs_is_told_and_not_waited_for() {
    let (near, mut far) = tokio::io::duplex(1 << 20);
    let engine = Arc::new(Fake::default());
    engine.never_closes.store(true, Ordering::SeqCst);
    let client = fake::end_with("n1", 1, engine);
    write_greeting(&mut far, "n1").await.unwrap();
    let link = Link::greet(near, "n2".to_owned(), client.timing).await.unwrap();
    let party = fake::party_of(&client, Params::default(), Role::Reader);
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = said.clone();
    let say = Arc::new(move |line: &str| heard.lock().unwrap().push(line.to_owned()));
    let (attended, finish) = run_and_say(link, party, say, Arc::default());
    finish.send(()).unwrap();
    attended.await.unwrap();
    let said = said.lock().unwrap();
    assert_eq!(said.len(), 2, "a line for each rail: {said:?}");
    assert!(said[0].starts_with("mlx5_0: its queue pairs are not closed 2 s after"), "{said:?}");
    assert!(said[1].starts_with("mlx5_1: "), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_freezes_at_the_end_is_noticed_by_its_missing_goodbye() {
    let (near, mut far) = tokio::io::duplex(1 << 20);
    write_greeting(&mut far, "n1").await.unwrap();
    let link = Link::greet(near, "n2".to_owned(), fake::end("n1", 1).timing).await.unwrap();
    let party = fake::party(Params::default(), Role::Reader);
    let (attended, finish) = run(link, party);
    finish.send(()).unwrap();
    let Ended::Lost(error) = attended.await.unwrap() else { panic!("nothing came from the server") };
    assert!(error.to_string().starts_with("n2 fell silent 3 s ago and did not say goodbye"), "{error}");
}
