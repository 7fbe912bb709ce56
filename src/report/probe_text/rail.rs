//! The block of one rail.

use super::packed::Packed;
use crate::ceilings;
use crate::report::rails::model;
use crate::report::text::wrap::Wrapped;
use probes::model::{
    Bond, CpuSet, Gid, GidType, Hop, Interrupts, Lag, Leg, LinkErrors, LinkLayer, PciePath, Rail,
};
use std::fmt::{self, Formatter};

pub(super) fn write(f: &mut Formatter<'_>, rail: &Rail, with_port: bool) -> fmt::Result {
    let name = if with_port { format!("{} port {}", rail.device, rail.port) } else { rail.device.clone() };
    write!(f, "{}", Packed { lead: "  ", parts: &[&[name], heading(rail).as_slice()].concat() })?;
    part(f, "gid", &chosen_gid(rail))?;
    for text in other_gids(rail) {
        part(f, "", &text)?;
    }
    match &rail.pcie {
        Some(path) => pcie(f, path)?,
        None => part(f, "pcie", "no PCI function")?,
    }
    if let Some(interrupts) = &rail.interrupts {
        part(f, "irq", &of_interrupts(interrupts, rail.local_cpus.as_ref()))?;
    }
    for (at, text) in card(rail).iter().enumerate() {
        part(f, if at == 0 { "card" } else { "" }, text)?;
    }
    rail.bond.as_ref().map_or(Ok(()), |bond| of_bond(f, bond))
}

fn line(f: &mut Formatter<'_>, lead: &str, text: &str) -> fmt::Result {
    write!(f, "{}", Wrapped { lead, text })
}

fn part(f: &mut Formatter<'_>, label: &str, text: &str) -> fmt::Result {
    line(f, &format!("    {label:<6}"), text)
}

pub(crate) fn heading(rail: &Rail) -> Vec<String> {
    let word = |text: &Option<String>, what: &str| text.clone().unwrap_or_else(|| format!("{what} unknown"));
    let rate = match (rail.line_gbit_per_s, rail.is_active()) {
        (Some(line), _) => format!("{} Gb/s", (line * 100.0).round() / 100.0),
        // what the port prints then is no rate of data
        (None, false) if rail.state.is_some() => "no rate".to_owned(),
        (None, _) => "rate unknown".to_owned(),
    };
    let rate = match lanes(rail) {
        Some(lanes) => format!("{rate} ({lanes})"),
        None => rate,
    };
    let mtu = |mtu: Option<u32>| mtu.map_or_else(|| "unknown".to_owned(), |mtu| mtu.to_string());
    let layer = match rail.link_layer {
        Some(LinkLayer::InfiniBand) => infiniband(rail),
        Some(LinkLayer::Ethernet) => "Ethernet".to_owned(),
        None => "link layer unknown".to_owned(),
    };
    let state = match &rail.phys_state {
        Some(phys) if !rail.is_active() => format!("{}, {phys}", word(&rail.state, "state")),
        _ => word(&rail.state, "state"),
    };
    vec![
        rail.netdev.clone().unwrap_or_else(|| "no netdev".to_owned()),
        state,
        layer,
        rate,
        format!("MTU {} (netdev {})", mtu(rail.path_mtu), mtu(rail.netdev_mtu)),
    ]
}

/// `4X NDR` of an active `InfiniBand` port; of generations whose rate is told with the line code in it also that rate, since
/// the line is what is left. On Ethernet the kernel makes such words up from the speed.
fn lanes(rail: &Rail) -> Option<String> {
    let text = rail.rate_text.as_deref().filter(|_| rail.is_active())?;
    let (rate, rest) = text.split_once(" Gb/sec (")?;
    let lanes = rest.trim_end_matches(')');
    let code = match lanes.rsplit(' ').next() {
        Some("SDR" | "DDR" | "QDR") => format!(", {rate} before 8b/10b"),
        Some("FDR") => format!(", {rate} before 64b/66b"),
        _ => String::new(),
    };
    (rail.link_layer == Some(LinkLayer::InfiniBand)).then(|| format!("{lanes}{code}"))
}

