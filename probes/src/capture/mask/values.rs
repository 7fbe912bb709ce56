//! Masks what is no tree: the parts of a recorded session.

use super::names::{self, Names};
use super::table::Table;
use super::words::{self, Context};
use super::{MOST_KEYS, Masked};
use crate::model::{Experiment, Failure, Host, Load, Process, Rail, Rank, Topology};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Keys whose text is for people, so that any name may stand in it.
const SENTENCES: [&str; 4] = ["reason", "subject", "ended", "text"];

/// Replaces, in the parts of a session, what tells whose it is: the same by the same, in all of them.
///
/// First every part is shown to it, so that what is an address in one place is one everywhere; then they are masked.
#[derive(Debug)]
pub struct Masker {
    table: Table,
    hosts: Vec<Names>,
    /// Names of processes, jobs and hosts, with what stands for each, longest first.
    named: Vec<(String, String)>,
}

impl Masker {
    /// For a session of these hosts; nothing is masked before [`Masker::with_key`].
    #[must_use]
    pub fn of<'a>(hosts: impl IntoIterator<Item = &'a Topology>) -> Self {
        let names = |(at, topology): (usize, &Topology)| {
            let name = topology.host.hostname.as_deref().unwrap_or_default();
            Names::of_session(name, &other_words(topology), at > 0)
        };
        let hosts = hosts.into_iter().enumerate().map(names).collect();
        Self { table: Table::collecting(), hosts, named: Vec::new() }
    }

    /// The same that has seen every part, under a key of its own that is never written down.
    #[must_use]
    pub fn with_key(self) -> Self {
        let mut table = self.table.with_new_key();
        for _ in 0..MOST_KEYS {
            if table.leaves_no_original() {
                break;
            }
            table = table.with_new_key();
        }
        let mut named: Vec<(String, String)> =
            table.names().map(|(name, masked)| (name.to_owned(), masked)).collect();
        // a name inside of another must not take it apart
        named.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self { table, named, ..self }
    }

    /// How much of what was met.
    #[must_use]
    pub fn masked(&self) -> Masked {
        let mut masked = Masked { values: self.table.counts() };
        let hosts = self.hosts.iter().filter(|names| names.host().is_some()).count();
        if hosts > 0 {
            masked.values.insert("host names", hosts);
        }
        masked
    }

    /// What a host is.
    #[must_use]
    pub fn topology(&mut self, topology: &Topology) -> Topology {
        self.part(topology)
    }

    /// A load.
    #[must_use]
    pub fn load(&mut self, load: &Load) -> Load {
        self.part(load)
    }

    /// What went wrong with a rail.
    #[must_use]
    pub fn failure(&mut self, failure: &Failure) -> Failure {
        self.part(failure)
    }

    /// Processes, whose names and jobs are nobody else's business.
    #[must_use]
    pub fn processes(&mut self, processes: &[Process]) -> Vec<Process> {
        let one = |process: &Process| {
            let name = self.table.name(&process.name);
            let rank =
                process.rank.as_ref().map(|rank| Rank { job: self.table.name(&rank.job), ..rank.clone() });
            let mut masked: Process = self.part(process);
            for (threads, whole) in masked.bound_threads.iter_mut().zip(&process.bound_threads) {
                threads.name = self.table.name(&whole.name);
            }
            Process { name, rank, ..masked }
        };
        processes.iter().map(one).collect()
    }

    /// A planned load, with what the other end told of it.
    #[must_use]
    pub fn experiment(&mut self, of: &Experiment) -> Experiment {
        let mut masked = self.part(of);
        for sample in &mut masked.far {
            sample.hostname = sample.hostname.as_ref().map(|name| self.table.name(name));
        }
        masked.failures = of.failures.iter().map(|text| self.mark(text)).collect();
        masked.far_gap = of.far_gap.as_ref().map(|text| self.mark(text));
        masked.peer = of.peer.as_ref().map(|name| self.table.name(name));
        masked
    }

    /// What a user said: nothing of it stays but that something was said.
    #[must_use]
    pub fn mark(&mut self, text: &str) -> String {
        if text.is_empty() { String::new() } else { self.table.name(text) }
    }

    /// Goes through the texts of a part, whatever its type is.
    fn part<T: Serialize + DeserializeOwned + Clone>(&mut self, part: &T) -> T {
        let Ok(mut value) = serde_json::to_value(part) else { return part.clone() };
        self.value(&mut value, "");
        // every text stays one, and those that have a form keep it
        serde_json::from_value(value).expect("a masked part has the form that it had")
    }

    fn value(&mut self, value: &mut Value, key: &str) {
        match value {
            Value::String(text) => *text = self.text(text, key),
            Value::Array(list) => list.iter_mut().for_each(|value| self.value(value, key)),
            Value::Object(object) => object.iter_mut().for_each(|(key, value)| self.value(value, key)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, key: &str) -> String {
        let is_host = self.hosts.iter().any(|names| names.is_host(text));
        if key == "hostname" || (is_host && SENTENCES.contains(&key)) {
            return self.hosts.iter().fold(text.to_owned(), |text, names| names.replace_certainly(&text));
        }
        let is_sentence = SENTENCES.contains(&key);
        // four numbers with points in a sentence are an address, unless it speaks of versions
        let lower = text.to_ascii_lowercase();
        let is_version = ["fw_ver", "version", "firmware"].iter().any(|word| lower.contains(word));
        let is_network = key == "network" || (is_sentence && !is_version);
        let context = if is_network { Context::Network } else { Context::Text };
        let mut masked = words::rewrite(text, context, &Names::default(), &mut self.table);
        for names in &self.hosts {
            masked = names.replace(&masked);
        }
        if is_sentence {
            for (name, by) in self.named.iter().filter(|(name, _)| name.len() > 1) {
                masked = names::replaced(&masked, name, by);
            }
        }
        masked
    }
}

/// What names something else than the host: if the host is called so as well, the word is nobody's secret.
fn other_words(topology: &Topology) -> Vec<String> {
    let Host { hostname, kernel, os, cpu_model, rdma_core, ofed, iommu, .. } = &topology.host;
    let of_rail = |rail: &Rail| {
        let bond = rail.bond.as_ref();
        let legs = bond.into_iter().flat_map(|bond| bond.legs.iter().map(|leg| leg.netdev.clone()));
        let of_bond = bond.into_iter().flat_map(|bond| {
            [
                Some(bond.netdev.clone()),
                bond.mode.clone(),
                bond.xmit_hash_policy.clone(),
                bond.lag_port_select.clone(),
            ]
        });
        let own =
            [&rail.netdev, &rail.driver, &rail.node_type, &rail.board_id, &rail.state, &rail.phys_state];
        let own = own.into_iter().cloned().chain(of_bond).flatten();
        let named = rail.gids.iter().filter_map(|gid| gid.netdev.clone());
        own.chain(legs)
            .chain(named)
            .chain(rail.counters.clone())
            .chain([rail.device.clone()])
            .collect::<Vec<_>>()
    };
    let of_gpus = topology.gpus.iter().flat_map(|gpu| [gpu.model.clone(), gpu.driver.clone()]).flatten();
    // who builds kernels may name them after the host, which then has a number as a rule
    let is_plain = hostname.as_ref().is_some_and(|name| !name.contains(|c: char| c.is_ascii_digit()));
    let kernel = kernel.clone().filter(|_| is_plain);
    let of_host = [os, cpu_model, rdma_core, ofed, iommu].into_iter().flatten().cloned();
    of_host.chain(kernel).chain(of_gpus).chain(topology.rails.iter().flat_map(of_rail)).collect()
}

#[cfg(test)]
mod tests;
