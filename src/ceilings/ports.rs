//! Ports with a cable of their own: several functions may be ways to one port.

use probes::model::Rail;
use std::collections::BTreeSet;

/// Rails that may carry something (they are ACTIVE), without the second sight of one and the same port.
#[must_use]
pub fn own_ports(rails: &[Rail]) -> Vec<&Rail> {
    let active = || rails.iter().filter(|rail| rail.may_carry());
    let cards: BTreeSet<&str> = active()
        .filter(|rail| rail.is_vf != Some(true))
        .filter_map(|rail| rail.system_image_guid.as_deref())
        .collect();
    let mut seen = BTreeSet::new();
    active()
        .filter(|rail| {
            let Some(guid) = rail.system_image_guid.as_deref() else {
                return true;
            };
            if rail.is_vf == Some(true) {
                // a virtual function has the cable of its card, which may be another rail here
                return !cards.contains(guid) && seen.insert((guid, None, rail.port));
            }
            seen.insert((guid, function_of(rail), rail.port))
        })
        .collect()
}

/// The rail whose cable this one uses, among these: itself, or the first that is another way to the same port. A virtual
/// function whose card has several ports here tells not which of them is its own, and is taken as a port of its own.
#[must_use]
pub fn port_of(rails: &[Rail], at: usize) -> usize {
    let rail = &rails[at];
    let Some(guid) = rail.system_image_guid.as_deref() else { return at };
    let is_vf = |rail: &Rail| rail.is_vf == Some(true);
    let of_card = |other: &&(usize, &Rail)| other.1.system_image_guid.as_deref() == Some(guid);
    let rails: Vec<(usize, &Rail)> = rails.iter().enumerate().collect();
    let same = |other: &&(usize, &Rail)| {
        is_vf(other.1) == is_vf(rail)
            && other.1.port == rail.port
            && (is_vf(rail) || function_of(other.1) == function_of(rail))
    };
    let mut physical = rails.iter().filter(of_card).filter(|other| !is_vf(other.1));
    if is_vf(rail)
        && let Some(first) = physical.next()
    {
        return if physical.next().is_none() { first.0 } else { at };
    }
    rails.iter().filter(of_card).find(same).map_or(at, |first| first.0)
}

/// Number of the PCI function: `1` of `0000:41:00.1`. Two slots with one card's GUID and the same
/// function number are two ways to one port (Socket Direct, multi-host); other numbers are other ports.
fn function_of(rail: &Rail) -> Option<&str> {
    Some(rail.pcie.as_ref()?.address.rsplit_once('.')?.1)
}

#[cfg(test)]
mod tests {
    use super::own_ports;
    use crate::rules::testing::rail;
    use probes::model::Rail;

    #[test]
    fn two_slots_with_one_cards_guid_are_one_port_and_virtual_functions_none() {
        let card = |device: &str, address: &str| {
            let mut rail = rail(device);
            rail.pcie.as_mut().unwrap().address = address.into();
            rail.system_image_guid = Some("a".into());
            rail
        };
        let vf = Rail { is_vf: Some(true), ..card("mlx5_3", "0000:04:00.2") };
        let rails = [
            card("mlx5_0", "0000:04:00.0"),
            card("mlx5_1", "0000:82:00.0"),
            card("mlx5_2", "0000:04:00.1"),
            vf,
        ];
        let names: Vec<&str> = own_ports(&rails).into_iter().map(|rail| rail.device.as_str()).collect();
        assert_eq!(names, ["mlx5_0", "mlx5_2"]);
    }
}
