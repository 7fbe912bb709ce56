//! What stands below the table: the load, events, the host, what could not be learnt.

use super::super::{HostBlock, LatencyRow, LoadBlock, PerfRow, Report};
use super::wrap::Wrapped;
use super::{MOST_LISTED, failures, pages};
use probes::model::{Gap, LoadOp, LoadOrigin, PERF_GROUPS, WorkerPhase};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Formatter};

/// What is to be said of the means of a session that is a diagnosis.
pub(in crate::report) fn of_diagnosis(report: &Report) -> String {
    let count = report.session.planned_loads.unwrap_or_default();
    let loads = if count == 1 { "1 planned load".to_owned() } else { format!("{count} planned loads") };
    let where_told = match report.diagnosis {
        Some(_) => "what they showed stands above all this, and what each did",
        None => "what each showed stands",
    };
    format!(
        "A diagnosis: {loads}, one after the other. The rates above are means over all of them and the time between, so a \
         low one proves nothing; {where_told} in the Experiments view of `railscope replay FILE`."
    )
}

/// What is to be said of a load that the report does not have any more.
pub(in crate::report) const LOAD_IS_PAST: &str = "A load of railscope's ran, and had ended a minute or more before the end \
     of this: `--to` an earlier moment reports it.";

pub(super) fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    match &report.load {
        Some(load) => {
            write!(f, "{}", Wrapped { lead: "load: ", text: &of_load(load) })?;
            let messages = of_messages(load).join(", ");
            if !messages.is_empty() {
                write!(f, "{}", Wrapped { lead: "  ", text: &messages })?;
            }
            for leg in &load.legs {
                write!(f, "{}", Wrapped { lead: "  ", text: &leg.to_string() })?;
            }
            for sought in load.notably_sought() {
                write!(f, "{}", Wrapped { lead: "  ", text: &sought.to_string() })?;
            }
            if let Some(why) = &load.ended {
                write!(f, "{}", Wrapped { lead: "load ended before its time: ", text: why })?;
            }
            failures::write(f, load)?;
            if report.session.planned_loads.is_some() {
                write!(f, "{}", Wrapped { lead: "", text: &of_diagnosis(report) })?;
            }
        }
        None if report.session.planned_loads.is_some() => {
            write!(f, "{}", Wrapped { lead: "", text: &of_diagnosis(report) })?;
        }
        None if report.session.load_is_past => write!(f, "{}", Wrapped { lead: "", text: LOAD_IS_PAST })?,
        None if report.has_rates() => {
            writeln!(f, "No load ran: these are other programs' bytes, and a low rate proves nothing.")?;
        }
        None => {}
    }
    let events = &report.events;
    for event in events.iter().take(MOST_LISTED) {
        match &event.text {
            Some(text) => {
                let lead = format!("at {:.1} s: {} {}: ", event.at_s, event.device, event.what);
                write!(f, "{}", Wrapped { lead: &lead, text })?;
            }
            None => writeln!(f, "at {:.1} s: {} {}", event.at_s, event.device, event.what)?,
        }
    }
    more(f, events.len(), "events")?;
    let nodes = report.numa.len();
    write!(f, "{}", Wrapped { lead: "host: ", text: &of_host(&report.host, nodes) })?;
    let gaps = &report.gaps;
    if !gaps.is_empty() {
        writeln!(f, "not known:")?;
    }
    let gaps = alike(gaps);
    for ((probe, reason), subjects) in gaps.iter().take(MOST_LISTED) {
        let text = format!("{} ({probe}): {reason}", subjects.join(", "));
        write!(f, "{}", Wrapped { lead: "  - ", text: &text })?;
    }
    more(f, gaps.len(), "facts")
}

/// How many kinds of gaps there are, as the report counts and lists them.
#[must_use]
pub(crate) fn kinds_of_gaps(gaps: &[Gap]) -> usize {
    alike(gaps).len()
}

/// Gaps of one kind together: what differs is the subject, in the reason too (`ethtool-S/*`).
pub(in crate::report) fn alike(gaps: &[Gap]) -> BTreeMap<(&str, String), Vec<&str>> {
    let mut kinds: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for gap in gaps {
        let reason = starred(&gap.reason, &gap.subject);
        kinds.entry((&gap.probe, reason)).or_default().push(&gap.subject);
    }
    kinds
}

