//! `railscope pins`: where the users of the rails are, or a command that it starts, and what mends it.

use super::output::Output;
use crate::cli::PinsArgs;
use crate::pins::{Asked, Pins, Seen, judge};
use crate::printable::{Printable, tell};
use crate::session;
use crate::settings::{Common, Overlay};
use anyhow::{Context, bail, ensure};
use probes::model::{Process, ProcessSource, Session, Topology};
use probes::processes::{self, Watcher, parents, placement, registered};
use probes::root::Root;
use probes::times::nanoseconds;
use std::collections::BTreeMap;
use std::process::{Child, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks at a command under observation.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A look costs the command at most a fiftieth of its time.
const REST: u32 = 50;
/// How soon it is noticed that the command has ended.
const NOTICE: Duration = Duration::from_millis(20);

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: PinsArgs) -> anyhow::Result<ExitCode> {
    ensure!(args.pids.is_empty() || args.command.is_empty(), "either PIDs or a command after `--`, not both");
    ensure!(args.root.is_none() || args.command.is_empty(), "--root: a copied tree can start no command");
    let overlay = Overlay { fail_on: args.fail_on, ignore: args.ignore, ..Overlay::default() };
    let common =
        Common { overlay, root: args.root, config: args.config, json: args.json, ..Common::default() };
    let common = common.with_config()?;
    let session = session::look(&common)?;
    ensure!(
        !session.topology().rails.is_empty() || !args.pids.is_empty(),
        "no RDMA device is visible here, so no process uses a rail; `railscope probe` shows what there is, \
         `railscope pins PID` where a process is"
    );
    let root = common.root.as_ref().map_or_else(Root::live, Root::at);
    let mut topology = Topology::clone(session.topology());
    let mut watcher = Watcher::open(&root, &mut topology);
    let (seen, asked) = if args.command.is_empty() {
        let gaps = topology.gaps.iter().filter(|gap| gap.probe == "processes");
        let why: Vec<&str> = gaps.map(|gap| gap.reason.as_str()).collect();
        (by_id(&root, &mut watcher, &args.pids, &why.join("; "))?, None)
    } else {
        (under_observation(&root, &mut watcher, &args.command)?, Asked::of(&args.command))
    };
    let session = Arc::new(Session { hosts: vec![Arc::new(topology)], ..Session::clone(&session) });
    let pins = judge(&session, &seen, asked, &common.limits, common.ignore());
    print(&pins, common.json)?;
    Ok(ExitCode::from(u8::from(pins.worst().is_some_and(|worst| common.fail_on().fails(worst)))))
}

/// The processes with these ids, or all that use rails.
fn by_id(root: &Root, watcher: &mut Watcher, pids: &[u32], why: &str) -> anyhow::Result<Vec<Seen>> {
    let users = watcher.look(root, 0);
    if pids.is_empty() && users.is_none() {
        bail!("which processes use the rails is not known: {why}");
    }
    let users = users.unwrap_or_default();
    if pids.is_empty() {
        let mut ids: Vec<u32> = users.iter().map(|process| process.pid).collect();
        ids.dedup();
        return Ok(ids.iter().map(|pid| seen(root, *pid, &users, false)).collect());
    }
    pids.iter()
        .map(|pid| {
            let seen = seen(root, *pid, &users, true);
            match &seen.placement {
                Err(why) if seen.processes.iter().all(|process| process.device.is_empty()) => {
                    bail!("PID {pid}: {why}")
                }
                _ => Ok(seen),
            }
        })
        .collect()
}

/// What is to be seen of one process now.
fn seen(root: &Root, pid: u32, users: &[Process], whatever_it_costs: bool) -> Seen {
    let mut own: Vec<Process> = users.iter().filter(|user| user.pid == pid).cloned().collect();
    if own.is_empty() {
        own.push(without_rail(root, pid));
    }
    // a kernel before 4.17 does not tell them; then they are unknown
    let registered = registered(root).ok().map(|all| {
        let own = all.into_iter().filter(|((owner, _), _)| *owner == pid);
        own.map(|((_, device), registered)| (device, registered)).collect()
    });
    Seen { processes: own, placement: placement(root, pid, whatever_it_costs), registered }
}

