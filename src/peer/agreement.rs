//! `load` until every queue pair is ready: who the peer is, which rails, with what.

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
use crate::GENERATED_BY;
use crate::settings::Size;
use probes::load::{Params, Role, Shape, Transport, WorkingSet};
use probes::model::{Failure, LoadOp};
use probes::root::Root;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// What a load over TCP is, in one line.
const FUNCTIONAL_CHECK: &str = "over TCP from the rails' own addresses, every byte checked: a functional check, not a \
                                performance figure";

/// What a striped load is, one line each.
const STRIPED: [&str; 3] = [
    "each thread waits for all of a batch before it posts the next, so the slowest rail holds up the others",
    "latency is that of a whole batch; a rail that fails is not tried again",
    "perftest has no such shape, so there is no line for it",
];

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

    /// What was agreed in words, one line each: what is read, over which rails, and what is left out and why.
    ///
    /// `read_depths` is what our devices use.
    #[must_use]
    pub fn introduction(&self, read_depths: &[(String, Option<u32>)]) -> Vec<String> {
        let params = &self.plan.params;
        let host = &self.peer.host;
        let here = if self.loopback { ", which is this machine: loopback, no fabric" } else { "" };
        let amount = self.plan.amount();
        let (doing, both) = match params.op {
            LoadOp::Read => (format!("reading {amount} from"), ", which reads from here at the same time"),
            LoadOp::Write => (format!("writing {amount} to"), ", which writes to here at the same time"),
        };
        let both = if params.bidirectional { both } else { "" };
        let arrow = match (params.bidirectional, params.op) {
            (true, _) => "<->",
            (false, LoadOp::Read) => "<-",
            (false, LoadOp::Write) => "->",
        };
        let mut lines = vec![format!("{doing} {host} ({}){here}{both}", self.address)];
        if params.transport == Transport::Tcp {
            lines.push(FUNCTIONAL_CHECK.to_owned());
        }
        for pair in &self.matching.pairs {
            if let (Some(our), Some(their)) = (self.ours.get(pair.ours), self.theirs.get(pair.theirs)) {
                lines.push(format!("  {our} {arrow} {their} ({})", pair.by));
            }
        }
        lines.extend(self.matching.unmatched.iter().map(|u| format!("left out: {}: {}", u.device, u.reason)));
        lines.extend(self.left_out.iter().map(|line| format!("left out: {line}")));
        let unused = self.theirs.iter().enumerate();
        let unused = unused.filter(|(at, _)| self.matching.pairs.iter().all(|pair| pair.theirs != *at));
        lines.extend(unused.map(|(_, their)| format!("not used of {host}: {their}")));
        if let WorkingSet::Bytes(bytes) = params.working_set {
            lines.push(format!(
                "working set {} a rail on both ends, every place as often as any other",
                Size(bytes)
            ));
        }
        if params.transport == Transport::Verbs {
            let sample = params.sampled_check();
            lines.extend(sample.map(|part| format!("data are checked at the end by a sample: {part}")));
        }
        let Gpus { ours, theirs } = &self.gpus;
        lines.extend(ours.as_ref().map(|gpu| format!("data here: in the memory of {gpu}")));
        lines.extend(theirs.as_ref().map(|gpu| format!("data of {host}: in the memory of its {gpu}")));
        if let Some(leg) = params.leg {
            let who = match (params.bidirectional, params.op) {
                (true, _) => "both ends send".to_owned(),
                (false, LoadOp::Read) => format!("{host} sends"),
                (false, LoadOp::Write) => "this host sends".to_owned(),
            };
            lines.push(format!(
                "leg {leg} of each bond: {who} on it, as set and looked at; which leg receives is the switch's choice"
            ));
        }
        if let Some(rate) = params.rate_gb_per_s {
            lines.push(format!("at most {rate} GB/s a rail: what is found is not what the rails can do"));
        }
        if params.shape == Shape::Striped {
            lines.extend(STRIPED.map(str::to_owned));
        } else if params.transport == Transport::Verbs {
            let (chain, signal) = params.chain_and_signal();
            let requests = if chain == 1 { "request" } else { "requests" };
            lines
                .push(format!("{chain} {requests} a doorbell, a completion for {signal}, whatever the size"));
            lines.extend(changed(params));
        }
        if params.traffic_class != 0 {
            lines.push(format!("traffic class {}", params.traffic_class));
        }
        if params.op == LoadOp::Write && params.read_depth.is_some() {
            lines.push("--read-depth (-o) is ignored: WRITEs are bound by --depth (-t) alone".to_owned());
        }
        if let Some(asked) = params.read_depth.filter(|_| params.op == LoadOp::Read) {
            let less = read_depths.iter().filter_map(|(device, depth)| Some((device, (*depth)?)));
            let less = less.filter(|(_, depth)| *depth < asked);
            lines.extend(less.map(|(device, depth)| {
                format!("{device}: READ depth {depth}, not {asked}: one of the two ends can do no more")
            }));
        }
        if self.sight.is_some() {
            lines.push(format!(
                "{host} tells what it sees of itself, a sample each second: the session has both hosts"
            ));
        }
        if self.peer.version != env!("CARGO_PKG_VERSION") {
            lines.push(format!("{host} runs railscope {}, this is {GENERATED_BY}", self.peer.version));
        }
        lines
    }
}

