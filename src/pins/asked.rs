//! What was asked of `numactl` and `taskset` in a command, to be held against what came of it.

use super::pinned::LEAST_BYTES;
use crate::rules::Limits;
use probes::model::{CpuSet, Topology};
use probes::processes::Placement;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Options of `numactl` that take a value, short and long (numactl(8)).
const WITH_VALUE: [(char, &str); 7] = [
    ('i', "interleave"),
    ('w', "weighted-interleave"),
    ('p', "preferred"),
    ('P', "preferred-many"),
    ('m', "membind"),
    ('N', "cpunodebind"),
    ('C', "physcpubind"),
];

/// What the command was to be bound to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Asked {
    /// The words that ask for it: `numactl --cpunodebind=0 --membind=0`.
    pub words: Vec<String>,
    /// CPUs, as a list of their numbers.
    pub cpus: Option<CpuSet>,
    /// Nodes whose CPUs are meant.
    pub cpu_nodes: Option<CpuSet>,
    /// Nodes that memory was to come from, and from no other.
    pub memory_nodes: Option<CpuSet>,
    /// Values that are not plain numbers (`all`, `!0`, `netdev:eth0`): nothing is held against them.
    pub not_understood: Vec<String>,
}

impl Asked {
    /// What this command asks for; `None` where it does not begin with `numactl` or `taskset`.
    #[must_use]
    pub fn of(command: &[String]) -> Option<Self> {
        let mut asked = Self::default();
        let mut rest = command;
        while let Some(program) = rest.first() {
            let end = match Path::new(program).file_name().and_then(|name| name.to_str()) {
                Some("numactl") => asked.numactl(&rest[1..]),
                Some("taskset") => asked.taskset(&rest[1..]),
                _ => break,
            };
            let (own, others) = rest.split_at((end + 1).min(rest.len()));
            asked.words.extend(own.iter().cloned());
            rest = others;
        }
        (!asked.words.is_empty()).then_some(asked)
    }

    /// Takes numactl's own arguments; how many they are.
    fn numactl(&mut self, arguments: &[String]) -> usize {
        let mut at = 0;
        while let Some(word) = arguments.get(at) {
            at += 1;
            let (name, value) = match (word.strip_prefix("--"), word.strip_prefix('-')) {
                (Some(""), _) => break,
                (Some(long), _) => match long.split_once('=') {
                    Some((name, value)) => (long_name(name), Some(value.to_owned())),
                    None => (long_name(long), None),
                },
                (None, Some(short)) => {
                    let letter = short.chars().next();
                    let name = WITH_VALUE.iter().find(|(known, _)| Some(*known) == letter);
                    let value = short.get(1..).filter(|value| !value.is_empty());
                    (name.map(|(_, name)| *name), value.map(str::to_owned))
                }
                (None, None) => return at - 1,
            };
            let Some(name) = name else { continue };
            let value = value.or_else(|| {
                let next = arguments.get(at).cloned();
                at += 1;
                next
            });
            let target = match name {
                "membind" => &mut self.memory_nodes,
                "cpunodebind" => &mut self.cpu_nodes,
                "physcpubind" => &mut self.cpus,
                _ => continue,
            };
            match value.as_deref().map(str::parse::<CpuSet>) {
                Some(Ok(set)) => *target = Some(set),
                _ => self.not_understood.push(format!("--{name}={}", value.unwrap_or_default())),
            }
        }
        at.min(arguments.len())
    }

    /// Takes taskset's own arguments (`-c LIST` or a mask); how many they are.
    fn taskset(&mut self, arguments: &[String]) -> usize {
        let mut is_list = false;
        for (at, word) in arguments.iter().enumerate() {
            if word.starts_with('-') {
                is_list |= word == "--cpu-list" || (!word.starts_with("--") && word.contains('c'));
                continue;
            }
            let digits = word.strip_prefix("0x").unwrap_or(word);
            let set = if is_list { word.parse().ok() } else { of_mask(digits) };
            match set {
                Some(set) => self.cpus = Some(set),
                None => self.not_understood.push(word.clone()),
            }
            return at + 1;
        }
        arguments.len()
    }

    /// What was asked and did not come true, a sentence each.
    #[must_use]
    pub fn lost(&self, topology: &Topology, placement: &Placement, limits: &Limits) -> Vec<String> {
        let mut lost = Vec::new();
        if let Some(asked) = self.asked_cpus(topology) {
            lost.extend(self.lost_threads(topology, placement, &asked));
        }
        lost.extend(self.lost_memory(placement, limits));
        lost
    }

    /// What to do where something was lost.
    #[must_use]
    pub fn mend(&self, topology: &Topology, pid: u32) -> String {
        let now = match self.asked_cpus(topology) {
            Some(cpus) => {
                format!("; for now `taskset -a -cp {cpus} {pid}` moves its threads, not its memory")
            }
            None => String::new(),
        };
        format!(
            "bind the program itself, as the last thing before it starts (inside the wrapper or by the launcher's own \
             option, not around them), and keep its libraries from binding threads anew (`OMP_PROC_BIND=false`, \
             `--bind-to none`){now}"
        )
    }

    fn asked_cpus(&self, topology: &Topology) -> Option<CpuSet> {
        let of_nodes = self.cpu_nodes.as_ref().map(|nodes| {
            let cpus = nodes.iter().filter_map(|node| topology.node(node)?.cpus.as_ref());
            cpus.flat_map(CpuSet::iter).collect()
        });
        self.cpus.clone().or(of_nodes)
    }

