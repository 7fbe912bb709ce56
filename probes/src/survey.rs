//! The survey: one probe a file, each adds the facts it learns to a [`Topology`].
//!
//! A new probe is one file here, its `mod` line and one entry in [`ALL`].

mod abi;
mod aer;
mod again;
pub mod bonding;
mod bonding_text;
mod bonds;
mod cores;
mod cpufreq;
mod cpuset;
pub(crate) mod gid_choice;
mod gids;
mod gpu_direct;
mod gpu_paths;
mod gpus;
mod host;
mod ibv_devinfo;
mod interrupts;
mod iommu;
mod lag;
mod line;
#[cfg(feature = "hwloc")]
mod locality;
mod look;
mod lost_cards;
mod lspci;
mod numa;
pub mod order;
mod pci;
mod pci_config;
mod pcie;
mod rails;
mod software;
mod subnets;
#[cfg(test)]
pub(crate) mod testing;
mod uverbs;
mod verbs;

pub use again::Again;
pub(crate) use pci::cpus_of_mask;

use crate::model::Topology;
use crate::root::{ReadError, Root};

/// One kind of fact about the machine.
pub trait Probe: Sync {
    /// Short name, as in a [`crate::model::Gap`].
    fn name(&self) -> &'static str;

    /// Adds what it learns. Single facts that cannot be learnt become gaps; an error means the whole
    /// probe could not work, and the survey notes it and goes on.
    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError>;
}

/// Every probe, in the order in which they run: a later one may use what an earlier one found.
pub const ALL: &[&dyn Probe] = &[
    &host::HostBlock,
    &cpuset::Cpuset,
    &cpufreq::CpuFrequency,
    &software::Software,
    &numa::Numa,
    &cores::Cores,
    &rails::Rails,
    &gids::Gids,
    &gid_choice::GidChoices,
    &subnets::Subnets,
    &bonds::Bonds,
    &lag::Lags,
    &pcie::Pcie,
    &interrupts::OfRails,
    #[cfg(feature = "hwloc")]
    &locality::Locality,
    &verbs::Verbs,
    &ibv_devinfo::IbvDevinfo,
    &abi::Abi,
    &line::Line,
    &uverbs::Uverbs,
    &iommu::Iommu,
    &gpus::Gpus,
    &aer::Aer,
    &gpu_paths::GpuPaths,
    &gpu_direct::GpuDirect,
    &lost_cards::LostCards,
];

/// Everything that can be learnt about the node behind `root`.
#[must_use]
pub fn survey(root: &Root) -> Topology {
    let mut topology = Topology::default();
    for probe in ALL {
        if let Err(error) = probe.survey(root, &mut topology) {
            topology.gap(probe.name(), "host", format!("/{}: {}", error.path, look::cause(&error)));
        }
    }
    topology.gaps.sort();
    topology.gaps.dedup();
    topology
}

#[cfg(test)]
#[path = "survey/damaged_tests.rs"]
mod damaged_tests;
