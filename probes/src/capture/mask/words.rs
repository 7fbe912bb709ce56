//! Finds what tells whose a text is, word by word, and replaces it.

use super::forms::{self, Form, Id};
use super::names::Names;
use super::table::Table;
use super::whole::address;

/// Ids are looked for inside of words up to this many bytes.
const LONGEST_WORD: usize = 1024;

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// Four numbers with points may be a firmware's version: only addresses that were met as GIDs are meant.
    Text,
    /// Four numbers with points are an address.
    Network,
}

/// The text with everything replaced that tells whose it is.
pub(super) fn rewrite(text: &str, context: Context, names: &Names, table: &mut Table) -> String {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_of_word) {
        done.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        let prefix_bits = prefix_length(&rest[end..]);
        done.push_str(&word(&rest[..end], prefix_bits, context, table));
        rest = &rest[end..];
    }
    done.push_str(rest);
    names.replace(&done)
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, ':' | '.' | '-' | '_')
}

/// The number behind `/` that makes an address a subnet.
fn prefix_length(rest: &str) -> Option<u32> {
    let digits = rest.strip_prefix('/')?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

fn word(word: &str, prefix_bits: Option<u32>, context: Context, table: &mut Table) -> String {
    if let Some(masked) = address(word, prefix_bits, context, table) {
        return masked;
    }
    // what belongs to the sentence, such as the colon behind a key
    let trimmed = word.trim_matches(|c| matches!(c, ':' | '.' | '-' | '_'));
    if trimmed.len() < word.len()
        && let Some(masked) = address(trimmed, prefix_bits, context, table)
    {
        return word.replacen(trimmed, &masked, 1);
    }
    // `BOOTIF=01-aa-bb-cc-dd-ee-ff`: the 01 is the kind of hardware (pxelinux); `GPU UUID: GPU-…` of NVIDIA's driver
    for kind in ["01-", "GPU-", "MIG-"] {
        if let Some(id) = word.strip_prefix(kind)
            && let Some(masked) = address(id, prefix_bits, context, table)
        {
            return format!("{kind}{masked}");
        }
    }
    // the bound is for hostile files: what is found is taken apart again, from its end
    if word.len() <= LONGEST_WORD
        && let Some((before, masked, after)) = glued(word, table).or_else(|| among(word, table))
    {
        return self::word(before, None, context, table) + &masked + &self::word(after, None, context, table);
    }
    // `ip=10.0.0.1::10.0.0.254:255.255.255.0:n1:eth0:none`
    for separator in [':', '-', '_', '.'] {
        if word.contains(separator) {
            let pieces: Vec<String> =
                word.split(separator).map(|piece| self::word(piece, None, context, table)).collect();
            return pieces.join(&separator.to_string());
        }
    }
    word.to_owned()
}

/// A MAC, GUID or GID in groups behind a name or a number (`ifname=net0:b8:59:9f:a7:12:34`): what stands for it, and
/// what stands before and after it.
///
/// The one that was met elsewhere, or else the longest, and of those the last.
fn among<'a>(word: &'a str, table: &mut Table) -> Option<(&'a str, String, &'a str)> {
    // groups of two digits: 20, 8 or 6; of four: 8 or 4
    const LENGTHS: [usize; 5] = [59, 39, 23, 19, 17];
    let is_edge = |c: char| matches!(c, ':' | '-' | '_' | '.');
    let starts: Vec<usize> =
        std::iter::once(0).chain(word.match_indices(is_edge).map(|(at, _)| at + 1)).collect();
    let mut candidates = Vec::new();
    for length in LENGTHS {
        for start in starts.iter().copied().rev() {
            let end = start + length;
            let Some(text) = word.get(start..end) else { continue };
            if word[end..].chars().next().is_none_or(is_edge)
                && let Some((id, form)) = forms::read(text)
                && matches!(form, Form::Bytes(_) | Form::Words)
            {
                candidates.push((start, end, id, form));
            }
        }
    }
    let is_known = |id: &Id| match id {
        Id::Mac(mac) => table.knows_mac(*mac),
        Id::Guid(guid) => table.knows_guid(*guid),
        Id::V6(address) => table.knows_v6(*address),
        _ => false,
    };
    let at = candidates.iter().position(|(_, _, id, _)| is_known(id)).unwrap_or(0);
    let (start, end, id, form) = *candidates.get(at)?;
    let masked = table.id(id);
    let masked = if masked == id { word[start..end].to_owned() } else { forms::write(masked, form) };
    Some((&word[..start], masked, &word[end..]))
}

