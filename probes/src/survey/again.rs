//! A second look at a host whose session goes on: what may change, read anew, in the columns of the first look.

use super::look::cause;
use super::{Probe, rails};
use crate::model::{Bond, Leg, Rail, Topology};
use crate::root::Root;
use std::collections::BTreeSet;

/// What changes while a machine runs, up to where the verbs library is asked.
const BEFORE_VERBS: &[&dyn Probe] = &[
    &rails::Rails,
    &super::gids::Gids,
    &super::gid_choice::GidChoices,
    &super::subnets::Subnets,
    &super::bonds::Bonds,
    &super::lag::Lags,
    &super::pcie::Pcie,
    &super::interrupts::OfRails,
];

/// And after it.
const AFTER_VERBS: &[&dyn Probe] = &[
    &super::ibv_devinfo::IbvDevinfo,
    &super::line::Line,
    &super::uverbs::Uverbs,
    &super::lost_cards::LostCards,
];

/// Looks at one host again and again.
///
/// What stays as it is until the next boot (nodes, CPUs, GPUs, software) is not read again, and no device is opened
/// unless its port or MTU changed.
#[derive(Debug)]
pub struct Again {
    root: Root,
    /// Devices of the first look, those that the session leaves out among them.
    devices: BTreeSet<String>,
    known: Topology,
}

impl Again {
    /// After a first look that found `known`, of which rails may have been left out.
    #[must_use]
    pub fn new(root: Root, known: Topology) -> Self {
        let mut devices: BTreeSet<String> =
            root.names(rails::CLASS).unwrap_or_default().into_iter().collect();
        devices.extend(known.rails.iter().map(|rail| rail.device.clone()));
        Self { root, devices, known }
    }

    /// Looks; `None` where nothing is different. Rails keep their positions and counters: one that is gone stays as it
    /// was, a new device is only named.
    pub fn look(&mut self) -> Option<Topology> {
        let now = self.survey();
        let differs = without_gaps(&now) != without_gaps(&self.known);
        differs.then(|| {
            self.known = now.clone();
            now
        })
    }

    /// The same at a tree that is another one by now, as steps make it.
    pub fn look_in(&mut self, root: &Root) -> Option<Topology> {
        self.root.clone_from(root);
        self.look()
    }

    fn survey(&self) -> Topology {
        let Topology { host, numa, gpus, drawn_by, .. } = self.known.clone();
        let mut now = Topology { host, numa, gpus, drawn_by, ..Topology::default() };
        let mut ran: BTreeSet<&str> = BTreeSet::new();
        let mut run = |probes: &[&dyn Probe], now: &mut Topology| {
            for probe in probes {
                ran.insert(probe.name());
                if let Err(error) = probe.survey(&self.root, now) {
                    now.gap(probe.name(), "host", format!("/{}: {}", error.path, cause(&error)));
                }
            }
        };
        run(BEFORE_VERBS, &mut now);
        if self.is_as_wired(&now) {
            self.take_over_verbs(&mut now);
        } else {
            run(&[&super::verbs::Verbs], &mut now);
        }
        run(AFTER_VERBS, &mut now);
        let of_others = self.known.gaps.iter().filter(|gap| !ran.contains(gap.probe.as_str()));
        now.gaps.extend(of_others.cloned());
        self.put_in_columns(&mut now);
        now
    }

    /// Whether no port went up or down and no MTU changed, so that the verbs library would say what it said.
    fn is_as_wired(&self, now: &Topology) -> bool {
        let wire =
            |rail: &Rail| (rail.state.clone(), rail.netdev_mtu, rail.firmware.clone(), rail.netdev.clone());
        self.known.rails.iter().all(|then| same(now, then).is_some_and(|now| wire(now) == wire(then)))
    }

    fn take_over_verbs(&self, now: &mut Topology) {
        for rail in &mut now.rails {
            if let Some(then) = same(&self.known, rail) {
                rail.path_mtu = then.path_mtu;
                rail.max_path_mtu = then.max_path_mtu;
                rail.max_read_depth = then.max_read_depth;
            }
        }
    }

