//! The table of the rails.

use super::super::{LegRow, RailRow, Report};
use super::wrap::{Wrapped, clip};
use crate::ceilings::{Bound, Bytes};
use crate::settings::Size;
use probes::model::WorkerPhase;
use std::fmt::{self, Formatter};

/// Widest device name that is printed whole.
const MOST_NAME: usize = 24;

pub(super) fn write(f: &mut Formatter<'_>, host: &Report) -> fmt::Result {
    if host.rails.is_empty() {
        return writeln!(f, "no rails");
    }
    let names = host.rails.iter().map(|rail| name(rail).chars().count());
    let leg_names = host.rails.iter().flat_map(legs).map(|leg| leg.netdev.chars().count() + 2);
    let name_columns = names.chain(leg_names).max().unwrap_or(0).clamp(5, MOST_NAME);
    let with_load = host.rails.iter().any(|rail| rail.load_gb_per_s.is_some());
    let heading = load_heading(host);
    let load_columns = heading.chars().count().max(9);
    let load = if with_load { format!("{heading:>load_columns$}") } else { String::new() };
    // as wide as what stands below it, the ceiling and its share
    let ceiling_heading = format!("{:<18}", ceiling_heading(host));
    let heads = format!("{:<name_columns$} node state   rx GB/s  tx GB/s{load}  {ceiling_heading}", "rail");
    writeln!(f, "{}", heads.trim_end())?;
    let caveat = caveat(host);
    for rail in &host.rails {
        let node = rail.numa_node.map_or("?".to_owned(), |node| node.to_string());
        let state = match rail.state.as_deref() {
            _ if rail.lost => "GONE",
            // the port is well, and yet nothing moves
            Some("ACTIVE") if has_failed(rail, host) => "FAILED",
            state => state.unwrap_or("?"),
        };
        let state = clip(state, 6);
        let load =
            if with_load { format!("{:>load_columns$}", rate(rail.load_gb_per_s)) } else { String::new() };
        let line = format!(
            "{:<name_columns$} {node:>4} {state:<6}{}{}{load}  {:<12} {:>5}",
            clip(&name(rail), name_columns),
            rate(rail.rx_gb_per_s),
            rate(rail.tx_gb_per_s),
            ceiling(rail, host),
            share(rail, host),
        );
        writeln!(f, "{}", line.trim_end())?;
        if let (Some(caveat), Some(_)) = (&caveat, rail.load_gb_per_s) {
            writeln!(f, "  {caveat}")?;
        }
        for leg in legs(rail) {
            let state = match (leg.link_up, leg.active) {
                (Some(false), _) => "down",
                (_, Some(false)) => "idle",
                (Some(true), _) | (_, Some(true)) => "up",
                (None, None) => "?",
            };
            let speed = leg.speed_gbit_per_s.map_or(String::new(), |gbit| format!("{gbit}G"));
            let line = format!(
                "  {:<name$} {speed:>4} {state:<6}{}{}",
                clip(&leg.netdev, name_columns - 2),
                rate(leg.rx_gb_per_s),
                rate(leg.tx_gb_per_s),
                name = name_columns - 2,
            );
            writeln!(f, "{}", line.trim_end())?;
        }
    }
    if let Some(other_bytes) = other_bytes(host) {
        write!(f, "{}", Wrapped { lead: "", text: &other_bytes })?;
    }
    changed(f, host)?;
    shared(f, host)?;
    let total = &host.total;
    let load =
        if with_load { format!("{:>load_columns$}", rate(total.load_gb_per_s)) } else { String::new() };
    let ports = if total.physical_ports == 1 {
        "1 port".to_owned()
    } else {
        format!("{} ports", total.physical_ports)
    };
    let wire = wire_of(host).map_or(String::new(), |line| format!("  {} wire", short(line)));
    let line = format!(
        "{:<all$}{}{}{load}{wire}",
        format!("total, {ports}"),
        rate(total.rx_gb_per_s),
        rate(total.tx_gb_per_s),
        all = name_columns + 12,
    );
    writeln!(f, "{}", line.trim_end())?;
    if !total.left_out.is_empty() {
        let devices = total.left_out.join(", ");
        write!(f, "{}", Wrapped { lead: "not in the total, since implausible: ", text: &devices })?;
    }
    Ok(())
}

