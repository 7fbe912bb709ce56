//! The rail's further counters as rates, the growing ones first, each with what it means.

use super::meaning::{self, Weight};
use crate::app::App;
use crate::rules::Severity;
use crate::timeline::{HostTimeline, growth};
use crate::view::page::Page;
use probes::model::{Frame, Rail, RailId};
use ratatui::text::Span;
use widgets::padded;

/// Cells of a counter's name.
const NAME: usize = 28;
/// Cells of a rate, and of what it grew by.
const FIGURE: usize = 9;

/// One counter.
#[derive(Clone, Debug, PartialEq)]
struct Row<'a> {
    name: &'a str,
    /// Per second, over the newest two readings; `None` where it was not read twice.
    per_s: Option<f64>,
    /// Growth since the session began; `None` where it was never readable twice.
    grown: Option<u64>,
    weight: Weight,
    means: &'static str,
}

/// Draws them into the page.
pub fn draw(app: &App, id: RailId, rail: &Rail, page: &mut Page) {
    let theme = page.theme();
    if rail.counters.is_empty() {
        page.heading("Counters", "the driver has none besides the two of bytes");
        return;
    }
    let mut rows = rows(app, id, rail);
    rows.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
    let (moving, quiet): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| row.grown.is_none_or(|more| more > 0));
    let unread = moving.iter().filter(|row| row.grown.is_none()).count();
    let growing = moving.len() - unread;
    let all = growing + unread + quiet.len();
    let beside = if unread == all {
        "not read twice so far".to_owned()
    } else {
        format!("{growing} of {all} grew in this session")
    };
    page.heading("Counters", &beside);
    if growing > 0 {
        let head = format!("{:<NAME$} {:>FIGURE$} {:>FIGURE$}  means", "", "per s", "session");
        page.line(vec![Span::styled(head, theme.dim())]);
    }
    for row in moving.iter().filter(|row| row.grown.is_some()) {
        let style = match row.weight {
            Weight::Bad => theme.severity(Severity::Warning),
            Weight::Ordinary => theme.plain(),
        };
        let sign = if row.weight == Weight::Bad { "! " } else { "  " };
        let name = padded(&format!("{sign}{}", short(row.name)), NAME, theme.symbols);
        let rate = row.per_s.map_or("-".to_owned(), per_s);
        let grown = row.grown.map_or("-".to_owned(), count);
        let text = format!("{name} {rate:>FIGURE$} {grown:>FIGURE$}  ");
        page.line(vec![Span::styled(text, style), Span::styled(row.means.to_owned(), theme.plain())]);
    }
    let names = |rows: &[Row]| rows.iter().map(|row| short(row.name)).collect::<Vec<_>>().join(", ");
    if !quiet.is_empty() {
        page.row("quiet", &names(&quiet), theme.dim());
    }
    if unread > 0 {
        let unread: Vec<_> = moving.into_iter().filter(|row| row.grown.is_none()).collect();
        page.row("unread", &names(&unread), theme.dim());
    }
}

/// Bad ones first, then by what they do in a second, then by name.
fn order<'a>(row: &Row<'a>) -> (bool, f64, &'a str) {
    (row.weight != Weight::Bad, -row.per_s.unwrap_or(0.0), row.name)
}

fn rows<'a>(app: &App, id: RailId, rail: &'a Rail) -> Vec<Row<'a>> {
    let host = app.shown().local();
    let mut read = host
        .frames()
        .rev()
        .filter(|frame| frame.rails.get(id.0).is_some_and(|rail| !rail.counters.is_empty()));
    let (newest, before) = (read.next(), read.next());
    let more = match (newest, before) {
        (Some(newest), Some(before)) => growth(&before.rails[id.0], &newest.rails[id.0]),
        _ => Vec::new(),
    };
    let between_s = |newest: &Frame, before: &Frame| newest.at_ns.saturating_sub(before.at_ns) as f64 / 1e9;
    let seconds = newest.zip(before).map(|(newest, before)| between_s(newest, before)).filter(|s| *s > 0.0);
    let sums = host.sums().rails.get(id.0).map(|sums| sums.growth.as_slice()).unwrap_or_default();
    let row = |(at, name): (usize, &'a String)| {
        let known = meaning::of(name);
        Row {
            name,
            per_s: more.get(at).copied().flatten().zip(seconds).map(|(more, s)| more as f64 / s),
            grown: sums.get(at).copied().flatten(),
            weight: known.0,
            means: known.1,
        }
    };
    rail.counters.iter().enumerate().map(row).collect()
}

/// Requests of our load that failed on a rail, and what its counters of trouble grew by in the session; `None` where nothing
/// is counted.
pub fn errors(host: &HostTimeline, id: RailId, rail: &Rail) -> Option<u64> {
    let growth = host.sums().rails.get(id.0).map(|sums| sums.growth.as_slice()).unwrap_or_default();
    let bad = rail.counters.iter().zip(growth).filter(|(name, _)| meaning::of(name).0 == Weight::Bad);
    let failed = host.latest().into_iter().flat_map(|frame| &frame.workers);
    let failed = failed.filter(|worker| worker.rail == Some(id)).flat_map(|worker| worker.errors.values());
    bad.filter_map(|(_, grown)| *grown).chain(failed.copied()).reduce(u64::saturating_add)
}

/// Its name without the folder, where that is one of the two usual ones.
fn short(name: &str) -> &str {
    name.strip_prefix("hw/").or_else(|| name.strip_prefix("port/")).unwrap_or(name)
}

/// `0`, `0.3`, `12`, `48.2k`, `3.1M`.
fn per_s(rate: f64) -> String {
    match rate {
        0.0 => "0".to_owned(),
        rate if rate < 10.0 => format!("{rate:.1}"),
        rate if rate < 10_000.0 => format!("{rate:.0}"),
        rate if rate < 1e6 => format!("{:.1}k", rate / 1e3),
        rate if rate < 1e9 => format!("{:.1}M", rate / 1e6),
        rate => format!("{:.1}G", rate / 1e9),
    }
}

fn count(count: u64) -> String {
    if count < 1_000_000 { count.to_string() } else { per_s(count as f64) }
}

#[cfg(test)]
mod tests {
    use super::{count, per_s};

    #[test]
    fn rates_and_counts_are_short() {
        assert_eq!(
            [0.0, 0.25, 12.3, 48_211.0, 3.1e6, 4e9].map(per_s),
            ["0", "0.2", "12", "48.2k", "3.1M", "4.0G"]
        );
        assert_eq!([0, 999_999, 12_345_678].map(count), ["0", "999999", "12.3M"]);
    }
}
