//! Memory of a GPU made known to a device: as a dmabuf, else through a peer-memory module of the kernel.

use super::error::{Error, GpuRefused, NoDmabuf};
use super::region::{ACCESS, Domain, RelaxedOrdering, mr_of_address};
use crate::ffi::cuda::DeviceMemory;
use crate::model::Registered;
use rdma_sys::{ibv_access_flags, ibv_mr};
use std::io;
use std::os::fd::AsRawFd;

/// A registration, and how it was made.
pub(super) type Made = (*mut ibv_mr, RelaxedOrdering, Registered);

/// Registers memory of a GPU in the first way that works.
///
/// # Errors
///
/// None works: what each one lacks.
pub(super) fn register(domain: &Domain, memory: &DeviceMemory) -> Result<Made, Error> {
    let no_dmabuf = match dmabuf(domain, memory) {
        Ok(mr) => return Ok((mr, RelaxedOrdering::Asked, Registered::Dmabuf)),
        Err(reason) => reason,
    };
    // a peer-memory module takes an address of a GPU as if it were the host's
    // SAFETY: - the domain is live; whoever makes a region of it keeps the memory as long
    let (mr, relaxed_ordering) = unsafe { mr_of_address(domain, memory.address(), memory.len()) };
    if !mr.is_null() {
        return Ok((mr, relaxed_ordering, Registered::Peermem));
    }
    let peermem = io::Error::last_os_error();
    let refused = GpuRefused { gpu: memory.gpu().facts().label(), dmabuf: no_dmabuf, peermem };
    Err(Error::Gpu { device: domain.open.device.clone(), refused: Box::new(refused) })
}

/// The memory as a dmabuf, which the registration then keeps alive without its descriptor. The device's address
/// space has it where the GPU has it, as with a peer-memory module.
///
/// Source: `ibv_reg_mr(3)`.
fn dmabuf(domain: &Domain, memory: &DeviceMemory) -> Result<*mut ibv_mr, NoDmabuf> {
    let register = domain.open.calls.ibv_reg_dmabuf_mr.ok_or(NoDmabuf::OldLibrary)?;
    let fd = memory.dmabuf()?;
    let access = (ACCESS | ibv_access_flags::IBV_ACCESS_RELAXED_ORDERING.0).cast_signed();
    // SAFETY: - the domain is live; the descriptor is a dmabuf of that many bytes, which the kernel takes a reference of
    let mr = unsafe { register(domain.pd, 0, memory.len(), memory.address(), fd.as_raw_fd(), access) };
    // before the descriptor is closed, which may set it
    let cause = io::Error::last_os_error();
    if mr.is_null() { Err(NoDmabuf::Refused { cause }) } else { Ok(mr) }
}
