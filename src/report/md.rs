//! A report as Markdown: a ticket that whoever gets it can act on.

use super::markdown::{cell, prose, row, rule};
use super::text::{alike, facts, table, word};
use super::{RailRow, Report};
use crate::experiments::text::Markdown;
use crate::rules::Severity;
use std::fmt::{self, Display, Formatter};

/// Most events and reasons that are listed; the JSON has all of them.
const MOST_LISTED: usize = 20;

const UNKNOWN: &str = "unknown";

/// The text of `railscope report --format md`: the verdict first, then rates, host, parameters and what is not known.
#[derive(Clone, Copy, Debug)]
pub struct Ticket<'a>(pub &'a Report);

impl Display for Ticket<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.0;
        if let Some(diagnosis) = &report.diagnosis {
            writeln!(f, "{}", Markdown(diagnosis))?;
        }
        let (verdict, troubles) = report.verdict_words();
        writeln!(f, "### {}: {}\n", cell(host(report)), cell(&verdict))?;
        if let Some(simulation) = &report.simulated {
            let (scenario, seed) = (cell(&simulation.scenario), simulation.seed);
            writeln!(
                f,
                "**Simulated** (scenario {scenario}, seed {seed}): nothing here is a measurement.\n"
            )?;
        }
        for trouble in &troubles {
            writeln!(f, "- **ERROR** {}", prose(trouble))?;
        }
        findings(f, report)?;
        rails(f, report)?;
        if let Some(peer) = &report.peer {
            let (verdict, _) = peer.verdict_words();
            writeln!(f, "\n#### Peer {}: {}\n", cell(host(peer)), cell(&verdict))?;
            findings(f, peer)?;
            rails(f, peer)?;
        }
        circumstances(f, report)?;
        events(f, report)?;
        gaps(f, report)?;
        writeln!(f, "\n`{}`, `railscope report --format md`", report.generated_by)
    }
}

fn circumstances(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    writeln!(f, "\n#### How it was measured\n")?;
    writeln!(f, "- covered: {}", report.seen())?;
    match &report.load {
        Some(load) => {
            writeln!(f, "- load: {}", prose(&facts::of_load(load)))?;
            let messages = facts::of_messages(load).join(", ");
            if !messages.is_empty() {
                writeln!(f, "  - {}", prose(&messages))?;
            }
            for leg in &load.legs {
                writeln!(f, "  - {}", prose(&leg.to_string()))?;
            }
            for sought in load.notably_sought() {
                writeln!(f, "  - {}", prose(&sought.to_string()))?;
            }
            for failure in load.failures.iter().take(MOST_LISTED) {
                writeln!(f, "  - {:.1} s: {}", failure.at_s, prose(&failure.text))?;
            }
            match load.failures.len().saturating_sub(MOST_LISTED) as u64 + load.more_failures {
                0 => {}
                more => writeln!(f, "  - and {more} more failures: `--format json` has the first hundred")?,
            }
            if let Some(why) = &load.ended {
                writeln!(f, "  - it ended before its time: {}", prose(why))?;
            }
        }
        None if report.session.planned_loads.is_some() => {
            writeln!(f, "- load: {}", prose(&facts::of_diagnosis(report)))?;
        }
        None if report.session.load_is_past => writeln!(f, "- load: {}", prose(facts::LOAD_IS_PAST))?,
        None if report.has_rates() => {
            writeln!(
                f,
                "- load: none of railscope's; the rates are other programs' bytes, and a low one proves nothing"
            )?;
        }
        None => {}
    }
    writeln!(f, "- host: {}", prose(&facts::of_host(&report.host, report.numa.len())))
}

fn host(report: &Report) -> &str {
    report.host.hostname.as_deref().unwrap_or("unknown host")
}

/// What is wrong with what to do about it; what is only worth knowing in a line.
fn findings(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    for told in alike::told(&report.findings, &report.rails) {
        let finding = told.first;
        let others = told.others_in_words().map(|others| format!("; {others}")).unwrap_or_default();
        if finding.severity == Severity::Info {
            writeln!(
                f,
                "- {} `{}`: {}",
                word(finding.severity),
                finding.code,
                prose(&format!("{}{others}", finding.message))
            )?;
            continue;
        }
        let devices = cell(&told.devices().collect::<Vec<_>>().join(", "));
        writeln!(f, "- **{}** `{}` on {devices}", word(finding.severity), finding.code)?;
        writeln!(f, "  - {}", prose(&format!("{}{others}", finding.message)))?;
        if !finding.advice.is_empty() {
            writeln!(f, "  - to do: {}", prose(&finding.advice))?;
        }
    }
    Ok(())
}

/// The rates, then what the rails are.
fn rails(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    if report.rails.is_empty() {
        return writeln!(f, "\nNo RDMA device is visible here.");
    }
    if report.has_rates() || report.rails.iter().any(|rail| rail.load_gb_per_s.is_some()) {
        rates(f, report)?;
    }
    row(
        f,
        "\n",
        &["rail", "netdev", "node", "state", "line", "PCIe", "GID", "MTU", "firmware", "board", "bond"],
    )?;
    rule(f, 11)?;
    for rail in &report.rails {
        let cells = [
            table::name(rail),
            text(rail.netdev.as_ref()),
            text(rail.numa_node.as_ref()),
            state(rail),
            rail.line_gbit_per_s.map_or(UNKNOWN.to_owned(), |line| format!("{line:.0} Gb/s")),
            pcie(rail),
            rail.gid.as_ref().map_or("none".to_owned(), |gid| {
                format!("{}: {}", gid.index, gid.address.as_deref().unwrap_or(UNKNOWN))
            }),
            text(rail.path_mtu.as_ref()),
            text(rail.firmware.as_ref()),
            text(rail.board_id.as_ref()),
            bond(rail),
        ];
        row(f, "", &cells.each_ref().map(String::as_str))?;
    }
    Ok(())
}

