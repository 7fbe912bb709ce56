//! What differs between two looks at one host, in words.
//!
//! States of ports and legs are not here: frames tell them at the moment they change.

use super::events::port_of;
use probes::model::{Bond, Hop, LinkLayer, Rail, Topology};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Display;

/// One fact that is another one now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// RDMA device, PCI address or `host`.
    pub device: String,
    /// Port of a device with several.
    pub port: Option<u32>,
    /// What an event of it is called.
    pub what: &'static str,
    /// In words, with what was before and after.
    pub text: String,
}

/// Every fact that changed and that somebody may want to know of, rail by rail, then of the host.
pub(super) fn changes(then: &Topology, now: &Topology) -> Vec<Change> {
    let mut found = Vec::new();
    let whole = now;
    for (then, now) in then.rails.iter().zip(&now.rails) {
        let port = port_of(now, whole);
        let mut add = |what, text| found.push(Change { device: now.device.clone(), port, what, text });
        of_rail(then, now, &mut add);
    }
    for card in
        now.lost_cards.iter().filter(|card| !then.lost_cards.iter().any(|c| c.address == card.address))
    {
        let text = "this card has no RDMA device any more".to_owned();
        found.push(Change { device: card.address.clone(), port: None, what: "card-lost", text });
    }
    for device in now.newcomers.iter().filter(|device| !then.newcomers.contains(device)) {
        let text = "came while the session went on; a new session will show it".to_owned();
        found.push(Change { device: device.clone(), port: None, what: "device-new", text });
    }
    for (key, then, now) in differing(&then.host, &now.host) {
        let text = format!("{key} {then} → {now}");
        found.push(Change { device: "host".into(), port: None, what: "setting-changed", text });
    }
    found
}

fn of_rail(then: &Rail, now: &Rail, add: &mut impl FnMut(&'static str, String)) {
    of_addresses(then, now, add);
    if let Some(text) = moved("path MTU", then.path_mtu, now.path_mtu) {
        add("mtu-changed", text);
    }
    let netdev = now.netdev.as_deref().or(then.netdev.as_deref()).unwrap_or("netdev");
    if let Some(text) = moved(&format!("MTU of {netdev}"), then.netdev_mtu, now.netdev_mtu) {
        add("mtu-changed", text);
    }
    if let Some(text) = moved("line", then.line_gbit_per_s, now.line_gbit_per_s) {
        add("link-changed", format!("{text} Gb/s"));
    }
    let hops = |rail: &Rail| rail.pcie.as_ref().map_or_else(Vec::new, |path| path.hops.clone());
    for (then, now) in hops(then).iter().zip(&hops(now)) {
        of_hop(then, now, add);
    }
    if let Some(text) = moved("firmware", then.firmware.as_deref(), now.firmware.as_deref()) {
        add("firmware-changed", text);
    }
    match (&then.bond, &now.bond) {
        (Some(then), Some(now)) => of_bond(then, now, add),
        (Some(then), None) => add("bond-changed", format!("{} is a bond no more", then.netdev)),
        (None, Some(now)) => add("bond-changed", format!("is under the bond {} now", now.netdev)),
        (None, None) => {}
    }
    for (key, then, now) in differing(&Rest::of(then), &Rest::of(now)) {
        add("setting-changed", format!("{key} {then} → {now}"));
    }
}

/// Facts of a rail that are told by their own names.
#[derive(Serialize)]
struct Rest<'a> {
    netdev: Option<&'a str>,
    driver: Option<&'a str>,
    link_layer: Option<LinkLayer>,
    lid: Option<u16>,
    sm_lid: Option<u16>,
    numa_node: Option<u32>,
    max_read_depth: Option<u32>,
    max_read_request_bytes: Option<u32>,
    relaxed_ordering: Option<bool>,
    missing_uverbs: Option<&'a str>,
}

impl<'a> Rest<'a> {
    fn of(rail: &'a Rail) -> Self {
        Self {
            netdev: rail.netdev.as_deref(),
            driver: rail.driver.as_deref(),
            link_layer: rail.link_layer,
            lid: rail.lid,
            sm_lid: rail.sm_lid,
            numa_node: rail.numa_node,
            max_read_depth: rail.max_read_depth,
            max_read_request_bytes: rail.pcie.as_ref().and_then(|path| path.max_read_request_bytes),
            relaxed_ordering: rail.pcie.as_ref().and_then(|path| path.relaxed_ordering),
            missing_uverbs: rail.missing_uverbs.as_deref(),
        }
    }
}

