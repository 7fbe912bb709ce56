//! What the survey wants to know of a device that sysfs does not tell.

use super::context::{Devices, Limits, Port};
use super::error::Error;

/// What the verbs library tells about one port of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What the device can do.
    pub limits: Limits,
    /// State of the port.
    pub port: Port,
}

/// Opens the device, asks, and closes it again.
///
/// # Errors
///
/// No such device, no access to it, or no such port.
pub fn facts(devices: &Devices, device: &str, port: u32) -> Result<Facts, Error> {
    let context = devices.open(device)?;
    Ok(Facts { limits: context.limits()?, port: context.port(port)? })
}
