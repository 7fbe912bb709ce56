//! The same load in perftest's words, so that anyone can hold ours against the usual tool.

use super::agreement::Agreed;
use super::gpus::GpuMemory;
use super::offer::Offer;
use crate::cli::DEFAULT_PORT;
use probes::load::{Params, Place, Shape, Transport, Unit, WorkingSet};
use probes::model::{LinkLayer, LoadOp, RailId};
use std::fmt::Write;

/// First port of the commands; each has another so that all can run at once. perftest's own 18515 would soon meet the
/// port of `railscope serve`.
const FIRST_PORT: u16 = DEFAULT_PORT + 1;

/// Operations of a queue pair below which perftest does not go.
const FEWEST_OPERATIONS: u64 = 5;

/// What a device of ours uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// The device.
    pub device: String,
    /// READs outstanding per queue pair; `None` when not known.
    pub read_depth: Option<u32>,
    /// Node on which its first buffer lies; `None` where it was not bound.
    pub node: Option<u32>,
}

/// For each thread of each pair of rails the command for the peer and the one for this host: perftest has one thread
/// a process. None for a load over TCP, and none for a striped one: perftest has no such shape.
///
/// `used` is what our devices use; what is not in it is left to perftest.
#[must_use]
pub fn commands(agreed: &Agreed, used: &[Used]) -> Vec<String> {
    let params = &agreed.plan.params;
    if params.transport != Transport::Verbs || params.shape == Shape::Striped {
        return Vec::new();
    }
    let tool = match params.op {
        LoadOp::Read => "ib_read_bw",
        LoadOp::Write => "ib_write_bw",
    };
    let shares: Vec<u32> = Unit::all(&[RailId(0)], params).map(|unit| unit.qps).collect();
    let commands = agreed.matching.pairs.iter().flat_map(|pair| shares.iter().map(move |qps| (pair, *qps)));
    let ports = (FIRST_PORT..=u16::MAX).filter(|port| *port != agreed.port);
    let lines = commands.zip(ports).filter_map(|((pair, qps), port)| {
        let (ours, theirs) = (agreed.ours.get(pair.ours)?, agreed.theirs.get(pair.theirs)?);
        let used = used.iter().find(|used| used.device == ours.device);
        let read_depth = used.and_then(|used| used.read_depth);
        let common = common(agreed, (port, qps), read_depth, ours, theirs);
        let cuda = |gpu: &Option<GpuMemory>| gpu.as_ref().map(GpuMemory::perftest).unwrap_or_default();
        let (our_gpu, their_gpu) = (cuda(&agreed.gpus.ours), cuda(&agreed.gpus.theirs));
        let there = format!("{}{common}{their_gpu}", rail(theirs, pair.their_gid));
        let here = format!("{}{common}{our_gpu} {}", rail(ours, pair.our_gid), agreed.address);
        let there = format!("{}{tool}{there}", numactl(&Place::Local, theirs.numa_node));
        let node = match params.place {
            // which of the far ones it was
            Place::Remote => used.and_then(|used| used.node),
            _ => ours.numa_node,
        };
        let here = format!("{}{tool}{here}", numactl(&params.place, node));
        Some(format!("{}: on {}: {there}\n{}: here: {here}", ours.device, agreed.peer.host, ours.device))
    });
    lines.collect()
}

fn rail(offer: &Offer, gid_index: u32) -> String {
    let mut words = format!(" -d {} -i {}", offer.device, offer.port);
    if offer.link_layer != Some(LinkLayer::InfiniBand) {
        // writing to a String cannot fail
        let _ = write!(words, " -x {gid_index}");
    }
    words
}

