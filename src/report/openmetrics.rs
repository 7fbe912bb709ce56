//! A report for Prometheus and its kind, made for a textfile collector.
//!
//! Rates of the session are gauges; what the NICs have counted since they came up are counters, so that `rate()`
//! over scrapes works. No time stamps: a textfile collector refuses them. What is unknown has no sample.
//! Source: the specification, version 1.0.0 (`prometheus/OpenMetrics`, `specification/OpenMetrics.md`).

use super::{RailRow, Report};
use crate::ceilings::Bytes;
use crate::printable::Printable;
use crate::timeline::Timeline;
use probes::model::{RailFrame, RailId};
use std::fmt::{self, Display, Formatter, Write};

/// The text of `railscope report --format openmetrics`.
#[derive(Clone, Copy, Debug)]
pub struct OpenMetrics<'a> {
    /// What is reported.
    pub report: &'a Report,
    /// What it was made from: newest readings of the counters.
    pub timeline: &'a Timeline,
}

/// One metric family.
struct Family {
    name: &'static str,
    kind: &'static str,
    /// Unit, which is also the end of the name; empty without one.
    unit: &'static str,
    help: &'static str,
}

impl Family {
    const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Self {
        Self { name, kind: "gauge", unit, help }
    }

    const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Self {
        Self { name, kind: "counter", unit, help }
    }

    fn head(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "# TYPE {} {}", self.name, self.kind)?;
        if !self.unit.is_empty() {
            writeln!(f, "# UNIT {} {}", self.name, self.unit)?;
        }
        writeln!(f, "# HELP {} {}", self.name, self.help)
    }

    /// The family with these samples; nothing at all without one.
    fn write(&self, f: &mut Formatter<'_>, samples: &[(Labels, f64)]) -> fmt::Result {
        if samples.is_empty() {
            return Ok(());
        }
        self.head(f)?;
        let suffix = if self.kind == "counter" { "_total" } else { "" };
        for (labels, value) in samples {
            writeln!(f, "{}{suffix}{labels} {value}", self.name)?;
        }
        Ok(())
    }
}

/// Labels of a sample, in order.
#[derive(Clone, Debug, Default)]
struct Labels(Vec<(&'static str, String)>);

impl Labels {
    fn with(&self, name: &'static str, value: impl Display) -> Self {
        let mut labels = self.clone();
        labels.0.push((name, value.to_string()));
        labels
    }
}

impl Display for Labels {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('{')?;
        for (at, (name, value)) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{name}=\"")?;
            for c in Printable(value).to_string().chars() {
                match c {
                    '\\' => f.write_str("\\\\")?,
                    '"' => f.write_str("\\\"")?,
                    '\n' => f.write_str("\\n")?,
                    c => f.write_char(c)?,
                }
            }
            f.write_char('"')?;
        }
        f.write_char('}')
    }
}

const BYTES_PER_GB: f64 = 1e9;

/// What a rail has a gauge of: GB/s, which become bytes a second.
type Rate = fn(&RailRow) -> Option<f64>;

const RATES: [(Family, Rate); 5] = [
    (
        Family::gauge(
            "railscope_rail_received_bytes_per_second",
            "bytes_per_second",
            "Mean over the session, as the NIC counted.",
        ),
        |rail| rail.rx_gb_per_s,
    ),
    (
        Family::gauge(
            "railscope_rail_sent_bytes_per_second",
            "bytes_per_second",
            "Mean over the session, as the NIC counted.",
        ),
        |rail| rail.tx_gb_per_s,
    ),
    (
        Family::gauge(
            "railscope_rail_load_bytes_per_second",
            "bytes_per_second",
            "Mean payload of railscope's own load in its measured time.",
        ),
        |rail| rail.load_gb_per_s,
    ),
    (
        Family::gauge(
            "railscope_rail_ceiling_bytes_per_second",
            "bytes_per_second",
            "The lowest limit on payload that is known.",
        ),
        |rail| rail.ceilings_gb_per_s.lowest_of(Bytes::Payload).map(|(bound, _)| bound),
    ),
    (
        Family::gauge(
            "railscope_rail_ceiling_counted_bytes_per_second",
            "bytes_per_second",
            "The same limit on what the NIC counts, headers of packets included.",
        ),
        |rail| rail.ceilings_gb_per_s.lowest_of(Bytes::Counted).map(|(bound, _)| bound),
    ),
];

impl Display for OpenMetrics<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // a peer counts for itself, with a railscope of its own
        let host = Labels::default().with("host", self.report.host.hostname.as_deref().unwrap_or_default());
        // no series of a simulation may pass for one of a node
        let host = if self.is_simulated() { host.with("simulated", true) } else { host };
        self.session(f, &host)?;
        self.rails(f, &host)?;
        self.counters(f, &host)?;
        self.findings(f, &host)?;
        writeln!(f, "# EOF")
    }
}

