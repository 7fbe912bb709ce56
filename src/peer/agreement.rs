//! `load` until every queue pair is ready: who the peer is, which rails, with what.

use super::end::End;
use super::engine::Traffic;
use super::error::PeerError;
use super::joining::join;
use super::link::{Link, printable};
use super::matching::{Matching, matching};
use super::message::{Hello, Message, Plan};
use super::offer::{Offer, listed};
use super::target::Target;
use probes::load::{Params, Role};
use std::net::IpAddr;
use std::sync::Arc;

/// What was agreed with the peer before anything moved.
#[derive(Clone, Debug)]
pub struct Agreed {
    /// The peer.
    pub peer: Hello,
    /// Its address.
    pub address: IpAddr,
    /// Whether the peer is this machine.
    pub loopback: bool,
    /// Which rails go together, and which do not.
    pub matching: Matching,
    /// Our rails.
    pub ours: Vec<Offer>,
    /// The peer's rails.
    pub theirs: Vec<Offer>,
    /// Rails of the plan that failed on one end, one line each.
    pub left_out: Vec<String>,
    /// What both ends opened.
    pub plan: Plan,
}

/// From the first packet until every queue pair on both ends is ready.
pub(super) async fn negotiate(
    end: &End,
    target: &Target,
    params: Params,
    interrupted: &mut (impl Future<Output = &'static str> + Unpin),
) -> Result<(Link, Agreed, Arc<dyn Traffic>), PeerError> {
    let greet = async {
        let (stream, address) = target.connect(end.timing.answer).await?;
        let link = Link::greet(stream, target.to_string(), end.timing).await?;
        Ok((link, address.ip().to_canonical()))
    };
    let (mut link, address) = tokio::select! {
        greeted = greet => greeted?,
        signal = &mut *interrupted => return Err(PeerError::StoppedHere(signal)),
    };
    let agreed = tokio::select! {
        agreed = agree(&mut link, end, address, params) => agreed,
        signal = interrupted => Err(PeerError::StoppedHere(signal)),
    };
    match agreed {
        Ok((agreed, traffic)) => Ok((link, agreed, traffic)),
        Err(error) => {
            let parting = match &error {
                PeerError::StoppedHere(_) => Some(Message::Bye { reason: error.to_string() }),
                error if error.is_ours() => Some(Message::Error { text: error.to_string() }),
                _ => None,
            };
            if let Some(parting) = parting {
                let _ = link.send(parting).await;
            }
            link.close().await;
            Err(error)
        }
    }
}

async fn agree(
    link: &mut Link,
    end: &End,
    address: IpAddr,
    params: Params,
) -> Result<(Agreed, Arc<dyn Traffic>), PeerError> {
    let limit = link.timing().answer;
    link.send(Message::Hello(end.me.clone())).await?;
    let peer = match link.next_within(limit, "its name").await? {
        Message::Hello(hello) => Hello { host: printable(&hello.host), ..hello },
        other => return Err(link.out_of_turn(&other, "`hello`")),
    };
    link.rename(format!("{} ({address})", peer.host));
    let theirs = match link.next_within(limit, "its rails").await? {
        Message::Rails { rails } => rails.into_iter().map(Offer::printable).collect::<Vec<_>>(),
        other => return Err(link.out_of_turn(&other, "`rails`")),
    };
    let matching = matching(&end.offers, &theirs);
    if matching.pairs.is_empty() {
        let reasons: Vec<String> =
            matching.unmatched.iter().map(|u| format!("{}: {}", u.device, u.reason)).collect();
        let reasons = listed(&reasons, "there is none");
        return Err(PeerError::NothingMatches { peer: link.peer().to_owned(), reasons });
    }
    let plan = Plan::new(&matching, &end.offers, &theirs, params)?;
    plan.check_memory(end.topology.host.memory_bytes)?;
    link.send(Message::Plan(plan.clone())).await?;
    let joined = join(link, end, &plan, Role::Reader).await?;
    let agreed = Agreed {
        loopback: end.me.is_same_machine(&peer).unwrap_or(joined.traffic.load().loopback),
        peer,
        address,
        matching,
        ours: end.offers.clone(),
        theirs,
        left_out: joined.left_out,
        plan,
    };
    Ok((agreed, joined.traffic))
}
