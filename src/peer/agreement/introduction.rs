//! What was agreed in words, before anything moves.

use super::super::gpus::Gpus;
use super::Agreed;
use crate::GENERATED_BY;
use crate::settings::Size;
use probes::load::{Params, Shape, Transport, WorkingSet};
use probes::model::LoadOp;

/// What a load over TCP is, in one line.
const FUNCTIONAL_CHECK: &str = "over TCP from the rails' own addresses, every byte checked: a functional check, not a \
                                performance figure";

/// What a striped load is, one line each.
const STRIPED: [&str; 3] = [
    "each thread waits for all of a batch before it posts the next, so the slowest rail holds up the others",
    "latency is that of a whole batch; a rail that fails is not tried again",
    "perftest has no such shape, so there is no line for it",
];

impl Agreed {
    /// What was agreed in words, one line each: what is read, over which rails, and what is left out and why.
    ///
    /// `read_depths` is what our devices use.
    #[must_use]
    pub fn introduction(&self, read_depths: &[(String, Option<u32>)]) -> Vec<String> {
        let params = &self.plan.params;
        let host = &self.peer.host;
        let mut lines = vec![self.direction()];
        if params.transport == Transport::Tcp {
            lines.push(FUNCTIONAL_CHECK.to_owned());
        }
        lines.extend(self.rails());
        lines.extend(self.memory());
        lines.extend(params.leg.map(|leg| self.leg(leg)));
        if let Some(rate) = params.rate_gb_per_s {
            lines.push(format!("at most {rate} GB/s a rail: what is found is not what the rails can do"));
        }
        if params.shape == Shape::Striped {
            lines.extend(STRIPED.map(str::to_owned));
        } else if params.transport == Transport::Verbs {
            lines.extend(send_queue(params));
        }
        if params.traffic_class != 0 {
            lines.push(format!("traffic class {}", params.traffic_class));
        }
        lines.extend(read_depth(params, read_depths));
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

    /// What is read or written, and whom from or to.
    fn direction(&self) -> String {
        let params = &self.plan.params;
        let here = if self.loopback { ", which is this machine: loopback, no fabric" } else { "" };
        let amount = self.plan.amount();
        let (doing, both) = match params.op {
            LoadOp::Read => (format!("reading {amount} from"), ", which reads from here at the same time"),
            LoadOp::Write => (format!("writing {amount} to"), ", which writes to here at the same time"),
        };
        let both = if params.bidirectional { both } else { "" };
        format!("{doing} {} ({}){here}{both}", self.peer.host, self.address)
    }

    /// Which rails go together, and which are left out or not used.
    fn rails(&self) -> Vec<String> {
        let params = &self.plan.params;
        let host = &self.peer.host;
        let arrow = match (params.bidirectional, params.op) {
            (true, _) => "<->",
            (false, LoadOp::Read) => "<-",
            (false, LoadOp::Write) => "->",
        };
        let mut lines = Vec::new();
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
        lines
    }

    /// How much memory the operations go over, how it is looked at in the end, and whose it is.
    fn memory(&self) -> Vec<String> {
        let params = &self.plan.params;
        let mut lines = Vec::new();
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
        let host = &self.peer.host;
        lines.extend(ours.as_ref().map(|gpu| format!("data here: in the memory of {gpu}")));
        lines.extend(theirs.as_ref().map(|gpu| format!("data of {host}: in the memory of its {gpu}")));
        lines
    }

    /// Who sends on this leg of each bond.
    fn leg(&self, leg: u32) -> String {
        let params = &self.plan.params;
        let who = match (params.bidirectional, params.op) {
            (true, _) => "both ends send".to_owned(),
            (false, LoadOp::Read) => format!("{} sends", self.peer.host),
            (false, LoadOp::Write) => "this host sends".to_owned(),
        };
        format!(
            "leg {leg} of each bond: {who} on it, as set and looked at; which leg receives is the switch's choice"
        )
    }
}

/// How requests are posted, and what of that was asked for otherwise.
fn send_queue(params: &Params) -> Vec<String> {
    let (chain, signal) = params.chain_and_signal();
    let requests = if chain == 1 { "request" } else { "requests" };
    let mut lines =
        vec![format!("{chain} {requests} a doorbell, a completion for {signal}, whatever the size")];
    lines.extend(changed(params));
    lines
}

/// Where the READ depth that was asked for is not the one that is used.
fn read_depth(params: &Params, used: &[(String, Option<u32>)]) -> Vec<String> {
    match (params.op, params.read_depth) {
        (_, None) => Vec::new(),
        (LoadOp::Write, Some(_)) => {
            vec!["--read-depth (-o) is ignored: WRITEs are bound by --depth (-t) alone".to_owned()]
        }
        (LoadOp::Read, Some(asked)) => {
            let less = used.iter().filter_map(|(device, depth)| Some((device, (*depth)?)));
            let less = less.filter(|(_, depth)| *depth < asked);
            less.map(|(device, depth)| {
                format!("{device}: READ depth {depth}, not {asked}: one of the two ends can do no more")
            })
            .collect()
        }
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
