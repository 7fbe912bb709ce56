//! PCI config space: the PCI Express and the Access Control Services capability of a function.

use crate::model::Acs;

/// Capability id of PCI Express.
///
/// Source: PCI Express Base Specification 5.0, section 7.5.3; Linux `include/uapi/linux/pci_regs.h`.
const PCI_EXPRESS: u8 = 0x10;
/// Offset of the pointer to the first capability.
const FIRST_CAPABILITY: usize = 0x34;
/// The header is all that an unprivileged reader gets (drivers/pci/pci-sysfs.c, `pci_read_config`).
const HEADER: usize = 64;
/// More capabilities than fit into the 192 bytes behind the header.
const MOST_CAPABILITIES: u32 = 48;

/// Offset of the first extended capability.
///
/// Source: PCI Express Base Specification 5.0, section 7.6.3.
const EXTENDED: usize = 0x100;
/// Extended capability id of Access Control Services.
///
/// Source: the same, section 7.7.8; Linux `include/uapi/linux/pci_regs.h` (`PCI_EXT_CAP_ID_ACS`).
const ACCESS_CONTROL: u32 = 0x000d;
/// More extended capabilities than fit into 4096 bytes.
const MOST_EXTENDED: u32 = 960;

/// What a function's PCI Express capability says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Express {
    /// Largest payload the function sends, bytes.
    pub max_payload_bytes: u32,
    /// Largest read request the function sends, bytes.
    pub max_read_request_bytes: u32,
    /// Relaxed ordering enabled.
    pub relaxed_ordering: bool,
    /// Rate in use; `None` for a code this program does not know.
    pub current_gt_per_s: Option<f64>,
    /// Lanes in use; `None` for 0, as virtual functions have it.
    pub current_width: Option<u32>,
    /// Rate the function can do.
    pub max_gt_per_s: Option<f64>,
    /// Lanes the function has.
    pub max_width: Option<u32>,
}

/// Why there is no capability to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoExpress {
    /// Only the header was readable.
    HeaderOnly,
    /// All of it was readable, and there is none.
    None,
}

impl Express {
    /// Finds and reads the capability.
    pub fn of(config: &[u8]) -> Result<Self, NoExpress> {
        if config.len() <= HEADER {
            return Err(NoExpress::HeaderOnly);
        }
        let at = capability(config, PCI_EXPRESS).ok_or(NoExpress::None)?;
        let control = word(config, at + 0x08).ok_or(NoExpress::None)?;
        let can = double_word(config, at + 0x0c).ok_or(NoExpress::None)?;
        let now = word(config, at + 0x12).ok_or(NoExpress::None)?;
        Ok(Self {
            max_payload_bytes: 128 << (control >> 5 & 7),
            max_read_request_bytes: 128 << (control >> 12 & 7),
            relaxed_ordering: control & 1 << 4 != 0,
            current_gt_per_s: rate(u32::from(now) & 0xf),
            current_width: width(u32::from(now) >> 4 & 0x3f),
            max_gt_per_s: rate(can & 0xf),
            max_width: width(can >> 4 & 0x3f),
        })
    }
}

/// Why there is no extended config space to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoExtended {
    /// Only the header was readable.
    HeaderOnly,
    /// The platform gives no way to the space behind the first 256 bytes.
    Conventional,
    /// All ones: the function does not answer.
    Silent,
}

/// What a port's Access Control Services redirect; a port without the capability redirects nothing.
pub(super) fn access_control(config: &[u8]) -> Result<Acs, NoExtended> {
    if config.len() <= HEADER {
        return Err(NoExtended::HeaderOnly);
    }
    if config.len() <= EXTENDED {
        return Err(NoExtended::Conventional);
    }
    if double_word(config, EXTENDED) == Some(u32::MAX) {
        return Err(NoExtended::Silent);
    }
    let Some(control) = extended_capability(config, ACCESS_CONTROL).and_then(|at| word(config, at + 0x06))
    else {
        return Ok(Acs::default());
    };
    Ok(Acs { request_redirect: control & 1 << 2 != 0, completion_redirect: control & 1 << 3 != 0 })
}

/// Header of an extended capability: id in the low 16 bits, offset of the next one in the high 12.
fn extended_capability(config: &[u8], id: u32) -> Option<usize> {
    let mut at = EXTENDED;
    for _ in 0..MOST_EXTENDED {
        let header = double_word(config, at)?;
        if header == 0 {
            return None;
        }
        if header & 0xffff == id {
            return Some(at);
        }
        at = (header >> 20 & !3) as usize;
        if at < EXTENDED {
            return None;
        }
    }
    None
}

