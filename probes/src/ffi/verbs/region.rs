//! Protection domains and registered memory.

use super::context::{Context, Open};
use super::error::Error;
use super::gpu_region;
use crate::ffi::buffer::Buffer;
use crate::model::Registered;
use rdma_sys::{ibv_access_flags, ibv_mr, ibv_pd};
use std::sync::Arc;

/// A protection domain. Cheap to clone; freed when everything made from it is gone.
#[derive(Clone, Debug)]
pub struct ProtectionDomain(pub(super) Arc<Domain>);

/// What [`ProtectionDomain`] shares.
#[derive(Debug)]
pub(super) struct Domain {
    pub(super) open: Arc<Open>,
    pub(super) pd: *mut ibv_pd,
}

// SAFETY: - verbs objects may be used from any thread; see `Open`
unsafe impl Send for Domain {}
// SAFETY: - as above
unsafe impl Sync for Domain {}

impl Drop for Domain {
    fn drop(&mut self) {
        // SAFETY: - the domain is live, and regions and queue pairs made from it are gone: each holds an Arc of this
        unsafe { (self.open.calls.ibv_dealloc_pd)(self.pd) };
    }
}

impl Context {
    /// Makes a protection domain.
    ///
    /// # Errors
    ///
    /// `ibv_alloc_pd` failed.
    pub fn protection_domain(&self) -> Result<ProtectionDomain, Error> {
        // SAFETY: - the context is open
        let pd = unsafe { (self.0.calls.ibv_alloc_pd)(self.0.context) };
        if pd.is_null() {
            return Err(Error::last(&self.0.device, "ibv_alloc_pd"));
        }
        Ok(ProtectionDomain(Arc::new(Domain { open: Arc::clone(&self.0), pd })))
    }
}

/// Whether a region was registered with relaxed ordering asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelaxedOrdering {
    /// Asked for. The kernel and the card decide: the flag is a hint (`IBV_ACCESS_OPTIONAL_RANGE`).
    Asked,
    /// This library is too old to ask.
    NotSupported,
}

/// Memory the device may read and write, and the peer too.
#[derive(Debug)]
pub struct Region {
    domain: Arc<Domain>,
    mr: *mut ibv_mr,
    buffer: Buffer,
    relaxed_ordering: RelaxedOrdering,
    registered: Option<Registered>,
}

// SAFETY: - verbs objects may be used from any thread; see `Open`
unsafe impl Send for Region {}
// SAFETY: - as above; the memory is only read: the host's with volatile reads, a GPU's by its driver
unsafe impl Sync for Region {}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: - the region is live; rings that use it hold an Arc of it and are gone
        //         - `buffer` is freed after this: fields are dropped after this body
        unsafe { (self.domain.open.calls.ibv_dereg_mr)(self.mr) };
    }
}

/// What a device and the peer may do with registered memory.
pub(super) const ACCESS: u32 = ibv_access_flags::IBV_ACCESS_LOCAL_WRITE.0
    | ibv_access_flags::IBV_ACCESS_REMOTE_READ.0
    | ibv_access_flags::IBV_ACCESS_REMOTE_WRITE.0;

/// Registers memory by its address; null, and `errno` set, where that fails.
///
/// # Safety
///
/// `bytes` bytes at `address` are this process's, or a GPU's, for as long as the registration lives.
pub(super) unsafe fn mr_of_address(
    domain: &Domain,
    address: u64,
    bytes: usize,
) -> (*mut ibv_mr, RelaxedOrdering) {
    let library = domain.open.calls;
    let at = std::ptr::without_provenance_mut(usize::try_from(address).unwrap_or(usize::MAX));
    if let Some(register) = library.ibv_reg_mr_iova2 {
        let access = ACCESS | ibv_access_flags::IBV_ACCESS_RELAXED_ORDERING.0;
        // SAFETY: - the domain is live; of the memory the caller says so
        (unsafe { register(domain.pd, at, bytes, address, access) }, RelaxedOrdering::Asked)
    } else {
        // SAFETY: - as above
        let mr = unsafe { (library.ibv_reg_mr)(domain.pd, at, bytes, ACCESS.cast_signed()) };
        (mr, RelaxedOrdering::NotSupported)
    }
}

impl ProtectionDomain {
    /// Registers memory for local writes and for remote reads and writes.
    ///
    /// Relaxed ordering is asked for where the library can: without it some hosts write at a fraction of the
    /// rate (`ib_read_bw` does the same unless told `--disable_pcie_relaxed`).
    ///
    /// # Errors
    ///
    /// `ibv_reg_mr` failed; ENOMEM is mostly the locked-memory limit, which the error then names. Of a GPU's memory:
    /// none of the ways works, and what each one lacks.
    pub fn register(&self, buffer: impl Into<Buffer>) -> Result<Region, Error> {
        let domain = Arc::clone(&self.0);
        let buffer = buffer.into();
        let (mr, relaxed_ordering, registered) = match &buffer {
            Buffer::Host(pages) => {
                // SAFETY: - the pages are mapped for as long as the region, which owns them
                let (mr, relaxed) = unsafe { mr_of_address(&domain, pages.address() as u64, pages.len()) };
                if mr.is_null() {
                    return Err(Error::last(&domain.open.device, "ibv_reg_mr"));
                }
                (mr, relaxed, None)
            }
            Buffer::Gpu(memory) => {
                let (mr, relaxed, way) = gpu_region::register(&domain, memory)?;
                (mr, relaxed, Some(way))
            }
        };
        Ok(Region { domain, mr, buffer, relaxed_ordering, registered })
    }
}

impl Region {
    /// Virtual address, as the peer must name it.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.buffer.address()
    }

    /// Key with which the peer may use it.
    #[must_use]
    pub fn rkey(&self) -> u32 {
        // SAFETY: - the region is live
        unsafe { (*self.mr).rkey }
    }

    /// Key for our own work requests.
    pub(super) fn lkey(&self) -> u32 {
        // SAFETY: - the region is live
        unsafe { (*self.mr).lkey }
    }

    /// The memory, to look at.
    #[must_use]
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// In which way memory of a GPU was made known to the device; `None` of the host's memory.
    #[must_use]
    pub fn registered(&self) -> Option<Registered> {
        self.registered
    }

    /// Whether relaxed ordering was asked for.
    #[must_use]
    pub fn relaxed_ordering(&self) -> RelaxedOrdering {
        self.relaxed_ordering
    }
}