/// What was asked of the send queue and is done otherwise, one line each.
fn changed(params: &Params) -> Vec<String> {
    let (chain, signal) = params.chain_and_signal();
    let depth = params.depth;
    let asked = [
        (
            "--chain (-l)",
            params.chain,
            chain,
            format!("a doorbell rings for no more than --depth (-t) {depth} has"),
        ),
        (
            "--cq-mod (-Q)",
            params.cq_mod,
            signal,
            format!("whole doorbells, and at least two completions a round of --depth (-t) {depth}"),
        ),
    ];
    let changed = asked.into_iter().filter_map(|(flag, asked, done, why)| {
        let asked = asked.filter(|asked| *asked != done)?;
        Some(format!("{flag} {asked} becomes {done}: {why}"))
    });
    changed.collect()
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

#[cfg(test)]
mod tests {
    use super::Agreed;
    use crate::peer::fake;
    use crate::peer::gpus::{GpuMemory, Gpus};
    use crate::peer::matching::matching;
    use crate::peer::message::Plan;
    use probes::load::Params;
    use probes::model::{Failure, Registered};

    #[test]
    fn the_introduction_says_what_is_read_and_what_is_left_out() {
        let (mut ours, theirs) = (fake::end("n1", 1), fake::end("n2", 2));
        ours.offers[1].state = Some("DOWN".to_owned());
        let matching = matching(&ours.offers, &theirs.offers);
        let params = Params { read_depth: Some(64), leg: Some(2), ..Params::default() };
        let agreed = Agreed {
            address: "192.168.0.2".parse().unwrap(),
            port: 18520,
            loopback: false,
            plan: Plan::new(&matching, &ours.offers, &theirs.offers, params).unwrap(),
            matching,
            ours: ours.offers,
            theirs: theirs.offers,
            left_out: vec![Failure::new(Some("mlx5_9"), "mlx5_9: no memory")],
            gpus: Gpus {
                ours: None,
                theirs: Some(GpuMemory { number: 3, facts: None, ways: vec![Registered::Peermem] }),
            },
            peer: theirs.me,
            sight: None,
            tells: false,
        };
        assert_eq!(
            agreed.introduction(&[("mlx5_0".to_owned(), Some(16))]),
            [
                "reading 64K x 4 queue pairs a rail from n2 (192.168.0.2)",
                "  mlx5_0 10.0.0.1, node unknown <- mlx5_0 10.0.0.2, node unknown (same name, same subnet)",
                "left out: mlx5_1: it is DOWN",
                "left out: mlx5_9: no memory",
                "not used of n2: mlx5_1 10.0.1.2, node unknown",
                "data of n2: in the memory of its GPU 3, registered through peer memory",
                "leg 2 of each bond: n2 sends on it, as set and looked at; which leg receives is the switch's choice",
                "16 requests a doorbell, a completion for 16, whatever the size",
                "mlx5_0: READ depth 16, not 64: one of the two ends can do no more",
            ]
        );
        assert_eq!(agreed.pairs()["mlx5_0"], "mlx5_0");
        let older = "its railscope 0.1.0 does not tell what it counts";
        assert_eq!(agreed.why_unseen().as_deref(), Some(older));
    }

    #[test]
    fn a_request_that_is_changed_is_said() {
        let changed =
            |chain, cq_mod| super::changed(&Params { depth: 128, chain, cq_mod, ..Params::default() });
        assert_eq!(changed(None, None), [""; 0]);
        assert_eq!(changed(Some(4), Some(16)), [""; 0]);
        assert_eq!(
            changed(None, Some(200)),
            [
                "--cq-mod (-Q) 200 becomes 64: whole doorbells, and at least two completions a round of --depth (-t) 128"
            ]
        );
        assert_eq!(
            changed(Some(200), None),
            ["--chain (-l) 200 becomes 128: a doorbell rings for no more than --depth (-t) 128 has"]
        );
    }
}
