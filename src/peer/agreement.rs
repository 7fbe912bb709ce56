//! `load` until every queue pair is ready: who the peer is, which rails, with what.

mod introduction;

use super::end::End;
use super::error::PeerError;
use super::gpus::Gpus;
use super::joining::join;
use super::link::{Link, printable_name};
use super::matching::{Matching, matching};
use super::message::{Hello, Line, Message, Plan};
use super::offer::{Offer, listed};
use super::party::Party;
use super::proving::answer;
use super::sight::Sight;
use super::target::Target;
use probes::load::{Params, Role};
use probes::model::Failure;
use probes::root::Root;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// What was agreed with the peer before anything moved.
#[derive(Clone, Debug)]
pub struct Agreed {
    /// The peer.
    pub peer: Hello,
    /// Its address.
    pub address: IpAddr,
    /// TCP port on which its `serve` listens.
    pub port: u16,
    /// Whether the peer is this machine.
    pub loopback: bool,
    /// Which rails go together, and which do not.
    pub matching: Matching,
    /// Our rails.
    pub ours: Vec<Offer>,
    /// The peer's rails.
    pub theirs: Vec<Offer>,
    /// Rails of the plan that failed on one end, one line each.
    pub left_out: Vec<Failure>,
    /// What both ends opened.
    pub plan: Plan,
    /// Memory of GPUs that the data lie in.
    pub gpus: Gpus,
    /// The peer's host and its samples; `None` where it is this host, or does not tell.
    pub sight: Option<Arc<Sight>>,
    /// Whether the peer can tell of itself; older ones cannot.
    pub tells: bool,
}

impl Agreed {
    /// Our rails and those of the peer that they are connected with, by RDMA device.
    #[must_use]
    pub fn pairs(&self) -> BTreeMap<String, String> {
        let line = |line: &Line| (line.client.device.clone(), line.server.device.clone());
        self.plan.lines.iter().map(line).collect()
    }

    /// Why the peer's host is not seen beside ours; `None` where it is.
    #[must_use]
    pub fn why_unseen(&self) -> Option<String> {
        match &self.sight {
            Some(_) => None,
            None if self.loopback => {
                Some("it is this host: what it counts is counted here already".to_owned())
            }
            None if !self.tells => {
                Some(format!("its railscope {} does not tell what it counts", self.peer.version))
            }
            None => Some("it was not asked".to_owned()),
        }
    }
}

/// From the first packet until every queue pair on both ends is ready.
pub(super) async fn negotiate(
    end: &End,
    target: &Target,
    params: Params,
    interrupted: &mut (impl Future<Output = &'static str> + Unpin),
) -> Result<(Link, Agreed, Party), PeerError> {
    let greet = async {
        let (stream, address) = target.connect(end.timing.answer).await?;
        let link = Link::greet(stream, target.to_string(), end.timing).await?;
        Ok((link, SocketAddr::new(address.ip().to_canonical(), address.port())))
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
        Ok((agreed, party)) => Ok((link, agreed, party)),
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
    address: SocketAddr,
    params: Params,
) -> Result<(Agreed, Party), PeerError> {
    let (address, port) = (address.ip(), address.port());
    let limit = link.timing().answer;
    link.send(Message::Hello(end.me.clone())).await?;
    let first = link.next_within(limit, "its name").await?;
    let peer = match answer(link, end, first).await? {
        Message::Hello(hello) => {
            Hello { host: printable_name(&hello.host), version: printable_name(&hello.version), ..hello }
        }
        other => return Err(link.out_of_turn(&other, "`hello`")),
    };
    link.rename(format!("{} ({address})", peer.host));
    let (theirs, tells) = match link.next_within(limit, "its rails").await? {
        Message::Rails { rails, frames } => {
            (rails.into_iter().map(Offer::printable).collect::<Vec<_>>(), frames)
        }
        other => return Err(link.out_of_turn(&other, "`rails`")),
    };
    let matching = matching(&end.offers, &theirs);
    if matching.pairs.is_empty() {
        let reasons: Vec<String> =
            matching.unmatched.iter().map(|u| format!("{}: {}", u.device, u.reason)).collect();
        let reasons = listed(&reasons, "there is none");
        return Err(PeerError::NothingMatches { peer: link.peer().to_owned(), reasons });
    }
    // one machine need not be seen twice; two trees on it are two
    let is_apart = |root: &Root| !root.is_live() || end.me.is_same_machine(&peer) != Some(true);
    let wants_frames = tells && end.root.as_ref().is_some_and(is_apart);
    let plan = Plan { wants_frames, ..Plan::new(&matching, &end.offers, &theirs, params)? };
    plan.check_memory(end)?;
    link.send(Message::Plan(plan.clone())).await?;
    let joined = join(link, end, &plan, Role::Reader).await?;
    let sight = if wants_frames { Some(Arc::new(Sight::open(link).await?)) } else { None };
    let agreed = Agreed {
        port,
        loopback: end.me.is_same_machine(&peer).unwrap_or(joined.party.traffic.load().loopback),
        peer,
        address,
        matching,
        ours: end.offers.clone(),
        theirs,
        left_out: joined.left_out,
        plan,
        gpus: joined.gpus,
        sight,
        tells,
    };
    Ok((agreed, joined.party))
}