    /// Puts the rails where the session's frames have them.
    fn put_in_columns(&self, now: &mut Topology) {
        let found = std::mem::take(&mut now.rails);
        let is_new = |rail: &&Rail| !self.devices.contains(&rail.device);
        now.newcomers = found.iter().filter(is_new).map(|rail| rail.device.clone()).collect();
        now.newcomers.dedup();
        let find = |then: &Rail| {
            let found = found.iter().find(|now| is_same(now, then)).cloned();
            found.map_or_else(|| then.clone(), |now| in_columns(now, then))
        };
        now.rails = self.known.rails.iter().map(find).collect();
        let is_left_out = |device: &String| {
            self.devices.contains(device) && !self.known.rails.iter().any(|rail| rail.device == *device)
        };
        now.gaps.retain(|gap| !is_left_out(&gap.subject));
        now.gaps.sort();
        now.gaps.dedup();
    }
}

fn is_same(one: &Rail, other: &Rail) -> bool {
    (&one.device, one.port) == (&other.device, other.port)
}

fn same<'a>(of: &'a Topology, rail: &Rail) -> Option<&'a Rail> {
    of.rails.iter().find(|other| is_same(other, rail))
}

/// The rail as it is, with the counters and legs in the places they had.
fn in_columns(now: Rail, then: &Rail) -> Rail {
    let bond = match (now.bond, &then.bond) {
        (Some(now), Some(then)) => Some(bond_in_columns(now, then)),
        (now, _) => now,
    };
    let mut pcie = now.pcie;
    if let (Some(now), Some(then)) = (&mut pcie, &then.pcie) {
        // as many as there were when the session began: what has grown since is told by counters
        now.errors.clone_from(&then.errors);
    }
    // only hwloc may have known the node, which is not asked twice
    Rail { counters: then.counters.clone(), bond, pcie, numa_node: now.numa_node.or(then.numa_node), ..now }
}

fn bond_in_columns(mut now: Bond, then: &Bond) -> Bond {
    let mut left = std::mem::take(&mut now.legs);
    let place = |leg: &Leg| match left.iter().position(|other| other.netdev == leg.netdev) {
        Some(at) => left.remove(at),
        None => Leg {
            netdev: leg.netdev.clone(),
            pci_address: leg.pci_address.clone(),
            active: Some(false),
            ..Leg::default()
        },
    };
    now.legs = then.legs.iter().map(place).collect();
    now.legs.append(&mut left);
    now
}

/// What counts as a difference: no gaps, which say only why.
fn without_gaps(topology: &Topology) -> Topology {
    Topology { gaps: Vec::new(), ..topology.clone() }
}

#[cfg(test)]
mod tests {
    use super::Again;
    use crate::survey::survey;
    use crate::survey::testing::Tree;

    #[test]
    fn a_host_that_is_as_it_was_gives_nothing() {
        let tree = Tree::with_nic();
        let mut again = Again::new(tree.root(), survey(&tree.root()));
        assert_eq!(again.look(), None);
        assert_eq!(again.look(), None);
    }

    #[test]
    fn what_changed_is_told_once_in_the_columns_of_the_first_look() {
        let tree = Tree::with_nic();
        let mut first = survey(&tree.root());
        first.rails[0].counters = vec!["hw/out_of_sequence".into()];
        let device = first.rails[0].device.clone();
        let mut again = Again::new(tree.root(), first.clone());
        tree.file(&format!("sys/class/infiniband/{device}/ports/1/state"), "1: DOWN\n");
        tree.file(&format!("sys/class/infiniband/{device}/fw_ver"), "99.1.2\n");
        // comes first by name, and is no rail of this session
        tree.file("sys/class/infiniband/aaa_0/ports/1/state", "4: ACTIVE\n");
        let now = again.look().expect("two facts are others");
        assert_eq!(now.rails.len(), 1);
        assert_eq!(now.rails[0].state.as_deref(), Some("DOWN"));
        assert_eq!(now.rails[0].firmware.as_deref(), Some("99.1.2"));
        assert_eq!(now.newcomers, ["aaa_0"]);
        assert!(now.has_the_columns_of(&first));
        assert_eq!(again.look(), None, "and only once");
    }

    #[test]
    fn a_device_that_is_gone_stays_as_it_was() {
        let tree = Tree::with_nic();
        let first = survey(&tree.root());
        let again = Again::new(tree.root(), first.clone());
        tree.remove(&format!("sys/class/infiniband/{}", first.rails[0].device));
        assert_eq!(again.survey().rails, first.rails);
    }
}
