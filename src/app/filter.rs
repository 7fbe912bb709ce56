//! A text that is typed to see less: rails and findings of a device, a netdev, a node or a code.

use crate::rules::Finding;
use probes::model::{Rail, Topology};

/// A text that is typed to see less.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    text: String,
    /// Its words in lower case, each of which must be met.
    words: Vec<String>,
}

impl Filter {
    /// Of this text; an empty one takes everything.
    pub fn new(text: &str) -> Self {
        let words = text.to_lowercase().split_whitespace().map(str::to_owned).collect();
        Self { text: text.trim().to_owned(), words }
    }

    /// As it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether every word is in the rail's device, netdev or legs, is its node (`N0`, `numa0`), or is in the code of a
    /// finding about it.
    pub fn takes_rail(&self, rail: &Rail, findings: &[Finding]) -> bool {
        self.words.iter().all(|word| {
            is_of(word, rail)
                || findings.iter().any(|found| found.code.contains(word.as_str()) && found.is_about(rail))
        })
    }

    /// Whether every word is in this name.
    pub fn takes_name(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.words.iter().all(|word| name.contains(word.as_str()))
    }

    /// Whether every word is in the finding's code, or is met by a device or rail that it is about.
    pub fn takes_finding(&self, finding: &Finding, topology: &Topology) -> bool {
        self.words.iter().all(|word| {
            let mut rails = topology.rails.iter().filter(|rail| finding.is_about(rail));
            finding.code.contains(word.as_str())
                || finding.devices.iter().any(|device| device.to_lowercase().contains(word.as_str()))
                || rails.any(|rail| is_of(word, rail))
        })
    }
}

fn is_of(word: &str, rail: &Rail) -> bool {
    let is_in = |name: &str| name.to_lowercase().contains(word);
    let legs = rail.bond.iter().flat_map(|bond| &bond.legs);
    let node = ["numa", "node", "n"].iter().find_map(|lead| word.strip_prefix(lead)?.parse::<u32>().ok());
    is_in(&rail.device)
        || rail.netdev.as_deref().is_some_and(is_in)
        || legs.into_iter().any(|leg| is_in(&leg.netdev))
        || node.is_some() && node == rail.numa_node
}

#[cfg(test)]
mod tests {
    use super::Filter;
    use crate::rules::{Finding, Severity};
    use crate::view::fixture::Node;

    #[test]
    fn a_filter_takes_rails_by_name_netdev_leg_node_and_code() {
        let topology = Node::with_rails(4).topology;
        let findings = [Finding::new("pcie-downgraded", Severity::Warning, ["mlx5_bond_2"], "")];
        let taken = |text: &str| -> Vec<usize> {
            let filter = Filter::new(text);
            let is_taken = |at: &usize| filter.takes_rail(&topology.rails[*at], &findings);
            (0..4).filter(is_taken).map(|at| at + 1).collect()
        };
        assert_eq!(taken(""), [1, 2, 3, 4]);
        assert_eq!(taken("BOND_3"), [3]);
        assert_eq!((taken("N1"), taken("numa0")), (vec![3, 4], vec![1, 2]));
        assert_eq!((taken("eth5"), taken("bond4")), (vec![3], vec![4]));
        assert_eq!((taken("pcie"), taken("pcie n1"), taken("n0 pcie")), (vec![2], vec![], vec![2]));
    }

    #[test]
    fn of_a_card_with_two_ports_the_one_that_is_spoken_of_is_taken() {
        let mut topology = Node::with_rails(2).topology;
        (topology.rails[1].device, topology.rails[1].port) = (topology.rails[0].device.clone(), 2);
        let finding = Finding::on_ports("flap", Severity::Warning, [&topology.rails[1]], "");
        let findings = [finding.clone()];
        let by_code: Vec<bool> =
            topology.rails.iter().map(|rail| Filter::new("flap").takes_rail(rail, &findings)).collect();
        assert_eq!(by_code, [false, true]);
        let takes = |text: &str| Filter::new(text).takes_finding(&finding, &topology);
        assert_eq!(["bond2", "bond1", "n1", "n0"].map(takes), [true, false, true, false]);
        assert!(takes("mlx5"), "the device's own name is both ports'");
    }

    #[test]
    fn findings_are_taken_by_code_and_by_the_rails_they_are_about() {
        let topology = Node::with_rails(4).topology;
        let finding = Finding::new("mtu-differs", Severity::Warning, ["mlx5_bond_2"], "");
        let takes = |text: &str| Filter::new(text).takes_finding(&finding, &topology);
        assert_eq!(
            ["mtu", "bond_2", "n0", "eth3", "n1", "pcie"].map(takes),
            [true, true, true, true, false, false]
        );
    }
}
