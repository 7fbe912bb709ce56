//! A session as a table for spreadsheets: a row for each rail and second.
//!
//! Source of the form: RFC 4180. What is not known is an empty field. `ceiling_gb_per_s` bounds payload, `load_gb_per_s`;
//! `ceiling_counted_gb_per_s` bounds what the NIC counts, `rx_gb_per_s` and `tx_gb_per_s`, in which headers are.

use super::means::MeanRow;
use super::short;
use crate::printable::Printable;
use probes::model::{Rail, Session};
use std::io::{self, Write};

/// Columns before those of the legs; units are in the names.
const COLUMNS: [&str; 16] = [
    "host",
    "simulated",
    "load",
    "until_unix_s",
    "until_s",
    "covered_s",
    "rail",
    "numa_node",
    "rx_gb_per_s",
    "tx_gb_per_s",
    "load_gb_per_s",
    "measured",
    "line_gbit_per_s",
    "ceiling_gb_per_s",
    "ceiling_counted_gb_per_s",
    "ceiling_by",
];

/// Writes the table as the session goes by.
#[derive(Debug)]
pub struct Csv<W> {
    out: W,
    legs: usize,
}

impl<W: Write> Csv<W> {
    /// Writes the line of the headings.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn begin(mut out: W, session: &Session) -> io::Result<Self> {
        let rails = session.hosts.iter().flat_map(|host| &host.rails);
        let legs = rails.filter_map(|rail| Some(rail.bond.as_ref()?.legs.len())).max().unwrap_or(0);
        let of_legs =
            (1..=legs).flat_map(|leg| [format!("leg{leg}_rx_gb_per_s"), format!("leg{leg}_tx_gb_per_s")]);
        let headings: Vec<String> = COLUMNS.iter().map(|&name| name.to_owned()).chain(of_legs).collect();
        write!(out, "{}\r\n", headings.join(","))?;
        Ok(Self { out, legs })
    }

    /// Writes these rows.
    ///
    /// # Errors
    ///
    /// They cannot be written.
    pub fn rows(&mut self, session: &Session, rows: &[MeanRow]) -> io::Result<()> {
        for row in rows {
            let Some(topology) = session.hosts.get(row.host) else { continue };
            let Some(rail) = topology.rails.get(row.rail) else { continue };
            let by_sim = row.load.as_ref().is_some_and(|load| load.is_simulated());
            let simulated = session.simulated.is_some() || by_sim;
            let started_s = session.started_unix_ms.map(|ms| ms as f64 / 1e3);
            let load = row.load.as_ref().map(|load| short::of_load(load, simulated));
            let mut fields = vec![
                text(topology.host.hostname.as_deref()),
                simulated.to_string(),
                text(load.as_deref()),
                number(started_s.map(|start| start + row.until_s), 3),
                number(Some(row.until_s), 3),
                number(Some(row.covered_s), 3),
                text(Some(&name(rail))),
                row.numa_node.map_or_else(String::new, |node| node.to_string()),
                number(row.rx_gb_per_s, 6),
                number(row.tx_gb_per_s, 6),
                number(row.load_gb_per_s, 6),
                row.measured_gb_per_s.is_some().to_string(),
                number(row.line_gbit_per_s, 3),
                number(row.ceiling.map(|(bound, _)| bound), 6),
                number(row.ceiling_counted_gb_per_s, 6),
                text(row.ceiling.map(|(_, name)| name)),
            ];
            let legs = (0..self.legs).flat_map(|leg| row.legs_gb_per_s.get(leg).copied().unwrap_or_default());
            fields.extend(legs.map(|rate| number(rate, 6)));
            write!(self.out, "{}\r\n", fields.join(","))?;
        }
        Ok(())
    }

    /// Writes what is still held back.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn end(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The port is named only where it is not the first, since almost every device has one.
pub(super) fn name(rail: &Rail) -> String {
    if rail.port == 1 { rail.device.clone() } else { format!("{}:{}", rail.device, rail.port) }
}

