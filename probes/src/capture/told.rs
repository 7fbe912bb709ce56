//! What the live machine tells beside its files, in the words of the tools that print it.

use crate::ffi::ethtool::Ethtool;
use crate::ffi::verbs;
use crate::processes;
use crate::root::Root;
use std::fmt::Write;
use std::path::Path;

/// The text of a file under `captured/` that the survey asked for; `None` for a name that only people fill.
pub(super) fn text(path: &Path, root: &Root) -> Option<Result<String, String>> {
    let name = path.strip_prefix("captured").ok()?.to_str()?;
    if let Some(netdev) = name.strip_prefix("ethtool-S/") {
        return Some(ethtool(netdev).map_err(|error| format!("ETHTOOL_GSTATS: {error}")));
    }
    match name {
        "ibv_devinfo" => match devinfo(root) {
            Ok(text) if text.is_empty() => None,
            told => Some(told),
        },
        "rdma-res-qp.json" => Some(processes::queue_pairs_json()),
        "rdma-res-mr.json" => Some(processes::memory_regions_json()),
        _ => None,
    }
}

/// As `ethtool -S` prints it.
fn ethtool(netdev: &str) -> std::io::Result<String> {
    let ethtool = Ethtool::open()?;
    let names = ethtool.statistic_names(netdev)?;
    let values = ethtool.statistics(netdev)?;
    let mut text = String::from("NIC statistics:\n");
    for (name, value) in names.iter().zip(values) {
        let _ = writeln!(text, "     {name}: {value}");
    }
    Ok(text)
}

/// What the survey reads of `ibv_devinfo -v`, in its form (rdma-core, libibverbs/examples/devinfo.c).
fn devinfo(root: &Root) -> Result<String, String> {
    let devices = root.names("sys/class/infiniband").unwrap_or_default();
    let told: Vec<_> = devices.iter().map(|device| (device, of_device(root, device))).collect();
    let mut text = String::new();
    for (device, told) in &told {
        match told {
            Ok(part) => text.push_str(part),
            // readers of this form pass over what they do not know
            Err(error) => {
                let _ = writeln!(text, "# {device}: {error}");
            }
        }
    }
    match told.into_iter().map(|(_, told)| told).collect::<Result<Vec<_>, _>>() {
        Err(error) if !text.contains("hca_id:") => Err(error.to_string()),
        _ => Ok(text),
    }
}

fn of_device(root: &Root, device: &str) -> Result<String, verbs::Error> {
    let ports = root.names(format!("sys/class/infiniband/{device}/ports")).unwrap_or_default();
    let mut text = format!("hca_id:\t{device}\n");
    let context = verbs::Context::open(device)?;
    let limits = context.limits()?;
    if let Some(firmware) = limits.firmware {
        let _ = writeln!(text, "\tfw_ver:\t\t\t\t{firmware}");
    }
    let _ = writeln!(text, "\tmax_qp_rd_atom:\t\t\t{}", limits.max_responder_depth);
    let _ = writeln!(text, "\tmax_qp_init_rd_atom:\t\t{}", limits.max_initiator_depth);
    for number in ports.iter().filter_map(|name| name.parse::<u32>().ok()) {
        let port = context.port(number)?;
        let _ = writeln!(text, "\t\tport:\t{number}");
        for (key, bytes) in [("max_mtu", port.max_mtu), ("active_mtu", port.active_mtu)] {
            if let Some(bytes) = bytes {
                let _ = writeln!(text, "\t\t\t{key}:\t\t{bytes} ({})", code_of(bytes));
            }
        }
    }
    text.push('\n');
    Ok(text)
}

/// `enum ibv_mtu`: 256 bytes are 1, 4096 are 5.
fn code_of(bytes: u32) -> u32 {
    bytes.max(128).ilog2() - 7
}

#[cfg(test)]
mod tests {
    use super::{code_of, text};
    use crate::root::Root;
    use std::path::Path;

    #[test]
    fn the_codes_of_path_mtus_are_those_of_the_library() {
        assert_eq!([256, 512, 1024, 2048, 4096].map(code_of), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn what_only_people_fill_in_is_not_asked_of_the_machine() {
        assert_eq!(text(Path::new("captured/load.json"), &Root::at("/nowhere")), None);
        assert_eq!(text(Path::new("sys/captured"), &Root::at("/nowhere")), None);
        let lo = text(Path::new("captured/ethtool-S/lo"), &Root::at("/nowhere")).unwrap();
        assert!(lo.unwrap_err().starts_with("ETHTOOL_GSTATS: "));
    }
}