fn infiniband(rail: &Rail) -> String {
    let mut text = "InfiniBand".to_owned();
    for (name, lid) in [("LID", rail.lid), ("SM", rail.sm_lid)] {
        text += &lid.map_or(String::new(), |lid| format!(", {name} {lid}"));
    }
    text
}

pub(crate) fn chosen_gid(rail: &Rail) -> String {
    let Some(choice) = &rail.gid else {
        if rail.link_layer.is_none() {
            return "unknown".to_owned();
        }
        let needless = rail.node_type.as_deref() == Some("RNIC") || rail.driver.as_deref() == Some("efa");
        return if needless { "none needed".to_owned() } else { "none usable".to_owned() };
    };
    let entry = rail.gids.iter().find(|gid| gid.index == choice.index);
    let address = entry.map_or_else(|| "?".to_owned(), Gid::written);
    format!("{} = {address}, {}", choice.index, choice.reason)
}

/// The other entries, those of one address and netdev together.
fn other_gids(rail: &Rail) -> Vec<String> {
    let chosen = rail.gid.as_ref().map(|choice| choice.index);
    let mut rows: Vec<(&Gid, Vec<String>)> = Vec::new();
    for gid in rail.gids.iter().filter(|gid| Some(gid.index) != chosen) {
        let index = match gid.kind {
            Some(GidType::RoceV2) => format!("{} (v2)", gid.index),
            Some(GidType::IbOrRoceV1) if rail.link_layer == Some(LinkLayer::Ethernet) => {
                format!("{} (v1)", gid.index)
            }
            _ => gid.index.to_string(),
        };
        match rows.iter_mut().find(|(first, _)| first.address == gid.address && first.netdev == gid.netdev) {
            Some((_, indices)) => indices.push(index),
            None => rows.push((gid, vec![index])),
        }
    }
    let text = |(gid, indices): &(&Gid, Vec<String>)| {
        let netdev = match &gid.netdev {
            Some(netdev) if gid.netdev != rail.netdev => format!(" on {netdev}"),
            _ => String::new(),
        };
        format!("also {} = {}{netdev}", indices.join(", "), gid.written())
    };
    rows.iter().map(text).collect()
}

fn pcie(f: &mut Formatter<'_>, path: &PciePath) -> fmt::Result {
    let slowest = ceilings::slowest_hop(path).map_or(f64::INFINITY, |(_, rate)| rate);
    let faster = path.hops.iter().filter_map(ceilings::link_gb_per_s).any(|rate| rate > slowest);
    for (at, hop) in path.hops.iter().enumerate() {
        let label = if at == 0 { "pcie" } else { "" };
        let above = hop.upstream.as_deref().unwrap_or("root complex");
        let rate = ceilings::link_gb_per_s(hop);
        let mut parts = vec![link_now(hop)];
        parts.extend(rate.map(|rate| format!("{rate:.1} GB/s")));
        let mark = if faster && rate == Some(slowest) { " <- the limit" } else { "" };
        part(f, label, &format!("{} - {above}: {}{mark}", hop.address, parts.join(", ")))?;
        if let Some(text) = not_all_it_could(hop, at == 0) {
            line(f, "            ", &text)?;
        }
    }
    for errors in path.errors.iter().filter(|errors| errors.total() > 0) {
        part(f, "", &of_errors(errors))?;
    }
    if path.hops.is_empty() {
        part(f, "pcie", &format!("{}: path unknown", path.address))?;
    }
    Ok(())
}

/// `0000:41:00.0: PCIe errors since boot: 3 BadTLP (correctable)`.
pub(crate) fn of_errors(errors: &LinkErrors) -> String {
    let words: Vec<String> =
        [(&errors.correctable, "correctable"), (&errors.nonfatal, "NOT corrected"), (&errors.fatal, "FATAL")]
            .into_iter()
            .flat_map(|(kinds, how)| kinds.iter().map(move |(kind, count)| format!("{count} {kind} ({how})")))
            .collect();
    format!("{}: PCIe errors since boot: {}", errors.address, words.join(", "))
}

/// Speed and width in use.
pub(crate) fn link_now(hop: &Hop) -> String {
    match (hop.current_gt_per_s, hop.current_width, hop.raw_gb_per_s) {
        (None, None, Some(_)) => "speed and width not told apart".to_owned(),
        (gt_per_s, width, _) => link(gt_per_s, width),
    }
}

