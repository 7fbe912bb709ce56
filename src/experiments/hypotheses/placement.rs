//! H4: another node suits it better than its own.
//!
//! Loads are placed on the node that the platform tells. Where it tells a wrong one, every byte crosses the link between
//! sockets, and another node brings more: with CPUs and memory both there, whatever either of them alone does. Several places
//! are tried, and the best of several that are the same looks better by chance: it must bring more by more than any of them
//! strays from load to load. What a far node costs is said in any case.

use super::{Answer, Case, Hypothesis, inconclusive, not_measurable};
use crate::experiments::neighbours::places;
use crate::experiments::plan::Kind;
use crate::experiments::rounds::{Compared, Rates};
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
        let (mut is_better, mut is_alike, mut missing, mut best) = (false, true, None, 0.0_f64);
        let mut loaded = Vec::new();
        for (cpu, mem) in places {
            match self.rates(&Kind::Place { cpu, mem }) {
                Ok(there) => loaded.push(((cpu, mem), there)),
                Err(why) => {
                    missing.get_or_insert(why);
                }
            }
        }
        let of_all = || loaded.iter().map(|(_, there)| there).chain([&near]);
        let strays = of_all().map(Rates::strays).fold(0.0, f64::max);
        let rounds = of_all().map(Rates::rounds).max();
        for ((cpu, mem), there) in &loaded {
            let (cpu, mem) = (*cpu, *mem);
            if cpu == mem && there.beyond(&near, strays) == Compared::More {
                (is_better, best) = (true, best.max(there.mean()));
            }
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
        let at_home = self.at_home().filter(|_| is_better).filter(|(_, most)| *most >= best);
        let answer = match (is_better, &missing) {
            (true, _) if at_home.is_none() => Answer::Yes,
            (false, Some(why)) if tried.is_empty() => return unknown(why),
            (true, _) | (false, Some(_)) => Answer::Inconclusive,
            (false, None) => Answer::No,
        };
        let missing = missing.map_or_else(String::new, |why| format!("; {}", not_measurable(&why)));
        let near = rate(near.mean());
        let noise = match rounds {
            _ if is_alike => String::new(),
            Some(1) => "; one load of each, so a few percent mean nothing".to_owned(),
            _ if strays < 0.01 => "; loads of one place are the same".to_owned(),
            _ => format!("; loads of one place differ by up to {:.0} %", strays * 100.0),
        };
        let home = at_home.map_or_else(String::new, |(kind, most)| {
            format!("; with {kind} it brings {} GB/s on its own node as well", rate(most))
        });
        let says = format!("on its own node {near} GB/s; {}{home}{noise}{missing}", tried.join("; "));
        hypothesis(answer, if answer == Answer::Inconclusive { inconclusive(&says) } else { says })
    }

    /// The load of another kind in which it does most without leaving its node, and how much: what it does there needs no other
    /// node.
    fn at_home(&self) -> Option<(&Kind, f64)> {
        let device = &self.rail.device;
        let is_there = |kind: &Kind| matches!(kind, Kind::Cold | Kind::Workers(_) | Kind::Queues(_));
        let loads = self
            .seen
            .iter()
            .filter(|seen| is_there(&seen.step.kind) && seen.step.is(&seen.step.kind, device));
        let rated = loads.filter_map(|seen| Some((&seen.step.kind, seen.of(device)?.gb_per_s?)));
        rated.max_by(|one, other| one.1.total_cmp(&other.1))
    }
}

#[cfg(test)]
mod tests {
    use crate::experiments::plan::Kind;
    use crate::experiments::testing::{Host, answer, four_rails};
    use crate::experiments::{Answer, Step};

    /// H4 of `mlx5_1`, which is slow and brings this.
    fn of(brings: impl Fn(&Step) -> f64) -> (Answer, String) {
        let host =
            Host::of(four_rails(), |step, device| Some(if device == "mlx5_1" { brings(step) } else { 48.0 }));
        answer(&host.diagnose().1, "mlx5_1", "H4")
    }

    #[test]
    fn a_node_is_better_when_cpus_and_memory_there_are_and_not_one_of_them_alone() {
        let at = |places: &'static [(u32, u32)]| {
            of(move |step| match step.kind {
                Kind::Place { cpu, mem } if places.contains(&(cpu, mem)) => 30.0,
                _ => 20.0,
            })
        };
        assert_eq!(at(&[(1, 1)]).0, Answer::Yes);
        assert_eq!(at(&[(0, 1)]).0, Answer::No, "memory alone");
        assert_eq!(at(&[(1, 0)]).0, Answer::No, "CPUs alone");
    }

    #[test]
    fn a_place_is_no_better_that_any_of_them_strays_by_as_much() {
        let with_strays = |strays: f64| {
            of(move |step| match (&step.kind, step.round) {
                (Kind::Place { cpu: 1, mem: 1 }, _) => 24.0,
                // another place swings; it is loaded again as it looked slower
                (Kind::Place { cpu: 1, mem: 0 }, 1) => 16.0,
                (Kind::Place { cpu: 1, mem: 0 }, _) => 16.0 + strays,
                _ => 20.0,
            })
        };
        assert_eq!(with_strays(0.5).0, Answer::Yes);
        assert_eq!(with_strays(6.0).0, Answer::No, "{}", with_strays(6.0).1);
    }

    #[test]
    fn what_it_does_on_its_own_node_as_well_needs_no_other() {
        let (holds, because) = of(|step| match step.kind {
            Kind::Place { cpu: 1, mem: 1 } | Kind::Cold => 27.0,
            _ => 20.0,
        });
        assert_eq!(holds, Answer::Inconclusive, "{because}");
        assert!(
            because.contains("; with cold memory it brings 27.0 GB/s on its own node as well"),
            "{because}"
        );
    }
}
