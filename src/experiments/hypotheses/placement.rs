//! H4: another node suits it better than its own.
//!
//! Loads are placed on the node that the platform tells. Where it tells a wrong one, every byte crosses the link between
//! sockets, and another node brings more. What a far node costs is said in any case.

use super::{Answer, Case, Hypothesis, inconclusive, not_measurable};
use crate::experiments::neighbours::places;
use crate::experiments::plan::Kind;
use crate::experiments::rounds::Compared;
use crate::rules::rate;

impl Case<'_> {
    /// What another node costs, in words; `None` where none was tried.
    pub(in crate::experiments) fn placement_cost(&self) -> Option<String> {
        let mut places = places(self.topology, self.rail).into_iter();
        let is_tried = places.any(|(cpu, mem)| self.rates(&Kind::Place { cpu, mem }).is_ok());
        is_tried.then(|| self.placement().because)
    }

    pub(super) fn placement(&self) -> Hypothesis {
        let hypothesis = |answer, because| Hypothesis {
            id: "H4",
            says: "another node suits it better than its own",
            answer,
            because,
            code: "cross-numa",
        };
        let unknown = |why: &str| hypothesis(Answer::Unknown, not_measurable(why));
        let places = places(self.topology, self.rail);
        if places.is_empty() {
            let why = match (self.rail.numa_node, self.topology.numa.len()) {
                (_, 0 | 1) => return hypothesis(Answer::No, "this host has one node".to_owned()),
                (None, _) => "its node is not known",
                _ => "no other node has CPUs and memory",
            };
            return unknown(why);
        }
        let near = match self.rates(&Kind::Alone) {
            Ok(near) => near,
            Err(why) => return unknown(&why),
        };
        let mut tried = Vec::new();
        let (mut is_better, mut is_alike, mut missing) = (false, true, None);
        let (mut strays, mut rounds) = (near.strays(), near.rounds());
        for (cpu, mem) in places {
            let there = match self.rates(&Kind::Place { cpu, mem }) {
                Ok(there) => there,
                Err(why) => {
                    missing.get_or_insert(why);
                    continue;
                }
            };
            is_better |= there.beside(&near) == Compared::More;
            strays = strays.max(there.strays());
            rounds = rounds.max(there.rounds());
            let place = match (Some(cpu) == self.rail.numa_node, Some(mem) == self.rail.numa_node) {
                (false, true) => format!("CPUs of node {cpu}"),
                (true, false) => format!("memory of node {mem}"),
                _ => format!("both of node {cpu}"),
            };
            let (there, near) = (there.mean(), near.mean());
            let cost = if near > 0.0 { (there / near - 1.0) * 100.0 } else { 0.0 };
            let sign = if there < near { "-" } else { "+" };
            let difference = rate((there - near).abs());
            let is_same = cost.abs() < 0.5;
            is_alike &= is_same;
            tried.push(if is_same {
                format!("{place} {} GB/s, the same", rate(there))
            } else {
                format!("{place} {} GB/s, {sign}{difference} GB/s or {cost:+.0} %", rate(there))
            });
        }
        let answer = match (is_better, &missing) {
            (true, _) => Answer::Yes,
            (false, Some(why)) if tried.is_empty() => return unknown(why),
            (false, Some(_)) => Answer::Inconclusive,
            (false, None) => Answer::No,
        };
        let missing = missing.map_or_else(String::new, |why| format!("; {}", not_measurable(&why)));
        let near = rate(near.mean());
        let noise = match rounds {
            _ if is_alike => String::new(),
            1 => "; one load of each, so a few percent mean nothing".to_owned(),
            _ if strays < 0.01 => "; loads of one place are the same".to_owned(),
            _ => format!("; loads of one place differ by up to {:.0} %", strays * 100.0),
        };
        let says = format!("on its own node {near} GB/s; {}{noise}{missing}", tried.join("; "));
        hypothesis(answer, if answer == Answer::Inconclusive { inconclusive(&says) } else { says })
    }
}
