//! What hangs on a NUMA node: root ports, switches, rails and GPUs, as their PCIe paths tell.

use probes::model::{Hop, PciePath, RailId, Topology};

/// What a row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A port of the root complex.
    Root,
    /// A PCIe switch, by its port up.
    Switch,
    /// A rail.
    Rail(RailId),
    /// A GPU, by its place in the topology.
    Gpu(usize),
    /// A card without an RDMA device, by its place in the topology.
    Lost(usize),
}

/// One row of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<'a> {
    /// How deep it is below the node: 0 for what hangs on the root complex.
    pub depth: usize,
    /// What it is.
    pub part: Part,
    /// PCI address of its upper end; empty where it has none.
    pub address: &'a str,
    /// The link above it, of a root port the one below it; `None` of what has no PCI function, and where no path is known.
    pub hop: Option<&'a Hop>,
    /// How many hang on it.
    pub below: usize,
    /// The root port that it hangs on alone, where both are one row.
    pub root: Option<&'a str>,
    /// Rails at or below it.
    pub rails: Vec<RailId>,
}

/// Whether a root port with one device below it is a row of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roots {
    /// Each has a row.
    Unfolded,
    /// One with one device shares its row.
    Folded,
}

struct Branch<'a> {
    part: Part,
    address: &'a str,
    hop: Option<&'a Hop>,
    below: Vec<Branch<'a>>,
}

/// The rows of a node, in the order of PCI addresses; `None` is whatever has no known node.
pub fn of(topology: &Topology, node: Option<u32>, roots: Roots) -> Vec<Item<'_>> {
    let mut top: Vec<Branch> = Vec::new();
    for (id, rail) in topology.rails_with_id().filter(|(_, rail)| rail.numa_node == node) {
        insert(&mut top, rail.pcie.as_ref(), Part::Rail(id));
    }
    for (at, gpu) in topology.gpus.iter().enumerate().filter(|(_, gpu)| gpu.numa_node == node) {
        insert(&mut top, Some(&gpu.pcie), Part::Gpu(at));
    }
    for (at, card) in topology.lost_cards.iter().enumerate().filter(|(_, card)| card.numa_node == node) {
        top.push(Branch { part: Part::Lost(at), address: &card.address, hop: None, below: Vec::new() });
    }
    sort(&mut top);
    let mut items = Vec::new();
    for branch in &top {
        flatten(branch, 0, roots, &mut items);
    }
    items
}

fn insert<'a>(top: &mut Vec<Branch<'a>>, path: Option<&'a PciePath>, part: Part) {
    let Some(path) = path else {
        top.push(Branch { part, address: "", hop: None, below: Vec::new() });
        return;
    };
    let leaf = |hop| Branch { part, address: &path.address, hop, below: Vec::new() };
    let (Some(first), Some(last)) = (path.hops.first(), path.hops.last()) else {
        top.push(leaf(None));
        return;
    };
    let mut level = top;
    if let Some(root) = &last.upstream {
        level = &mut entry(level, Part::Root, root, None).below;
    }
    for hop in path.hops.iter().skip(1).rev() {
        level = &mut entry(level, Part::Switch, &hop.address, Some(hop)).below;
    }
    level.push(leaf(Some(first)));
}

fn entry<'a, 'b>(
    level: &'b mut Vec<Branch<'a>>,
    part: Part,
    address: &'a str,
    hop: Option<&'a Hop>,
) -> &'b mut Branch<'a> {
    let known = level.iter().position(|branch| branch.part == part && branch.address == address);
    let at = known.unwrap_or_else(|| {
        level.push(Branch { part, address, hop, below: Vec::new() });
        level.len() - 1
    });
    &mut level[at]
}

fn sort(level: &mut [Branch]) {
    // what has no PCI function comes last
    level.sort_by(|a, b| (a.address.is_empty(), a.address).cmp(&(b.address.is_empty(), b.address)));
    for branch in level {
        sort(&mut branch.below);
    }
}

