//! Whether the threads of a load have a CPU each: one that has to share is not fast enough for its rail.

use probes::model::{CpuSet, Worker};
use std::collections::BTreeSet;

/// A warning in one line when more threads spin than CPUs are there for them; `None` when each has one, or when nothing is
/// known. `allowed` are the CPUs that this process may use, for threads that were not bound.
#[must_use]
pub fn crowding(workers: &[Worker], allowed: Option<&CpuSet>) -> Option<String> {
    let places: Vec<&CpuSet> = workers.iter().filter_map(|worker| worker.cpus.as_ref().or(allowed)).collect();
    // all together, and those that have the same few CPUs
    let everywhere: CpuSet = places.iter().flat_map(|cpus| cpus.iter()).collect();
    let sets: BTreeSet<Vec<u32>> =
        places.iter().copied().chain([&everywhere]).map(|cpus| cpus.iter().collect()).collect();
    let crowded = sets.into_iter().filter_map(|cpus| {
        let cpus: CpuSet = cpus.into_iter().collect();
        let threads = places.iter().filter(|place| place.is_subset(&cpus)).count();
        (!cpus.is_empty() && threads > cpus.len()).then_some((threads, cpus))
    });
    let (threads, cpus) = crowded.max_by_key(|(threads, cpus)| threads * 1000 / cpus.len())?;
    let which = if cpus.len() == 1 { "1 CPU".to_owned() } else { format!("{} CPUs", cpus.len()) };
    Some(format!(
        "{threads} threads spin on {which} ({cpus}): rates are of the CPUs, not of the rails; ask for fewer --workers or \
         --rails, or give the process more CPUs"
    ))
}

#[cfg(test)]
mod tests {
    use super::crowding;
    use probes::model::Worker;

    fn said(places: &[Option<&str>], allowed: &str) -> Option<String> {
        let cpus = |text: &str| text.parse().unwrap();
        let worker = |place: Option<&str>| Worker { cpus: place.map(cpus), ..Worker::default() };
        let workers: Vec<_> = places.iter().copied().map(worker).collect();
        let line = crowding(&workers, Some(&allowed.parse().unwrap()))?;
        Some(line.split(':').next().unwrap().to_owned())
    }

    #[test]
    fn more_threads_than_cpus_are_said() {
        assert_eq!(said(&[None; 9], "0-1").as_deref(), Some("9 threads spin on 2 CPUs (0-1)"));
        assert_eq!(said(&[Some("3"), Some("3")], "0-7").as_deref(), Some("2 threads spin on 1 CPU (3)"));
    }

    #[test]
    fn one_full_node_is_said_though_the_other_is_empty() {
        let places = [Some("0-1"), Some("0-1"), Some("0-1"), Some("2-9")];
        assert_eq!(said(&places, "0-9").as_deref(), Some("3 threads spin on 2 CPUs (0-1)"));
    }

    #[test]
    fn a_cpu_for_each_is_no_news() {
        assert_eq!(said(&[None, None], "0-1"), None);
        assert_eq!(said(&[Some("0-1"), Some("0-1"), Some("2-3")], "0-3"), None);
        assert_eq!(crowding(&vec![Worker::default(); 9], None), None, "nothing is known");
    }
}
