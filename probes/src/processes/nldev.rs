//! Messages of RDMA netlink, taken apart with every length checked.
//!
//! Layout: netlink(7), `struct nlmsghdr` and `struct nlattr` of include/uapi/linux/netlink.h; numbers of
//! commands and attributes: `include/uapi/rdma/rdma_netlink.h`.

/// `RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)`: client 5 in the upper six bits.
pub(super) const fn message_type(command: u16) -> u16 {
    (5 << 10) | command
}

/// `RDMA_NLDEV_CMD_GET`.
pub(super) const GET: u16 = 1;
/// `RDMA_NLDEV_CMD_RES_QP_GET`.
pub(super) const RES_QP_GET: u16 = 10;
/// `RDMA_NLDEV_CMD_RES_MR_GET`.
pub(super) const RES_MR_GET: u16 = 13;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_DUMP: u16 = 0x300;
const HEADER_BYTES: usize = 16;
const ATTRIBUTE_BYTES: usize = 4;
/// Without the flags `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER`.
const TYPE_MASK: u16 = 0x3fff;

const DEV_INDEX: u16 = 1;
const DEV_NAME: u16 = 2;
const RES_QP: u16 = 19;
const RES_QP_ENTRY: u16 = 20;
const RES_PID: u16 = 28;
const RES_KERN_NAME: u16 = 29;
const RES_MR: u16 = 40;
const RES_MR_ENTRY: u16 = 41;
const RES_MRLEN: u16 = 45;

/// One device of a `GET` dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Device {
    pub(super) index: u32,
    pub(super) name: String,
}

/// Whose a queue pair or a memory region is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A process, by its id in our PID namespace.
    Process(u32),
    /// The kernel itself (`ib_core`, a storage driver).
    Kernel,
    /// A process that has no id in our PID namespace (`fill_res_name_pid` in drivers/infiniband/core/nldev.c).
    Hidden,
}

/// What a datagram holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) devices: Vec<Device>,
    /// Owners of queue pairs, in the order of the dump.
    pub(super) owners: Vec<Owner>,
    /// Owners of memory regions and their bytes, in the order of the dump. Of where a region lies the kernel says nothing
    /// (`fill_res_mr_entry` in drivers/infiniband/core/nldev.c).
    pub(super) regions: Vec<(Owner, u64)>,
    /// The dump ends here.
    pub(super) is_done: bool,
}

/// Why a datagram is of no use.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The kernel answered with this error number.
    Errno(i32),
    /// A length leads outside.
    Malformed,
}