/// What both ends can do together; `None` where it is unknown, or what they do.
pub(crate) fn link_at_most(hop: &Hop) -> Option<String> {
    let (rate, width) = (hop.max_gt_per_s?, hop.max_width?);
    let rate = hop.upstream_max_gt_per_s.map_or(rate, |above| above.min(rate));
    let width = hop.upstream_max_width.map_or(width, |above| above.min(width));
    let most = (Some(rate), Some(width));
    (most != (hop.current_gt_per_s, hop.current_width)).then(|| link(most.0, most.1))
}

/// Whether it runs below what both of its ends can do.
pub(crate) fn is_below_both_ends(hop: &Hop) -> bool {
    let below = |now: Option<f64>, lower: Option<f64>, upper: Option<f64>| {
        let most = lower.map(|lower| upper.map_or(lower, |upper| upper.min(lower)));
        matches!((now, most), (Some(now), Some(most)) if now < most)
    };
    let lanes = |lanes: Option<u32>| lanes.map(f64::from);
    below(hop.current_gt_per_s, hop.max_gt_per_s, hop.upstream_max_gt_per_s)
        || below(lanes(hop.current_width), lanes(hop.max_width), lanes(hop.upstream_max_width))
}

fn link(gt_per_s: Option<f64>, width: Option<u32>) -> String {
    match (gt_per_s, width) {
        (Some(rate), Some(width)) => format!("{rate} GT/s x{width}"),
        (Some(rate), None) => format!("{rate} GT/s, width unknown"),
        (None, Some(width)) => format!("speed unknown, x{width}"),
        (None, None) => "speed and width unknown".to_owned(),
    }
}

/// What the ends of a hop could do, where that is not what they do.
pub(crate) fn not_all_it_could(hop: &Hop, own: bool) -> Option<String> {
    let now = (hop.current_gt_per_s, hop.current_width);
    let lower = (hop.max_gt_per_s, hop.max_width);
    let upper = (hop.upstream_max_gt_per_s, hop.upstream_max_width);
    let unknown = (None, None);
    if (lower == now || lower == unknown) && (upper == now || upper == unknown) {
        return None;
    }
    if lower == upper {
        return Some(format!("both ends can {}", link(lower.0, lower.1)));
    }
    let [this, above] = if own { ["the card", "its slot"] } else { ["the lower end", "the upper end"] };
    let can = |name: &str, (rate, width)| format!("{name} can {}", link(rate, width));
    Some(match (lower, upper) {
        (_, upper) if upper == unknown => can(this, lower),
        (lower, _) if lower == unknown => can(above, upper),
        (lower, upper) if lower == now => format!("all {this} can; {}", can(above, upper)),
        (lower, upper) if upper == now => format!("all {above} can; {}", can(this, lower)),
        (lower, upper) => format!("{}, {}", can(this, lower), can(above, upper)),
    })
}

pub(crate) fn card(rail: &Rail) -> Vec<String> {
    let or_unknown = |what: &str, value: &Option<String>| {
        value.as_ref().map_or_else(|| format!("{what} unknown"), |value| format!("{what} {value}"))
    };
    let mut first: Vec<String> = rail.pcie.as_ref().and_then(model).map(str::to_owned).into_iter().collect();
    first.extend([
        or_unknown("firmware", &rail.firmware),
        or_unknown("board", &rail.board_id),
        or_unknown("driver", &rail.driver),
    ]);
    first.extend((rail.is_vf == Some(true)).then(|| "VF".to_owned()));
    let path = rail.pcie.as_ref();
    let payload = path.and_then(|path| path.hops.first()?.max_payload_bytes);
    let mut second: Vec<String> = Vec::new();
    second
        .extend(path.and_then(|path| path.max_read_request_bytes).map(|bytes| format!("MaxReadReq {bytes}")));
    second.extend(payload.map(|bytes| format!("MaxPayload {bytes}")));
    second.extend(
        path.and_then(|path| path.relaxed_ordering)
            .map(|on| format!("relaxed ordering {}", if on { "on" } else { "off" })),
    );
    // what tools of the fabric know a card by
    let guid = rail.system_image_guid.as_ref().filter(|_| rail.link_layer == Some(LinkLayer::InfiniBand));
    second.extend(guid.map(|guid| format!("GUID {guid}")));
    second.extend(rail.max_read_depth.map(|depth| format!("READ depth {depth}")));
    second.extend(rail.uverbs.as_ref().map(|path| path.trim_start_matches("/dev/infiniband/").to_owned()));
    [first, second].into_iter().filter(|parts| !parts.is_empty()).map(|parts| parts.join(", ")).collect()
}