/// Limits that were not the same all the time: the ceiling beside the rate is a mean then.
fn changed(f: &mut Formatter<'_>, host: &Report) -> fmt::Result {
    let changed = host.rails.iter().filter(|rail| mean_ceiling(rail).is_some());
    let changed: Vec<String> = changed
        .map(|rail| {
            let now = rail.ceilings_gb_per_s.lowest_of(bytes_of_rail(rail, host));
            let now = now.filter(|_| not_active(rail).is_none());
            format!("{} {}", name(rail), now.map_or("none".to_owned(), |(gb_per_s, _)| short(gb_per_s)))
        })
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let text = format!(
        "what the link could do changed; the ceiling is its mean over that time. Now: {}",
        changed.join(", ")
    );
    write!(f, "{}", Wrapped { lead: "mean: ", text: &text })
}

/// A share that is less than this part of what the rail could do by itself is told.
const MUCH: f64 = 0.98;

/// What shared links leave those rails that could do more by themselves, beside what was measured.
fn shared(f: &mut Formatter<'_>, host: &Report) -> fmt::Result {
    let shares = host.rails.iter().filter_map(|rail| {
        let share = rail.ceilings_gb_per_s.together?;
        let (alone, _) = rail.ceilings_gb_per_s.lowest_of(Bytes::Payload)?;
        (share < MUCH * alone).then(|| format!("{} {}", name(rail), short(share)))
    });
    let shares: Vec<_> = shares.collect();
    if shares.is_empty() {
        return Ok(());
    }
    let text = format!("while all rails move, the links they share leave {} GB/s", shares.join(", "));
    write!(f, "{}", Wrapped { lead: "", text: &text })
}

/// Whether every thread of our load on this rail was stopped by an error.
fn has_failed(rail: &RailRow, host: &Report) -> bool {
    let threads = host.load.iter().flat_map(|load| &load.threads);
    let mut of_rail = threads.filter(|thread| thread.device == rail.device).peekable();
    of_rail.peek().is_some() && of_rail.all(|thread| thread.phase == WorkerPhase::Failed)
}

/// What the load's column is called: no rate without its message size.
pub(in crate::report) fn load_heading(host: &Report) -> String {
    let size = host.load.as_ref().and_then(|load| load.size_bytes);
    let unit = |size: &str| if size.ends_with(|c: char| c.is_ascii_digit()) { " B" } else { "" };
    size.map(|bytes| Size(bytes).to_string())
        .map_or_else(|| "     load".to_owned(), |size| format!(" load {size}{}", unit(&size)))
}

/// What stands below the rate of every rail that is no figure of the fabric; `None` where it is one.
pub(in crate::report) fn caveat(host: &Report) -> Option<String> {
    let load = host.load.as_ref()?;
    let mut words = Vec::new();
    if load.loopback {
        words.push("loopback, not fabric");
    }
    if load.functional_check {
        words.push("over TCP, a functional check");
    }
    (!words.is_empty()).then(|| words.join("; "))
}

fn legs(rail: &RailRow) -> impl Iterator<Item = &LegRow> {
    rail.bond.iter().flat_map(|bond| &bond.legs)
}

/// The port is named only where it is not the first, since almost every device has one.
pub(in crate::report) fn name(rail: &RailRow) -> String {
    if rail.port == 1 { rail.device.clone() } else { format!("{}:{}", rail.device, rail.port) }
}

/// Nine columns.
fn rate(gb_per_s: Option<f64>) -> String {
    let text = gb_per_s.map_or("no data".to_owned(), short);
    format!("{text:>9}")
}

