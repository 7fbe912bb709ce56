//! What the survey wants to know of a device that sysfs does not tell.

use super::context::{Context, DeviceList, Limits, Port};
use super::error::Error;

/// What the verbs library tells about one port of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What the device can do.
    pub limits: Limits,
    /// State of the port.
    pub port: Port,
}

/// Names of the devices the library sees; empty where the kernel has no RDMA support.
///
/// # Errors
///
/// The library is not installed.
pub fn devices() -> Result<Vec<String>, Error> {
    Ok(DeviceList::get()?.names())
}

/// Opens the device, asks, and closes it again.
///
/// # Errors
///
/// No library, no such device, no access to it, or no such port.
pub fn facts(device: &str, port: u32) -> Result<Facts, Error> {
    let context = Context::open(device)?;
    Ok(Facts { limits: context.limits()?, port: context.port(port)? })
}
