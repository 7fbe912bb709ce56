//! Two hosts' clocks: what one shows when the other shows something else.

use super::error::PeerError;
use super::link::Link;
use super::message::Message;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Questions asked of the peer's clock; the fastest answer counts.
const QUESTIONS: u32 = 8;

/// What [`now_ns`] counts from, in this process.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// This process's clock, nanoseconds: it never jumps, and means nothing to another process by itself.
pub(super) fn now_ns() -> i64 {
    ns(EPOCH.elapsed())
}

/// When a moment of the past was, on that clock.
pub(super) fn then_ns(then: Instant) -> i64 {
    now_ns().saturating_sub(ns(then.elapsed()))
}

fn ns(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// What the peer's clock shows more than ours, nanoseconds, to within half of the fastest of a few round trips: the answer
/// is taken to lie in the middle of it, as NTP does (RFC 5905, section 8).
///
/// # Errors
///
/// The peer is gone, or says something else.
pub(super) async fn ahead_ns(link: &mut Link) -> Result<i64, PeerError> {
    let limit = link.timing().answer;
    let mut best: Option<(i64, i64)> = None;
    for _ in 0..QUESTIONS {
        let asked = now_ns();
        link.send(Message::Clock { now_ns: asked }).await?;
        let theirs = match link.next_within(limit, "what its clock shows").await? {
            Message::Clock { now_ns } => now_ns,
            other => return Err(link.out_of_turn(&other, "`clock`")),
        };
        let trip = now_ns().saturating_sub(asked);
        let ahead = theirs.saturating_sub(asked.saturating_add(trip / 2));
        if best.is_none_or(|(fastest, _)| trip < fastest) {
            best = Some((trip, ahead));
        }
    }
    Ok(best.map_or(0, |(_, ahead)| ahead))
}