/// Two digits behind the point; a small rate keeps its first ones.
pub(in crate::report) fn short(gb_per_s: f64) -> String {
    match gb_per_s {
        0.0 | 0.1.. => format!("{gb_per_s:.2}"),
        0.01.. => format!("{gb_per_s:.3}"),
        0.001.. => format!("{gb_per_s:.4}"),
        // a report knows rates to a kilobyte a second
        _ => format!("{gb_per_s:.6}"),
    }
}

/// Which bytes the ceilings and shares of this table count: payload where a load of ours ran, else what ports count.
fn bytes_of(host: &Report) -> Bytes {
    let with_load = host.rails.iter().any(|rail| rail.load_gb_per_s.is_some());
    if with_load || !host.has_rates() { Bytes::Payload } else { Bytes::Counted }
}

/// What all wires together carry of the bytes that the table's shares count.
pub(in crate::report) fn wire_of(host: &Report) -> Option<f64> {
    match bytes_of(host) {
        Bytes::Payload => host.total.line_gb_per_s,
        Bytes::Counted => host.total.line_counted_gb_per_s,
    }
}

/// Those of one rail: a rail beside the load moves what its port counts only.
fn bytes_of_rail(rail: &RailRow, host: &Report) -> Bytes {
    rail.held_against.map_or(bytes_of(host), |held| held.bytes)
}

/// Behind the share of a rail whose bytes are not those of the column.
const OTHER_BYTES: &str = "*";

/// What the mark behind a share means; `None` where no rail has it.
pub(in crate::report) fn other_bytes(host: &Report) -> Option<String> {
    let others = host.rails.iter().filter(|rail| share(rail, host).ends_with(OTHER_BYTES)).count();
    let (it, its) = if others == 1 { ("it", "its NIC counts") } else { ("they", "their NICs count") };
    (others > 0).then(|| {
        format!("{OTHER_BYTES} no payload of the load: what {its}, of the most that {it} could count")
    })
}

/// What the column of the ceilings, and of the shares of them, is called.
pub(in crate::report) fn ceiling_heading(host: &Report) -> &'static str {
    match bytes_of(host) {
        _ if !host.has_rates() => "ceiling GB/s",
        Bytes::Payload => "ceiling, payload %",
        Bytes::Counted => "ceiling, counted %",
    }
}

/// The same where it has a column of its own.
pub(in crate::report) fn could_heading(host: &Report) -> &'static str {
    match bytes_of(host) {
        _ if !host.has_rates() => "could do GB/s",
        Bytes::Payload => "could do GB/s of payload",
        Bytes::Counted => "could do GB/s as counted",
    }
}

/// The mean of what a rail could do, where that was not the same all the time.
fn mean_ceiling(rail: &RailRow) -> Option<f64> {
    rail.held_against.filter(|held| held.limit_changed).map(|held| held.ceiling_gb_per_s)
}

/// `down`, `init`: the state of a port over which nothing goes; `None` of one that is ACTIVE, or not known.
fn not_active(rail: &RailRow) -> Option<String> {
    let state = rail.state.as_deref().filter(|state| *state != "ACTIVE")?;
    Some(state.to_lowercase())
}

pub(in crate::report) fn ceiling(rail: &RailRow, host: &Report) -> String {
    if let Some(mean) = mean_ceiling(rail) {
        return format!("{} mean", short(mean));
    }
    if rail.lost {
        return "gone".to_owned();
    }
    if let Some(state) = not_active(rail) {
        return state;
    }
    match rail.ceilings_gb_per_s.lowest_of(bytes_of_rail(rail, host)) {
        // a PCIe path is no ceiling to go by where the wire may be narrower
        Some((_, "pcie")) | None if !line_is_known(rail) => "line unknown".to_owned(),
        Some((bound, name)) => format!("{} {name}", short(bound)),
        None => "unknown".to_owned(),
    }
}

