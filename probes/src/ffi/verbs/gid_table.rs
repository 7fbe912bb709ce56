//! The GID table of a device in one call, where sysfs takes three files an entry.

use super::context::Context;
use super::error::Error;
use crate::model::GidType;
use rdma_sys::ibv_gid_entry;
use std::io;
use std::net::Ipv6Addr;

/// As many entries as fit into an attribute of the call, whose length has 16 bits
/// (`struct ib_uverbs_attr`, `include/uapi/rdma/rdma_user_ioctl_cmds.h`). Empty ones are not among them.
const MOST: usize = u16::MAX as usize / size_of::<ibv_gid_entry>();

/// One entry that is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GidEntry {
    /// Port, from 1.
    pub port: u32,
    /// Position in the port's table.
    pub index: u32,
    /// The 128 bits.
    pub address: Ipv6Addr,
    /// `None` for a type this program does not know.
    pub kind: Option<GidType>,
    /// Interface number of its netdev; `None` on InfiniBand and for netdevs of other namespaces.
    pub netdev_index: Option<u32>,
}

impl Context {
    /// Entries of all ports that are not empty. The kernel answers in one call since 5.10.
    ///
    /// # Errors
    ///
    /// `ibv_query_gid_table` failed, or the library is older than rdma-core 32.
    pub fn gid_table(&self) -> Result<Vec<GidEntry>, Error> {
        const CALL: &str = "ibv_query_gid_table";
        let failed = |number| Error::call(&self.0.device, CALL, io::Error::from_raw_os_error(number));
        let query = self.0.calls.ibv_query_gid_table.ok_or_else(|| failed(libc::EOPNOTSUPP))?;
        let mut entries: Vec<ibv_gid_entry> = Vec::with_capacity(MOST);
        // SAFETY: - the context is open
        //         - `entries` has room for `MOST` entries, each of the size that is passed
        let answer =
            unsafe { query(self.0.context, entries.as_mut_ptr(), MOST, 0, size_of::<ibv_gid_entry>()) };
        // a negative answer is an error number
        let filled =
            usize::try_from(answer).map_err(|_| failed(i32::try_from(-answer).unwrap_or(libc::EIO)))?;
        // SAFETY: - the call filled that many entries, and no more than it was given room for
        unsafe { entries.set_len(filled.min(MOST)) };
        Ok(entries.iter().map(GidEntry::of).collect())
    }
}

impl GidEntry {
    fn of(entry: &ibv_gid_entry) -> Self {
        Self {
            port: entry.port_num,
            index: entry.gid_index,
            // SAFETY: - every bit pattern is valid for `raw`
            address: Ipv6Addr::from(unsafe { entry.gid.raw }),
            // `enum ibv_gid_type` of infiniband/verbs.h; sysfs has one text for the first two
            kind: match entry.gid_type {
                0 | 1 => Some(GidType::IbOrRoceV1),
                2 => Some(GidType::RoceV2),
                _ => None,
            },
            netdev_index: Some(entry.ndev_ifindex).filter(|index| *index != 0),
        }
    }
}
