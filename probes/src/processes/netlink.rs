//! The socket of RDMA netlink, and the dumps that are needed of it.

use super::nldev::{self, Device, GET, Owner, Parsed, RES_MR_GET, RES_QP_GET, Refusal};
use super::{Registered, RegisteredBy, Users};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect,
    netlink::{RDMA, SocketAddrNetlink},
    recv, send, socket_with,
    sockopt::{Timeout, set_socket_timeout},
};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The kernel answers at once; longer means that it never will.
const PATIENCE: Duration = Duration::from_secs(1);

/// More than the kernel puts into one datagram of a dump (at most 32 KiB, `netlink_dump`).
const DATAGRAM_BYTES: usize = 64 << 10;

/// Datagrams of one dump above which the other side is no kernel.
const MOST_DATAGRAMS: u32 = 100_000;

/// RDMA netlink is of no use here.
#[derive(Debug, thiserror::Error)]
#[error("RDMA netlink: {call}: {cause}{hint}")]
pub(super) struct NetlinkError {
    call: &'static str,
    cause: std::io::Error,
    hint: &'static str,
}

impl NetlinkError {
    fn new(call: &'static str, errno: Errno) -> Self {
        let hint = match errno {
            Errno::PROTONOSUPPORT => " (the kernel has no RDMA, or its module ib_core is not loaded)",
            Errno::PERM | Errno::ACCESS => " (it wants root here)",
            Errno::OPNOTSUPP | Errno::INVAL => " (a kernel before 4.17 cannot say)",
            Errno::AGAIN => " (the kernel did not answer within a second)",
            _ => "",
        };
        Self { call, cause: errno.into(), hint }
    }

    /// The kernel does not know the device, or the command: it says `EINVAL` to both.
    fn is_unknown(&self) -> bool {
        matches!(self.cause.raw_os_error(), Some(libc::EINVAL | libc::ENODEV))
    }
}

/// Queue pairs of all devices.
#[derive(Debug, Default)]
pub(super) struct QueuePairs {
    pub(super) users: Users,
    /// Queue pairs of processes that have no id in our PID namespace.
    pub(super) hidden: u32,
}

/// Asks the kernel whose the queue pairs of all devices are. The kernel's own are left out.
pub(super) fn queue_pairs() -> Result<QueuePairs, NetlinkError> {
    let mut found = QueuePairs::default();
    of_all_devices(RES_QP_GET, |device, parsed| {
        for owner in parsed.owners {
            match owner {
                Owner::Process(pid) => {
                    let count = found.users.entry((pid, device.to_owned())).or_default();
                    *count = Some(count.unwrap_or(0) + 1);
                }
                Owner::Hidden => found.hidden += 1,
                Owner::Kernel => {}
            }
        }
    })?;
    Ok(found)
}

/// Asks the kernel what the processes have registered with all devices. The kernel's own regions are left out.
pub(super) fn regions() -> Result<RegisteredBy, NetlinkError> {
    let mut found = RegisteredBy::new();
    of_all_devices(RES_MR_GET, |device, parsed| {
        for (owner, bytes) in parsed.regions {
            if let Owner::Process(pid) = owner {
                let sum: &mut Registered = found.entry((pid, device.to_owned())).or_default();
                *sum = sum.plus(Registered::one(bytes));
            }
        }
    })?;
    Ok(found)
}

/// Makes the dump of each device; one that vanishes meanwhile is passed over.
fn of_all_devices(command: u16, mut take: impl FnMut(&str, Parsed)) -> Result<(), NetlinkError> {
    let socket = open()?;
    let mut devices: Vec<Device> = Vec::new();
    dump(&socket, GET, 1, None, |parsed| devices.extend(parsed.devices))?;
    let mut refusal = None;
    let mut answered = devices.is_empty();
    for (device, sequence) in devices.iter().zip(2..) {
        let dumped =
            dump(&socket, command, sequence, Some(device.index), |parsed| take(&device.name, parsed));
        match dumped {
            Ok(()) => answered = true,
            // a device that vanished between both dumps, or a kernel that does not know the command
            Err(error) if error.is_unknown() => refusal = Some(error),
            Err(error) => return Err(error),
        }
    }
    match refusal {
        Some(error) if !answered => Err(error),
        _ => Ok(()),
    }
}

fn open() -> Result<OwnedFd, NetlinkError> {
    let failed = |call| move |errno| NetlinkError::new(call, errno);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(RDMA))
        .map_err(failed("socket"))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE)).map_err(failed("setsockopt"))?;
    // port 0 is the kernel
    connect(&socket, &SocketAddrNetlink::new(0, 0)).map_err(failed("connect"))?;
    Ok(socket)
}

fn dump(
    socket: &OwnedFd,
    command: u16,
    sequence: u32,
    device: Option<u32>,
    mut take: impl FnMut(Parsed),
) -> Result<(), NetlinkError> {
    let call = match command {
        GET => "RDMA_NLDEV_CMD_GET",
        RES_MR_GET => "RDMA_NLDEV_CMD_RES_MR_GET",
        _ => "RDMA_NLDEV_CMD_RES_QP_GET",
    };
    let failed = |errno| NetlinkError::new(call, errno);
    send(socket, &nldev::request(command, sequence, device), SendFlags::empty()).map_err(failed)?;
    let mut datagram = vec![0_u8; DATAGRAM_BYTES];
    for _ in 0..MOST_DATAGRAMS {
        // TRUNC: the full length is told even if it did not fit
        let (_, length) = match recv(socket, &mut datagram[..], RecvFlags::TRUNC) {
            Err(Errno::INTR) => continue,
            read => read.map_err(failed)?,
        };
        let bytes = datagram.get(..length).ok_or_else(|| failed(Errno::MSGSIZE))?;
        match nldev::parse(bytes, command, sequence) {
            Ok(parsed) if parsed.is_done => {
                take(parsed);
                return Ok(());
            }
            Ok(parsed) => take(parsed),
            Err(Refusal::Errno(errno)) => return Err(failed(Errno::from_raw_os_error(errno))),
            Err(Refusal::Malformed) => return Err(failed(Errno::BADMSG)),
        }
    }
    Err(failed(Errno::NOBUFS))
}