fn line_is_known(rail: &RailRow) -> bool {
    rail.ceilings_gb_per_s.line.or(rail.ceilings_gb_per_s.line_raw).is_some()
}

/// Share of the ceiling: payload of our load where it ran, else the busier direction as counted, each of the most there could
/// be of these bytes. A load over TCP has none.
pub(in crate::report) fn share(rail: &RailRow, host: &Report) -> String {
    if host.total.left_out.contains(&rail.device) {
        return "?".to_owned();
    }
    if host.load.as_ref().is_some_and(|load| load.functional_check) {
        return "-".to_owned();
    }
    let told = rail
        .held_against
        .filter(|held| line_is_known(rail) || held.by == Bound::ReadWindow || held.limit_changed);
    told.map_or(String::new(), |held| {
        let mark = if held.bytes == bytes_of(host) { "" } else { OTHER_BYTES };
        format!("{:.0}{mark}", held.share * 100.0)
    })
}

#[cfg(test)]
mod tests {
    use crate::report::build;
    use crate::rules::Limits;
    use crate::rules::testing::{Traffic, rail, session, timeline, two_sockets};
    use crate::timeline::Timeline;
    use probes::model::{Frame, Load, Rail, RailFrame, RailId, Worker, WorkerFrame, WorkerPhase};
    use std::sync::Arc;

    #[test]
    fn a_rail_beside_the_load_is_held_against_what_its_port_counts_and_says_so() {
        let topology = two_sockets(["mlx5_0", "mlx5_1"].map(rail).into());
        let mut timeline = Timeline::new(Arc::new(session(topology)));
        let workers = vec![Worker { device: "mlx5_0".into(), ..Worker::default() }];
        let devices = vec!["mlx5_0".to_owned()];
        let load = Arc::new(Load { size_bytes: Some(1 << 20), devices, workers, ..Load::default() });
        for seq in 0..5_u64 {
            let moved =
                |bytes| RailFrame { rx_bytes: Some(bytes), tx_bytes: Some(0), ..RailFrame::default() };
            let worker = WorkerFrame {
                rail: Some(RailId(0)),
                phase: WorkerPhase::Measuring,
                bytes: seq * 24_500_000_000,
                ..WorkerFrame::default()
            };
            timeline.push(Frame {
                seq,
                at_ns: seq * 1_000_000_000,
                rails: vec![moved(seq * 24_850_000_000), moved(seq * 24_850_000_000)],
                load: Some(load.clone()),
                workers: vec![worker],
                ..Frame::default()
            });
        }
        let text = build(&timeline, &Limits::default(), &[]).to_string();
        for line in [
            "rail   node state   rx GB/s  tx GB/s  load 1M  ceiling, payload %",
            "mlx5_0    0 ACTIVE    24.85     0.00    24.50  49.02 line      50",
            "mlx5_1    0 ACTIVE    24.85     0.00  no data  49.71 line     50*",
            "* no payload of the load: what its NIC counts, of the most that it could count",
        ] {
            assert!(text.lines().any(|printed| printed == line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_port_that_is_down_or_whose_line_is_not_known_has_no_pcie_path_for_a_ceiling() {
        let down = Rail { state: Some("DOWN".into()), ..rail("mlx5_1") };
        let unknown = Rail { line_gbit_per_s: None, ..rail("mlx5_2") };
        let topology = two_sockets(vec![rail("mlx5_0"), down, unknown]);
        let text = build(&timeline(topology, &Traffic::loaded(&[24.5, 0.0, 24.5])), &Limits::default(), &[])
            .to_string();
        for line in [
            "rail   node state   rx GB/s  tx GB/s  ceiling, counted %",
            "mlx5_0    0 ACTIVE    24.50     0.00  49.71 line      49",
            "mlx5_1    0 DOWN       0.00     0.00  down",
            "mlx5_2    0 ACTIVE    24.50     0.00  line unknown",
        ] {
            assert!(text.lines().any(|printed| printed == line), "{line}\n{text}");
        }
    }
}
