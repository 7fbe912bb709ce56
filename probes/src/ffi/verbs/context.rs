//! An open device, what it can do, and the state of its ports.

use super::error::Error;
use super::library::{Library, library};
use crate::model::LinkLayer;
use rdma_sys::{ibv_context, ibv_device, ibv_device_attr, ibv_gid, ibv_port_attr};
use std::ffi::CStr;
use std::io;
use std::net::Ipv6Addr;
use std::sync::Arc;

/// What a device can do, as far as a load needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Firmware version; `None` when the driver leaves it empty.
    pub firmware: Option<String>,
    /// READ requests a queue pair may have outstanding as initiator (`max_qp_init_rd_atom`).
    pub max_initiator_depth: u32,
    /// READ requests a queue pair can answer at a time (`max_qp_rd_atom`).
    pub max_responder_depth: u32,
    /// Work requests per queue (`max_qp_wr`).
    pub max_depth: u32,
    /// Entries per completion queue (`max_cqe`).
    pub max_completions: u32,
}

/// State of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Port state word as sysfs prints it: `ACTIVE`, `INIT`, `DOWN`.
    pub state: &'static str,
    /// Path MTU in use, bytes; `None` when the driver gives no valid code.
    pub active_mtu: Option<u32>,
    /// Largest path MTU, bytes.
    pub max_mtu: Option<u32>,
    /// Largest message, bytes.
    pub max_message_bytes: u32,
    /// InfiniBand local id; 0 on Ethernet.
    pub lid: u16,
    /// Link layer; `None` for what is neither.
    pub link_layer: Option<LinkLayer>,
}

/// All devices the library sees, for as long as this lives. Listing them is dear: the library looks at each anew.
pub struct Devices {
    calls: &'static Library,
    list: *mut *mut ibv_device,
    len: usize,
}

impl Devices {
    /// Asks the library. No RDMA support in the kernel is no error but no devices.
    ///
    /// # Errors
    ///
    /// The library is not installed, or cannot list.
    pub fn list() -> Result<Self, Error> {
        let library = library()?;
        let mut len = 0;
        // SAFETY: - `len` is a valid out pointer for the call
        let list = unsafe { (library.ibv_get_device_list)(&raw mut len) };
        if list.is_null() {
            let cause = io::Error::last_os_error();
            if cause.raw_os_error() != Some(libc::ENOSYS) {
                return Err(Error::call("verbs", "ibv_get_device_list", cause));
            }
        }
        Ok(Self {
            calls: library,
            list,
            len: if list.is_null() { 0 } else { usize::try_from(len).unwrap_or(0) },
        })
    }

    fn devices(&self) -> impl Iterator<Item = *mut ibv_device> + '_ {
        // SAFETY: - `list` has `len` entries, or `len` is 0
        (0..self.len).map(|at| unsafe { *self.list.add(at) })
    }

    fn name(&self, device: *mut ibv_device) -> String {
        // SAFETY: - `device` comes from this list, which is not freed yet
        //         - the name is a NUL-terminated string inside the device, copied before the list is freed
        unsafe {
            let name = (self.calls.ibv_get_device_name)(device);
            if name.is_null() { String::new() } else { CStr::from_ptr(name).to_string_lossy().into_owned() }
        }
    }

    /// Names of all devices, in the library's order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.devices().map(|device| self.name(device)).collect()
    }

    /// Opens the named device.
    ///
    /// # Errors
    ///
    /// No such device, or no access to it.
    pub fn open(&self, device: &str) -> Result<Context, Error> {
        let Some(found) = self.devices().find(|found| self.name(*found) == device) else {
            let names = self.names();
            let listed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(Error::NoDevice { device: device.to_owned(), listed });
        };
        // SAFETY: - `found` belongs to a list that is not freed yet
        let context = unsafe { (self.calls.ibv_open_device)(found) };
        if context.is_null() {
            return Err(Error::last(device, "ibv_open_device"));
        }
        Ok(Context(Arc::new(Open { calls: self.calls, device: device.to_owned(), context })))
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        if !self.list.is_null() {
            // SAFETY: - the list came from ibv_get_device_list and is freed once
            //         - contexts opened from it keep their device alive (ibv_free_device_list(3))
            unsafe { (self.calls.ibv_free_device_list)(self.list) }
        }
    }
}

/// An open device. Cheap to clone; closed when the last clone and everything made from it is gone.
#[derive(Clone, Debug)]
pub struct Context(pub(super) Arc<Open>);

/// What [`Context`] shares.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) calls: &'static Library,
    pub(super) device: String,
    pub(super) context: *mut ibv_context,
}

// SAFETY: - every verbs object may be used from any thread (ibv_open_device(3) and the rdma-core documentation
//           Documentation/libibverbs.md: "fully thread safe")
unsafe impl Send for Open {}
// SAFETY: - as above
unsafe impl Sync for Open {}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: - the context is open and everything made from it is gone: it all holds an Arc of this
        unsafe { (self.calls.ibv_close_device)(self.context) };
    }
}