/// A UUID (of a pod, with `-` or `_`) or a container's id of 64 digits that a word or a file's ending stands beside,
/// with what stands before and after it.
fn glued<'a>(word: &'a str, table: &mut Table) -> Option<(&'a str, String, &'a str)> {
    const UUID: usize = 36;
    const CONTAINER: usize = 64;
    let bytes = word.as_bytes();
    for (at, separator) in word.match_indices(['-', '_']) {
        let Some(start) = at.checked_sub(8) else { continue };
        let Some(text) = word.get(start..start + UUID) else { continue };
        let written = text.replace(separator, "-");
        if let Some((id, Form::Uuid)) = forms::read(&written) {
            let masked = forms::write(table.id(id), Form::Uuid).replace('-', separator);
            return Some((&word[..start], masked, &word[start + UUID..]));
        }
    }
    let mut end = 0;
    while end < bytes.len() {
        let start = end;
        end += bytes[start..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        // letters of the word before it may be digits too
        if let Some(own) = end.checked_sub(CONTAINER).filter(|own| (start..start + 8).contains(own)) {
            return Some((&word[..own], table.container(&word[own..end]), &word[end..]));
        }
        end += usize::from(end == start || end < bytes.len());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Context, rewrite};
    use crate::capture::mask::names::Names;
    use crate::capture::mask::table::Table;
    use crate::capture::{Capture, Entry};

    fn names(host: &str) -> Names {
        let mut capture = Capture::default();
        capture.entries.insert("proc/sys/kernel/hostname".into(), Entry::File(host.into()));
        capture.entries.insert("sys/devices/system/node/node0".into(), Entry::Folder);
        Names::of(&capture)
    }

    fn masked(text: &str, context: Context) -> String {
        rewrite(text, context, &names("n1.cluster\n"), &mut Table::collecting().with_new_key())
    }

    #[test]
    fn nothing_else_is_touched() {
        for text in [
            "0000:41:00.0",
            "libibverbs.so.1.14.44.0",
            "20.8.3.1",
            "0::/user.slice/session-1.scope",
            "MT_0000000834",
            "00000000,0000ff00",
            "CapEff:\t000001ffffffffff",
            "Node 0 MemTotal: 12 kB",
        ] {
            assert_eq!(masked(text, Context::Text), text);
        }
    }

    #[test]
    fn addresses_are_found_inside_a_line() {
        for text in [
            "Permanent HW addr: b8:59:9f:a7:12:34",
            "BOOTIF=01-b8-59-9f-a7-12-34 quiet",
            "GID[  3]:\t\t::ffff:10.1.2.3, RoCE v2",
            "ip=10.1.2.3::10.1.2.254:255.255.255.0:n1:eth0:none",
            "root=UUID=3f2504e0-4f89-11d3-9a0c-0305e82c3301",
            "GPU UUID: \t GPU-3f2504e0-4f89-11d3-9a0c-0305e82c3301",
            "enxb8599fa71234",
            "ifname=net0:b8:59:9f:a7:12:34",
            "ifname=0:B8:59:9F:A7:12:34:dhcp",
            "7:50:6b:4b:03:00:a7:12:34",
            "net0-b8-59-9f-a7-12-34",
            "net0:b8-59-9f-a7-12-34",
            "hwaddr_b8:59:9f:a7:12:34",
            "net-b8:59:9f:a7:12:34.bond",
            "net0:fe80:0000:0000:0000:ba59:9fff:fea7:1234",
        ] {
            let masked = masked(text, Context::Network);
            let masked = masked.to_ascii_lowercase();
            for original in ["a7:12:34", "a7-12-34", "a71234", "a7:1234", "10.1.2.3", "3f2504e0", "n1"] {
                assert!(
                    !text.to_ascii_lowercase().contains(original) || !masked.contains(original),
                    "{text} -> {masked}"
                );
            }
        }
        assert!(
            masked("ip=10.1.2.3::10.1.2.254:255.255.255.0", Context::Network).ends_with(":255.255.255.0")
        );
    }

    #[test]
    fn a_known_mac_is_masked_as_switches_write_it() {
        let mut table = Table::collecting();
        let text = "b859.9fa7.1234 B859.9FA7.1234 1234.5678.9012 10:b8:59:9f:a7:12:34 b8:59:9f:a7:12:34";
        rewrite(text, Context::Text, &names("n1"), &mut table);
        let masked = rewrite(text, Context::Text, &names("n1"), &mut table.with_new_key());
        let words: Vec<&str> = masked.split(' ').collect();
        let plain = words[4].replace(':', "");
        assert_eq!(words[0], [&plain[..4], &plain[4..8], &plain[8..]].join("."));
        assert_eq!((words[1], words[2]), (words[0], "1234.5678.9012"));
        assert_eq!(words[3], format!("10:{}", words[4]));
        assert_ne!(words[4], "b8:59:9f:a7:12:34");
    }

    #[test]
    fn pods_and_containers_are_masked_whatever_stands_beside_them() {
        let container = "9f".repeat(32);
        for text in [
            "/kubepods/pod3f1c9a77-1234-4321-abcd-0123456789ab/x",
            "/kubepods-burstable-pod3f1c9a77_1234_4321_abcd_0123456789ab.slice",
            "pod-3f1c9a77-1234-4321-abcd-0123456789ab-3",
            &format!("/cri-containerd-{container}.scope"),
            &format!("/docker/{container}"),
            &format!("crio{container}.scope"),
            "docker-3f1c9a771234432100000123456789ab.scope",
        ] {
            let masked = masked(text, Context::Text);
            assert!(!masked.contains("3f1c9a77") && !masked.contains("0123456789ab"), "{masked}");
            assert!(!masked.contains("9f9f9f"), "{masked}");
            assert_eq!((masked.len(), &masked[..4]), (text.len(), &text[..4]), "{masked}");
            let after_point = |text: &str| text.split_once('.').map(|(_, ending)| ending.to_owned());
            assert_eq!(after_point(&masked), after_point(text));
        }
    }

    #[test]
    fn a_subnet_stays_one() {
        let masked = masked("10.77.0.0/24", Context::Network);
        assert!(masked.ends_with(".0/24") && !masked.starts_with("10.77."), "{masked}");
    }

    #[test]
    fn a_host_s_name_is_a_word_of_its_own() {
        assert_eq!(masked("n1 mlx5_0", Context::Text), "masked-host mlx5_0");
        assert_eq!(masked("at n1.cluster, n11", Context::Text), "at masked-host.example, n11");
        assert_eq!(masked("N1 at N1.Cluster", Context::Text), "masked-host at masked-host.example");
        let mut table = Table::collecting().with_new_key();
        let common = names("node0");
        assert_eq!(rewrite("node0", Context::Text, &common, &mut table), "node0");
        assert_eq!(common.replace_certainly("node0"), "masked-host");
    }
}
