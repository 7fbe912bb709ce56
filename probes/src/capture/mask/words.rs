//! Finds what tells whose a text is, word by word, and replaces it.

use super::super::{Capture, Entry};
use super::forms::{self, Form, Id, is_hex};
use super::table::Table;
use std::borrow::Cow;
use std::net::Ipv4Addr;
use std::path::Path;

/// What stands for the host's name; RFC 2606 keeps `.example` free.
const HOST: &str = "masked-host";
const DOMAIN: &str = "masked-host.example";
/// The same of the other host of a session.
const PEER: &str = "masked-peer";
const PEER_DOMAIN: &str = "masked-peer.example";

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

/// The names of the host.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// As the kernel has it, possibly with its domain.
    full: Option<String>,
    /// Up to the first point.
    short: Option<String>,
    /// Whether the short name is a word that means something else too: a device (`node0`), a driver, the system's name
    /// (`debian`). It is replaced only where it can be nothing but the host.
    is_common_word: bool,
    /// Whether it is the other host of a session.
    is_peer: bool,
}

impl Names {
    pub(super) fn of(capture: &Capture) -> Self {
        let Some(Entry::File(text)) = capture.entries.get(Path::new("proc/sys/kernel/hostname")) else {
            return Self::default();
        };
        let own = |path: &Path| path.starts_with("sys") && !path.starts_with("sys/fs/cgroup");
        let paths = capture.entries.keys().filter(|path| own(path)).map(|path| path.to_string_lossy());
        // what system and processor are called
        let told = ["etc/os-release", "usr/lib/os-release", "proc/cpuinfo"].into_iter().filter_map(|path| {
            let Some(Entry::File(text)) = capture.entries.get(Path::new(path)) else { return None };
            Some(String::from_utf8_lossy(text))
        });
        Self::among(&String::from_utf8_lossy(text), paths.chain(told))
    }

    /// The names of a host of which these words tell that are no names of it: paths, devices, what its system is called.
    fn among<'a>(full: &str, mut words: impl Iterator<Item = Cow<'a, str>>) -> Self {
        let full = full.trim().to_owned();
        let short = full.split('.').next().unwrap_or_default().to_owned();
        if short.is_empty() || matches!(short.as_str(), "localhost" | "(none)") {
            return Self::default();
        }
        let is_common_word = short.len() < 2
            || short.bytes().all(|byte| byte.is_ascii_digit())
            || words.any(|text| !places(&text, &short).is_empty());
        Self { full: Some(full), short: Some(short), is_common_word, is_peer: false }
    }

    /// The names of a session's host, of which these words tell that are no names of it.
    pub(super) fn of_session(full: &str, words: &[String], is_peer: bool) -> Self {
        let words = words.iter().map(|word| Cow::Borrowed(word.as_str()));
        Self { is_peer, ..Self::among(full, words) }
    }

    #[cfg(test)]
    pub(super) fn of_host(name: &str) -> Self {
        Self::among(name, std::iter::empty())
    }

    /// Whether a text is nothing but one of the names.
    pub(super) fn is_host(&self, text: &str) -> bool {
        [&self.full, &self.short].into_iter().flatten().any(|name| name.eq_ignore_ascii_case(text))
    }

    /// The name that is replaced; `None` when the host has none of its own.
    pub(super) fn host(&self) -> Option<&str> {
        self.full.as_deref()
    }

    /// Replaces the names wherever they stand as words of their own.
    pub(super) fn replace(&self, text: &str) -> String {
        let (Some(full), Some(short)) = (&self.full, &self.short) else { return text.to_owned() };
        let (host, domain) = if self.is_peer { (PEER, PEER_DOMAIN) } else { (HOST, DOMAIN) };
        let text = if full == short { text.to_owned() } else { replaced(text, full, domain) };
        if self.is_common_word { text } else { replaced(&text, short, host) }
    }

    /// Replaces the names in a text that is known to speak of the host.
    pub(super) fn replace_certainly(&self, text: &str) -> String {
        let (Some(full), Some(short)) = (&self.full, &self.short) else { return text.to_owned() };
        let (host, domain) = if self.is_peer { (PEER, PEER_DOMAIN) } else { (HOST, DOMAIN) };
        let text = if full == short { text.to_owned() } else { replaced(text, full, domain) };
        replaced(&text, short, host)
    }
}

/// Where `word` stands in `text`, in capital letters or small, with no letter or digit beside it.
fn places(text: &str, word: &str) -> Vec<usize> {
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    // lengths in bytes stay the same
    text.to_ascii_lowercase()
        .match_indices(&word.to_ascii_lowercase())
        .map(|(at, _)| at)
        .filter(|at| {
            is_edge(text[..*at].chars().next_back()) && is_edge(text[at + word.len()..].chars().next())
        })
        .collect()
}