impl Context {
    /// Opens the named device, for those who need one only.
    ///
    /// # Errors
    ///
    /// No library, no such device, or no access to it.
    pub fn open(device: &str) -> Result<Self, Error> {
        Devices::list()?.open(device)
    }

    /// Name of the device.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.0.device
    }

    /// What the device can do.
    ///
    /// # Errors
    ///
    /// `ibv_query_device` failed.
    pub fn limits(&self) -> Result<Limits, Error> {
        // SAFETY: - all-zero is a valid `ibv_device_attr`: numbers only
        let mut attributes: ibv_device_attr = unsafe { std::mem::zeroed() };
        // SAFETY: - the context is open, `attributes` is a valid out pointer
        let answer = unsafe { (self.0.calls.ibv_query_device)(self.0.context, &raw mut attributes) };
        Error::check(&self.0.device, "ibv_query_device", answer)?;
        let number = |value: i32| u32::try_from(value).unwrap_or(0);
        let firmware: Vec<u8> =
            attributes.fw_ver.iter().map(|c| c.cast_unsigned()).take_while(|byte| *byte != 0).collect();
        let firmware = String::from_utf8_lossy(&firmware).trim().to_owned();
        Ok(Limits {
            firmware: Some(firmware).filter(|text| !text.is_empty()),
            max_initiator_depth: number(attributes.max_qp_init_rd_atom),
            max_responder_depth: number(attributes.max_qp_rd_atom),
            max_depth: number(attributes.max_qp_wr),
            max_completions: number(attributes.max_cqe),
        })
    }

    /// State of a port.
    ///
    /// # Errors
    ///
    /// `ibv_query_port` failed; EINVAL means there is no such port.
    pub fn port(&self, port: u32) -> Result<Port, Error> {
        // SAFETY: - all-zero is a valid `ibv_port_attr`: numbers only
        let mut attributes: ibv_port_attr = unsafe { std::mem::zeroed() };
        // SAFETY: - the context is open, `attributes` is a valid out pointer, larger than what is written
        let answer =
            unsafe { (self.0.calls.ibv_query_port)(self.0.context, narrow(port), &raw mut attributes) };
        Error::check(&self.0.device, "ibv_query_port", answer)?;
        Ok(Port {
            state: state_word(attributes.state),
            active_mtu: mtu_bytes(attributes.active_mtu),
            max_mtu: mtu_bytes(attributes.max_mtu),
            max_message_bytes: attributes.max_msg_sz,
            lid: attributes.lid,
            // IBV_LINK_LAYER_* of infiniband/verbs.h; 0 is "unspecified", which old InfiniBand drivers say
            link_layer: match attributes.link_layer {
                0 | 1 => Some(LinkLayer::InfiniBand),
                2 => Some(LinkLayer::Ethernet),
                _ => None,
            },
        })
    }

    /// Entry `index` of a port's GID table; all zero for an empty one.
    ///
    /// # Errors
    ///
    /// `ibv_query_gid` failed: no such index.
    pub fn gid(&self, port: u32, index: u32) -> Result<Ipv6Addr, Error> {
        let mut gid = ibv_gid { raw: [0; 16] };
        let at = i32::try_from(index).unwrap_or(i32::MAX);
        // SAFETY: - the context is open, `gid` is a valid out pointer
        let answer = unsafe { (self.0.calls.ibv_query_gid)(self.0.context, narrow(port), at, &raw mut gid) };
        Error::check(&self.0.device, "ibv_query_gid", answer)?;
        // SAFETY: - every bit pattern is valid for `raw`
        Ok(Ipv6Addr::from(unsafe { gid.raw }))
    }
}

/// A port number as the calls take it; too large a number becomes one that no device has.
pub(super) fn narrow(port: u32) -> u8 {
    u8::try_from(port).unwrap_or(u8::MAX)
}

/// Bytes of an `enum ibv_mtu`.
fn mtu_bytes(code: u32) -> Option<u32> {
    (1..=5).contains(&code).then(|| 128 << code)
}

/// The largest `enum ibv_mtu` that is not above `bytes`.
pub(super) fn mtu_code(bytes: u32) -> Option<u32> {
    (1..=5).rev().find(|code| 128 << code <= bytes)
}

/// `enum ibv_port_state` in the kernel's words (`drivers/infiniband/core/sysfs.c`).
fn state_word(state: u32) -> &'static str {
    match state {
        0 => "NOP",
        1 => "DOWN",
        2 => "INIT",
        3 => "ARMED",
        4 => "ACTIVE",
        5 => "ACTIVE_DEFER",
        _ => "<unknown>",
    }
}

#[cfg(test)]
mod tests {
    use super::{mtu_bytes, mtu_code};

    #[test]
    fn path_mtus_are_powers_of_two_from_256_to_4096() {
        assert_eq!(
            (0..8).map(mtu_bytes).collect::<Vec<_>>(),
            [None, Some(256), Some(512), Some(1024), Some(2048), Some(4096), None, None]
        );
        assert_eq!([200, 256, 1500, 4096, 9000].map(mtu_code), [None, Some(1), Some(3), Some(5), Some(5)]);
    }
}
