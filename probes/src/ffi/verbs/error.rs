//! What goes wrong with verbs, and what usually causes it.

use crate::ffi::cuda::NoExport;
use std::io;

/// A failure of the verbs library, with the device, the call, the cause and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The library cannot be opened.
    #[error("{path}: {reason}; install libibverbs1 and ibverbs-providers (Debian) or rdma-core (Red Hat)")]
    Library {
        /// File or soname asked for.
        path: String,
        /// What the loader said.
        reason: String,
    },
    /// No device has this name.
    #[error("{device}: no such RDMA device; the verbs library lists {listed}")]
    NoDevice {
        /// Name asked for.
        device: String,
        /// Names there are, or `none`.
        listed: String,
    },
    /// A call failed.
    #[error("{device}: {call}: {cause}{hint}")]
    Call {
        /// RDMA device.
        device: String,
        /// Call, such as `ibv_modify_qp to RTR`.
        call: &'static str,
        /// What the system said.
        cause: io::Error,
        /// Empty, or `; ` and what usually causes it and what to do.
        hint: String,
    },
    /// No way to register memory of a GPU works.
    #[error("{device}: {refused}")]
    Gpu {
        /// RDMA device.
        device: String,
        /// What each way lacks.
        refused: Box<GpuRefused>,
    },
    /// The device cannot do what is asked.
    #[error("{device}: {reason}")]
    Limit {
        /// RDMA device.
        device: String,
        /// What was asked, and what the device can.
        reason: String,
    },
}

/// Why memory of a GPU cannot be registered, by each way.
#[derive(Debug, thiserror::Error)]
#[error(
    "the memory of {gpu} cannot be registered: as a dmabuf: {dmabuf}; through peer memory: ibv_reg_mr: {peermem}"
)]
pub struct GpuRefused {
    /// The GPU, for people.
    pub gpu: String,
    /// Why not as a dmabuf.
    pub dmabuf: NoDmabuf,
    /// What `ibv_reg_mr` said to an address of the GPU; EFAULT where no peer-memory module is loaded.
    pub peermem: io::Error,
}

/// Why memory of a GPU cannot be registered as a dmabuf.
#[derive(Debug, thiserror::Error)]
pub enum NoDmabuf {
    /// libibverbs is too old.
    #[error("libibverbs has no ibv_reg_dmabuf_mr (rdma-core 34 and later have)")]
    OldLibrary,
    /// The GPU's driver gives none.
    #[error(transparent)]
    NoExport(#[from] NoExport),
    /// The kernel or the RDMA driver refuses it.
    #[error("ibv_reg_dmabuf_mr: {cause}{}", refusal(cause))]
    Refused {
        /// What the system said.
        cause: io::Error,
    },
}

/// Whether this answer to a dmabuf means that the kernel or the RDMA driver takes none at all.
///
/// Source: `drivers/infiniband` of Linux, where the core takes one since 5.12, and each driver since its own version;
/// NCCL asks the same way (`wrap_ibv_reg_dmabuf_mr`).
#[must_use]
pub fn lacks_dmabuf(cause: &io::Error) -> bool {
    matches!(cause.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EPROTONOSUPPORT | libc::ENOSYS))
}

/// What a refused dmabuf usually means.
fn refusal(cause: &io::Error) -> &'static str {
    match cause.raw_os_error() {
        _ if lacks_dmabuf(cause) => " (kernels take a dmabuf from 5.12 on, RDMA drivers each from their own)",
        Some(libc::ENOMEM) => {
            " (the device cannot map so much, or the GPU's BAR1 is full: see nvidia-smi -q)"
        }
        _ => "",
    }
}

impl Error {
    /// A call that failed with `cause`, with the usual cause added where one is known.
    pub(super) fn call(device: &str, call: &'static str, cause: io::Error) -> Self {
        let hint = hint(call, &cause).map_or_else(String::new, |text| format!("; {text}"));
        Self::Call { device: device.to_owned(), call, cause, hint }
    }

