//! Protection domains and registered memory.

use super::context::{Context, Open};
use super::error::Error;
use crate::ffi::pages::Pages;
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
    pages: Pages,
    relaxed_ordering: RelaxedOrdering,
}

// SAFETY: - verbs objects may be used from any thread; see `Open`
unsafe impl Send for Region {}
// SAFETY: - as above; the memory is only read, with volatile reads
unsafe impl Sync for Region {}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: - the region is live; rings that use it hold an Arc of it and are gone
        //         - `pages` is unmapped after this: fields are dropped after this body
        unsafe { (self.domain.open.calls.ibv_dereg_mr)(self.mr) };
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
    /// `ibv_reg_mr` failed; ENOMEM is mostly the locked-memory limit, which the error then names.
    pub fn register(&self, pages: Pages) -> Result<Region, Error> {
        let library = self.0.open.calls;
        let access = ibv_access_flags::IBV_ACCESS_LOCAL_WRITE.0
            | ibv_access_flags::IBV_ACCESS_REMOTE_READ.0
            | ibv_access_flags::IBV_ACCESS_REMOTE_WRITE.0;
        let (address, bytes) = (pages.address(), pages.len());
        let (mr, relaxed_ordering) = if let Some(register) = library.ibv_reg_mr_iova2 {
            let access = access | ibv_access_flags::IBV_ACCESS_RELAXED_ORDERING.0;
            // SAFETY: - the domain is live; the pages are mapped for as long as the region, which owns them
            let mr = unsafe { register(self.0.pd, address.cast(), bytes, address as u64, access) };
            (mr, RelaxedOrdering::Asked)
        } else {
            // SAFETY: - as above
            let mr = unsafe { (library.ibv_reg_mr)(self.0.pd, address.cast(), bytes, access.cast_signed()) };
            (mr, RelaxedOrdering::NotSupported)
        };
        if mr.is_null() {
            return Err(Error::last(&self.0.open.device, "ibv_reg_mr"));
        }
        Ok(Region { domain: Arc::clone(&self.0), mr, pages, relaxed_ordering })
    }
}

impl Region {
    /// Virtual address, as the peer must name it.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.pages.address() as u64
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
    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Whether relaxed ordering was asked for.
    #[must_use]
    pub fn relaxed_ordering(&self) -> RelaxedOrdering {
        self.relaxed_ordering
    }
}
