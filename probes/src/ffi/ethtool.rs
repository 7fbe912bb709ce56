//! Driver statistics by the `SIOCETHTOOL` ioctl: what `ethtool -S` prints.
//!
//! Source: include/uapi/linux/ethtool.h, `struct ethtool_stats`, `struct ethtool_gstrings`,
//! `struct ethtool_sset_info`; net/ethtool/ioctl.c. No privilege is needed for these three commands.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
/// `enum ethtool_stringset`: names of driver statistics.
const ETH_SS_STATS: u32 = 1;
/// `ETH_GSTRING_LEN`, in units of `u64`.
const NAME_WORDS: usize = 4;
/// The kernel writes as many entries as the driver has when the call is made, whatever was asked for
/// (`ethtool_get_stats`), and the driver's list may have grown since its size was asked. No driver grows by
/// this many at once; pages that are not written are never resident.
const SLACK_ENTRIES: usize = 1 << 16;
/// Header of both replies, in units of `u64`: the largest is `ethtool_gstrings` with 12 bytes.
const HEADER_WORDS: usize = 2;

/// A socket to ask drivers through.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
}

impl Ethtool {
    /// Opens a datagram socket; any will do, it is only a handle for the ioctl (netdevice(7)).
    pub fn open() -> io::Result<Self> {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        Ok(Self { socket })
    }

    /// Names of the driver's statistics, in the order of [`Ethtool::statistics`].
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` where the driver has none (bonds, VLANs), `ENODEV` where there is no such netdev.
    pub fn statistic_names(&self, netdev: &str) -> io::Result<Vec<String>> {
        let count = self.count(netdev)?;
        let reply = self.ask(netdev, [ETHTOOL_GSTRINGS, ETH_SS_STATS], count, NAME_WORDS)?;
        // struct ethtool_gstrings { u32 cmd, string_set, len; u8 data[]; }
        let bytes: Vec<u8> = reply.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let length = halves(reply[1])[0] as usize;
        let names = bytes[12..].chunks_exact(NAME_WORDS * 8).take(length).map(|name| {
            let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
            String::from_utf8_lossy(&name[..end]).into_owned()
        });
        Ok(names.collect())
    }

    /// Values of the driver's statistics.
    ///
    /// # Errors
    ///
    /// As for [`Ethtool::statistic_names`].
    pub fn statistics(&self, netdev: &str) -> io::Result<Vec<u64>> {
        let count = self.count(netdev)?;
        let wanted = u32::try_from(count).map_err(io::Error::other)?;
        let mut reply = self.ask(netdev, [ETHTOOL_GSTATS, wanted], count, 1)?;
        // struct ethtool_stats { u32 cmd, n_stats; u64 data[]; }
        let length = halves(reply[0])[1] as usize;
        reply.remove(0);
        reply.truncate(length);
        Ok(reply)
    }

    fn count(&self, netdev: &str) -> io::Result<usize> {
        // struct ethtool_sset_info { u32 cmd, reserved; u64 sset_mask; u32 data[]; }
        let mut request = [joined([ETHTOOL_GSSET_INFO, 0]), 1 << ETH_SS_STATS, 0];
        self.ioctl(netdev, &mut request)?;
        if request[1] == 0 {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        Ok(halves(request[2])[0] as usize)
    }

    fn ask(&self, netdev: &str, start: [u32; 2], count: usize, entry_words: usize) -> io::Result<Vec<u64>> {
        let room = HEADER_WORDS + (count + SLACK_ENTRIES) * entry_words;
        let mut reply = vec![0_u64; room];
        reply[0] = joined(start);
        self.ioctl(netdev, &mut reply)?;
        reply.truncate(HEADER_WORDS + (count + 1) * entry_words);
        Ok(reply)
    }

    fn ioctl(&self, netdev: &str, data: &mut [u64]) -> io::Result<()> {
        // SAFETY: - ifreq is plain old data for which all zeroes is a value
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if netdev.len() >= request.ifr_name.len() || netdev.contains('\0') {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(netdev.bytes()) {
            *to = libc::c_char::from_ne_bytes([from]);
        }
        request.ifr_ifru.ifru_data = data.as_mut_ptr().cast();
        // SAFETY: - the socket is open: `self` owns it
        //         - `request` and `data` live through the call, and both are aligned for their types
        //         - the kernel writes a header and as many entries as the driver has; `ask` leaves room for
        //           far more than it had a moment ago (see SLACK_ENTRIES), `count` for the one word asked for
        let done = unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Two 32-bit words side by side, as the head of an ethtool command has them.
fn joined(words: [u32; 2]) -> u64 {
    let mut both = [0; 8];
    for (to, word) in both.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    u64::from_ne_bytes(both)
}

/// The reverse of [`joined`].
fn halves(both: u64) -> [u32; 2] {
    let both = both.to_ne_bytes();
    let (halves, _) = both.as_chunks::<4>();
    [u32::from_ne_bytes(halves[0]), u32::from_ne_bytes(halves[1])]
}

#[cfg(test)]
mod tests {
    use super::Ethtool;

    #[test]
    fn a_netdev_without_driver_statistics_is_an_error() {
        let ethtool = Ethtool::open().unwrap();
        // the loopback device exists everywhere and has no driver statistics
        let error = ethtool.statistics("lo").unwrap_err();
        assert!(error.raw_os_error().is_some(), "{error}");
    }

    #[test]
    fn a_name_longer_than_the_kernel_allows_is_an_error() {
        let error = Ethtool::open().unwrap().statistic_names("a-name-of-no-netdev").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }
}
