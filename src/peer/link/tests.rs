use super::{Link, Timing, printable};
use crate::peer::error::PeerError;
use crate::peer::message::Message;
use crate::peer::wire::{write_greeting, write_message};
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};

async fn two_ends() -> (Link, Link) {
    let (a, b) = duplex(4096);
    let timing = Timing::default();
    let (a, b) = tokio::join!(Link::greet(a, "b".to_owned(), timing), Link::greet(b, "a".to_owned(), timing));
    (a.unwrap(), b.unwrap())
}

/// A greeted link and the bare other end.
async fn one_end() -> (Link, DuplexStream) {
    let (near, mut far) = duplex(1 << 16);
    write_greeting(&mut far, "near").await.unwrap();
    (Link::greet(near, "n2".to_owned(), Timing::default()).await.unwrap(), far)
}

#[tokio::test(start_paused = true)]
async fn two_live_ends_stay_together_without_a_word() {
    let (mut a, _b) = two_ends().await;
    let hour = std::time::Duration::from_hours(1);
    let late = a.next_within(hour, "anything").await.unwrap_err();
    assert!(matches!(late, PeerError::Late { .. }), "{late}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_stopped_is_noticed_in_three_seconds() {
    let (mut link, _far) = one_end().await;
    let before = tokio::time::Instant::now();
    let error = link.next().await.unwrap_err();
    assert!(error.to_string().starts_with("nothing heard from n2 for 3 s"), "{error}");
    assert_eq!(before.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn half_a_message_is_no_sign_of_life() {
    let (mut link, mut far) = one_end().await;
    far.write_all(&[0, 0, 0, 50, b'{']).await.unwrap();
    assert!(matches!(link.next().await, Err(PeerError::Silent { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_is_noticed() {
    let (near, mut far) = duplex(64);
    write_greeting(&mut far, "near").await.unwrap();
    let mut link = Link::greet(near, "n2".to_owned(), Timing::default()).await.unwrap();
    link.send(Message::Error { text: "x".repeat(1000) }).await.unwrap();
    assert!(matches!(link.next().await, Err(PeerError::Silent { .. })));
}

#[tokio::test]
async fn a_killed_peer_is_noticed_at_once() {
    let (mut link, far) = one_end().await;
    drop(far);
    assert!(matches!(link.next().await, Err(PeerError::Closed { .. })));
}

#[tokio::test]
async fn the_last_words_arrive_before_the_end() {
    let (a, mut b) = two_ends().await;
    a.send(Message::Bye { reason: "done".to_owned() }).await.unwrap();
    a.close().await;
    assert_eq!(b.next().await.unwrap(), Message::Bye { reason: "done".to_owned() });
    assert!(matches!(b.next().await, Err(PeerError::Closed { .. })));
}

#[tokio::test]
async fn what_comes_early_is_kept_for_its_turn() {
    let (mut link, mut far) = one_end().await;
    write_message(&mut far, &Message::Ready, "near").await.unwrap();
    let (done, work) = tokio::sync::oneshot::channel();
    let mut done = Some(done);
    while link.early.is_empty() {
        let once = async { tokio::task::yield_now().await };
        link.meanwhile(once).await.unwrap();
    }
    done.take().unwrap().send(7).unwrap();
    assert_eq!(link.meanwhile(work).await.unwrap(), Ok(7));
    assert_eq!(link.next().await.unwrap(), Message::Ready);
}

#[tokio::test]
async fn the_peers_own_error_is_quoted_on_one_line() {
    let (mut link, mut far) = one_end().await;
    let text = "mlx5_0: no\nmemory\x1b[2J".to_owned();
    write_message(&mut far, &Message::Error { text }, "near").await.unwrap();
    assert_eq!(link.next().await.unwrap_err().to_string(), "n2 says: mlx5_0: no memory [2J");
    assert_eq!(printable(&"x".repeat(9000)).chars().count(), 500);
    assert!(printable(&"x".repeat(501)).ends_with("xx…") && printable(&"x".repeat(500)).ends_with("xxx"));
}
