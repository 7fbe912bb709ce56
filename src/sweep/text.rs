//! A sweep for people.

use super::curve;
use super::headings::headings;
use super::row::{Point, Row};
use super::saved::Sweep;
use super::statements::{curves, statements};
use crate::settings::Size;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

/// Shown where nothing is known; below the tables stands why.
const NOT_THERE: &str = "n/a";

/// A sweep in words, tables and curves.
#[derive(Debug)]
pub struct Text<'a>(pub &'a Sweep);

/// One column: its heading, its width, and what stands in it.
struct Column {
    name: &'static str,
    width: usize,
    of: fn(&Row) -> Option<String>,
}

const fn column(name: &'static str, width: usize, of: fn(&Row) -> Option<String>) -> Column {
    Column { name, width, of }
}

const RATES: [Column; 8] = [
    column("Gb/s", 9, |row| fixed(row.gbit_per_s, 2)),
    column("GB/s", 8, |row| fixed(row.gb_per_s, 3)),
    column("Mpps", 9, |row| fixed(row.mpps, 4)),
    column("empty", 7, |row| percent(row.empty_poll_share)),
    column("/poll", 7, |row| fixed(row.completions_per_poll, 1)),
    column("IPC", 6, |row| fixed(row.perf.instructions_per_cycle, 2)),
    column("GHz", 6, |row| fixed(row.perf.effective_ghz, 2)),
    column("cyc/B", 7, |row| fixed(row.perf.cycles_per_byte, 3)),
];

const MISSES: [Column; 7] = [
    column("refs", 8, |row| count(row.perf.cache_references)),
    column("misses", 8, |row| count(row.perf.cache_misses)),
    column("L1d", 8, |row| count(row.perf.l1d_load_misses)),
    column("LLC ld", 8, |row| count(row.perf.llc_load_misses)),
    column("LLC st", 8, |row| count(row.perf.llc_store_misses)),
    column("dTLB", 8, |row| count(row.perf.dtlb_load_misses)),
    column("iTLB", 8, |row| count(row.perf.itlb_load_misses)),
];

const KERNEL: [Column; 6] = [
    column("switches", 9, |row| count(row.perf.context_switches)),
    column("migrat.", 8, |row| count(row.perf.migrations)),
    column("ECN/CNP", 8, |row| count(row.nic.ecn_cnp)),
    column("retrans", 8, |row| count(row.nic.retransmits)),
    column("rx pause", 9, |row| count(row.nic.rx_pause)),
    column("tx pause", 9, |row| count(row.nic.tx_pause)),
];

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sweep = self.0;
        for line in headings(sweep) {
            writeln!(f, "{line}")?;
        }
        writeln!(f)?;
        table(f, sweep, &RATES, "  bound", verdict)?;
        writeln!(f, "\ncache and TLB: references, and misses")?;
        table(f, sweep, &MISSES, "", |_| String::new())?;
        writeln!(f, "\nkernel, and what the NICs counted")?;
        table(f, sweep, &KERNEL, "", |_| String::new())?;
        missing(f, sweep)?;
        by_rail(f, sweep)?;
        bounds(f, sweep)?;
        writeln!(f)?;
        for line in statements(sweep) {
            writeln!(f, "{line}")?;
        }
        let drawn = curve::draw(&curves(sweep));
        if !drawn.is_empty() {
            write!(f, "\n{drawn}")?;
        }
        for point in &sweep.points {
            for line in &point.failures {
                writeln!(f, "{}: {line}", spot(point))?;
            }
        }
        perftest(f, sweep)
    }
}

fn table(
    f: &mut Formatter<'_>,
    sweep: &Sweep,
    columns: &[Column],
    last: &str,
    end: impl Fn(&Point) -> String,
) -> fmt::Result {
    write!(f, "{:>6} {:>4} {:>3}", "size", "QPs", "wk")?;
    for Column { name, width, .. } in columns {
        write!(f, " {name:>w$}", w = width - 1)?;
    }
    writeln!(f, "{last}")?;
    for point in &sweep.points {
        let of = point.spot;
        write!(f, "{:>6} {:>4} {:>3}", Size(of.size_bytes).to_string(), of.qps, of.workers)?;
        cells(f, columns, &point.all)?;
        writeln!(f, "{}", end(point))?;
    }
    Ok(())
}

fn cells(f: &mut Formatter<'_>, columns: &[Column], row: &Row) -> fmt::Result {
    for Column { width, of, .. } in columns {
        let cell = of(row);
        // a cell that is wider than its column is still one of its own
        write!(f, " {:>w$}", cell.as_deref().unwrap_or(NOT_THERE), w = width - 1)?;
    }
    Ok(())
}