    fn lost_threads(&self, topology: &Topology, placement: &Placement, asked: &CpuSet) -> Option<String> {
        let all: u32 = placement.threads.iter().map(|group| group.count).sum();
        let work: u64 = placement.threads.iter().map(|group| group.busy_ticks).sum();
        let off: Vec<_> = placement
            .threads
            .iter()
            .filter(|group| group.cpus.iter().any(|cpu| !asked.contains(cpu)))
            .collect();
        let busiest = off.first()?;
        let count: u32 = off.iter().map(|group| group.count).sum();
        let did: u64 = off.iter().map(|group| group.busy_ticks).sum();
        let share = match work {
            0 => String::new(),
            _ => format!(", with {:.0} % of the work", did as f64 / work as f64 * 100.0),
        };
        let nodes: Vec<u32> = topology.nodes_of_cpus(&busiest.cpus).into_iter().collect();
        let nodes = match &nodes[..] {
            [] => String::new(),
            [node] => format!(" (node {node})"),
            nodes => format!(" (nodes {})", nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
        };
        Some(format!(
            "{count} of {all} threads{share}, may run on CPUs off {asked}, which `{}` asked for; the busiest is {} \
             (thread {}) on {}{nodes}",
            self.words.join(" "),
            busiest.name,
            busiest.busiest,
            busiest.cpus,
        ))
    }

    fn lost_memory(&self, placement: &Placement, limits: &Limits) -> Option<String> {
        let nodes = self.memory_nodes.as_ref()?;
        let rows = placement.memory.as_ref().ok()?;
        let mut off: BTreeMap<u32, u64> = BTreeMap::new();
        let mut policies: Vec<&str> = Vec::new();
        let mut all = 0;
        for row in rows {
            for (node, bytes) in &row.bytes_by_node {
                all += bytes;
                if !nodes.contains(*node) && *bytes > 0 {
                    *off.entry(*node).or_default() += bytes;
                    if !policies.contains(&row.policy.as_str()) {
                        policies.push(&row.policy);
                    }
                }
            }
        }
        let share = off.values().sum::<u64>() as f64 / all.max(1) as f64;
        if all < LEAST_BYTES || share <= limits.far_memory_share {
            return None;
        }
        let where_to: Vec<String> = off.keys().map(u32::to_string).collect();
        Some(format!(
            "{:.0} % of its large mappings are on node {} (policy {}), though `{}` asked for memory of node {nodes} \
             (limit {:.0} %): pages that another process touched first, or a binding that did not reach it",
            share * 100.0,
            where_to.join(", "),
            policies.join(", "),
            self.words.join(" "),
            limits.far_memory_share * 100.0,
        ))
    }
}

fn long_name(word: &str) -> Option<&'static str> {
    WITH_VALUE.iter().find(|(_, name)| *name == word).map(|(_, name)| *name)
}

/// CPUs of a hexadecimal mask, as taskset(1) takes it.
fn of_mask(digits: &str) -> Option<CpuSet> {
    let digits = digits.replace(',', "");
    let mut cpus = Vec::new();
    for (at, digit) in digits.chars().rev().enumerate() {
        let value = digit.to_digit(16)?;
        let first = u32::try_from(at).ok()?.checked_mul(4)?;
        cpus.extend((0..4).filter(|bit| value & (1 << bit) != 0).map(|bit| first + bit));
    }
    (!cpus.is_empty()).then(|| cpus.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::Asked;

    /// What was not understood; CPUs, nodes of CPUs and nodes of memory.
    type Read = (Vec<String>, [Option<String>; 3]);

    fn asked(line: &str) -> Option<Read> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let asked = Asked::of(&words)?;
        let list = |set: Option<probes::model::CpuSet>| set.map(|set| set.to_string());
        Some((asked.not_understood, [list(asked.cpus), list(asked.cpu_nodes), list(asked.memory_nodes)]))
    }

    fn plain(cpus: &str, cpu_nodes: &str, memory: &str) -> Read {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        (Vec::new(), [given(cpus), given(cpu_nodes), given(memory)])
    }

    #[test]
    fn numactl_and_taskset_are_read_as_they_are_typed() {
        for (line, is) in [
            ("numactl --cpunodebind=0 --membind=0 ib_read_bw -d mlx5_0", plain("", "0", "0")),
            ("/usr/bin/numactl -N 1 -m 1 python -m train", plain("", "1", "1")),
            ("numactl -N1 -l python -C 5", plain("", "1", "")),
            ("numactl --physcpubind 0-3,8 --interleave=0,1 -- x -m 3", plain("0-3,8", "", "")),
            ("taskset -c 4-7 ib_read_bw", plain("4-7", "", "")),
            ("taskset 0xf0 ib_read_bw", plain("4-7", "", "")),
            ("numactl -m 0 taskset --cpu-list 2 x", plain("2", "", "0")),
        ] {
            assert_eq!(asked(line), Some(is), "{line}");
        }
        assert_eq!(asked("ib_read_bw -m 1024 -C"), None);
    }

    #[test]
    fn what_is_no_list_of_numbers_is_held_against_nobody() {
        let (not_understood, sets) = asked("numactl --cpunodebind=netdev:eth0 -m !0 x").unwrap();
        assert_eq!(not_understood, ["--cpunodebind=netdev:eth0", "--membind=!0"]);
        assert_eq!(sets, [None, None, None]);
        assert!(asked("numactl --membind").is_some());
    }
}