pub(crate) fn of_interrupts(interrupts: &Interrupts, local: Option<&CpuSet>) -> String {
    let set = |cpus: &Option<CpuSet>| cpus.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let Interrupts { count, allowed, effective } = interrupts;
    let far = match (effective, local) {
        (Some(cpus), Some(local)) if !cpus.is_empty() && !cpus.intersects(local) => ", ALL far from the card",
        (Some(cpus), Some(local)) if !cpus.is_subset(local) => ", some far from the card",
        _ => "",
    };
    let but = if allowed == effective { String::new() } else { format!(", allowed on {}", set(allowed)) };
    format!("{count} interrupts on CPUs {}{far}{but}", set(effective))
}

/// What keeps a leg out of its aggregator, by the bits of one side (IEEE 802.1AX, `Actor_State`).
fn unready(bits: u32) -> Vec<&'static str> {
    let wanted = [(8, "not in sync"), (16, "not collecting"), (32, "not distributing")];
    let bad = [(64, "defaulted"), (128, "expired")];
    let missing = wanted.into_iter().filter(|(bit, _)| bits & bit == 0);
    missing.chain(bad.into_iter().filter(|(bit, _)| bits & bit != 0)).map(|(_, word)| word).collect()
}

fn of_bond(f: &mut Formatter<'_>, bond: &Bond) -> fmt::Result {
    let mut parts = vec![bond.netdev.clone(), bond.mode.clone().unwrap_or_else(|| "mode unknown".to_owned())];
    parts.extend(bond.xmit_hash_policy.as_ref().map(|policy| format!("hash {policy}")));
    parts.extend(bond.lag_port_select.as_ref().map(|how| format!("queue pairs by {how}")));
    part(f, "bond", &parts.join(", "))?;
    bond.legs.iter().try_for_each(|leg| part(f, "", &of_leg(leg)))?;
    bond.lag.as_ref().map_or(Ok(()), |lag| part(f, "", &of_lag(lag)))
}

pub(crate) fn of_lag(lag: &Lag) -> String {
    let mut parts = vec![format!("LAG in firmware {}", lag.state.as_deref().unwrap_or("unknown"))];
    parts.extend(lag.kind.clone());
    if !lag.mapping.is_empty() {
        parts.push(format!("mapping {}", lag.mapping.join(" ")));
    }
    let idle = lag.idle_ports();
    if !idle.is_empty() {
        parts.push(format!("port {} carries NOTHING", idle.join(" and port ")));
    }
    parts.extend(lag.flags.iter().cloned());
    parts.join(", ")
}

pub(crate) fn of_leg(leg: &Leg) -> String {
    let speed = leg.speed_gbit_per_s.map_or("speed unknown".to_owned(), |speed| format!("{speed} Gb/s"));
    let link = match leg.link_up {
        Some(true) => "link up",
        Some(false) => "link DOWN",
        None => "link unknown",
    };
    let carries = match leg.active {
        Some(true) => "carries traffic",
        Some(false) => "carries NO traffic",
        None => "carries traffic: unknown",
    };
    let at = leg.pci_address.as_ref().map_or(String::new(), |address| format!(" at {address}"));
    let mut lacp = match (leg.actor_port_state, leg.partner_port_state) {
        (Some(actor), Some(partner)) => format!(", LACP {actor}/{partner}"),
        (Some(actor), None) => format!(", LACP {actor}"),
        _ => String::new(),
    };
    for (who, bits) in [("this host", leg.actor_port_state), ("the switch", leg.partner_port_state)] {
        let words = bits.map(unready).unwrap_or_default();
        if !words.is_empty() {
            lacp += ", ";
            lacp += who;
            lacp += " ";
            lacp += &words.join(", ");
        }
    }
    format!("{}{at}: {speed}, {link}, {carries}{lacp}", leg.netdev)
}