impl OpenMetrics<'_> {
    /// Whether the node is made up, or the load on it.
    fn is_simulated(&self) -> bool {
        self.report.simulated.is_some() || self.report.load.as_ref().is_some_and(|load| load.simulated)
    }

    fn session(&self, f: &mut Formatter<'_>, host: &Labels) -> fmt::Result {
        let report = self.report;
        let load = super::load_in_short(self.timeline).unwrap_or_default();
        let about = host.with("generated_by", &report.generated_by);
        let about = if self.is_simulated() { about } else { about.with("simulated", false) };
        let about =
            about.with("load", load).with("kernel", report.host.kernel.as_deref().unwrap_or_default());
        Family::gauge("railscope_session_metadata", "", "Whose figures these are; always 1.")
            .write(f, &[(about, 1.0)])?;
        Family::gauge("railscope_session_duration_seconds", "seconds", "What the figures cover.")
            .write(f, &[(host.clone(), report.session.duration_s)])?;
        let started = report.session.started_unix_ms.map(|ms| (host.clone(), ms as f64 / 1e3));
        let started: Vec<_> = started.into_iter().collect();
        Family::gauge("railscope_session_start_time_seconds", "seconds", "Since 1970.").write(f, &started)?;
        let gaps = report.gaps.len() as f64;
        Family::gauge("railscope_unknown_facts", "", "What could not be learnt.")
            .write(f, &[(host.clone(), gaps)])
    }

    fn rails(&self, f: &mut Formatter<'_>, host: &Labels) -> fmt::Result {
        let report = self.report;
        let about = report.rails.iter().map(|rail| {
            let text = |value: Option<&String>| value.cloned().unwrap_or_default();
            let labels = of_rail(host, rail)
                .with("netdev", text(rail.netdev.as_ref()))
                .with("numa_node", rail.numa_node.map_or(String::new(), |node| node.to_string()))
                .with("firmware", text(rail.firmware.as_ref()))
                .with("board_id", text(rail.board_id.as_ref()))
                .with("state", text(rail.state.as_ref()));
            (labels, 1.0)
        });
        Family::gauge("railscope_rail_metadata", "", "What the rail is; always 1.")
            .write(f, &about.collect::<Vec<_>>())?;
        let active = report.rails.iter().filter(|rail| rail.lost || rail.state.is_some()).map(|rail| {
            let is_active = !rail.lost && rail.state.as_deref() == Some("ACTIVE");
            (of_rail(host, rail), f64::from(u8::from(is_active)))
        });
        Family::gauge("railscope_rail_active", "", "1 where the port is ACTIVE, else 0.")
            .write(f, &active.collect::<Vec<_>>())?;
        for (family, rate) in RATES {
            let samples = report
                .rails
                .iter()
                .filter_map(|rail| Some((of_rail(host, rail), (rate(rail)? * BYTES_PER_GB).round())));
            family.write(f, &samples.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn counters(&self, f: &mut Formatter<'_>, host: &Labels) -> fmt::Result {
        let local = self.timeline.local();
        let newest = |at: usize, has: fn(&RailFrame) -> bool| {
            local.frames().rev().filter_map(move |frame| frame.rails.get(at)).find(|rail| has(rail))
        };
        let rails = || self.report.rails.iter().enumerate();
        let bytes = |read: fn(&RailFrame) -> Option<u64>| -> Vec<(Labels, f64)> {
            let has: fn(&RailFrame) -> bool = |rail| rail.rx_bytes.is_some() || rail.tx_bytes.is_some();
            rails()
                .filter_map(|(at, rail)| Some((of_rail(host, rail), read(newest(at, has)?)? as f64)))
                .collect()
        };
        Family::counter("railscope_rail_received_bytes", "bytes", "Received since the port came up.")
            .write(f, &bytes(|rail| rail.rx_bytes))?;
        Family::counter("railscope_rail_sent_bytes", "bytes", "Sent since the port came up.")
            .write(f, &bytes(|rail| rail.tx_bytes))?;
        let mut further = Vec::new();
        for (at, rail) in rails() {
            let Some(seen) = newest(at, |rail| !rail.counters.is_empty()) else { continue };
            let Some(known) = self.timeline.topology().rails.get(RailId(at).0) else { continue };
            for (name, value) in known.counters.iter().zip(&seen.counters) {
                let Some(value) = value else { continue };
                further.push((of_rail(host, rail).with("counter", name), *value as f64));
            }
        }
        Family::counter(
            "railscope_rail_events",
            "",
            "Further counters of the driver, by their names in sysfs.",
        )
        .write(f, &further)
    }

    fn findings(&self, f: &mut Formatter<'_>, host: &Labels) -> fmt::Result {
        let findings = self.report.findings.iter().flat_map(|finding| {
            let severity = format!("{:?}", finding.severity).to_lowercase();
            finding.devices.iter().map(move |device| {
                let labels =
                    host.with("device", device).with("code", &finding.code).with("severity", &severity);
                (labels, 1.0)
            })
        });
        let mut findings: Vec<(Labels, f64)> = findings.collect();
        // one rule may say two things of one device: a label set stands once
        findings.sort_by_key(|(labels, _)| labels.to_string());
        findings.dedup_by_key(|(labels, _)| labels.to_string());
        Family::gauge("railscope_finding", "", "1 for each finding and device; gone when it is.")
            .write(f, &findings)?;
        let worst = self.report.worst_here().map_or(0.0, |worst| f64::from(worst as u8) + 1.0);
        Family::gauge("railscope_worst_severity", "", "0 nothing, 1 info, 2 warning, 3 error.")
            .write(f, &[(host.clone(), worst)])
    }
}

fn of_rail(host: &Labels, rail: &RailRow) -> Labels {
    host.with("device", &rail.device).with("port", rail.port)
}

#[cfg(test)]
mod tests;