fn rates(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let with_load = report.rails.iter().any(|rail| rail.load_gb_per_s.is_some());
    let load = format!("{} GB/s", table::load_heading(report).trim());
    let mut headings = vec!["rail", "received GB/s", "sent GB/s"];
    headings.extend(with_load.then_some(load.as_str()));
    headings.extend([table::could_heading(report), "%"]);
    row(f, "\n", &headings)?;
    rule(f, headings.len())?;
    let caveat = table::caveat(report);
    for rail in &report.rails {
        let mark = if caveat.is_some() && rail.load_gb_per_s.is_some() { " (1)" } else { "" };
        let (received, sent) = (rate(rail.rx_gb_per_s), rate(rail.tx_gb_per_s));
        rates_row(
            f,
            with_load,
            &[
                table::name(rail),
                received,
                sent,
                format!("{}{mark}", rate(rail.load_gb_per_s)),
                table::ceiling(rail, report),
                table::share(rail, report),
            ],
        )?;
        for leg in rail.bond.iter().flat_map(|bond| &bond.legs) {
            let down = if leg.link_up == Some(false) { ", no link" } else { "" };
            rates_row(
                f,
                with_load,
                &[
                    format!("leg {}{down}", leg.netdev),
                    rate(leg.rx_gb_per_s),
                    rate(leg.tx_gb_per_s),
                    String::new(),
                    String::new(),
                    String::new(),
                ],
            )?;
        }
    }
    let total = &report.total;
    rates_row(
        f,
        with_load,
        &[
            format!("all, {} ports", total.physical_ports),
            rate(total.rx_gb_per_s),
            rate(total.tx_gb_per_s),
            rate(total.load_gb_per_s),
            table::wire_of(report).map_or(String::new(), |line| format!("{} wire", table::short(line))),
            String::new(),
        ],
    )?;
    if let Some(other_bytes) = table::other_bytes(report) {
        writeln!(f, "\n{}", prose(&other_bytes))?;
    }
    if let Some(caveat) = &caveat {
        writeln!(f, "\n(1) {}: no figure of the fabric", prose(caveat))?;
    }
    if !total.left_out.is_empty() {
        writeln!(
            f,
            "\nNot in the sum, since no path can carry what they count: {}",
            cell(&total.left_out.join(", "))
        )?;
    }
    Ok(())
}

/// A row whose fourth cell is there only where a load is.
fn rates_row(f: &mut Formatter<'_>, with_load: bool, cells: &[String; 6]) -> fmt::Result {
    let kept: Vec<&str> = cells
        .iter()
        .enumerate()
        .filter(|(at, _)| with_load || *at != 3)
        .map(|(_, cell)| cell.as_str())
        .collect();
    row(f, "", &kept)
}

fn rate(gb_per_s: Option<f64>) -> String {
    gb_per_s.map_or("no data".to_owned(), table::short)
}

fn state(rail: &RailRow) -> String {
    if rail.lost { "GONE".to_owned() } else { text(rail.state.as_ref()) }
}

/// The card's own link, and the slowest hop where that is another one.
fn pcie(rail: &RailRow) -> String {
    let Some(pcie) = &rail.pcie else { return "none".to_owned() };
    let speed = match (pcie.current_gt_per_s, pcie.current_width) {
        (Some(speed), Some(width)) => format!("{speed} GT/s x{width}"),
        _ => "speed unknown".to_owned(),
    };
    let slowest = pcie.limited_by.as_ref().filter(|hop| **hop != pcie.address);
    let slowest = slowest.map_or(String::new(), |hop| format!(", slowest hop {hop}"));
    format!("{} {speed}{slowest}", pcie.address)
}

fn bond(rail: &RailRow) -> String {
    let Some(bond) = &rail.bond else { return "none".to_owned() };
    let mode = bond.mode.as_deref().unwrap_or("mode unknown");
    format!("{mode}, {} legs, hash {}", bond.legs.len(), bond.xmit_hash_policy.as_deref().unwrap_or(UNKNOWN))
}

fn events(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    if report.events.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n#### What happened\n")?;
    for event in report.events.iter().take(MOST_LISTED) {
        let text = event.text.as_deref().map_or(String::new(), |text| format!(": {}", prose(text)));
        writeln!(f, "- {:.1} s: {} {}{text}", event.at_s, cell(&event.device), cell(&event.what))?;
    }
    more(f, report.events.len())
}

fn gaps(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    if report.gaps.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n#### What could not be learnt\n")?;
    let alike = facts::alike(&report.gaps);
    for ((probe, reason), subjects) in alike.iter().take(MOST_LISTED) {
        writeln!(f, "- {} ({}): {}", cell(&subjects.join(", ")), cell(probe), prose(reason))?;
    }
    more(f, alike.len())
}

fn more(f: &mut Formatter<'_>, count: usize) -> fmt::Result {
    match count.checked_sub(MOST_LISTED).filter(|more| *more > 0) {
        None => Ok(()),
        Some(more) => writeln!(f, "- and {more} more: `--format json` has them"),
    }
}

fn text(value: Option<impl Display>) -> String {
    value.map_or(UNKNOWN.to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests;