fn capability(config: &[u8], id: u8) -> Option<usize> {
    let mut at = *config.get(FIRST_CAPABILITY)?;
    for _ in 0..MOST_CAPABILITIES {
        // the lowest two bits are reserved; 0 ends the list
        let here = usize::from(at & !3);
        if here < HEADER {
            return None;
        }
        if *config.get(here)? == id {
            return Some(here);
        }
        at = *config.get(here + 1)?;
    }
    None
}

fn word(config: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(config.get(at..at + 2)?.try_into().ok()?))
}

fn double_word(config: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(config.get(at..at + 4)?.try_into().ok()?))
}

fn rate(code: u32) -> Option<f64> {
    [2.5, 5.0, 8.0, 16.0, 32.0, 64.0].get(code.checked_sub(1)? as usize).copied()
}

fn width(lanes: u32) -> Option<u32> {
    (lanes > 0).then_some(lanes)
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Express, NoExpress, NoExtended, access_control};
    use crate::model::Acs;

    /// A config space whose second capability is PCI Express: 4096-byte reads, 512-byte payloads,
    /// relaxed ordering, x8 of x16 at 16 of 32 GT/s.
    pub(in crate::survey) fn config() -> Vec<u8> {
        let mut config = vec![0; 256];
        config[0x34] = 0x40;
        config[0x40..0x42].copy_from_slice(&[0x01, 0x60]);
        config[0x60..0x62].copy_from_slice(&[0x10, 0x00]);
        config[0x68..0x6a].copy_from_slice(&(5u16 << 12 | 1 << 4 | 2 << 5).to_le_bytes());
        config[0x6c..0x70].copy_from_slice(&(16u32 << 4 | 5).to_le_bytes());
        config[0x72..0x74].copy_from_slice(&(8u16 << 4 | 4).to_le_bytes());
        config
    }

    #[test]
    fn the_capability_is_found_behind_another_one() {
        let express = Express::of(&config()).unwrap();
        assert_eq!((express.max_read_request_bytes, express.max_payload_bytes), (4096, 512));
        assert!(express.relaxed_ordering);
        assert_eq!((express.current_gt_per_s, express.current_width), (Some(16.0), Some(8)));
        assert_eq!((express.max_gt_per_s, express.max_width), (Some(32.0), Some(16)));
    }

    #[test]
    fn a_header_alone_tells_nothing_and_a_broken_list_ends() {
        assert_eq!(Express::of(&config()[..64]), Err(NoExpress::HeaderOnly));
        assert_eq!(Express::of(&[]), Err(NoExpress::HeaderOnly));
        let mut circle = vec![0; 256];
        circle[0x34] = 0x40;
        circle[0x41] = 0x40;
        assert_eq!(Express::of(&circle), Err(NoExpress::None));
        let mut cut = config();
        cut.truncate(0x70);
        assert_eq!(Express::of(&cut), Err(NoExpress::None));
        assert_eq!(Express::of(&[0xff; 256]), Err(NoExpress::None));
    }

    /// The same with extended space, where Access Control Services stand behind another capability.
    pub(in crate::survey) fn extended_config(acs_control: u16) -> Vec<u8> {
        let mut config = config();
        config.resize(4096, 0);
        config[0x100..0x104].copy_from_slice(&(0x148_u32 << 20 | 1 << 16 | 0x0001).to_le_bytes());
        config[0x148..0x14c].copy_from_slice(&(1_u32 << 16 | 0x000d).to_le_bytes());
        config[0x14c..0x14e].copy_from_slice(&0x5f_u16.to_le_bytes());
        config[0x14e..0x150].copy_from_slice(&acs_control.to_le_bytes());
        config
    }

    #[test]
    fn access_control_is_read_from_its_control_register() {
        let acs = |request_redirect, completion_redirect| Acs { request_redirect, completion_redirect };
        for (control, expected) in [
            (0x1d, acs(true, true)),
            (0x04, acs(true, false)),
            (0x08, acs(false, true)),
            (0x11, acs(false, false)),
        ] {
            assert_eq!(access_control(&extended_config(control)), Ok(expected), "{control:#x}");
        }
        let mut none = config();
        none.resize(4096, 0);
        assert_eq!(access_control(&none), Ok(acs(false, false)), "no capability, no redirect");
    }

    #[test]
    fn extended_space_that_is_not_there_or_circular_is_told_apart() {
        assert_eq!(access_control(&config()[..64]), Err(NoExtended::HeaderOnly));
        assert_eq!(access_control(&config()), Err(NoExtended::Conventional));
        let mut circle = config();
        circle.resize(4096, 0);
        circle[0x100..0x104].copy_from_slice(&(0x100_u32 << 20 | 1).to_le_bytes());
        assert_eq!(access_control(&circle), Ok(Acs::default()));
        assert_eq!(access_control(&[0xff; 4096]), Err(NoExtended::Silent));
    }
}