/// The text with a star for the device it is about, where that stands as a word of its own.
fn starred(text: &str, subject: &str) -> String {
    // what is said of the host is not said of several
    if subject.is_empty() || subject == "host" {
        return text.to_owned();
    }
    let belongs = |c: char| c.is_alphanumeric() || c == '_';
    let mut starred = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(subject) {
        let (before, after) = (&rest[..at], &rest[at + subject.len()..]);
        let is_word = !starred.chars().chain(before.chars()).next_back().is_some_and(belongs)
            && !after.chars().next().is_some_and(belongs);
        starred.push_str(before);
        starred.push_str(if is_word { "*" } else { subject });
        rest = after;
    }
    starred.push_str(rest);
    starred
}

fn more(f: &mut Formatter<'_>, count: usize, what: &str) -> fmt::Result {
    match count.checked_sub(MOST_LISTED) {
        None | Some(0) => Ok(()),
        Some(1) => writeln!(f, "  and one more of these {what}: --json lists it"),
        Some(more) => writeln!(f, "  and {more} more {what}: --json lists them"),
    }
}

pub(in crate::report) fn of_load(load: &LoadBlock) -> String {
    let op = match load.op {
        LoadOp::Read => "READ",
        LoadOp::Write => "WRITE",
    };
    let mut parts = vec![match (load.origin, load.simulated, &load.transport) {
        (LoadOrigin::Described, _, _) => format!("{op}, as described beside the tree"),
        (LoadOrigin::Ours, true, _) => format!("{op}, simulated"),
        (LoadOrigin::Ours, false, Some(transport)) => format!("{op} over {transport}"),
        (LoadOrigin::Ours, false, None) => op.to_owned(),
    }];
    if load.earlier_loads > 0 {
        parts.push(format!(
            "load {} of this session, and its figures are of it alone",
            load.earlier_loads + 1
        ));
    }
    if load.bidirectional {
        let peer = load.peer_gb_per_s.map_or("no data".into(), |rate| format!("{} GB/s", three_digits(rate)));
        parts.push(format!("both directions (the peer's own: {peer})"));
    }
    if load.functional_check {
        parts.push("a functional check, NOT a performance figure".into());
    }
    if load.loopback {
        parts.push("LOOPBACK, so no figure of the fabric".into());
    }
    parts.extend(load.size_bytes.map(|size| format!("{} messages", bytes(size))));
    parts.extend(
        load.qps
            .map(|n| if n == 1 { "1 queue pair a rail".into() } else { format!("{n} queue pairs a rail") }),
    );
    parts.extend(load.batch.map(|pages| format!("STRIPED in batches of {pages}, each awaited")));
    parts.extend(load.depth.map(|depth| format!("depth {depth}")));
    parts.extend(load.working_set_bytes.map(|set| format!("{} of memory a rail", bytes(set))));
    parts.extend(load.gpu.as_ref().map(|gpu| in_gpu(gpu, load)));
    parts.extend(load.leg.map(|leg| format!("SENT ON LEG {leg} of each bond")));
    parts.extend(load.rate_gb_per_s.map(|rate| format!("HELD to {rate} GB/s a rail")));
    parts.extend(load.cq_mod.map(|requests| match requests {
        1 => "a completion for each".into(),
        several => format!("a completion for {several}"),
    }));
    parts.extend(load.path_mtu.map(|mtu| format!("path MTU {mtu}")));
    parts.extend(load.read_depth.map(|depth| format!("READ depth {depth}")));
    parts.extend(load.workers.map(|n| if n == 1 { "1 thread".into() } else { format!("{n} threads") }));
    parts.extend(load.place.as_ref().map(|place| format!("placed {place}")));
    parts.extend(pages::of(load));
    if load.origin == LoadOrigin::Ours {
        parts.push(if load.errors.is_empty() { "no errors".into() } else { errors(&load.errors) });
        parts.extend(times_back(load.restarts));
        parts.extend(of_latency(&load.latency_us, load.batch.is_some()));
        parts.extend(of_perf(&load.perf));
    }
    parts.join(", ")
}

