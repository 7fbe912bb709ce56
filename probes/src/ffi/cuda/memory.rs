//! Memory of a GPU.

use super::error::Error;
use super::gpu::Gpu;
use super::library::Address;
use libc::{c_int, c_uint};
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

/// Page of a GPU as PCI devices see it. A registration covers whole ones, and a dmabuf whole pages of the host,
/// which are no larger. Source: `GPUDirect` RDMA documentation, "Pin Down".
const PAGE_BYTES: usize = 64 << 10;

/// `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`.
const SYNC_MEMOPS: c_int = 6;

/// `CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD`.
const DMA_BUF_FD: c_int = 1;

/// First CUDA version that exports a dmabuf.
const DMABUF_CUDA: (u32, u32) = (11, 7);

/// Memory of a GPU, freed on drop. It was made by `cuMemAlloc`: what `cuMemAllocManaged` gives may lie on the host.
#[derive(Debug)]
pub struct DeviceMemory {
    gpu: Arc<Gpu>,
    allocation: Address,
    address: Address,
    bytes: usize,
}

/// Why memory of a GPU cannot be had as a dmabuf.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoExport {
    /// The driver is from before there were any.
    #[error("the NVIDIA driver speaks CUDA {0}.{1}, and dmabuf came with 11.7 (driver 515)")]
    OldDriver(u32, u32),
    /// The driver says that it cannot.
    #[error("the NVIDIA driver exports none for this GPU (only its open kernel modules do, from 515 on)")]
    NotSupported,
    /// It said that it can, and failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl DeviceMemory {
    /// Takes at least `bytes` of a GPU's memory: whole pages, at the start of a page.
    ///
    /// # Errors
    ///
    /// There is not so much left, or the driver does not answer.
    pub fn allocate(gpu: Arc<Gpu>, bytes: usize) -> Result<Self, Error> {
        gpu.enter()?;
        // what overflows here is more than any GPU has, and CUDA says so
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE_BYTES).unwrap_or(usize::MAX - PAGE_BYTES);
        let mut allocation = 0;
        // SAFETY: - `allocation` is a valid out pointer; a context is current
        let answer = unsafe { (gpu.calls.mem_alloc)(&raw mut allocation, bytes.saturating_add(PAGE_BYTES)) };
        Error::check(gpu.calls, "cuMemAlloc", answer)?;
        let memory = Self { address: allocation.next_multiple_of(PAGE_BYTES as u64), gpu, allocation, bytes };
        memory.copy_at_once()?;
        Ok(memory)
    }

    /// Makes copies to and from this memory complete before they return: else a NIC could see it before a copy that
    /// was said to be done. Source: `GPUDirect` RDMA documentation, "Synchronization and Memory Ordering".
    fn copy_at_once(&self) -> Result<(), Error> {
        let yes: c_uint = 1;
        // SAFETY: - `yes` is what this attribute points to, and the address is of a live allocation
        let answer = unsafe {
            (self.gpu.calls.pointer_set_attribute)((&raw const yes).cast(), SYNC_MEMOPS, self.allocation)
        };
        Error::check(self.gpu.calls, "cuPointerSetAttribute", answer)
    }

    /// The GPU that it belongs to.
    #[must_use]
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Address of the first byte; of no use to the CPU.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Length, bytes: what was asked for, rounded up to whole pages of the GPU.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there is no memory; there always is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The address of `words` words from position `first` on.
    fn range(&self, first: usize, words: usize) -> Address {
        let there = self.bytes / 8;
        assert!(first <= there && words <= there - first, "words {first} to {first} + {words} of {there}");
        self.address + first as u64 * 8
    }

    /// Copies words from the host to position `first` on.
    ///
    /// # Errors
    ///
    /// The driver says why not.
    ///
    /// # Panics
    ///
    /// There are not so many words.
    pub fn copy_in(&mut self, first: usize, words: &[u64]) -> Result<(), Error> {
        let to = self.range(first, words.len());
        self.gpu.enter()?;
        // SAFETY: - `to` has room for that many bytes inside the allocation, and `words` has them
        let answer = unsafe { (self.gpu.calls.memcpy_htod)(to, words.as_ptr().cast(), size_of_val(words)) };
        Error::check(self.gpu.calls, "cuMemcpyHtoD", answer)
    }

    /// Copies words from position `first` on to the host.
    ///
    /// # Errors
    ///
    /// The driver says why not.
    ///
    /// # Panics
    ///
    /// There are not so many words.
    pub fn copy_out(&self, first: usize, words: &mut [u64]) -> Result<(), Error> {
        let from = self.range(first, words.len());
        self.gpu.enter()?;
        // SAFETY: - that many bytes lie inside the allocation from `from` on, and `words` has room for them
        let answer =
            unsafe { (self.gpu.calls.memcpy_dtoh)(words.as_mut_ptr().cast(), from, size_of_val(words)) };
        Error::check(self.gpu.calls, "cuMemcpyDtoH", answer)
    }

    /// All of it as a dmabuf, which keeps nothing alive: a registration made from it does.
    ///
    /// # Errors
    ///
    /// The driver is too old, cannot do so for this GPU, or fails.
    pub fn dmabuf(&self) -> Result<OwnedFd, NoExport> {
        let facts = self.gpu.facts();
        let (major, minor) = facts.driver_cuda;
        let export = self.gpu.calls.mem_get_handle_for_address_range;
        let Some(export) = export.filter(|_| facts.driver_cuda >= DMABUF_CUDA) else {
            return Err(NoExport::OldDriver(major, minor));
        };
        if facts.dmabuf == Some(false) {
            return Err(NoExport::NotSupported);
        }
        self.gpu.enter()?;
        let mut fd: c_int = -1;
        // SAFETY: - for this type of handle the out pointer is that of an int; the range is a live allocation, whole
        //           pages of the host
        let answer = unsafe { export((&raw mut fd).cast(), self.address, self.bytes, DMA_BUF_FD, 0) };
        Error::check(self.gpu.calls, "cuMemGetHandleForAddressRange", answer)?;
        // SAFETY: - a call that went well gives a descriptor that is ours to close
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.gpu.enter().is_ok() {
            // SAFETY: - allocated once, in `allocate`; a registration of it is gone, as it owned this value
            unsafe { (self.gpu.calls.mem_free)(self.allocation) };
        }
    }
}