/// Without zeroes at the end; empty where it is unknown.
fn number(value: Option<f64>, decimals: usize) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else { return String::new() };
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// In quotes where it must be, and never a formula of a spreadsheet.
fn text(value: Option<&str>) -> String {
    let Some(value) = value else { return String::new() };
    let value = Printable(value).to_string();
    let value = if value.starts_with(['=', '+', '-', '@', '\t']) { format!("'{value}") } else { value };
    if value.contains([',', '"', '\n', '\r']) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value }
}

#[cfg(test)]
mod tests {
    use super::{Csv, number, text};
    use crate::report::means::{MeanRow, Means};
    use crate::rules::testing::{bonded, rail, session, two_sockets};
    use crate::timeline::Timeline;
    use probes::model::{Frame, RailFrame};
    use std::sync::Arc;

    #[test]
    fn a_row_has_a_field_for_every_heading_and_unknown_is_empty() {
        let mut topology = two_sockets(vec![bonded("mlx5_bond_1")]);
        topology.host.hostname = Some("n1, \"blue\"".into());
        let session = session(topology);
        let row = MeanRow {
            until_s: 1.0,
            covered_s: 1.0,
            rx_gb_per_s: Some(24.5),
            legs_gb_per_s: vec![[Some(24.0), None], [Some(0.5), None]],
            ceiling: Some((49.018_669, "line")),
            ceiling_counted_gb_per_s: Some(49.712_781),
            numa_node: Some(0),
            line_gbit_per_s: Some(400.0),
            ..MeanRow::default()
        };
        let mut out = Vec::new();
        let mut csv = Csv::begin(&mut out, &session).unwrap();
        csv.rows(&session, &[row]).unwrap();
        csv.end().unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.split("\r\n").collect();
        assert_eq!(
            lines,
            [
                "host,simulated,load,until_unix_s,until_s,covered_s,rail,numa_node,rx_gb_per_s,tx_gb_per_s,\
                 load_gb_per_s,measured,line_gbit_per_s,ceiling_gb_per_s,ceiling_counted_gb_per_s,ceiling_by,\
                 leg1_rx_gb_per_s,leg1_tx_gb_per_s,leg2_rx_gb_per_s,leg2_tx_gb_per_s",
                "\"n1, \"\"blue\"\"\",false,,1,1,1,mlx5_bond_1,0,24.5,,,false,400,49.018669,49.712781,line,24,,0.5,",
                "",
            ]
        );
    }

    #[test]
    fn a_row_has_the_facts_of_its_time_and_not_of_the_beginning() {
        let first = two_sockets(vec![rail("mlx5_0")]);
        let mut later = first.clone();
        (later.rails[0].numa_node, later.rails[0].line_gbit_per_s) = (Some(1), Some(100.0));
        let session = Arc::new(session(first));
        let mut timeline = Timeline::new(session.clone());
        let mut means = Means::of(1_000_000_000);
        let mut rows = Vec::new();
        for half in 0..=4_u64 {
            timeline.push(Frame {
                seq: half,
                at_ns: half * 500_000_000,
                rails: vec![RailFrame { rx_bytes: Some(half), ..RailFrame::default() }],
                topology: (half == 3).then(|| Arc::new(later.clone())),
                ..Frame::default()
            });
            rows.extend(means.take(&timeline));
        }
        rows.extend(means.end(&timeline));
        let mut out = Vec::new();
        let mut csv = Csv::begin(&mut out, &session).unwrap();
        csv.rows(&session, &rows).unwrap();
        csv.end().unwrap();
        let text = String::from_utf8(out).unwrap();
        let facts = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            format!("{} {} {}", fields[4], fields[7], fields[12])
        };
        let facts: Vec<String> = text.lines().skip(1).map(facts).collect();
        assert_eq!(facts, ["1 0 400", "2 1 100"]);
    }

    #[test]
    fn a_name_is_no_formula_and_no_number_is_invented() {
        assert_eq!(text(Some("=cmd()")), "'=cmd()");
        assert_eq!(text(Some("a\u{1b}[2J\nb")), "\"a\\u{1b}[2J\nb\"");
        assert_eq!([number(None, 3), number(Some(f64::NAN), 3), number(Some(0.0), 3)], ["", "", "0"]);
    }
}
