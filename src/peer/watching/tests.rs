use super::Watching;
use crate::peer::fake;
use crate::peer::link::{Link, Timing};
use crate::peer::message::{Message, Progress};
use probes::load::{Params, Role};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::duplex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// What the server says to a client that goes on for ever, and after how many seconds.
async fn shown_out(params: Params, tells: bool) -> (String, u64) {
    let (near, far) = duplex(1 << 16);
    let greet = |stream, name: &str| Link::greet(stream, name.to_owned(), Timing::default());
    let (server, client) = tokio::join!(greet(near, "n1"), greet(far, "n2"));
    let (mut server, client) = (server.unwrap(), client.unwrap());
    let client = tokio::spawn(async move {
        while !tells || client.send(Message::Progress(Progress::default())).await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    });
    let (_stop, mut ended) = watch::channel(None);
    let (party, since) = (fake::party(params, Role::Target), Instant::now());
    let watching = Watching::new(&mut server, &party, Arc::new(|_: &str| {}));
    let said = watching.watch(&mut ended).await.unwrap_err().to_string();
    client.abort();
    (said, since.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_client_that_only_stays_alive_is_shown_out_after_a_minute() {
    let (said, after_s) = shown_out(Params::default(), false).await;
    assert_eq!(said, "n1 is shown out: it has not told for 60 s how far its load is");
    assert_eq!(after_s, 60);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_on_long_after_its_time_is_shown_out() {
    let params = Params { warmup_s: 2.0, duration_s: Some(10.0), ..Params::default() };
    let (said, after_s) = shown_out(params, true).await;
    assert_eq!(said, "n1 is shown out: its load goes on long after the time of its plan");
    assert_eq!(after_s, 84);
}
