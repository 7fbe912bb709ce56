//! The port of a bond from which a queue pair of mlx5 sends.
//!
//! Source: man `mlx5dv_modify_qp_lag_port(3)` and `mlx5dv_query_qp_lag_port(3)`, and `providers/mlx5/verbs.c` and
//! `mlx5dv.c` of rdma-core: a queue pair must be in RTS, must have a port of its own already, and the firmware must be
//! able to change it there. libmlx5 is opened at first use; libibverbs has the same file as its provider, and the
//! loader gives the same copy of it.

use super::loading::{NotLoaded, load};
use super::verbs::QueuePair;
use libc::c_int;
use rdma_sys::{ibv_device, ibv_qp};
use std::io;
use std::sync::OnceLock;

/// Names another library file, for tests.
const OVERRIDE: &str = "RAILSCOPE_MLX5";

/// The soname that rdma-core has had since mlx5dv exists.
const SONAME: &str = "libmlx5.so.1";

/// Why a queue pair cannot be made to send from a port of the bond.
#[derive(Debug, thiserror::Error)]
pub enum NoLeg {
    /// The library cannot be opened, or lacks the calls.
    #[error(
        "--leg needs libmlx5: {path}: {reason}; rdma-core 30 and later have it (Debian: ibverbs-providers)"
    )]
    Library {
        /// File or soname asked for.
        path: String,
        /// What the loader said.
        reason: String,
    },
    /// The device is none of mlx5.
    #[error("not a LAG: libmlx5 does not know the device; only mlx5 gives each queue pair a leg")]
    NotMlx5,
    /// Driver or firmware have no port of a bond for this queue pair.
    #[error(
        "not a LAG: {call}: {cause}: driver or firmware have no port of a bond for this queue pair; the bond must be \
         RoCE LAG of one card, and its port_sel_mode queue_affinity, because under hash a queue pair has no port of \
         its own (/sys/kernel/debug/mlx5/PCI-ADDRESS/lag)"
    )]
    NotSupported {
        /// Call that said so.
        call: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// Another answer of a call.
    #[error("--leg: {call}: {cause}")]
    Call {
        /// Call that failed.
        call: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// The port was set, and the firmware sends from another.
    #[error(
        "leg {asked} was set, but the firmware sends from leg {active}: the asked one has no link, or the firmware \
         ignores what is set (/sys/kernel/debug/mlx5/PCI-ADDRESS/lag/mapping)"
    )]
    Elsewhere {
        /// Port that was asked for.
        asked: u8,
        /// Port from which it sends.
        active: u8,
    },
}

/// The calls, by their C names without `mlx5dv_`.
struct Library {
    is_supported: unsafe extern "C" fn(*mut ibv_device) -> bool,
    query_qp_lag_port: unsafe extern "C" fn(*mut ibv_qp, *mut u8, *mut u8) -> c_int,
    modify_qp_lag_port: unsafe extern "C" fn(*mut ibv_qp, u8) -> c_int,
}

impl Library {
    fn resolve(library: &libloading::os::unix::Library) -> Result<Self, libloading::Error> {
        // SAFETY: - each type is the prototype of that name in infiniband/mlx5dv.h, unchanged since its symbol version
        unsafe {
            Ok(Self {
                is_supported: *library.get(b"mlx5dv_is_supported\0")?,
                query_qp_lag_port: *library.get(b"mlx5dv_query_qp_lag_port\0")?,
                modify_qp_lag_port: *library.get(b"mlx5dv_modify_qp_lag_port\0")?,
            })
        }
    }
}

/// The library, opened at the first call; the answer is the same for the life of the program.
fn library() -> Result<&'static Library, NoLeg> {
    static LIBRARY: OnceLock<Result<Library, NotLoaded>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| load(OVERRIDE, SONAME, Library::resolve)).as_ref();
    library
        .map_err(|NotLoaded { path, reason }| NoLeg::Library { path: path.clone(), reason: reason.clone() })
}

/// Whether the library is there and has the calls.
///
/// # Errors
///
/// It is not installed, or is too old.
pub fn available() -> Result<(), NoLeg> {
    library().map(|_| ())
}

impl QueuePair {
    /// Has it send from this port of the bond, from 1, and looks whether it does. It must be in RTS, and keeps the port
    /// until its state changes.
    ///
    /// # Errors
    ///
    /// The library or the device has no such thing, the firmware refuses, or it sends from another port.
    pub fn send_from(&mut self, port: u8) -> Result<(), NoLeg> {
        let library = library()?;
        // SAFETY: - the queue pair is live, and so are its context and the context's device, which it points to
        let is_supported = unsafe { (library.is_supported)((*(*self.qp).context).device) };
        if !is_supported {
            return Err(NoLeg::NotMlx5);
        }
        // SAFETY: - the queue pair is live and of a device that this library drives
        let answer = unsafe { (library.modify_qp_lag_port)(self.qp, port) };
        check("mlx5dv_modify_qp_lag_port", answer)?;
        let (mut configured, mut active) = (0, 0);
        // SAFETY: - as above, and both numbers may be written
        let answer = unsafe { (library.query_qp_lag_port)(self.qp, &raw mut configured, &raw mut active) };
        check("mlx5dv_query_qp_lag_port", answer)?;
        if active == port { Ok(()) } else { Err(NoLeg::Elsewhere { asked: port, active }) }
    }
}

/// The answer of a call that gives 0 or an error number.
fn check(call: &'static str, answer: c_int) -> Result<(), NoLeg> {
    let cause = match answer {
        0 => return Ok(()),
        -1 => io::Error::last_os_error(),
        number => io::Error::from_raw_os_error(number.saturating_abs()),
    };
    Err(match cause.raw_os_error() {
        Some(libc::EOPNOTSUPP) => NoLeg::NotSupported { call, cause },
        _ => NoLeg::Call { call, cause },
    })
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_the_firmware_lacks_is_said_otherwise_than_what_went_wrong() {
        let said = |number| check("mlx5dv_modify_qp_lag_port", number).unwrap_err().to_string();
        assert!(said(libc::EOPNOTSUPP).starts_with("not a LAG: mlx5dv_modify_qp_lag_port: "));
        assert!(said(libc::EINVAL).starts_with("--leg: mlx5dv_modify_qp_lag_port: Invalid argument"));
        assert!(check("mlx5dv_modify_qp_lag_port", 0).is_ok());
    }
}