fn common(
    agreed: &Agreed,
    (port, qps): (u16, u32),
    read_depth: Option<u32>,
    ours: &Offer,
    theirs: &Offer,
) -> String {
    let params = &agreed.plan.params;
    let mut words = format!(
        " -F -p {} -q {} -s {} -t {} -u {}",
        port, qps, params.size_bytes, params.depth, params.timeout
    );
    // perftest's own moderation depends on the message size
    let (_, signal) = params.chain_and_signal();
    let _ = write!(words, " -Q {signal}");
    let list = list(params);
    if let Some(chain) = list {
        let _ = write!(words, " -l {chain}");
    }
    if let Some(rate) = params.rate_gb_per_s {
        // its g are 10^9 bits
        let _ = write!(words, " --rate_limit {} --rate_units g --rate_limit_type SW", rate * 8.0);
    }
    if params.bidirectional {
        words.push_str(" -b");
    }
    if params.traffic_class != 0 {
        let _ = write!(words, " --tclass {}", params.traffic_class);
    }
    let mtu = params.path_mtu.or(ours.path_mtu.into_iter().chain(theirs.path_mtu).min());
    let read_depth = read_depth.filter(|_| params.op == LoadOp::Read);
    for (flag, value) in [("-o", read_depth), ("-m", mtu)] {
        if let Some(value) = value {
            let _ = write!(words, " {flag} {value}");
        }
    }
    match (params.duration_s, params.operations) {
        // perftest counts per queue pair, and only whole lists
        (_, Some(operations)) => {
            let each = operations.div_ceil(params.qps.max(1).into()).max(FEWEST_OPERATIONS);
            let _ = write!(words, " -n {}", each.next_multiple_of(list.unwrap_or(1).into()));
        }
        // perftest takes whole seconds, and measures what lies between two margins
        (Some(seconds), None) => {
            let margin = params.warmup_s.ceil();
            let _ = write!(words, " -f {margin} -D {}", seconds.ceil().max(1.0) + 2.0 * margin);
        }
        (None, None) => words.push_str(" --run_infinitely"),
    }
    words.push_str(" --report_gbits");
    words
}

/// Requests of a list (`-l`) as ours; `None` where each has a doorbell of its own, or where perftest takes no such list:
/// it refuses one that is no multiple of its `-Q` ("Post list size must be a multiple of CQ moderation").
fn list(params: &Params) -> Option<u32> {
    let (chain, signal) = params.chain_and_signal();
    (chain > 1 && chain.is_multiple_of(signal)).then_some(chain)
}

/// In what the commands and our load differ all the same, one line each.
#[must_use]
pub fn differences(agreed: &Agreed) -> Vec<String> {
    let params = &agreed.plan.params;
    if params.transport != Transport::Verbs || params.shape == Shape::Striped {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let (chain, signal) = params.chain_and_signal();
    if chain > 1 && list(params).is_none() {
        lines.push(format!(
            "perftest rings a doorbell for each request, ours for {chain}: it takes no -l {chain} with -Q {signal}"
        ));
    }
    if params.working_set != WorkingSet::Hot {
        lines.push("perftest stays in one hot buffer, whatever --working-set says".to_owned());
    }
    if params.bidirectional {
        lines.push("perftest prints the sum of both directions".to_owned());
    }
    if let Some(operations) = params.operations {
        let fewest = FEWEST_OPERATIONS.saturating_mul(params.qps.into());
        if operations < fewest {
            lines.push(format!(
                "perftest takes no fewer than {FEWEST_OPERATIONS} operations a queue pair, {fewest} in all; ours ends \
                 after {operations}"
            ));
        }
    }
    if let Some(seconds) = params.duration_s.filter(|_| params.operations.is_none())
        && (seconds.fract() != 0.0 || params.warmup_s.fract() != 0.0)
    {
        lines.push("perftest takes whole seconds: its window or its margins are longer than ours".to_owned());
    }
    lines
}

/// The words before a command that put it where our threads and buffers are.
fn numactl(place: &Place, nic: Option<u32>) -> String {
    match (place, nic) {
        (Place::Local | Place::Remote, Some(node)) => {
            format!("numactl --cpunodebind={node} --membind={node} ")
        }
        (Place::Nodes { cpu, mem }, _) => format!("numactl --cpunodebind={cpu} --membind={mem} "),
        (Place::Cpus(cpus), _) => format!("taskset -c {cpus} "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
