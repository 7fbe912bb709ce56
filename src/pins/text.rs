//! The placement of processes for people, at most 80 columns.

use super::{Pinned, Pins, ThreadRow};
use crate::report::text::word;
use crate::report::text::wrap::{Wrapped, clip};
use crate::rules::Finding;
use std::fmt::{self, Display, Formatter};

/// Rows of threads that are printed; the JSON has all of them.
const MOST_ROWS: usize = 4;
/// Gaps that are printed.
const MOST_GAPS: usize = 6;

impl Display for Pins {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let host = self.hostname.as_deref().unwrap_or("unknown host");
        let count = match self.processes.len() {
            0 => "no process on its rails".to_owned(),
            1 => "1 process".to_owned(),
            count => format!("{count} processes"),
        };
        writeln!(f, "{} | {} | {count}", self.generated_by, clip(host, 30))?;
        if let Some(asked) = &self.asked {
            writeln!(f, "asked: {}", asked.words.join(" "))?;
            if !asked.not_understood.is_empty() {
                let text = format!(
                    "not held against anything, as it names no numbers: {}",
                    asked.not_understood.join(" ")
                );
                write!(f, "{}", Wrapped { lead: "  ", text: &text })?;
            }
        }
        for process in &self.processes {
            write!(f, "\n{process}")?;
        }
        if !self.findings.is_empty() {
            writeln!(f)?;
        }
        self.findings.iter().try_for_each(|finding| found(f, finding))?;
        if !self.gaps.is_empty() {
            writeln!(f, "\nnot known")?;
        }
        for gap in self.gaps.iter().take(MOST_GAPS) {
            let text = format!("{}: {}", gap.subject, gap.reason);
            write!(f, "{}", Wrapped { lead: "  ", text: &text })?;
        }
        match self.gaps.len().checked_sub(MOST_GAPS).filter(|more| *more > 0) {
            Some(more) => writeln!(f, "  and {more} more, which --json has"),
            None => Ok(()),
        }
    }
}

impl Display for Pinned {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rank =
            self.rank.as_ref().map(|rank| format!(", rank {} of job {}", rank.rank, clip(&rank.job, 20)));
        let title = format!(
            "{} (PID {}){}: {}",
            clip(&self.name, 20),
            self.pid,
            rank.unwrap_or_default(),
            self.verdict
        );
        write!(f, "{}", Wrapped { lead: "", text: &title })?;
        for (lead, text) in self.lines() {
            write!(f, "{}", Wrapped { lead: &format!("  {lead:<8} "), text: &text })?;
        }
        for lost in &self.lost {
            write!(f, "{}", Wrapped { lead: "  WARNING  ", text: lost })?;
        }
        write!(f, "{}", Wrapped { lead: "  > ", text: &self.mend })?;
        self.findings.iter().try_for_each(|finding| found(f, finding))
    }
}

