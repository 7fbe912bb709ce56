//! The forms in which addresses and ids are written, read and written again in the same form.

use std::net::{Ipv4Addr, Ipv6Addr};

/// An address or id in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    /// `aa:bb:cc:dd:ee:ff`.
    Mac([u8; 6]),
    /// IP over InfiniBand: flags and queue pair, then a GID (RFC 4391, 9.1.1).
    InfiniBandMac([u8; 4], Ipv6Addr),
    /// `506b:4b03:00f4:d2c4`, and the same as a number.
    Guid(u64),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
    Uuid(u128),
}

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Two digits a group.
    Bytes(char),
    /// Four digits a group, with colons, nothing left out.
    Words,
    /// Digits without separators: this many at least.
    Digits(usize),
    /// As the standard library writes it.
    Usual,
    /// 8-4-4-4-12.
    Uuid,
}

/// Reads a word that is nothing but an address or id whose form tells what it is.
pub(super) fn read(word: &str) -> Option<(Id, Form)> {
    if let Some((id, separator)) = bytes(word) {
        return Some((id, Form::Bytes(separator)));
    }
    if let Some(id) = words(word) {
        return Some((id, Form::Words));
    }
    if word.matches(':').count() >= 2
        && let Ok(address) = word.parse()
    {
        return Some((Id::V6(address), Form::Usual));
    }
    if let Some(uuid) = uuid(word) {
        return Some((Id::Uuid(uuid), Form::Uuid));
    }
    // /proc/net/if_inet6 and its kind
    if word.len() == 32 && is_hex(word) {
        return Some((Id::V6(Ipv6Addr::from_bits(u128::from_str_radix(word, 16).ok()?)), Form::Digits(32)));
    }
    None
}

/// Writes it in that form.
pub(super) fn write(id: Id, form: Form) -> String {
    match (id, form) {
        (Id::Mac(mac), Form::Bytes(separator)) => joined(&mac, separator),
        (Id::Mac(mac), _) => joined(&mac, ':').replace(':', ""),
        (Id::InfiniBandMac(head, gid), _) => joined(&[&head[..], &gid.octets()].concat(), ':'),
        (Id::Guid(guid), Form::Bytes(separator)) => joined(&guid.to_be_bytes(), separator),
        (Id::Guid(guid), Form::Digits(least)) => format!("{guid:0least$x}"),
        (Id::Guid(guid), _) => {
            format!(
                "{:04x}:{:04x}:{:04x}:{:04x}",
                guid >> 48,
                guid >> 32 & 0xffff,
                guid >> 16 & 0xffff,
                guid & 0xffff
            )
        }
        (Id::V4(address), _) => address.to_string(),
        (Id::V6(address), Form::Words) => {
            address.segments().map(|segment| format!("{segment:04x}")).join(":")
        }
        (Id::V6(address), Form::Digits(_)) => format!("{:032x}", address.to_bits()),
        (Id::V6(address), _) => address.to_string(),
        (Id::Uuid(uuid), Form::Digits(_)) => format!("{uuid:032x}"),
        (Id::Uuid(uuid), _) => {
            let digits = format!("{uuid:032x}");
            [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
        }
    }
}

pub(super) fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn joined(bytes: &[u8], separator: char) -> String {
    let groups: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    groups.join(&separator.to_string())
}

/// Groups of two digits: 6 a MAC, 8 a GUID, 20 the address of IP over InfiniBand.
fn bytes(word: &str) -> Option<(Id, char)> {
    let separator = if word.contains(':') { ':' } else { '-' };
    let mut bytes = Vec::with_capacity(20);
    for group in word.split(separator) {
        if group.len() != 2 || !is_hex(group) || bytes.len() == 20 {
            return None;
        }
        bytes.push(u8::from_str_radix(group, 16).ok()?);
    }
    let id = match bytes.len() {
        6 => Id::Mac(bytes.try_into().ok()?),
        8 => Id::Guid(u64::from_be_bytes(bytes.try_into().ok()?)),
        20 => {
            let (head, gid) = bytes.split_at(4);
            Id::InfiniBandMac(head.try_into().ok()?, <[u8; 16]>::try_from(gid).ok()?.into())
        }
        _ => return None,
    };
    Some((id, separator))
}

/// Groups of four digits: 4 a GUID, 8 a GID.
fn words(word: &str) -> Option<Id> {
    let mut bits: u128 = 0;
    let mut count = 0;
    for group in word.split(':') {
        if group.len() != 4 || !is_hex(group) || count == 8 {
            return None;
        }
        bits = bits << 16 | u128::from(u16::from_str_radix(group, 16).ok()?);
        count += 1;
    }
    match count {
        4 => Some(Id::Guid(u64::try_from(bits).ok()?)),
        8 => Some(Id::V6(Ipv6Addr::from_bits(bits))),
        _ => None,
    }
}

fn uuid(word: &str) -> Option<u128> {
    let groups: Vec<&str> = word.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    if lengths != [8, 4, 4, 4, 12] || !groups.iter().all(|group| is_hex(group)) {
        return None;
    }
    u128::from_str_radix(&groups.concat(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::{Form, Id, read, write};

    #[test]
    fn what_is_read_is_written_the_same() {
        for word in [
            "b8:59:9f:a7:12:34",
            "01-02-03-04-05-06",
            "506b:4b03:00f4:d2c4",
            "fe80:0000:0000:0000:506b:4b03:00f4:d2c4",
            "fe80::1",
            "::ffff:10.0.0.1",
            "80:00:00:48:fe:80:00:00:00:00:00:00:50:6b:4b:03:00:f4:d2:c4",
            "50:6b:4b:03:00:f4:d2:c4",
            "fe80000000000000506b4b0300f4d2c4",
            "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        ] {
            let (id, form) = read(word).unwrap_or_else(|| panic!("{word}"));
            assert_eq!(write(id, form), word);
        }
        assert_eq!(
            read("50:6b:4b:03:00:f4:d2:c4").unwrap(),
            (Id::Guid(0x506b_4b03_00f4_d2c4), Form::Bytes(':'))
        );
    }

    #[test]
    fn what_looks_alike_is_none() {
        for word in [
            "0000:41:00.0",
            "pci0000:40",
            "10000:e1:00.0",
            "28.39.1002",
            "00000000,0000ff00",
            "12:30:45",
            "mlx5_0:1",
            "000001ffffffffff",
            "MT_0000000834",
            "",
            ":",
        ] {
            assert_eq!(read(word), None, "{word}");
        }
    }
}
