//! What was typed after `railscope load`, as parameters of a load.

use super::plan::{MOST_RATE_GB_PER_S, rate_is_possible, too_few_qps};
use super::target::Target;
use crate::cli::{Carrier, LoadArgs, LoadKnobs, Op, Spread};
use crate::settings::Size;
use probes::caches::{cold_bytes, last_level_bytes};
use probes::load::{Params, Place, Shape, Transport, WorkingSet};
use probes::model::{CpuSet, LoadOp};
use probes::root::Root;

/// The parameters that the flags ask for.
///
/// # Errors
///
/// The placement is none, the path MTU no number, or there are fewer queue pairs than threads.
pub fn params(args: &LoadArgs) -> Result<Params, String> {
    if args.operations.is_some() && args.common.duration.is_some() {
        return Err("--operations (-n) and --for (-D): both say when the load ends; give one".to_owned());
    }
    let shape = args.shape.unwrap_or_default();
    if args.batch.is_some() && shape == Spread::PerRail {
        return Err("--batch: only a striped load has batches; add --shape striped".to_owned());
    }
    let usual = Params::default();
    let params = Params {
        shape: match shape {
            Spread::PerRail => Shape::PerRail,
            Spread::Striped => Shape::Striped,
        },
        batch: args.batch.unwrap_or(usual.batch),
        transport: match args.transport {
            Carrier::Verbs | Carrier::Sim => Transport::Verbs,
            Carrier::Tcp => Transport::Tcp,
        },
        workers: args.workers.unwrap_or(usual.workers),
        qps: args.qps,
        size_bytes: args.size.map_or(usual.size_bytes, |size| size.0),
        operations: args.operations,
        leg: args.leg,
        duration_s: args.common.duration.map(|period| period.0.as_secs_f64()),
        ..knobs(&args.knobs)?
    };
    params.check_transport()?;
    params.check_shape(None)?;
    params.check_working_set()?;
    if params.workers > params.qps { Err(too_few_qps(&params)) } else { Ok(params) }
}

/// The parameters that `load` and `sweep` have in common.
///
/// # Errors
///
/// The placement or the working set is none, or the path MTU no number.
pub fn knobs(args: &LoadKnobs) -> Result<Params, String> {
    for (flag, given) in [("--chain (-l)", args.chain), ("--cq-mod (-Q)", args.cq_mod)] {
        if let Some(given) = given.filter(|given| *given > args.depth) {
            return Err(format!(
                "{flag} {given}: a queue pair holds {} work requests; ask for less, or for --depth (-t) {given}",
                args.depth
            ));
        }
    }
    let path_mtu = args.mtu.as_deref().map(|mtu| mtu.parse().map_err(|_| format!("`{mtu}` is no path MTU")));
    Ok(Params {
        op: match args.op.unwrap_or_default() {
            Op::Read => LoadOp::Read,
            Op::Write => LoadOp::Write,
        },
        bidirectional: args.bidirectional,
        depth: args.depth,
        read_depth: args.read_depth,
        chain: args.chain,
        cq_mod: args.cq_mod,
        timeout: args.timeout,
        traffic_class: args.tclass,
        place: place(&args.place)?,
        rate_gb_per_s: args.rate.map(rate).transpose()?,
        working_set: working_set(&args.working_set, last_level_bytes(&Root::live()))?,
        memory: args.memory,
        gid_index: args.gid_index,
        path_mtu: path_mtu.transpose()?,
        warmup_s: args.warmup.0.as_secs_f64(),
        ..Params::default()
    })
}

/// The peer that the flags name.
///
/// # Errors
///
/// It is no host, or its port is given twice.
pub fn target(args: &LoadKnobs) -> Result<Target, String> {
    let Some(peer) = &args.peer else {
        return Err("PEER is missing: name the host that runs `railscope serve`".to_owned());
    };
    let (target, named) = Target::parse_with_port(peer)?;
    match args.port {
        Some(port) if named => {
            Err(format!("{peer} and --port (-p) {port}: both name the port of the peer; give one"))
        }
        Some(port) => Ok(Target { port, ..target }),
        None => Ok(target),
    }
}

/// A rate as typed, GB/s.
fn rate(gb_per_s: f64) -> Result<f64, String> {
    if rate_is_possible(gb_per_s) {
        Ok(gb_per_s)
    } else {
        Err(format!("--rate {gb_per_s}: GB/s per rail, above 0 and up to {MOST_RATE_GB_PER_S}"))
    }
}

/// Memory per rail that this host's caches do not hold, as `--working-set cold` asks for it.
#[must_use]
pub fn cold() -> WorkingSet {
    WorkingSet::Bytes(cold_bytes(last_level_bytes(&Root::live())))
}

/// A working set as typed: `hot`, `cold` or bytes a rail.
fn working_set(text: &str, caches_bytes: Option<u64>) -> Result<WorkingSet, String> {
    // larger than a message may be
    let huge = |text: &str| {
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
        let shift = match unit.to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
            "g" => 30,
            "t" => 40,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
    };
    match text {
        "hot" => Ok(WorkingSet::Hot),
        "cold" => Ok(WorkingSet::Bytes(cold_bytes(caches_bytes))),
        _ => huge(text)
            .or_else(|| text.parse::<Size>().ok().map(|size| size.0))
            .map(WorkingSet::Bytes)
            .ok_or_else(|| format!("--working-set `{text}`: write hot, cold, or a size such as 512M or 4G")),
    }
}

/// What `--working-set cold` came to on this host, and why; `None` for any other.
#[must_use]
pub fn cold_words(args: &LoadKnobs) -> Option<String> {
    if args.working_set != "cold" {
        return None;
    }
    Some(match last_level_bytes(&Root::live()) {
        Some(bytes) => format!(
            "cold: {} a rail, for {} of last-level caches on this host",
            Size(cold_bytes(Some(bytes))),
            Size(bytes)
        ),
        None => format!(
            "cold: {} a rail; how large the caches of this host are is not known (/sys/devices/system/cpu/*/cache)",
            Size(cold_bytes(None))
        ),
    })
}

/// A placement as typed: `local`, `remote`, `none`, `cpu:N,mem:M` or a CPU list.
fn place(text: &str) -> Result<Place, String> {
    let nodes = |text: &str| {
        let (cpu, mem) = text.strip_prefix("cpu:")?.split_once(",mem:")?;
        Some(Place::Nodes { cpu: cpu.parse().ok()?, mem: mem.parse().ok()? })
    };
    match text {
        "local" => Ok(Place::Local),
        "remote" => Ok(Place::Remote),
        "none" => Ok(Place::None),
        _ => nodes(text)
            .or_else(|| text.parse::<CpuSet>().ok().filter(|cpus| !cpus.is_empty()).map(Place::Cpus))
            .ok_or_else(|| {
                format!(
                    "--place `{text}`: write local, remote, none, cpu:N,mem:M (NUMA nodes), or a CPU list such \
                     as 0-3,8"
                )
            }),
    }
}

#[cfg(test)]
mod tests;
