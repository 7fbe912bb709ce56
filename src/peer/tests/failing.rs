//! Rails that fail on one end or on both.

use super::{Served, run, run_and_say};
use crate::peer::attendance::Ended;
use crate::peer::diary::Diary;
use crate::peer::fake::{self, Fake};
use crate::peer::server::Say;
use probes::model::Failure;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

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
