//! Loads of both directions of which one fails.

use super::{Served, run_and_say};
use crate::peer::End;
use crate::peer::agreement::negotiate;
use crate::peer::attendance::Ended;
use crate::peer::diary::Diary;
use crate::peer::fake::{self, Fake};
use crate::peer::party::Party;
use crate::peer::server::Say;
use probes::load::Params;
use probes::model::Failure;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// A load of both directions that runs.
struct Both {
    server: Served,
    client: Arc<Fake>,
    party: Party,
    diary: Arc<Diary>,
    attended: JoinHandle<Ended>,
    finish: oneshot::Sender<()>,
    heard: mpsc::UnboundedReceiver<String>,
}

impl Both {
    /// Rail `mlx5_1` fails on the server, and may have failed on the client; opening it anew is refused so often there.
    async fn failing(on_client: &[&str], refusals: usize) -> Self {
        let quick = |mut end: End| {
            (end.timing.retry, end.timing.retry_most) =
                (Duration::from_millis(10), Duration::from_millis(40));
            end
        };
        let (client, engine) = (Arc::new(Fake::default()), Arc::new(Fake::default()));
        client.fails_once.lock().unwrap().extend(on_client.iter().map(|device| (*device).to_owned()));
        engine.fails_once.lock().unwrap().push("mlx5_1".to_owned());
        engine.refusals.store(refusals, Ordering::SeqCst);
        let server = Served::at(quick(fake::end_with("n2", 2, engine.clone())), engine).await;
        let end = quick(fake::end_with("n1", 1, client.clone()));
        let params = Params { bidirectional: true, ..Params::default() };
        let agreed = negotiate(&end, &server.target(), params, &mut pin!(pending())).await;
        let (link, _, party) = agreed.unwrap();
        let (hear, heard) = mpsc::unbounded_channel();
        let say: Say = Arc::new(move |line: &str| drop(hear.send(line.to_owned())));
        let diary = Arc::new(Diary::default());
        let (attended, finish) = run_and_say(link, party.clone(), say, diary.clone());
        Self { server, client, party, diary, attended, finish, heard }
    }

    /// What the client says, up to the first line with these words.
    async fn until(&mut self, words: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        while !lines.last().is_some_and(|line| line.contains(words)) {
            lines.push(self.heard.recv().await.unwrap());
        }
        lines
    }

    /// Ends the load; what the server said.
    async fn end(self) -> Vec<String> {
        self.finish.send(()).unwrap();
        assert!(matches!(self.attended.await.unwrap(), Ended::Here));
        self.server.stop().await
    }
}

/// A line without the seconds at its end.
fn timeless(line: &str) -> &str {
    line.rsplit_once(" after ").map_or(line, |(before, _)| before)
}

#[tokio::test]
async fn a_direction_of_the_peer_that_fails_alone_is_tried_again_there_and_comes_back() {
    let mut both = Both::failing(&[], 1).await;
    let lines = both.until("the direction of mlx5_1: back").await;
    let there = "n2 (127.0.0.1): the direction of mlx5_1";
    assert_eq!(
        lines.iter().map(|line| timeless(line)).collect::<Vec<_>>(),
        [
            &format!("{there} failed; it is tried again there"),
            "mlx5_1: opened anew for the peer's direction",
            &format!("{there}: back"),
        ]
    );
    // ours was let go of once, when the server had its rail open again
    assert_eq!(both.client.reopened.load(Ordering::SeqCst), 1);
    assert_eq!(both.party.traffic.workers().iter().map(|worker| worker.restarts).collect::<Vec<_>>(), [0, 1]);
    let devices = [None, Some("mlx5_1"), None];
    let kept: Vec<_> = devices.iter().zip(&lines).map(|(device, line)| Failure::new(*device, line)).collect();
    assert_eq!(both.diary.take(), kept);
    let said = both.end().await;
    assert_eq!(
        said[1..4].iter().map(|line| timeless(line)).collect::<Vec<_>>(),
        [
            "n1 (127.0.0.1): our direction: mlx5_1: RETRY_EXC_ERR: gone; it is tried again in 0.01 s",
            "n1 (127.0.0.1): our direction: tried again: mlx5_1 port 1: the port is DOWN; next in 0.02 s",
            "n1 (127.0.0.1): our direction: mlx5_1: back",
        ]
    );
    assert!(said[4].contains("over 2 of 2 rails"), "{said:?}");
}

#[tokio::test]
async fn our_direction_goes_on_while_the_peers_cannot_be_opened() {
    let mut both = Both::failing(&[], usize::MAX).await;
    both.until("failed; it is tried again there").await;
    let engine = both.server.engine.clone();
    while engine.reopened.load(Ordering::SeqCst) < 4 {
        tokio::task::yield_now().await;
    }
    assert_eq!(both.client.reopened.load(Ordering::SeqCst), 0);
    assert!(both.party.traffic.workers().iter().all(|worker| worker.restarts == 0));
    let said = both.end().await;
    assert!(!said.iter().any(|line| line.contains("its mlx5_1 failed")), "{said:?}");
}

#[tokio::test]
async fn both_directions_that_fail_at_a_time_come_back_together() {
    let mut both = Both::failing(&["mlx5_1"], 2).await;
    both.until("mlx5_1: back after").await;
    while both.server.lines().iter().all(|line| !line.contains("our direction: mlx5_1: back after")) {
        tokio::task::yield_now().await;
    }
    assert_eq!(both.party.traffic.workers()[1].restarts, 1);
    assert!(both.end().await.last().unwrap().contains("over 2 of 2 rails"));
}
