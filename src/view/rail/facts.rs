//! What the rail is: addresses, PCIe path, legs, card.

use super::table;
use crate::app::App;
use crate::ceilings;
use crate::report::rail_text as text;
use crate::rules::Severity;
use crate::view::page::Page;
use crate::view::rails::leg_rates;
use crate::view::units::percent;
use probes::model::{GidType, LinkLayer, Rail, RailId};

/// Its place, state and rate, piece by piece.
pub fn heading(rail: &Rail) -> Vec<String> {
    let mut pieces = Vec::new();
    if rail.port > 1 {
        pieces.push(format!("port {}", rail.port));
    }
    pieces.push(rail.numa_node.map_or("NUMA unknown".to_owned(), |node| format!("NUMA {node}")));
    pieces.extend(text::heading(rail));
    pieces
}

/// The GID table, with the row to use and why.
pub fn gids(rail: &Rail, page: &mut Page) {
    let theme = page.theme();
    let beside = match &rail.gid {
        Some(choice) => format!("use index {}: {}", choice.index, choice.reason),
        None if !rail.gid_table_read => "not readable".to_owned(),
        None if rail.gids.is_empty() => "the table holds no address".to_owned(),
        None => text::chosen_gid(rail),
    };
    page.heading("GIDs", &beside);
    if rail.gids.is_empty() {
        return;
    }
    let with_netdev = page.cells() >= 72;
    let columns = |index: &str, kind: &str, address: &str, netdev: &str, use_it: &str| {
        let mut cells = vec![(index.to_owned(), 7), (kind.to_owned(), 8), (address.to_owned(), 28)];
        if with_netdev {
            cells.push((netdev.to_owned(), 15));
        }
        cells.push((use_it.to_owned(), 10));
        cells
    };
    let put = |page: &mut Page, cells: Vec<(String, usize)>, style| {
        let cells: Vec<_> = cells.iter().map(|(text, cells)| (text.as_str(), *cells)).collect();
        page.line(table(theme, &cells, style));
    };
    put(page, columns("  index", "type", "address", "netdev", ""), theme.dim());
    for gid in &rail.gids {
        let chosen = rail.gid.as_ref().is_some_and(|choice| choice.index == gid.index);
        let kind = match gid.kind {
            Some(GidType::RoceV2) => "RoCE v2",
            Some(GidType::IbOrRoceV1) if rail.link_layer == Some(LinkLayer::Ethernet) => "RoCE v1",
            Some(GidType::IbOrRoceV1) => "IB",
            None => "?",
        };
        let index = format!("{} {:>4}", if chosen { theme.pick("▸", ">") } else { " " }, gid.index);
        let address = gid.written();
        let netdev = gid.netdev.as_deref().unwrap_or("-");
        let cells = columns(&index, kind, &address, netdev, if chosen { "use this" } else { "" });
        put(page, cells, if chosen { theme.strong() } else { theme.plain() });
    }
}

/// Every hop from the card to the root, the limiting one marked.
pub fn pcie(rail: &Rail, page: &mut Page) {
    let theme = page.theme();
    let Some(path) = &rail.pcie else {
        page.heading("PCIe", "no PCI function: this device has no link of its own");
        return;
    };
    page.heading("PCIe", "from the card up");
    let slowest = ceilings::slowest_hop(path).map(|(_, rate)| rate);
    // of hops that are all alike none limits more than the others
    let differs = path.hops.iter().filter_map(ceilings::link_gb_per_s).any(|rate| Some(rate) > slowest);
    for (at, hop) in path.hops.iter().enumerate() {
        let rate = ceilings::link_gb_per_s(hop);
        let is_limit = differs && rate.is_some() && rate == slowest;
        let above = hop.upstream.as_deref().unwrap_or("root complex");
        let rate_text = rate.map_or(String::new(), |rate| format!(", {rate:.1} GB/s raw"));
        let shortfall = text::not_all_it_could(hop, at == 0);
        let is_below = text::is_below_both_ends(hop);
        let style = match (is_below, is_limit) {
            (true, _) => theme.severity(Severity::Warning),
            (false, true) => theme.strong(),
            _ => theme.plain(),
        };
        let mark = if is_limit { "  <- the limit" } else { "" };
        let label = if at == 0 { "card" } else { "" };
        page.row(
            label,
            &format!("{} - {above}: {}{rate_text}{mark}", hop.address, text::link_now(hop)),
            style,
        );
        if let Some(shortfall) = shortfall {
            page.row("", &format!("  {shortfall}"), style);
        }
    }
    if path.hops.is_empty() {
        page.row("", &format!("{}: path unknown", path.address), theme.dim());
    }
    for errors in path.errors.iter().filter(|errors| errors.total() > 0) {
        page.row("errors", &text::of_errors(errors), theme.severity(Severity::Warning));
    }
}

