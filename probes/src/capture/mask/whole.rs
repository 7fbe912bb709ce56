//! A word that is an address or an id as a whole, and what stands for it.

use super::forms::{self, Form, Id, is_hex};
use super::table::Table;
use super::words::Context;
use std::net::Ipv4Addr;

/// What stands for a word that is an address or id as a whole.
pub(super) fn address(
    word: &str,
    prefix_bits: Option<u32>,
    context: Context,
    table: &mut Table,
) -> Option<String> {
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