    /// The same with the `errno` of the calling thread, for calls that answer with a null pointer.
    pub(super) fn last(device: &str, call: &'static str) -> Self {
        Self::call(device, call, io::Error::last_os_error())
    }

    /// The answer of a call that gives 0 or an error number. Some providers give -1 and set `errno`.
    pub(super) fn check(device: &str, call: &'static str, answer: i32) -> Result<(), Self> {
        match answer {
            0 => Ok(()),
            -1 => Err(Self::last(device, call)),
            number => Err(Self::call(device, call, io::Error::from_raw_os_error(number.abs()))),
        }
    }
}

/// What usually causes this answer of this call, and what to do. Sources: the man pages of the calls, and
/// perftest's and NCCL's issue threads about them.
fn hint(call: &str, cause: &io::Error) -> Option<String> {
    let text = match (call, cause.raw_os_error()?) {
        (_, libc::ENOSYS) => "the kernel has no RDMA support loaded (modprobe ib_uverbs)",
        ("ibv_open_device", libc::ENOENT | libc::ENXIO) => {
            "no /dev/infiniband/uverbs node; in a container pass it through (--device /dev/infiniband)"
        }
        ("ibv_open_device", libc::EACCES | libc::EPERM) => {
            "no permission on /dev/infiniband/uverbs*; run as root or add a udev rule"
        }
        ("ibv_reg_mr", libc::ENOMEM) => return Some(memlock_hint()),
        ("ibv_reg_mr", libc::EINVAL | libc::EFAULT) => "the memory cannot be registered with this access",
        ("ibv_create_qp" | "ibv_create_cq", libc::ENOMEM) => {
            "the device is out of queue memory or the locked-memory limit is low; try fewer QPs or less depth"
        }
        ("ibv_create_qp", libc::EINVAL) => "more than the device can do in depth or QPs",
        ("ibv_modify_qp to RTR", libc::EINVAL) => {
            "the GID index is empty, of another RoCE version than the peer's, or the path MTU is too large"
        }
        ("ibv_modify_qp to RTR", libc::ENETUNREACH | libc::EHOSTUNREACH) => {
            "no route to the peer's GID from this rail's netdev; check addresses and routes"
        }
        ("ibv_modify_qp to RTR", libc::ETIMEDOUT) => {
            "the peer's address did not answer (ARP or neighbour discovery); check that both rails share a subnet or a route"
        }
        ("ibv_modify_qp to RTS", libc::EINVAL) => {
            "the READ depth or the timeout is more than the device can do"
        }
        (_, libc::EIO | libc::ENODEV) => "the device is gone or in a fatal error; see dmesg",
        (_, libc::EPERM) => "not permitted here (cgroup, security module or namespace)",
        _ => return None,
    };
    Some(text.to_owned())
}

/// The usual cause of ENOMEM when memory is registered, with the limit that applies here.
fn memlock_hint() -> String {
    match rustix::process::getrlimit(rustix::process::Resource::Memlock).current {
        None => "locked memory is unlimited, so the device or the kernel is out of memory".to_owned(),
        Some(bytes) => format!(
            "the locked-memory limit is {} kB; raise it: ulimit -l unlimited, or memlock in /etc/security/limits.conf, \
             or LimitMEMLOCK=infinity in the service",
            bytes / 1024
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn the_usual_cause_follows_the_cause() {
        let error = Error::check("mlx5_3", "ibv_modify_qp to RTR", libc::EINVAL).unwrap_err().to_string();
        assert!(error.starts_with("mlx5_3: ibv_modify_qp to RTR: Invalid argument"), "{error}");
        assert!(error.contains("GID index"), "{error}");
    }

    #[test]
    fn too_little_locked_memory_names_the_limit() {
        let error = Error::check("mlx5_3", "ibv_reg_mr", libc::ENOMEM).unwrap_err().to_string();
        assert!(error.contains("locked"), "{error}");
    }

    #[test]
    fn an_unknown_cause_gets_no_guess() {
        let error = Error::check("mlx5_3", "ibv_dealloc_pd", libc::EBUSY).unwrap_err().to_string();
        assert!(!error.contains(';'), "{error}");
    }
}