/// The legs of its bond, with what each moves.
pub fn legs(app: &App, id: RailId, rail: &Rail, page: &mut Page) {
    let theme = page.theme();
    let Some(bond) = &rail.bond else {
        page.heading("Legs", "no bond: one port of its own");
        return;
    };
    let mut parts = vec![bond.mode.clone().unwrap_or_else(|| "mode unknown".to_owned())];
    parts.extend(bond.xmit_hash_policy.as_ref().map(|policy| format!("hash {policy}")));
    parts.extend(bond.lag_port_select.as_ref().map(|how| format!("queue pairs by {how}")));
    let counted = "% of the leg's own rate, as counted";
    page.heading("Legs", &format!("{}: {}; {counted}", bond.netdev, parts.join(", ")));
    let rates = leg_rates(app.shown().local(), id).unwrap_or_default();
    let sum =
        |of: fn(&crate::timeline::LegRates) -> Option<f64>| -> f64 { rates.iter().filter_map(of).sum() };
    let sums = (sum(|leg| leg.rx_gb_per_s), sum(|leg| leg.tx_gb_per_s));
    let mut shares = Vec::new();
    for (at, leg) in bond.legs.iter().enumerate() {
        let now = rates.get(at).copied().unwrap_or_default();
        // of its own rate, as in the first view; headers are counted too
        let most = leg.speed_gbit_per_s.map(|gbit| gbit / 8.0);
        let side = |word: &str, rate: Option<f64>| match (rate, most) {
            (Some(rate), Some(most)) => {
                format!("{word} {} ({})", app.rates().text(rate), percent(rate / most).trim())
            }
            (Some(rate), None) => format!("{word} {}", app.rates().text(rate)),
            (None, _) => format!("{word} not read"),
        };
        let (rx, tx) = (side("rx", now.rx_gb_per_s), side("tx", now.tx_gb_per_s));
        let share = |word: &str, rate: Option<f64>, of: f64| {
            Some(format!("{word} {}", percent(rate.filter(|_| of > 0.0)? / of).trim()))
        };
        let of_bond = [share("rx", now.rx_gb_per_s, sums.0), share("tx", now.tx_gb_per_s, sums.1)];
        let of_bond: Vec<String> = of_bond.into_iter().flatten().collect();
        if !of_bond.is_empty() {
            shares.push(format!("leg {} {}", at + 1, of_bond.join(" ")));
        }
        let is_out = leg.link_up == Some(false) || leg.active == Some(false);
        let style = if is_out { theme.severity(Severity::Warning) } else { theme.plain() };
        let label = format!("leg {}", at + 1);
        page.row(&label, &format!("{}, {rx}, {tx} {}", text::of_leg(leg), app.rates().word()), style);
    }
    if bond.legs.len() > 1 && !shares.is_empty() {
        page.row("shares", &format!("of what the bond moves: {}", shares.join("; ")), theme.plain());
    }
    if let Some(lag) = &bond.lag {
        page.row("LAG", &text::of_lag(lag), theme.plain());
    }
}

/// Firmware, settings and interrupts; whether the firmware is that of the others of its kind.
pub fn card(app: &App, rail: &Rail, page: &mut Page) {
    let theme = page.theme();
    let others = app.shown().topology().rails.iter().filter(|other| {
        other.board_id.is_some() && other.board_id == rail.board_id && other.device != rail.device
    });
    let (mut same, mut differ) = (0, 0);
    for other in others {
        if other.firmware == rail.firmware { same += 1 } else { differ += 1 }
    }
    let like = match (same, differ) {
        _ if rail.board_id.is_none() || rail.firmware.is_none() => String::new(),
        (0, 0) => "the only card of its board here".to_owned(),
        (same, 0) => format!("same firmware as the {same} other cards of its board"),
        (_, differ) => format!("{differ} cards of the same board have other firmware"),
    };
    page.heading("Card", &like);
    for line in text::card(rail) {
        page.row("", &line, theme.plain());
    }
    if let Some(interrupts) = &rail.interrupts {
        page.row("irq", &text::of_interrupts(interrupts, rail.local_cpus.as_ref()), theme.plain());
    }
    for gap in app.shown().topology().gaps.iter().filter(|gap| gap.subject == rail.device) {
        page.row("unknown", &format!("{}: {}", gap.probe, gap.reason), theme.dim());
    }
}
