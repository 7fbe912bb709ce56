//! Files whose path says how to read them.

use super::forms::Id;
use super::names::Names;
use super::table::Table;
use super::words::{self, Context};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

/// Contents with everything replaced that tells whose they are.
pub(super) fn rewrite(path: &Path, bytes: &[u8], names: &Names, table: &mut Table) -> Vec<u8> {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    if file == "config" && path.starts_with("sys") {
        return config_space(bytes, table);
    }
    // whatever is no text, the survey reads as text all the same
    let text = String::from_utf8_lossy(bytes);
    let masked = if is_serial(&file) {
        serial(&text, table)
    } else if path.ends_with("proc/net/route") || path.ends_with("net/route") {
        routes(&text, table)
    } else if file == "mounts" && path.starts_with("proc") {
        words::rewrite(&system_mounts(&text), Context::Network, names, table)
    } else if path == Path::new("proc/version") {
        words::rewrite(&without_builder(&text), Context::Text, names, table)
    } else if file == "environ" && path.starts_with("proc") {
        environment(&text, names, table)
    } else if path.starts_with("proc/net") || path == Path::new("proc/cmdline") {
        words::rewrite(&text, Context::Network, names, table)
    } else if path.starts_with("captured") {
        lines_of_tools(&text, names, table)
    } else {
        words::rewrite(&text, Context::Text, names, table)
    };
    let speaks_of_host = matches!(&*file, "hostname" | "node_desc" | "domainname");
    if speaks_of_host { names.replace_certainly(&masked).into_bytes() } else { masked.into_bytes() }
}

fn is_serial(file: &str) -> bool {
    file.contains("serial") || file == "product_uuid" || file == "vpd"
}

fn serial(text: &str, table: &mut Table) -> String {
    match text.trim() {
        "" => text.to_owned(),
        value => format!("{}\n", table.serial(value)),
    }
}

/// What launchers tell a process: numbers stay, addresses and names of hosts and jobs do not.
fn environment(text: &str, names: &Names, table: &mut Table) -> String {
    let mut variable = |variable: &str| {
        let Some((name, value)) = variable.split_once('=') else { return variable.to_owned() };
        let value = if value.bytes().all(|byte| byte.is_ascii_digit()) || value == "localhost" {
            value.to_owned()
        } else if value.parse::<IpAddr>().is_ok() {
            words::rewrite(value, Context::Network, names, table)
        } else if names.is_host(value) {
            names.replace_certainly(value)
        } else {
            table.name(value)
        };
        format!("{name}={value}")
    };
    text.split('\0').map(&mut variable).collect::<Vec<_>>().join("\0")
}

/// The serial number that a line of a tool's output tells, with what stands before it: `Serial Number : 156`, and
/// of a card's product data also what its vendor and its owner wrote there.
///
/// Source: pciutils, ls-vpd.c: `[SN] Serial number: `, `[V0]`, `[VU]` and their kind, `[Y0]`, `[YA] Asset tag: `.
fn serial_of(line: &str) -> Option<(&str, &str)> {
    let start = line.len() - line.trim_start().len();
    let after = if let Some(b"[SN]" | [b'[', b'V' | b'Y', _, b']']) = line.as_bytes().get(start..start + 4) {
        start + 4
    } else {
        let key = "serial number";
        line.to_ascii_lowercase().find(key)? + key.len()
    };
    let colon = after + line.get(after..)?.find(':')?;
    let is_key = line[after..colon].bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b' ');
    let (before, value) = line.split_at(colon + 1);
    (is_key && !matches!(value.trim(), "" | "N/A")).then_some((before, value))
}