/// Why something is not there, each reason once.
fn missing(f: &mut Formatter<'_>, sweep: &Sweep) -> fmt::Result {
    let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let each = sweep.points.iter().flat_map(|point| &point.all.perf.unavailable);
    for (name, why) in sweep.unavailable.iter().chain(each) {
        reasons.entry(why).or_default().insert(name);
    }
    for (why, names) in reasons {
        writeln!(f, "{NOT_THERE} or not whole: {}: {why}", names.into_iter().collect::<Vec<_>>().join(", "))?;
    }
    let nics = sweep.points.iter().map(|point| point.all.nic);
    let kinds: [(&str, bool); 4] = nics.fold(
        [("ECN/CNP", true), ("retrans", true), ("rx pause", true), ("tx pause", true)],
        |kinds, nic| {
            let there = [nic.ecn_cnp, nic.retransmits, nic.rx_pause, nic.tx_pause];
            let mut left = kinds;
            for ((_, missing), there) in left.iter_mut().zip(there) {
                *missing &= there.is_none();
            }
            left
        },
    );
    let names: Vec<&str> = kinds.iter().filter(|(_, missing)| *missing).map(|(name, _)| *name).collect();
    if !names.is_empty() && !sweep.points.is_empty() {
        let why = if sweep.host.simulated {
            "simulated NICs count nothing of the kind"
        } else {
            "these NICs have no readable counter of the kind"
        };
        writeln!(f, "{NOT_THERE}: {}: {why}", names.join(", "))?;
    }
    Ok(())
}

fn by_rail(f: &mut Formatter<'_>, sweep: &Sweep) -> fmt::Result {
    if sweep.points.iter().all(|point| point.rails.len() < 2) {
        return Ok(());
    }
    writeln!(f, "\nrail by rail")?;
    let wide = sweep.points.iter().flat_map(|point| &point.rails).map(|rail| rail.device.len()).max();
    let wide = wide.unwrap_or(0);
    write!(f, "{:>6} {:>4} {:>3}  {:wide$}", "size", "QPs", "wk", "rail")?;
    for Column { name, width, .. } in &RATES[..6] {
        write!(f, " {name:>w$}", w = width - 1)?;
    }
    writeln!(f, "  bound")?;
    for point in &sweep.points {
        let of = point.spot;
        for rail in &point.rails {
            let size = Size(of.size_bytes).to_string();
            write!(f, "{size:>6} {:>4} {:>3}  {:wide$}", of.qps, of.workers, rail.device)?;
            cells(f, &RATES[..6], &rail.row)?;
            writeln!(f, "  {}{}", rail.bound.by, caveat(point))?;
        }
    }
    Ok(())
}

fn bounds(f: &mut Formatter<'_>, sweep: &Sweep) -> fmt::Result {
    writeln!(f, "\nwhat bounds each point, and why")?;
    for point in &sweep.points {
        writeln!(f, "  {}: {}: {}{}", spot(point), point.bound.by, point.bound.because, caveat(point))?;
    }
    Ok(())
}

fn perftest(f: &mut Formatter<'_>, sweep: &Sweep) -> fmt::Result {
    let lines = sweep.points.iter().filter_map(|point| point.perftest.first().map(|lines| (point, lines)));
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() {
        return Ok(());
    }
    let rest = if sweep.host.rails.len() > 1 { ", for the first rail" } else { "" };
    writeln!(
        f,
        "\nthe same with perftest on this host{rest} (--json has the peer's command and all rails):"
    )?;
    for (point, lines) in lines {
        if let Some(here) = lines.lines().last() {
            writeln!(f, "  {}: {here}", spot(point))?;
        }
    }
    Ok(())
}

/// `  link`, with what the rates are not and why the point is left out of the statements.
fn verdict(point: &Point) -> String {
    let left_out = point.left_out.as_ref().map_or(String::new(), |why| format!("; LEFT OUT: {why}"));
    format!("  {}{}{left_out}", point.bound.by, caveat(point))
}

/// `; simulated`: what the rates of the point are not.
fn caveat(point: &Point) -> String {
    point.caveat.as_ref().map_or(String::new(), |caveat| format!("; {caveat}"))
}

/// `4K, 1 QP`: which point it is.
pub(crate) fn spot(point: &Point) -> String {
    point.spot.to_string()
}

impl Display for super::grid::Spot {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} QP{}", Size(self.size_bytes), self.qps, if self.qps == 1 { "" } else { "s" })?;
        if self.workers > 1 { write!(f, ", {} workers", self.workers) } else { Ok(()) }
    }
}

fn fixed(value: Option<f64>, digits: usize) -> Option<String> {
    value.map(|value| format!("{value:.digits$}"))
}

fn percent(share: Option<f64>) -> Option<String> {
    share.map(|share| format!("{:.1}%", 100.0 * share))
}

/// `137.7M`, `2.6k`, `383`.
fn count(count: Option<u64>) -> Option<String> {
    let count = count?;
    let value = count as f64;
    let (value, unit) = match count {
        0..10_000 => return Some(count.to_string()),
        10_000..1_000_000 => (value / 1e3, "k"),
        1_000_000..1_000_000_000 => (value / 1e6, "M"),
        _ => (value / 1e9, "G"),
    };
    Some(format!("{value:.1}{unit}"))
}

#[cfg(test)]
mod tests;
