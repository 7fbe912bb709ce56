//! What sets the frequency of the CPUs.

use super::Probe;
use super::look::{Look, cause};
use crate::model::{CpuSet, Topology};
use crate::root::{ReadError, Root};
use std::collections::BTreeMap;

const NAME: &str = "cpufreq";
const POLICIES: &str = "sys/devices/system/cpu/cpufreq";

/// Reads the governor and the energy preference of every frequency policy.
///
/// Sources: Documentation/admin-guide/pm/cpufreq.rst (`scaling_governor`, `affected_cpus`),
/// Documentation/admin-guide/pm/intel_pstate.rst and amd-pstate.rst (`energy_performance_preference`).
pub(super) struct CpuFrequency;

impl Probe for CpuFrequency {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { host, gaps, .. } = topology;
        let mut look = Look::into(root, NAME, "host", POLICIES, gaps);
        let names = match root.names(POLICIES) {
            Ok(names) => names,
            Err(error) => {
                look.gap(format!("CPU governor: /{POLICIES}: {}", cause(&error)));
                return Ok(());
            }
        };
        let mut governors: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let mut preferences: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for name in names {
            let Some(number) = name.strip_prefix("policy").and_then(|number| number.parse::<u32>().ok())
            else {
                continue;
            };
            let Some(governor) = look.maybe(&format!("{name}/scaling_governor")) else { continue };
            let cpus = look.maybe(&format!("{name}/affected_cpus")).map_or_else(
                || vec![number],
                |text| text.split_whitespace().filter_map(|cpu| cpu.parse().ok()).collect(),
            );
            governors.entry(governor).or_default().extend(&cpus);
            if let Some(preference) = look.maybe(&format!("{name}/energy_performance_preference")) {
                preferences.entry(preference).or_default().extend(&cpus);
            }
        }
        if governors.is_empty() {
            look.gap(format!("CPU governor: /{POLICIES}: the kernel sets no frequency here"));
        }
        host.cpu_governors = by_word(governors);
        host.energy_preferences = by_word(preferences);
        Ok(())
    }
}

fn by_word(found: BTreeMap<String, Vec<u32>>) -> Option<BTreeMap<String, CpuSet>> {
    let sets = found.into_iter().map(|(word, cpus)| (word, cpus.into_iter().collect()));
    Some(sets.collect::<BTreeMap<_, _>>()).filter(|sets| !sets.is_empty())
}

#[cfg(test)]
mod tests {
    use super::CpuFrequency;
    use crate::model::Topology;
    use crate::survey::Probe;
    use crate::survey::testing::Tree;

    fn survey(tree: &Tree) -> Topology {
        let mut topology = Topology::default();
        CpuFrequency.survey(&tree.root(), &mut topology).unwrap();
        topology
    }

    #[test]
    fn cpus_are_told_by_their_governor_and_preference() {
        let tree = Tree::new();
        let folder = "sys/devices/system/cpu/cpufreq";
        tree.files(
            &format!("{folder}/policy0"),
            &[
                ("scaling_governor", "performance\n"),
                ("affected_cpus", "0 1\n"),
                ("energy_performance_preference", "performance\n"),
            ],
        );
        tree.file(&format!("{folder}/policy2/scaling_governor"), "powersave\n");
        let topology = survey(&tree);
        let text = |sets: &Option<std::collections::BTreeMap<String, crate::model::CpuSet>>| {
            let sets = sets.iter().flatten();
            sets.map(|(word, cpus)| format!("{word} {cpus}")).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(text(&topology.host.cpu_governors), "performance 0-1, powersave 2");
        assert_eq!(text(&topology.host.energy_preferences), "performance 0-1");
        assert_eq!(topology.gaps, []);
    }

    #[test]
    fn a_guest_without_frequencies_has_a_gap() {
        let tree = Tree::new();
        let reason = |topology: &Topology| topology.gaps[0].reason.clone();
        assert_eq!(reason(&survey(&tree)), "CPU governor: /sys/devices/system/cpu/cpufreq: no such file");
        tree.file("sys/devices/system/cpu/cpufreq/boost", "1\n");
        let topology = survey(&tree);
        assert_eq!(topology.host.cpu_governors, None);
        assert!(reason(&topology).ends_with("the kernel sets no frequency here"));
    }
}
