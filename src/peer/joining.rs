//! The part that both ends do alike: open the rails, tell each other the ends, connect.

use super::end::End;
use super::error::PeerError;
use super::gpus::{GpuMemory, Gpus};
use super::link::{Link, printable};
use super::message::{Message, Plan, Slot};
use super::party::Party;
use probes::load::{Endpoint, Role};
use probes::model::Failure;
use tokio::time::timeout;

/// Rails that are connected and wait for the word to go.
pub(super) struct Joined {
    /// The threads, and with which of the peer's they talk.
    pub party: Party,
    /// Threads that are not part of it, one line each.
    pub left_out: Vec<Failure>,
    /// Memory of GPUs on the two ends.
    pub gpus: Gpus,
}

/// Opens the rails of the plan, exchanges the ends and connects them.
///
/// A rail that fails on either end is left out; the others go on.
pub(super) async fn join(link: &mut Link, end: &End, plan: &Plan, role: Role) -> Result<Joined, PeerError> {
    let limit = link.timing().opening;
    let (topology, rails, params) = plan.for_end(role, end)?;
    let engine = end.engine.clone();
    let open = move || {
        let mut opened = engine.open(&topology, &rails, &params, role);
        let ends = opened.endpoints();
        (opened, ends)
    };
    let (opened, ours) = blocking(link, "opening the rails", open).await?;
    let mut ours: Vec<Result<Endpoint, String>> =
        ours.into_iter().map(|end| end.map_err(|error| error.to_string())).collect();
    ours.resize_with(plan.units(), || Err("the engine left it out".to_owned()));
    for (slot, end) in plan.slots().zip(&ours) {
        link.send(Message::Endpoint { slot, end: end.clone() }).await?;
    }

    let mut theirs: Vec<Option<Result<Endpoint, String>>> = vec![None; plan.units()];
    while theirs.iter().any(Option::is_none) {
        let message = link.next_within(limit, "its queue pairs").await?;
        let Message::Endpoint { slot, end } = message else {
            return Err(link.out_of_turn(&message, "one of its queue pairs"));
        };
        match plan.position(slot).and_then(|at| theirs.get_mut(at)) {
            Some(place) if place.is_none() => *place = Some(end),
            _ => return Err(link.out_of_turn(&Message::Endpoint { slot, end }, "another of its queue pairs")),
        }
    }

    let mut left_out: Vec<Failure> = Vec::new();
    let mut peers = Vec::new();
    for ((our, their), slot) in ours.iter().zip(theirs.into_iter().flatten()).zip(plan.slots()) {
        let usable = usable(plan, our, their, slot, (role, link.peer()));
        let device = plan.ports(role).nth(slot.line).map(|port| port.device.as_str());
        peers.push(usable.map_err(|reason| left_out.push(Failure::new(device, &reason))).ok());
    }
    let slots = plan.slots().zip(&peers).filter(|(_, peer)| peer.is_some()).map(|(slot, _)| slot).collect();
    if peers.iter().all(Option::is_none) {
        return Err(PeerError::Rails(in_words(&left_out)));
    }
    let gpus = Gpus {
        ours: GpuMemory::of(ours.iter().flatten(), end.gpu.as_ref()),
        theirs: GpuMemory::of(peers.iter().flatten(), None),
    };
    let asks_for_a_leg = plan.params.leg.is_some();
    let connect = move || {
        let traffic = opened.connect(peers).map_err(|error| error.to_string())?;
        match traffic.failures() {
            // half a test of legs would be taken for a whole one
            failures if asks_for_a_leg && !failures.is_empty() => Err(failures.join("; ")),
            _ => Ok(traffic),
        }
    };
    let connected = blocking(link, "connecting queue pairs", connect).await?;
    let traffic = connected.map_err(PeerError::Rails)?;

    link.send(Message::Ready).await?;
    match link.next_within(limit, "its word that it is ready").await? {
        Message::Ready => {
            let party = Party { traffic, slots, plan: plan.clone(), role };
            Ok(Joined { party, left_out, gpus })
        }
        other => Err(link.out_of_turn(&other, "`ready`")),
    }
}

fn in_words(left_out: &[Failure]) -> String {
    left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The peer's end of a thread, or why the thread is left out.
fn usable(
    plan: &Plan,
    ours: &Result<Endpoint, String>,
    theirs: Result<Endpoint, String>,
    slot: Slot,
    (role, peer): (Role, &str),
) -> Result<Endpoint, String> {
    let named = |role, reason: &str| {
        let device = plan.ports(role).nth(slot.line).map_or("", |port| port.device.as_str());
        // the engine names the rail itself, and the worker where there are several
        if reason.contains(device) {
            reason.to_owned()
        } else {
            format!("{}: {reason}", slot.of(plan, device))
        }
    };
    let ours = ours.as_ref().map_err(|reason| named(role, reason))?;
    let there = |reason: &str| format!("{peer}: {}", named(other(role), &printable(reason)));
    let theirs = theirs.map_err(|reason| there(&reason))?;
    plan.check_endpoint(&theirs, ours, other(role)).map_err(|reason| there(&reason))?;
    Ok(theirs)
}

pub(super) fn other(role: Role) -> Role {
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