fn flatten<'a>(branch: &Branch<'a>, depth: usize, roots: Roots, items: &mut Vec<Item<'a>>) {
    let alone = match branch.below.as_slice() {
        [only] if branch.part == Part::Root && only.below.is_empty() => Some(only),
        _ => None,
    };
    if let (Some(only), Roots::Folded) = (alone, roots) {
        items.push(Item { root: Some(branch.address), ..item(only, depth) });
        return;
    }
    items.push(item(branch, depth));
    for below in &branch.below {
        flatten(below, depth + 1, roots, items);
    }
}

fn item<'a>(branch: &Branch<'a>, depth: usize) -> Item<'a> {
    // a root port has one link; the functions of one card share it
    let below = || branch.below.first().and_then(|below| below.hop).filter(|_| branch.part == Part::Root);
    Item {
        depth,
        part: branch.part,
        address: branch.address,
        hop: branch.hop.or_else(below),
        below: branch.below.len(),
        root: None,
        rails: rails_of(branch),
    }
}

fn rails_of(branch: &Branch) -> Vec<RailId> {
    let own = match branch.part {
        Part::Rail(id) => Some(id),
        _ => None,
    };
    own.into_iter().chain(branch.below.iter().flat_map(rails_of)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Part, Roots, of};
    use probes::model::{Gpu, Hop, PciePath, Rail, Topology};

    fn path(addresses: &[(&str, &str)]) -> PciePath {
        let hop = |(lower, upper): &(&str, &str)| Hop {
            address: (*lower).into(),
            upstream: Some((*upper).into()),
            ..Hop::default()
        };
        PciePath {
            address: addresses[0].0.into(),
            hops: addresses.iter().map(hop).collect(),
            ..PciePath::default()
        }
    }

    fn machine() -> Topology {
        let rail =
            |device: &str, pcie| Rail { device: device.into(), numa_node: Some(0), pcie, ..Rail::default() };
        let behind = |card, port| Some(path(&[(card, port), ("40:00.0", "3f:01.1")]));
        let gpu = Gpu {
            name: "gpu0".into(),
            numa_node: Some(0),
            pcie: path(&[("45:00.0", "42:06.0"), ("40:00.0", "3f:01.1")]),
            ..Gpu::default()
        };
        let rails = vec![
            rail("rxe0", None),
            rail("mlx5_1", behind("44:00.0", "42:05.0")),
            rail("mlx5_0", behind("43:00.0", "42:04.0")),
            rail("mlx5_2", Some(path(&[("11:00.0", "10:01.1")]))),
        ];
        Topology { rails, gpus: vec![gpu], ..Topology::default() }
    }

    fn rows(roots: Roots) -> Vec<String> {
        let topology = machine();
        of(&topology, Some(0), roots)
            .into_iter()
            .map(|item| {
                let name = match item.part {
                    Part::Rail(id) => topology.rails[id.0].device.clone(),
                    Part::Gpu(at) => topology.gpus[at].name.clone(),
                    part => format!("{part:?} {}", item.address),
                };
                format!("{}{name} {}", "  ".repeat(item.depth), item.rails.len())
            })
            .collect()
    }

    #[test]
    fn what_shares_a_switch_hangs_on_it() {
        assert_eq!(
            rows(Roots::Unfolded),
            [
                "Root 10:01.1 1",
                "  mlx5_2 1",
                "Root 3f:01.1 2",
                "  Switch 40:00.0 2",
                "    mlx5_0 1",
                "    mlx5_1 1",
                "    gpu0 0",
                "rxe0 1"
            ]
        );
    }

    #[test]
    fn the_link_of_a_root_port_is_the_one_below_it() {
        let topology = machine();
        for roots in [Roots::Unfolded, Roots::Folded] {
            for item in of(&topology, Some(0), roots) {
                let lower = item.hop.map(|hop| hop.address.as_str());
                let expected = match (item.part, item.address) {
                    (Part::Root, "10:01.1") => Some("11:00.0"),
                    (Part::Root, _) => Some("40:00.0"),
                    (Part::Rail(_), "") => None,
                    (_, own) => Some(own),
                };
                assert_eq!(lower, expected, "{:?} {}", item.part, item.address);
            }
        }
    }

    #[test]
    fn folded_a_root_port_with_one_device_is_one_row() {
        let folded = rows(Roots::Folded);
        assert_eq!((folded[0].as_str(), folded[1].as_str(), folded.len()), ("mlx5_2 1", "Root 3f:01.1 2", 7));
    }
}