/// A process that uses no rail.
fn without_rail(root: &Root, pid: u32) -> Process {
    Process {
        pid,
        name: root.text(format!("proc/{pid}/comm")).unwrap_or_default(),
        device: String::new(),
        queue_pairs: None,
        source: ProcessSource::OpenFile,
        cpus_allowed: None,
        bound_threads: Vec::new(),
        mems_allowed: None,
        last_cpus: Vec::new(),
        large_mapping_bytes_by_node: None,

        registered_large_bytes: None,

        gpu: None,
        rank: None,
    }
}

/// Starts the command, looks at it and all that it starts until it ends, and keeps of each process with a queue pair the
/// look that showed most of its memory.
fn under_observation(root: &Root, watcher: &mut Watcher, command: &[String]) -> anyhow::Result<Vec<Seen>> {
    let (program, arguments) = command.split_first().context("no command after `--`")?;
    let mut child = std::process::Command::new(program)
        .args(arguments)
        .spawn()
        .with_context(|| format!("`{program}` cannot be started"))?;
    let mut kept: BTreeMap<u32, Seen> = BTreeMap::new();
    let mut users = Vec::new();
    let mut looks = 0_u32;
    let begun = Instant::now();
    let status = loop {
        let look = Instant::now();
        let now_ns = nanoseconds(begun.elapsed());
        // `None`: as they were
        users = watcher.look(root, now_ns).unwrap_or(users);
        keep(&mut kept, root, &users, child.id());
        looks += 1;
        let rest = LOOK_EVERY.max(look.elapsed().saturating_mul(REST));
        if let Some(status) = ended_within(&mut child, rest)? {
            break status;
        }
    };
    if !status.success() {
        tell(format_args!("`{program}` ended with {status}"));
    }
    ensure!(
        !kept.is_empty(),
        "no process of `{}` had a queue pair on a rail of this host in {looks} {} over {:.1} s: nothing to judge",
        command.join(" "),
        if looks == 1 { "look" } else { "looks" },
        begun.elapsed().as_secs_f64(),
    );
    Ok(kept.into_values().collect())
}

/// Waits this long for the end of the command.
fn ended_within(child: &mut Child, rest: Duration) -> anyhow::Result<Option<std::process::ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("waiting for the command")? {
            return Ok(Some(status));
        }
        if begun.elapsed() >= rest {
            return Ok(None);
        }
        std::thread::sleep(NOTICE);
    }
}

/// Looks at those of the users that the command has started, itself among them.
fn keep(kept: &mut BTreeMap<u32, Seen>, root: &Root, users: &[Process], first: u32) {
    if users.is_empty() {
        return;
    }
    let parents = parents(root);
    for user in users {
        let is_known = kept.contains_key(&user.pid);
        // a process whose starter has ended is known from before
        if !is_known && !descends(user.pid, first, &parents) {
            continue;
        }
        let now = seen(root, user.pid, users, false);
        if kept.get(&user.pid).is_none_or(|before| memory_bytes(&now) >= memory_bytes(before)) {
            kept.insert(user.pid, now);
        }
    }
}

/// Whether `pid` is `first` or was started by it, over however many others.
fn descends(pid: u32, first: u32, parents: &BTreeMap<u32, u32>) -> bool {
    let mut at = pid;
    for _ in 0..parents.len().saturating_add(1) {
        if at == first {
            return true;
        }
        match parents.get(&at) {
            Some(parent) => at = *parent,
            None => return false,
        }
    }
    false
}

fn memory_bytes(seen: &Seen) -> u64 {
    let rows: &[processes::Mapped] = match &seen.placement {
        Ok(placement) => placement.memory.as_deref().unwrap_or_default(),
        Err(_) => &[],
    };
    rows.iter().flat_map(|row| row.bytes_by_node.values()).sum()
}

fn print(pins: &Pins, json: bool) -> anyhow::Result<()> {
    let text = if json {
        format!("{}\n", serde_json::to_string_pretty(pins).context("the placement as JSON")?)
    } else {
        Printable(pins).to_string()
    };
    Output::print(&text)
}

#[cfg(test)]
mod tests {
    use super::descends;

    #[test]
    fn what_a_launcher_starts_over_a_wrapper_is_its_own_and_a_circle_ends() {
        let parents = [(30, 20), (20, 10), (10, 1), (40, 1), (50, 51), (51, 50)].into();
        assert!(descends(30, 10, &parents) && descends(10, 10, &parents));
        assert!(!descends(40, 10, &parents) && !descends(50, 10, &parents) && !descends(99, 10, &parents));
    }
}