/// `data in gpu0 (dmabuf)`.
fn in_gpu(gpu: &str, load: &LoadBlock) -> String {
    let ways: BTreeSet<&str> =
        load.threads.iter().filter_map(|thread| Some(thread.registered?.word())).collect();
    match ways.len() {
        0 => format!("data in {gpu}"),
        _ => format!("data in {gpu} ({})", ways.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

/// How often a thread came back; `None` for never.
fn times_back(restarts: u64) -> Option<String> {
    match restarts {
        0 => None,
        1 => Some("came back once".to_owned()),
        times => Some(format!("came back {times} times")),
    }
}

/// `1.23 Mpps (4920000 messages), 4.10 done a poll, 12.3 % of polls empty`, and why there is no latency; nothing of a
/// simulation.
pub(in crate::report) fn of_messages(load: &LoadBlock) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    if load.origin != LoadOrigin::Ours || load.simulated {
        return parts;
    }
    parts.extend(load.mops.map(|mops| {
        let operations = load.operations.map_or(String::new(), |n| format!(" ({n} messages)"));
        format!("{} Mpps{operations}", figure(mops))
    }));
    parts.extend(load.operations_per_poll.map(|found| format!("{} done a poll", three_digits(found))));
    parts.extend(load.empty_poll_share.map(|share| format!("{:.1} % of polls empty", 100.0 * share)));
    parts.extend(load.latency_unknown.as_ref().map(|why| format!("latency {why}")));
    parts
}

/// Three digits of what may be small: `0.00123`.
fn figure(value: f64) -> String {
    match value {
        0.1.. => three_digits(value),
        0.01.. => format!("{value:.4}"),
        0.001.. => format!("{value:.5}"),
        _ => format!("{value:.6}"),
    }
}

/// `latency p50 12.3, p99 40.1, p99.9 80.2 µs`.
fn of_latency(latency: &LatencyRow, is_striped: bool) -> Option<String> {
    let named = [("p50", latency.p50), ("p99", latency.p99), ("p99.9", latency.p99_9)];
    let known = named.iter().filter_map(|(name, us)| Some(format!("{name} {}", three_digits((*us)?))));
    let known: Vec<String> = known.collect();
    let known = Some(known.join(", ")).filter(|known| !known.is_empty())?;
    Some(if is_striped {
        format!("latency of a whole batch {known} µs")
    } else {
        format!("latency {known} µs with its wait in the queue")
    })
}

/// As many decimals as three digits have: `0.213`, `12.3`, `4711`.
fn three_digits(value: f64) -> String {
    let decimals = if value < 1.0 {
        3
    } else if value < 10.0 {
        2
    } else {
        usize::from(value < 100.0)
    };
    format!("{value:.decimals$}")
}

/// `2 × RETRY_EXC_ERR`.
fn errors(by_status: &BTreeMap<String, u64>) -> String {
    let each: Vec<String> = by_status.iter().map(|(status, n)| format!("{n} × {status}")).collect();
    each.join(", ")
}

fn nothing(device: &str, duration_s: f64) -> String {
    format!(
        "{device}: no operation completed in {} s: nothing came back from the peer, and the queue pairs have not given \
         up yet (--timeout, a few seconds). Look at the path (ping -I its address, the switch port, its priority's \
         pauses), the path MTU of both ends (-m 1024), and whether `serve` still runs",
        three_digits(duration_s)
    )
}

/// Rails on which nothing moved, and those whose load met errors or stopped early, one a line; they have no finding code of their own.
pub(in crate::report) fn troubles(load: &LoadBlock, duration_s: f64) -> Vec<String> {
    let mut troubles: Vec<String> =
        load.silent().into_iter().map(|device| nothing(device, duration_s)).collect();
    for thread in &load.threads {
        let stopped = thread.phase == WorkerPhase::Failed;
        let what = match (thread.errors.is_empty(), stopped) {
            (true, false) => continue,
            (true, true) => "stopped by an error".to_owned(),
            (false, true) => format!("stopped by {}", errors(&thread.errors)),
            (false, false) => errors(&thread.errors),
        };
        let back = times_back(thread.restarts).map(|back| format!(", {back}")).unwrap_or_default();
        let worker = thread.number.map(|number| format!(", worker {number}")).unwrap_or_default();
        troubles.push(format!("load on {}{worker}: {what}{back}", thread.device));
    }
    troubles
}

fn of_perf(perf: &PerfRow) -> Vec<String> {
    let missed = perf.cache_misses.zip(perf.cache_references.filter(|references| *references > 0));
    let counted = [
        perf.instructions_per_cycle.map(|ipc| format!("{ipc:.2} instructions a cycle")),
        perf.effective_ghz.map(|ghz| format!("{ghz:.2} GHz")),
        perf.cycles_per_byte.map(|cycles| format!("{cycles:.3} cycles a byte")),
        missed.map(|(misses, of)| format!("{:.1} % cache misses", 100.0 * misses as f64 / of as f64)),
        perf.context_switches.map(|switches| format!("{switches} context switches")),
        perf.migrations.map(|migrations| format!("{migrations} migrations")),
    ];
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    // that a load is simulated is said of all of it; its threads do nothing that could be counted
    for (counter, why) in perf.unavailable.iter().filter(|(_, why)| *why != "simulated") {
        reasons.entry(why).or_default().push(counter);
    }
    let in_words =
        |counters: &[&str]| counters.iter().map(|name| counter_in_words(name)).collect::<Vec<_>>().join(", ");
    let reasons = reasons.iter().map(|(why, counters)| match of_cpu_alone(counters) {
        (others, true) => {
            format!("no {} ({why})", in_words(&[&["counters of the CPU"], &others[..]].concat()))
        }
        _ if counters.iter().any(|counter| perf.of_cpu(counter).is_some()) => {
            format!("{} {why}", in_words(counters))
        }
        _ => format!("no {} ({why})", in_words(counters)),
    });
    counted.into_iter().flatten().chain(reasons).collect()
}

/// `context switches` of `context_switches`, which is its key.
fn counter_in_words(name: &str) -> String {
    if name == "on_cpu_ns" { "time on the CPU".to_owned() } else { name.replace('_', " ") }
}

/// The counters that are not the CPU's, and whether all of the CPU's are among those given.
fn of_cpu_alone<'a>(counters: &[&'a str]) -> (Vec<&'a str>, bool) {
    let all: Vec<&str> = PERF_GROUPS.iter().flat_map(|group| group.counters).copied().collect();
    let others = counters.iter().copied().filter(|counter| !all.contains(counter)).collect();
    (others, all.iter().all(|counter| counters.contains(counter)))
}