/// Texts that tools printed: four numbers with points are an address unless the line speaks of a version.
fn lines_of_tools(text: &str, names: &Names, table: &mut Table) -> String {
    let mut line = |line: &str| {
        if let Some((before, value)) = serial_of(line) {
            return format!("{before} {}", serial(value, table));
        }
        let lower = line.to_ascii_lowercase();
        let is_version = ["fw_ver", "version", "firmware"].iter().any(|word| lower.contains(word));
        let context = if is_version { Context::Text } else { Context::Network };
        words::rewrite(line, context, names, table)
    };
    text.split_inclusive('\n').map(&mut line).collect()
}

/// Mounts of the kernel's own file systems, of which the survey looks for cgroups: the others name disks, servers
/// and shares.
fn system_mounts(text: &str) -> String {
    const OWN: [&str; 9] =
        ["cgroup", "cgroup2", "cpuset", "debugfs", "devtmpfs", "hugetlbfs", "proc", "sysfs", "tracefs"];
    let is_own = |line: &&str| line.split(' ').nth(2).is_some_and(|kind| OWN.contains(&kind));
    text.split_inclusive('\n').filter(is_own).collect()
}

/// `Linux version 6.1.0 (user@host) ...`: who built the kernel is nobody's business either.
fn without_builder(text: &str) -> String {
    let Some((before, rest)) = text.split_once('(') else { return text.to_owned() };
    match rest.split_once(')') {
        Some((builder, after)) if builder.contains('@') => format!("{before}(masked@masked){after}"),
        _ => text.to_owned(),
    }
}

/// `/proc/net/route`: addresses as hexadecimal numbers in the machine's own byte order, little-endian on all
/// that have RDMA (`rt_fill` in `net/ipv4/fib_trie.c`).
fn routes(text: &str, table: &mut Table) -> String {
    let line = |line: &str| {
        let mut columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
        let number = |columns: &[String], at: usize| {
            u32::from_str_radix(columns.get(at)?.trim(), 16).ok().map(u32::swap_bytes)
        };
        if let (Some(network), Some(gateway), Some(mask)) =
            (number(&columns, 1), number(&columns, 2), number(&columns, 7))
        {
            let mut masked = |bits: u32| match table.id(Id::V4(Ipv4Addr::from_bits(bits))) {
                Id::V4(address) => address.to_bits(),
                _ => bits,
            };
            columns[1] = format!("{:08X}", (masked(network) & mask).swap_bytes());
            columns[2] = format!("{:08X}", masked(gateway).swap_bytes());
        }
        columns.join("\t")
    };
    text.split_inclusive('\n').map(line).collect()
}

