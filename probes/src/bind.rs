//! Binding of threads and memory, and where memory lies, through hwloc where it is built in.
//!
//! Without hwloc (feature `hwloc` off) threads are bound with `sched_setaffinity` and memory by first touch
//! alone: the thread is bound before it allocates, so its pages come from its own node.

use crate::ffi::pages::Pages;
use crate::model::{CpuSet, Rail};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// CPUs the calling thread may use, which is what a new process of this one could.
#[must_use]
pub fn allowed_cpus() -> Option<CpuSet> {
    let set = rustix::thread::sched_getaffinity(None).ok()?;
    let most = u32::try_from(rustix::thread::CpuSet::MAX_CPU).ok()?;
    Some((0..most).filter(|cpu| set.is_set(*cpu as usize)).collect())
}

/// CPUs that serve interrupts of this rail's NIC now; empty when it has none or the kernel does not tell.
///
/// Source: Documentation/ABI/testing/sysfs-bus-pci (`msi_irqs`), Documentation/core-api/irq/irq-affinity.rst.
#[must_use]
pub fn irq_cpus(rail: &Rail) -> CpuSet {
    let ib = Path::new("/sys/class/infiniband").join(&rail.device).join("device");
    let net = rail.netdev.as_ref().map(|netdev| Path::new("/sys/class/net").join(netdev).join("device"));
    // a virtio function hangs one level below its PCI function, which has the interrupts
    let candidates = [Some(ib), net.clone(), net.map(|device| device.join(".."))];
    let directory =
        candidates.into_iter().flatten().map(|device| device.join("msi_irqs")).find(|path| path.is_dir());
    directory.map_or_else(CpuSet::default, |directory| irq_cpus_of(&directory, Path::new("/proc/irq")))
}

fn irq_cpus_of(msi_irqs: &Path, proc_irq: &Path) -> CpuSet {
    let Ok(entries) = fs::read_dir(msi_irqs) else { return CpuSet::default() };
    let file = |entry: io::Result<fs::DirEntry>| -> Option<PathBuf> {
        Some(proc_irq.join(entry.ok()?.file_name()).join("effective_affinity_list"))
    };
    let lists = entries.filter_map(file).filter_map(|path| fs::read_to_string(path).ok());
    let sets = lists.filter_map(|text| text.parse::<CpuSet>().ok());
    sets.flat_map(|set| set.iter().collect::<Vec<_>>()).collect()
}

/// Binds the calling thread to `cpus`.
///
/// # Errors
///
/// None of them exists or is allowed here.
pub fn this_thread(cpus: &CpuSet) -> io::Result<()> {
    with::this_thread(cpus)
}

/// Wishes that the pages of this memory, not yet touched, come from `node`. Where the node is full they come
/// from elsewhere: ask [`node_of`] after touching.
///
/// # Errors
///
/// There is no such node, or this process may not use it.
pub fn memory(pages: &Pages, node: u32) -> io::Result<()> {
    with::memory(pages, node)
}

/// The node that this memory, already touched, lies on; `None` when it lies on several or the kernel does not
/// tell (`move_pages`).
#[must_use]
pub fn node_of(pages: &Pages) -> Option<u32> {
    with::node_of(pages)
}

#[cfg(feature = "hwloc")]
mod with {
    use super::{CpuSet, Pages, io};
    use hwlocality::Topology;
    use hwlocality::bitmap::BitmapIndex;
    use hwlocality::cpu::binding::CpuBindingFlags;
    use hwlocality::memory::binding::{MemoryBindingFlags, MemoryBindingPolicy};
    use hwlocality::memory::nodeset::NodeSet;
    use hwlocality::topology::builder::BuildFlags;
    use std::sync::OnceLock;