/// A request for a dump; `device` is its index where the command is about one device.
pub(super) fn request(command: u16, sequence: u32, device: Option<u32>) -> Vec<u8> {
    let mut body = Vec::new();
    if let Some(index) = device {
        body.extend_from_slice(&8_u16.to_ne_bytes());
        body.extend_from_slice(&DEV_INDEX.to_ne_bytes());
        body.extend_from_slice(&index.to_ne_bytes());
    }
    let mut message = Vec::with_capacity(HEADER_BYTES + body.len());
    let length = u32::try_from(HEADER_BYTES + body.len()).expect("a request has a few bytes");
    message.extend_from_slice(&length.to_ne_bytes());
    message.extend_from_slice(&message_type(command).to_ne_bytes());
    message.extend_from_slice(&(NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    message.extend_from_slice(&sequence.to_ne_bytes());
    message.extend_from_slice(&0_u32.to_ne_bytes());
    message.extend_from_slice(&body);
    message
}

/// Takes one datagram of the answer to request `sequence` apart; messages of other requests are left out.
pub(super) fn parse(datagram: &[u8], command: u16, sequence: u32) -> Result<Parsed, Refusal> {
    let mut parsed = Parsed::default();
    let mut rest = datagram;
    while !rest.is_empty() {
        let length = usize::try_from(u32_at(rest, 0)?).map_err(|_| Refusal::Malformed)?;
        let message = rest.get(..length).filter(|m| m.len() >= HEADER_BYTES).ok_or(Refusal::Malformed)?;
        rest = rest.get(aligned(length)..).unwrap_or_default();
        if u32_at(message, 8)? != sequence {
            continue;
        }
        let body = &message[HEADER_BYTES..];
        match u16_at(message, 4)? {
            NLMSG_DONE | NLMSG_ERROR => {
                // both begin with a negative error number, or 0; an old kernel's DONE may be empty
                let errno = if body.is_empty() { 0 } else { i32::from_ne_bytes(four(body, 0)?) };
                if errno != 0 {
                    return Err(Refusal::Errno(errno.saturating_neg()));
                }
                parsed.is_done = true;
            }
            kind if kind == message_type(command) => entry(body, &mut parsed)?,
            _ => {}
        }
    }
    Ok(parsed)
}

fn entry(body: &[u8], parsed: &mut Parsed) -> Result<(), Refusal> {
    let (mut index, mut name) = (None, None);
    for attribute in Attributes(body) {
        let (kind, value) = attribute?;
        match kind {
            DEV_INDEX => index = Some(u32_at(value, 0)?),
            DEV_NAME => name = Some(text(value)),
            RES_QP => {
                for queue_pair in Attributes(value) {
                    if let (RES_QP_ENTRY, value) = queue_pair? {
                        parsed.owners.push(owner(value)?);
                    }
                }
            }
            RES_MR => {
                for region in Attributes(value) {
                    if let (RES_MR_ENTRY, value) = region? {
                        parsed.regions.push((owner(value)?, bytes_of(value)?));
                    }
                }
            }
            _ => {}
        }
    }
    if let (Some(index), Some(name)) = (index, name) {
        parsed.devices.push(Device { index, name });
    }
    Ok(())
}

/// Length of a memory region; 0 where the kernel told none.
fn bytes_of(region: &[u8]) -> Result<u64, Refusal> {
    for attribute in Attributes(region) {
        if let (RES_MRLEN, value) = attribute? {
            let eight = value.get(..8).and_then(|b| b.try_into().ok()).ok_or(Refusal::Malformed)?;
            return Ok(u64::from_ne_bytes(eight));
        }
    }
    Ok(0)
}

fn owner(resource: &[u8]) -> Result<Owner, Refusal> {
    for attribute in Attributes(resource) {
        match attribute? {
            (RES_PID, value) => return Ok(Owner::Process(u32_at(value, 0)?)),
            (RES_KERN_NAME, _) => return Ok(Owner::Kernel),
            _ => {}
        }
    }
    Ok(Owner::Hidden)
}

/// Attributes one after another; ends at the first that is malformed.
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<(u16, &'a [u8]), Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let read = |bytes: &'a [u8]| {
            let length = usize::from(u16_at(bytes, 0)?);
            let kind = u16_at(bytes, 2)? & TYPE_MASK;
            let value = bytes.get(ATTRIBUTE_BYTES..length).ok_or(Refusal::Malformed)?;
            Ok((length, (kind, value)))
        };
        match read(self.0) {
            Ok((length, attribute)) => {
                self.0 = self.0.get(aligned(length)..).unwrap_or_default();
                Some(Ok(attribute))
            }
            Err(refusal) => {
                self.0 = &[];
                Some(Err(refusal))
            }
        }
    }
}

/// `NLMSG_ALIGN` and `NLA_ALIGN`: up to the next multiple of four.
fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

fn four(bytes: &[u8], at: usize) -> Result<[u8; 4], Refusal> {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).ok_or(Refusal::Malformed)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Refusal> {
    four(bytes, at).map(u32::from_ne_bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Refusal> {
    let two = bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).ok_or(Refusal::Malformed)?;
    Ok(u16::from_ne_bytes(two))
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
#[path = "nldev_tests.rs"]
mod tests;