pub(in crate::report) fn of_host(host: &HostBlock, nodes: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut add = |part: Option<String>| parts.extend(part);
    add(host.os.clone());
    add(host.kernel.as_ref().map(|kernel| format!("kernel {kernel}")));
    add(match (host.sockets, &host.cpu_model) {
        (Some(sockets), Some(model)) => Some(format!("{sockets} × {model}")),
        (None, model) => model.clone(),
        (Some(1), None) => Some("1 socket".to_owned()),
        (Some(sockets), None) => Some(format!("{sockets} sockets")),
    });
    add((nodes > 0).then(|| format!("{nodes} NUMA {}", if nodes == 1 { "node" } else { "nodes" })));
    add(host.memory_bytes.map(bytes));
    add(host.rdma_core.as_ref().map(|version| format!("rdma-core {version}")));
    add(host.ofed.clone());
    add(match (host.memlock_unlimited, host.memlock_bytes) {
        (Some(true), _) => Some("memlock unlimited".into()),
        (_, limit) => limit.map(|limit| format!("memlock {}", bytes(limit))),
    });
    add(host.numa_balancing.map(|on| format!("NUMA balancing {}", if on { "on" } else { "off" })));
    add(host.iommu.as_ref().map(|iommu| format!("IOMMU {iommu}")));
    if parts.is_empty() { "nothing known".into() } else { parts.join(", ") }
}

/// `64 KiB`, `2.2 TiB`.
fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if value.fract() == 0.0 { format!("{value} {unit}") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::starred;

    #[test]
    fn a_device_is_starred_as_a_word_and_the_host_never() {
        for (text, subject, expected) in [
            ("captured/ethtool-S/eth0: no such file", "eth0", "captured/ethtool-S/*: no such file"),
            ("eth0 and eth01 on veth0", "eth0", "* and eth01 on veth0"),
            (
                "the host's settings, hostname: no such file",
                "host",
                "the host's settings, hostname: no such file",
            ),
            ("nothing", "", "nothing"),
        ] {
            assert_eq!(starred(text, subject), expected);
        }
    }
}