    /// This machine, as hwloc sees it; looked at once.
    fn machine() -> io::Result<&'static Topology> {
        static MACHINE: OnceLock<Option<Topology>> = OnceLock::new();
        // else hwloc would move this thread over all CPUs, to ask each about its caches
        let look = || Topology::builder().with_flags(BuildFlags::DONT_CHANGE_BINDING).ok()?.build().ok();
        let machine = MACHINE.get_or_init(look).as_ref();
        machine.ok_or_else(|| io::Error::other("hwloc cannot read this machine's topology"))
    }

    fn index(number: u32) -> Option<BitmapIndex> {
        BitmapIndex::try_from(usize::try_from(number).ok()?).ok()
    }

    pub(super) fn this_thread(cpus: &CpuSet) -> io::Result<()> {
        let set: hwlocality::cpu::cpuset::CpuSet = cpus.iter().filter_map(index).collect();
        machine()?.bind_cpu(&set, CpuBindingFlags::THREAD).map_err(io::Error::other)
    }

    pub(super) fn memory(pages: &Pages, node: u32) -> io::Result<()> {
        let machine = machine()?;
        let set: NodeSet = index(node).into_iter().collect();
        let (policy, flags) = (MemoryBindingPolicy::Bind, MemoryBindingFlags::empty());
        pages.range(|range| machine.bind_memory_area(range, &set, policy, flags)).map_err(io::Error::other)
    }

    pub(super) fn node_of(pages: &Pages) -> Option<u32> {
        let machine = machine().ok()?;
        let set: NodeSet =
            pages.range(|range| machine.area_memory_location(range, MemoryBindingFlags::empty())).ok()?;
        let mut nodes = set.iter_set();
        let node = nodes.next()?;
        if nodes.next().is_some() { None } else { u32::try_from(usize::from(node)).ok() }
    }
}

#[cfg(not(feature = "hwloc"))]
mod with {
    use super::{CpuSet, Pages, io};

    pub(super) fn this_thread(cpus: &CpuSet) -> io::Result<()> {
        let mut set = rustix::thread::CpuSet::new();
        for cpu in cpus.iter().map(|cpu| cpu as usize).filter(|cpu| *cpu < rustix::thread::CpuSet::MAX_CPU) {
            set.set(cpu);
        }
        Ok(rustix::thread::sched_setaffinity(None, &set)?)
    }

    pub(super) fn memory(_: &Pages, _: u32) -> io::Result<()> {
        Err(io::Error::other("built without hwloc: memory is placed by first touch"))
    }

    pub(super) fn node_of(_: &Pages) -> Option<u32> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{allowed_cpus, irq_cpus_of, this_thread};
    use crate::model::CpuSet;
    use std::fs;

    #[test]
    fn a_thread_runs_where_it_was_bound() {
        let first: CpuSet = allowed_cpus().unwrap().iter().take(1).collect();
        let seen = std::thread::spawn(move || {
            this_thread(&first).unwrap();
            (first, allowed_cpus().unwrap())
        });
        let (wanted, seen) = seen.join().unwrap();
        assert_eq!(wanted, seen);
    }

    #[test]
    fn a_cpu_that_is_not_there_binds_nothing() {
        assert!(std::thread::spawn(|| this_thread(&CpuSet::from_iter([65_000]))).join().unwrap().is_err());
    }

    #[test]
    fn interrupt_cpus_are_those_of_all_vectors() {
        let root = tempfile::tempdir().unwrap();
        let (msi, irq) = (root.path().join("msi_irqs"), root.path().join("irq"));
        fs::create_dir_all(&msi).unwrap();
        for (number, cpus) in [("40", "2\n"), ("41", "6-7\n")] {
            fs::write(msi.join(number), "msix\n").unwrap();
            fs::create_dir_all(irq.join(number)).unwrap();
            fs::write(irq.join(number).join("effective_affinity_list"), cpus).unwrap();
        }
        assert_eq!(irq_cpus_of(&msi, &irq).to_string(), "2,6-7");
    }

    #[cfg(feature = "hwloc")]
    #[test]
    fn touched_memory_lies_on_a_node_or_the_kernel_does_not_tell() {
        let mut pages = crate::ffi::pages::Pages::map(8192).unwrap();
        let bound = super::memory(&pages, 0);
        pages.fill(|_| 1);
        if bound.is_ok() {
            assert!(matches!(super::node_of(&pages), Some(0) | None));
        }
    }
}