impl Pinned {
    /// What is known of it, a line each.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let rails = self.rails.iter().map(|rail| {
            let node = rail.node.map_or("node unknown".to_owned(), |node| format!("node {node}"));
            let pairs = match rail.queue_pairs {
                None => "open, queue pairs unknown".to_owned(),
                Some(1) => "1 queue pair".to_owned(),
                Some(pairs) => format!("{pairs} queue pairs"),
            };
            let registered = match (rail.memory_regions, rail.registered_bytes) {
                (Some(0), _) => ", nothing registered".to_owned(),
                (Some(1), Some(bytes)) => format!(", {} registered", size(bytes)),
                (Some(regions), Some(bytes)) => {
                    format!(", {} registered in {regions} memory regions", size(bytes))
                }
                _ => String::new(),
            };
            format!("{} ({node}, {pairs}{registered})", rail.device)
        });
        let rails: Vec<String> = rails.collect();
        let mut lines = vec![("rails", if rails.is_empty() { "none".to_owned() } else { rails.join(", ") })];
        if let Some(gpu) = &self.gpu {
            let node = gpu.node.map_or("node unknown".to_owned(), |node| format!("node {node}"));
            let paths =
                if gpu.paths.is_empty() { String::new() } else { format!(": {}", gpu.paths.join(", ")) };
            lines.push(("gpu", format!("{} ({node}){paths}", gpu.name)));
        }
        let distance = match self.distance {
            Some(10) => "; all of it at distance 10, local".to_owned(),
            Some(distance) => format!("; at a distance of up to {distance} from its rails, 10 is local"),
            None => String::new(),
        };
        let who = if self.threads.len() > 1 { "the threads that do the work " } else { "" };
        lines.push(match &self.cpus {
            Some(cpus) => ("CPUs", format!("{who}may run on {cpus}{}{distance}", in_nodes(&self.cpu_nodes))),
            None => ("CPUs", "not known".to_owned()),
        });
        let rows = self.threads.iter().take(MOST_ROWS).enumerate();
        lines.extend(rows.map(|(at, row)| (if at == 0 { "threads" } else { "" }, row.to_string())));
        if let Some(more) = self.threads.len().checked_sub(MOST_ROWS).filter(|more| *more > 0) {
            lines.push(("", format!("and {more} more sets of CPUs, which --json has")));
        }
        lines.push(("memory", self.memory_line()));
        lines
    }

    fn memory_line(&self) -> String {
        let Some(rows) = &self.memory else { return "not known".to_owned() };
        let allowed = match &self.memory_nodes_allowed {
            Some(nodes) => format!("; may come from nodes {nodes}"),
            None => String::new(),
        };
        let all: u64 = rows.iter().flat_map(|row| row.bytes_by_node.values()).sum();
        if all == 0 {
            return format!("no mapping of 2 MiB or more{allowed}");
        }
        let row = |row: &super::MemoryRow| {
            let on = row.bytes_by_node.iter().filter(|(_, bytes)| **bytes > 0).map(|(node, bytes)| {
                format!("{} on node {node} ({:.0} %)", size(*bytes), *bytes as f64 / all as f64 * 100.0)
            });
            format!("{} under {}", on.collect::<Vec<_>>().join(", "), row.policy)
        };
        let registered: u32 = self.rails.iter().filter_map(|rail| rail.memory_regions).sum();
        let where_registered =
            if registered > 0 { "; which of it is registered the kernel does not tell" } else { "" };
        format!("{}{where_registered}{allowed}", rows.iter().map(row).collect::<Vec<_>>().join("; "))
    }
}

impl Display for ThreadRow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let work =
            self.work_share.map_or(String::new(), |share| format!(", {:.0} % of the work", share * 100.0));
        let last: Vec<String> = self.last_cpus.iter().take(4).map(u32::to_string).collect();
        write!(
            f,
            "{} on {}{}{work}; ran last on {}; busiest {} ({})",
            self.count,
            self.cpus,
            in_nodes(&self.nodes),
            last.join(", "),
            clip(&self.name, 16),
            self.busiest,
        )
    }
}

/// ` (node 0)`, ` (nodes 0, 1)`, or nothing where that is not known.
fn in_nodes(nodes: &[u32]) -> String {
    match nodes {
        [] => String::new(),
        [node] => format!(" (node {node})"),
        nodes => format!(" (nodes {})", nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// `12.3 GB`, `64.0 MB`.
fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        _ if bytes >= 1e9 => format!("{:.1} GB", bytes / 1e9),
        _ if bytes >= 1e6 => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.1} kB", bytes / 1e3),
    }
}

fn found(f: &mut Formatter<'_>, finding: &Finding) -> fmt::Result {
    let word = word(finding.severity);
    let text = format!("{}: {}", finding.code, finding.message);
    write!(f, "{}", Wrapped { lead: &format!("  {word:<8} "), text: &text })?;
    if finding.advice.is_empty() {
        Ok(())
    } else {
        write!(f, "{}", Wrapped { lead: "  > ", text: &finding.advice })
    }
}
