//! The part that both ends do alike: open the rails, tell each other the ends, connect.

use super::end::End;
use super::engine::Traffic;
use super::error::PeerError;
use super::link::{Link, printable};
use super::message::{Message, Plan, Port};
use probes::load::{Endpoint, Role};
use std::sync::Arc;
use tokio::time::timeout;

/// Rails that are connected and wait for the word to go.
pub(super) struct Joined {
    /// The traffic.
    pub traffic: Arc<dyn Traffic>,
    /// Rails that are not part of it, one line each.
    pub left_out: Vec<String>,
}

/// Opens the rails of the plan, exchanges the ends and connects them.
///
/// A rail that fails on either end is left out; the others go on.
pub(super) async fn join(link: &mut Link, end: &End, plan: &Plan, role: Role) -> Result<Joined, PeerError> {
    let limit = link.timing().opening;
    let (topology, rails, params) = plan.for_end(role, &end.topology)?;
    let engine = end.engine.clone();
    let open = move || {
        let mut opened = engine.open(&topology, &rails, &params, role);
        let ends = opened.endpoints();
        (opened, ends)
    };
    let (opened, ours) = blocking(link, "opening the rails", open).await?;
    let mut ours: Vec<Result<Endpoint, String>> =
        ours.into_iter().map(|end| end.map_err(|error| error.to_string())).collect();
    ours.resize_with(plan.lines.len(), || Err("the engine left it out".to_owned()));
    for (line, end) in ours.iter().enumerate() {
        link.send(Message::Endpoint { line, end: end.clone() }).await?;
    }

    let mut theirs: Vec<Option<Result<Endpoint, String>>> = vec![None; plan.lines.len()];
    while theirs.iter().any(Option::is_none) {
        match link.next_within(limit, "its queue pairs").await? {
            Message::Endpoint { line, end } if theirs.get(line).is_some_and(Option::is_none) => {
                theirs[line] = Some(end);
            }
            other => return Err(link.out_of_turn(&other, "one of its queue pairs")),
        }
    }

    let mut left_out = Vec::new();
    let mut peers = Vec::new();
    for ((our, their), (port, their_port)) in
        ours.iter().zip(theirs.into_iter().flatten()).zip(plan.ports(role).zip(plan.ports(other(role))))
    {
        let usable = usable(plan, our, their, (port, their_port), (role, link.peer()));
        peers.push(usable.map_err(|reason| left_out.push(reason)).ok());
    }
    if peers.iter().all(Option::is_none) {
        return Err(PeerError::Rails(left_out.join("; ")));
    }
    let connected = blocking(link, "connecting queue pairs", move || opened.connect(peers)).await?;
    let traffic = connected.map_err(|error| PeerError::Rails(error.to_string()))?;

    link.send(Message::Ready).await?;
    match link.next_within(limit, "its word that it is ready").await? {
        Message::Ready => Ok(Joined { traffic, left_out }),
        other => Err(link.out_of_turn(&other, "`ready`")),
    }
}

/// The peer's end of a line, or why the line is left out.
fn usable(
    plan: &Plan,
    ours: &Result<Endpoint, String>,
    theirs: Result<Endpoint, String>,
    (port, their_port): (&Port, &Port),
    (role, peer): (Role, &str),
) -> Result<Endpoint, String> {
    let ours = ours.as_ref().map_err(|reason| with_device(&port.device, reason))?;
    let there = |reason: &str| format!("{peer}: {}", with_device(&their_port.device, &printable(reason)));
    let theirs = theirs.map_err(|reason| there(&reason))?;
    plan.check_endpoint(&theirs, ours, other(role)).map_err(|reason| there(&reason))?;
    Ok(theirs)
}

/// The reason with its device before it, unless it begins with that already.
fn with_device(device: &str, reason: &str) -> String {
    if reason.starts_with(device) { reason.to_owned() } else { format!("{device}: {reason}") }
}

fn other(role: Role) -> Role {
    match role {
        Role::Reader => Role::Target,
        Role::Target => Role::Reader,
    }
}

/// Runs what blocks on a thread of its own while the heartbeat goes on; what it makes is dropped there
/// when the peer is gone before it is done.
async fn blocking<T: Send + 'static>(
    link: &mut Link,
    what: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, PeerError> {
    let limit = link.timing().opening;
    let work = tokio::task::spawn_blocking(work);
    let done = link.meanwhile(timeout(limit, work)).await?;
    let done = done.map_err(|_| PeerError::Rails(format!("{what} took more than {} s", limit.as_secs())))?;
    done.map_err(|error| PeerError::Rails(format!("{what}: {error}")))
}