fn of_addresses(then: &Rail, now: &Rail, add: &mut impl FnMut(&'static str, String)) {
    let index = |rail: &Rail| rail.gid.as_ref().map(|choice| choice.index);
    if let Some(text) = moved("recommended GID", index(then), index(now)) {
        add("gid-changed", text);
    }
    let indices: BTreeSet<u32> = then.gids.iter().chain(&now.gids).map(|gid| gid.index).collect();
    for index in indices {
        let at = |rail: &Rail| rail.gids.iter().find(|gid| gid.index == index).cloned();
        let text = match (at(then), at(now)) {
            (Some(then), Some(now)) if then.address != now.address => {
                format!("GID {index} moved from {} to {}", then.written(), now.written())
            }
            (Some(then), None) => format!("GID {index} {} is gone", then.written()),
            (None, Some(now)) => format!("GID {index} {} is new", now.written()),
            _ => continue,
        };
        add("gid-changed", text);
    }
}

fn of_hop(then: &Hop, now: &Hop, add: &mut impl FnMut(&'static str, String)) {
    if then.address != now.address {
        return add("link-changed", format!("PCIe path: {} → {}", then.address, now.address));
    }
    let width = |hop: &Hop| hop.current_width.map(|lanes| format!("x{lanes}"));
    let speed = |hop: &Hop| hop.current_gt_per_s.map(|speed| format!("{speed} GT/s"));
    let parts = [moved("", width(then), width(now)), moved("", speed(then), speed(now))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if !parts.is_empty() {
        add("link-changed", format!("link{} at {}", parts.join(","), now.address));
    }
}

fn of_bond(then: &Bond, now: &Bond, add: &mut impl FnMut(&'static str, String)) {
    let mut said = |text: Option<String>| {
        if let Some(text) = text {
            add("bond-changed", text);
        }
    };
    said(moved("bonding mode", then.mode.as_deref(), now.mode.as_deref()));
    said(moved("hash policy", then.xmit_hash_policy.as_deref(), now.xmit_hash_policy.as_deref()));
    said(moved("port select", then.lag_port_select.as_deref(), now.lag_port_select.as_deref()));
    said(moved("active aggregator", then.active_aggregator_id, now.active_aggregator_id));
    let mapping = |bond: &Bond| bond.lag.as_ref().map(|lag| lag.mapping.join(" "));
    said(moved("queue pairs of ports", mapping(then), mapping(now)));
    for now in &now.legs {
        let Some(then) = then.legs.iter().find(|leg| leg.netdev == now.netdev) else {
            said(Some(format!("leg {} is new", now.netdev)));
            continue;
        };
        let of = |fact: &str| format!("{fact} of leg {}", now.netdev);
        said(moved(&of("Gb/s"), then.speed_gbit_per_s, now.speed_gbit_per_s));
        said(moved(&of("aggregator"), then.aggregator_id, now.aggregator_id));
        said(moved(&of("LACP state"), then.actor_port_state, now.actor_port_state));
        said(moved(&of("LACP state of the switch"), then.partner_port_state, now.partner_port_state));
    }
    for then in then.legs.iter().filter(|then| !now.legs.iter().any(|leg| leg.netdev == then.netdev)) {
        said(Some(format!("leg {} is gone", then.netdev)));
    }
}

/// `path MTU 4096 → 1024`; `None` where nothing moved.
fn moved<T: Display>(fact: &str, then: Option<T>, now: Option<T>) -> Option<String> {
    let word = |value: Option<T>| value.map_or_else(|| "unknown".to_owned(), |value| value.to_string());
    let (then, now) = (word(then), word(now));
    (then != now).then(|| format!("{fact} {then} → {now}"))
}

/// Keys whose values differ, with both values as short text; lists and maps are only said to differ.
fn differing<T: Serialize>(then: &T, now: &T) -> Vec<(String, String, String)> {
    let object = |value: &T| match serde_json::to_value(value) {
        Ok(serde_json::Value::Object(object)) => object,
        _ => serde_json::Map::new(),
    };
    let (then, now) = (object(then), object(now));
    let short = |value: Option<&serde_json::Value>| match value {
        None | Some(serde_json::Value::Null) => "unknown".to_owned(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(value @ (serde_json::Value::Bool(_) | serde_json::Value::Number(_))) => value.to_string(),
        Some(_) => "another".to_owned(),
    };
    now.iter()
        .filter(|(key, value)| then.get(*key) != Some(value))
        .map(|(key, value)| (key.clone(), short(then.get(key)), short(Some(value))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::changes;
    use probes::model::{Bond, Gid, GidChoice, Hop, Leg, PciePath, Rail, Topology};

    fn gid(index: u32, address: &str) -> Gid {
        Gid { index, address: address.parse().unwrap(), kind: None, netdev: None }
    }

    fn one_rail() -> Topology {
        let hop = Hop {
            address: "0000:41:00.0".into(),
            current_width: Some(16),
            current_gt_per_s: Some(32.0),
            ..Hop::default()
        };
        let leg =
            |netdev: &str| Leg { netdev: netdev.into(), speed_gbit_per_s: Some(200.0), ..Leg::default() };
        let rail = Rail {
            device: "mlx5_0".into(),
            path_mtu: Some(4096),
            firmware: Some("28.39.1002".into()),
            gids: vec![gid(3, "::ffff:10.0.0.1")],
            gid: Some(GidChoice { index: 3, reason: String::new() }),
            pcie: Some(PciePath { hops: vec![hop], ..PciePath::default() }),
            bond: Some(Bond {
                netdev: "bond0".into(),
                legs: vec![leg("eth0"), leg("eth1")],
                ..Bond::default()
            }),
            ..Rail::default()
        };
        Topology { rails: vec![rail], ..Topology::default() }
    }

    /// What is said after this change to the only rail.
    fn said(change: impl FnOnce(&mut Rail)) -> Vec<String> {
        let (then, mut now) = (one_rail(), one_rail());
        change(&mut now.rails[0]);
        changes(&then, &now).iter().map(|c| format!("{} {}: {}", c.device, c.what, c.text)).collect()
    }

    #[test]
    fn each_change_of_a_rail_is_said_with_before_and_after() {
        assert_eq!(said(|_| {}), Vec::<String>::new());
        assert_eq!(said(|r| r.path_mtu = Some(1024)), ["mlx5_0 mtu-changed: path MTU 4096 → 1024"]);
        assert_eq!(
            said(|r| r.line_gbit_per_s = Some(400.0)),
            ["mlx5_0 link-changed: line unknown → 400 Gb/s"]
        );
        assert_eq!(
            said(|r| r.gids = vec![gid(3, "::ffff:10.0.0.9")]),
            ["mlx5_0 gid-changed: GID 3 moved from 10.0.0.1 to 10.0.0.9"]
        );
        assert_eq!(
            said(|r| r.pcie.as_mut().unwrap().hops[0].current_width = Some(8)),
            ["mlx5_0 link-changed: link x16 → x8 at 0000:41:00.0"]
        );
        assert_eq!(
            said(|r| r.firmware = Some("28.41.1000".into())),
            ["mlx5_0 firmware-changed: firmware 28.39.1002 → 28.41.1000"]
        );
        assert_eq!(
            said(|r| r.bond.as_mut().unwrap().legs[1].speed_gbit_per_s = Some(100.0)),
            ["mlx5_0 bond-changed: Gb/s of leg eth1 200 → 100"]
        );
        assert_eq!(said(|r| r.sm_lid = Some(7)), ["mlx5_0 setting-changed: sm_lid unknown → 7"]);
    }

    #[test]
    fn what_comes_and_goes_beside_the_rails_is_named() {
        let (then, mut now) = (one_rail(), one_rail());
        now.newcomers.push("mlx5_9".into());
        now.host.numa_balancing = Some(true);
        let texts: Vec<String> =
            changes(&then, &now).iter().map(|c| format!("{} {}: {}", c.device, c.what, c.text)).collect();
        assert_eq!(
            texts,
            [
                "mlx5_9 device-new: came while the session went on; a new session will show it",
                "host setting-changed: numa_balancing unknown → true"
            ]
        );
    }
}
