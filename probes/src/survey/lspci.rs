//! What a captured `lspci -vvv` tells of a function whose config space was not copied.

use super::pci_config::Express;
use crate::model::Acs;
use crate::root::Root;

const FILE: &str = "captured/lspci-vvv";

/// The PCI Express capability of a function; `None` on the live machine, and where the text does not have it.
///
/// Source: pciutils, `ls-caps.c` (`cap_express`): `DevCtl`, `LnkCap`, `LnkSta`.
pub(super) fn express(root: &Root, address: &str) -> Option<Express> {
    let text = text(root)?;
    let lines: Vec<&str> = function(&text, address)?;
    let control = lines.iter().position(|line| line.starts_with("DevCtl:"))?;
    // the register takes three lines
    let control = lines[control..].iter().take(3).copied().collect::<Vec<_>>().join(" ");
    let link = |key: &str| lines.iter().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    let (can, now) = (link("LnkCap:"), link("LnkSta:"));
    Some(Express {
        max_payload_bytes: number_after(&control, "MaxPayload ")?,
        max_read_request_bytes: number_after(&control, "MaxReadReq ")?,
        relaxed_ordering: control.contains("RlxdOrd+"),
        current_gt_per_s: speed(now),
        current_width: number_after(now, "Width x").filter(|lanes| *lanes > 0),
        max_gt_per_s: speed(can),
        max_width: number_after(can, "Width x").filter(|lanes| *lanes > 0),
    })
}

/// Access control of a port; a port without the capability in a text that has the port redirects nothing.
///
/// Source: pciutils, `ls-ecaps.c` (`cap_acs`): `ACSCtl`.
pub(super) fn access_control(root: &Root, address: &str) -> Option<Acs> {
    let text = text(root)?;
    let lines = function(&text, address)?;
    // without root lspci shows no capability at all
    lines.iter().find(|line| line.starts_with("DevCtl:"))?;
    let control = lines.iter().find(|line| line.starts_with("ACSCtl:")).copied().unwrap_or_default();
    Some(Acs {
        request_redirect: control.contains("ReqRedir+"),
        completion_redirect: control.contains("CmpltRedir+"),
    })
}

fn text(root: &Root) -> Option<String> {
    if root.is_live() { None } else { root.text(FILE).ok() }
}

/// Lines of one function, without the space before them. Its first line begins with the address, whose domain
/// `lspci` leaves out where there is only one.
fn function<'a>(text: &'a str, address: &str) -> Option<Vec<&'a str>> {
    let short = address.strip_prefix("0000:").unwrap_or(address);
    let mut lines = text.lines().skip_while(|line| {
        let first = line.split(' ').next().unwrap_or_default();
        first != address && first != short
    });
    lines.next()?;
    Some(lines.take_while(|line| line.starts_with(['\t', ' '])).map(str::trim).collect())
}

/// `256` of `MaxPayload 256 bytes`.
fn number_after(text: &str, key: &str) -> Option<u32> {
    let (_, rest) = text.split_once(key)?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// `16` of `Speed 16GT/s (ok)`.
fn speed(text: &str) -> Option<f64> {
    let (number, _) = text.split_once("Speed ")?.1.split_once("GT/s")?;
    number.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0)
}

#[cfg(test)]
mod tests {
    use super::{access_control, express};
    use crate::root::Root;

    const TEXT: &str = "\
17:01.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch
\tCapabilities: [60] Express (v2) Downstream Port (Slot+), MSI 00
\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-
\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+
\t\t\tMaxPayload 256 bytes, MaxReadReq 128 bytes
\tCapabilities: [100 v1] Access Control Services
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir- UpstreamFwd+ EgressCtrl- DirectTrans-

1a:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0, Latency L0s unlimited, L1 unlimited
\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-
\t\t\tRlxdOrd- ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)
1b:00.0 Ethernet controller: seen without root
\tCapabilities: <access denied>
";

    fn tree() -> Root {
        let mut root = Root::at("/nowhere");
        root.lay_over("captured/lspci-vvv", Some(TEXT));
        root
    }

    #[test]
    fn settings_and_link_of_a_card_are_read() {
        let card = express(&tree(), "0000:1a:00.0").unwrap();
        assert_eq!((card.max_read_request_bytes, card.max_payload_bytes), (512, 256));
        assert!(!card.relaxed_ordering);
        assert_eq!((card.current_gt_per_s, card.current_width), (Some(16.0), Some(8)));
        assert_eq!((card.max_gt_per_s, card.max_width), (Some(32.0), Some(16)));
    }

    #[test]
    fn access_control_of_a_port_is_read() {
        let acs = access_control(&tree(), "0000:17:01.0").unwrap();
        assert!(acs.request_redirect && !acs.completion_redirect);
        assert!(!access_control(&tree(), "0000:1a:00.0").unwrap().redirects());
    }

    #[test]
    fn what_was_not_shown_is_unknown() {
        for address in ["0000:1b:00.0", "0000:1c:00.0", "0001:1a:00.0"] {
            assert_eq!(
                (express(&tree(), address), access_control(&tree(), address)),
                (None, None),
                "{address}"
            );
        }
        assert_eq!(express(&Root::at("/nowhere"), "0000:1a:00.0"), None);
    }
}