pub(super) fn replaced(text: &str, word: &str, by: &str) -> String {
    let mut done = String::with_capacity(text.len());
    let mut end = 0;
    for at in places(text, word) {
        done.push_str(&text[end..at]);
        done.push_str(by);
        end = at + word.len();
    }
    done + &text[end..]
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

/// What stands for a word that is an address or id as a whole.
fn address(word: &str, prefix_bits: Option<u32>, context: Context, table: &mut Table) -> Option<String> {
    if let Some((id, form)) = forms::read(word) {
        let id = match (id, form) {
            // the name of a container or a machine, unless it is an address
            (Id::V6(address), Form::Digits(_)) if context == Context::Text && !table.knows_v6(address) => {
                Id::Uuid(address.to_bits())
            }
            _ => id,
        };
        let masked = subnet(id, prefix_bits, table);
        // what stays keeps its spelling too
        return Some(if masked == id { word.to_owned() } else { forms::write(masked, form) });
    }
    if let Some(digits) = word.strip_prefix("0x") {
        return bare(digits, table).map(|masked| format!("0x{masked}"));
    }
    // names that udev and rdma-core make of a MAC or GUID: enx0c42a1…, rocex…, ibx…
    for prefix in ["enx", "wlx", "ibx", "rocex", "iwx", "opax"] {
        if let Some(digits) = word.strip_prefix(prefix).filter(|digits| is_hex(digits)) {
            let id = match digits.len() {
                12 => Id::Mac(mac_of(u64::from_str_radix(digits, 16).ok()?)),
                13..=16 => Id::Guid(u64::from_str_radix(digits, 16).ok()?),
                _ => continue,
            };
            return Some(format!("{prefix}{}", forms::write(table.id(id), Form::Digits(digits.len()))));
        }
    }
    if let Some(masked) = bare(word, table).or_else(|| dotted(word, table)) {
        return Some(masked);
    }
    let v4: Ipv4Addr = word.parse().ok()?;
    (context == Context::Network || table.knows_v4(v4))
        .then(|| forms::write(subnet(Id::V4(v4), prefix_bits, table), Form::Usual))
}

/// Digits alone say nothing, unless they are those of an address that was met elsewhere.
fn bare(digits: &str, table: &mut Table) -> Option<String> {
    if !matches!(digits.len(), 12 | 16) || !is_hex(digits) {
        return None;
    }
    let number = u64::from_str_radix(digits, 16).ok()?;
    let id = match digits.len() {
        12 if table.knows_mac(mac_of(number)) => Id::Mac(mac_of(number)),
        16 if table.knows_guid(number) => Id::Guid(number),
        _ => return None,
    };
    Some(forms::write(table.id(id), Form::Digits(digits.len())))
}

/// `b859.9fa7.1234`, as switches write it: only a MAC that was met elsewhere, for versions look alike.
fn dotted(word: &str, table: &mut Table) -> Option<String> {
    let groups: Vec<&str> = word.split('.').collect();
    if groups.len() != 3 || groups.iter().any(|group| group.len() != 4) {
        return None;
    }
    let masked = bare(&groups.concat(), table)?;
    Some([&masked[..4], &masked[4..8], &masked[8..]].join("."))
}

fn mac_of(number: u64) -> [u8; 6] {
    let [_, _, mac @ ..] = number.to_be_bytes();
    mac
}

/// A subnet's address has zeroes behind its prefix, and has them masked too.
fn subnet(id: Id, prefix_bits: Option<u32>, table: &mut Table) -> Id {
    let masked = table.id(id);
    match (id, masked, prefix_bits) {
        (Id::V4(address), Id::V4(masked), Some(bits)) if bits <= 32 => {
            let host = u32::MAX.checked_shr(bits).unwrap_or(0);
            Id::V4(if address.to_bits() & host == 0 {
                Ipv4Addr::from_bits(masked.to_bits() & !host)
            } else {
                masked
            })
        }
        (Id::V6(address), Id::V6(masked), Some(bits)) if bits <= 128 => {
            let host = u128::MAX.checked_shr(bits).unwrap_or(0);
            Id::V6(if address.to_bits() & host == 0 { (masked.to_bits() & !host).into() } else { masked })
        }
        _ => masked,
    }
}

#[cfg(test)]
mod tests {
    use super::{Context, Names, rewrite};
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

    #[test]
    fn a_host_called_like_its_system_leaves_the_system_its_name() {
        let mut capture = Capture::default();
        for (path, text) in [
            ("proc/sys/kernel/hostname", "debian.acme.com\n"),
            ("etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
        ] {
            capture.entries.insert(path.into(), Entry::File(text.into()));
        }
        let names = Names::of(&capture);
        assert_eq!(names.replace("Debian GNU/Linux 12"), "Debian GNU/Linux 12");
        assert_eq!(names.replace("from debian.acme.com"), "from masked-host.example");
    }
}