/// PCI config space: the device's serial number is an extended capability of its own.
///
/// Source: PCI Express Base Specification, "Device Serial Number Extended Capability", id 0003h.
fn config_space(bytes: &[u8], table: &mut Table) -> Vec<u8> {
    const SERIAL_NUMBER: u16 = 3;
    let mut bytes = bytes.to_owned();
    let mut at = 0x100;
    // a list of capabilities has at most as many entries as there is room for
    for _ in 0..1024 {
        let Some(header) =
            bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes)
        else {
            break;
        };
        if header & 0xffff == u32::from(SERIAL_NUMBER)
            && let Some(number) = bytes.get_mut(at + 4..at + 12)
        {
            let original = u64::from_le_bytes((&*number).try_into().expect("eight bytes"));
            if let Id::Guid(masked) = table.id(Id::Guid(original)) {
                number.copy_from_slice(&masked.to_le_bytes());
            }
        }
        let next = usize::try_from(header >> 20).expect("twelve bits");
        if next < 0x100 {
            break;
        }
        at = next;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{config_space, environment, lines_of_tools, routes, system_mounts, without_builder};
    use crate::capture::mask::names::Names;
    use crate::capture::mask::table::Table;

    fn table() -> Table {
        Table::collecting().with_new_key()
    }

    #[test]
    fn a_card_s_serial_number_in_config_space_is_masked_and_nothing_else() {
        let mut bytes = vec![0x5a; 0x140];
        bytes[0x100..0x104].copy_from_slice(&0x1201_0001_u32.to_le_bytes());
        bytes[0x120..0x124].copy_from_slice(&0x0001_0003_u32.to_le_bytes());
        let masked = config_space(&bytes, &mut table());
        assert_ne!(masked[0x124..0x12c], bytes[0x124..0x12c]);
        assert_eq!((&masked[..0x124], &masked[0x12c..]), (&bytes[..0x124], &bytes[0x12c..]));
        // lists that lead in circles, or outside
        for header in [0x1000_0001_u32, 0xffc0_0001, 0xffff_ffff] {
            let mut bytes = vec![0; 0x104];
            bytes[0x100..].copy_from_slice(&header.to_le_bytes());
            assert_eq!(config_space(&bytes, &mut table()), bytes);
        }
    }

    #[test]
    fn serial_numbers_in_what_tools_print_are_masked() {
        let masked = |text: &str| lines_of_tools(text, &Names::default(), &mut table());
        for line in [
            "\t\t\t[SN] Serial number: MT2108X12345",
            "\t\t\t[VU] Vendor specific: MT2108X12345MLNXS0D0F0",
            "\t\t\t[V3] Vendor specific: MT2108X12345",
            "\t\t\t[YA] Asset tag: MT2108X12345",
            "    Serial Number                         : MT2108X12345",
            "\tSerial Number: MT2108X12345",
        ] {
            let key = line.split_once(':').unwrap().0;
            let masked = masked(&format!("{line}\n"));
            assert!(masked.starts_with(&format!("{key}: masked-")) && masked.ends_with('\n'), "{masked}");
            assert!(!masked.contains("X12345"), "{masked}");
        }
        let device = masked("\tCapabilities: [1b0 v1] Device Serial Number b8-ce-f6-03-00-12-34-56\n");
        assert!(device.contains("Device Serial Number b8-ce-f6-03-00-") && !device.contains("12-34-56"));
        for line in ["\t\t\t[PN] Part number: MCX653106A-HDAT\n", "Serial Number : N/A\n", "[V\n"] {
            assert_eq!(masked(line), line);
        }
    }

    #[test]
    fn of_an_environment_numbers_stay_and_names_and_addresses_do_not() {
        let names = Names::of_host("n7.cluster");
        let text =
            "RANK=5\0MASTER_ADDR=N7.cluster\0MASTER_ADDR=gpu3\0MASTER_ADDR=10.1.2.3\0PMI_JOBID=kvs_4_gpu3\0";
        let masked = environment(text, &names, &mut table());
        assert!(
            masked.starts_with("RANK=5\0MASTER_ADDR=masked-host.example\0MASTER_ADDR=masked-"),
            "{masked}"
        );
        assert!(
            !masked.contains("gpu3") && !masked.contains("10.1.2.3") && masked.ends_with('\0'),
            "{masked}"
        );
    }

    #[test]
    fn routes_keep_their_masks_and_stay_networks() {
        let text = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n\
                    eth0\t00004D0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\n";
        let masked = routes(text, &mut table());
        let row: Vec<&str> = masked.lines().nth(1).unwrap().split('\t').collect();
        assert!(row[1].starts_with("00") && row[1].ends_with("0A") && row[1] != "00004D0A", "{masked}");
        assert_eq!((row[2], row[7]), ("00000000", "00FFFFFF"));
        assert_eq!(masked.lines().next(), text.lines().next());
    }

    #[test]
    fn mounts_of_servers_are_left_out() {
        let text = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\nnas7:/home /home nfs4 rw,addr=10.1.2.3 0 0\n";
        assert_eq!(system_mounts(text), "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
    }

    #[test]
    fn who_built_the_kernel_is_left_out() {
        let text = "Linux version 6.1.0 (bob@forge) (gcc (Debian) 12.2.0)";
        assert_eq!(without_builder(text), "Linux version 6.1.0 (masked@masked) (gcc (Debian) 12.2.0)");
        assert_eq!(without_builder("Linux version 6.1.0"), "Linux version 6.1.0");
    }
}
