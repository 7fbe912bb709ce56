//! The line under the rails: their sum, the slowest and the one in the middle.

use super::figure::{self, Figure, Kind};
use super::load::no_figure_of_the_fabric;
use super::segments::{Segment, paint};
use crate::app::App;
use crate::timeline::{HostTimeline, Quality};
use probes::model::{RailId, Topology};
use ratatui::Frame;
use ratatui::layout::Rect;
use std::ops::Range;

/// Sums over the rails that have a rate.
struct Total {
    kind: Kind,
    sum_gb_per_s: f64,
    /// Rails by rate, slowest first.
    rails: Vec<(RailId, f64)>,
    /// The NIC's other direction, where no load of ours runs.
    other: Option<(Kind, f64)>,
}

impl Total {
    fn of(host: &HostTimeline, topology: &Topology) -> Option<Self> {
        let counts = |id: &RailId| !is_implausible(host, *id) && !is_down(host, *id);
        let ids = || (0..topology.rails.len()).map(RailId).filter(counts);
        let figures: Vec<_> = ids().filter_map(|id| Figure::of(host, topology, id).rate()).collect();
        let payload =
            figures.iter().map(|(kind, _)| *kind).find(|kind| matches!(kind, Kind::Read | Kind::Write));
        let sum_of = |kind| {
            let rates: Vec<_> = ids().filter_map(|id| Some((id, figure::rate(host, id, kind)?))).collect();
            (rates.iter().map(|(_, rate)| rate).sum::<f64>(), rates)
        };
        let (kind, (sum_gb_per_s, mut rails), other) = if let Some(kind) = payload {
            (kind, sum_of(kind), None)
        } else {
            let (rx, tx) = (sum_of(Kind::Rx), sum_of(Kind::Tx));
            if tx.0 > rx.0 {
                (Kind::Tx, tx, Some((Kind::Rx, rx.0)))
            } else {
                (Kind::Rx, rx, Some((Kind::Tx, tx.0)))
            }
        };
        rails.sort_by(|a, b| a.1.total_cmp(&b.1));
        (!rails.is_empty()).then_some(Self { kind, sum_gb_per_s, rails, other })
    }

    fn median(&self) -> Option<f64> {
        crate::timeline::median(self.rails.iter().map(|(_, rate)| *rate))
    }
}

fn is_implausible(host: &HostTimeline, rail: RailId) -> bool {
    host.now(rail).is_some_and(|rates| rates.quality == Quality::Implausible)
}

/// A rail that is down is no slow rail.
fn is_down(host: &HostTimeline, rail: RailId) -> bool {
    host.sums().states.get(rail.0).and_then(Option::as_deref).is_some_and(|state| state != "ACTIVE")
}

/// Draws it; `shown` are the rails in view.
pub fn draw(app: &App, shown: &Range<usize>, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let unit = app.rates();
    let topology = app.shown().topology();
    let host = app.shown().local();
    let count = topology.rails.len();
    let rails = if count == 1 { "1 rail".to_owned() } else { format!("{count} rails") };
    let mut left = vec![Segment::new(rails, theme.strong(), 0)];
    // the sums are of all of them
    let listed_count = app.listed_rails();
    if listed_count < count {
        let listed = if listed_count == 0 { "none".to_owned() } else { listed_count.to_string() };
        left.push(Segment::new(format!("{listed} listed under the filter"), theme.strong(), 1));
    }
    match Total::of(host, topology) {
        None => left.push(Segment::new("no rates yet", theme.dim(), 0)),
        Some(total) => {
            let bytes = if total.kind.is_payload() { "payload" } else { "counted" };
            let rate = unit.text(total.sum_gb_per_s);
            let text = format!("{} {rate} {} {bytes}", total.kind.word(), unit.word());
            left.push(Segment::new(text, theme.strong(), 0));
            if let Some((kind, sum)) = total.other {
                left.push(Segment::new(format!("{} {}", kind.word(), unit.text(sum)), theme.plain(), 3));
            }
            if let (Some((slowest, rate)), true) = (total.rails.first(), total.rails.len() > 1) {
                let name = &topology.rails[slowest.0].device;
                left.push(Segment::new(format!("min {} {name}", unit.text(*rate)), theme.plain(), 1));
                let median = total.median().map(|median| format!("median {}", unit.text(median)));
                left.push(Segment::new(median.unwrap_or_default(), theme.plain(), 2));
            }
        }
    }
    // beside the rate itself, whatever else has no room
    let at = left.len().min(2 + usize::from(listed_count < count));
    for (ahead, label) in (at..).zip(no_figure_of_the_fabric(app.shown())) {
        left.insert(ahead, Segment::new(label, theme.sign(), 0));
    }
    let implausible: Vec<_> = topology
        .rails_with_id()
        .filter(|(id, _)| is_implausible(host, *id))
        .map(|(_, rail)| rail.device.as_str())
        .collect();
    if !implausible.is_empty() {
        left.push(Segment::new(format!("left out: {}", implausible.join(", ")), theme.plain(), 2));
    }
    let mut right = Vec::new();
    if shown.len() < listed_count {
        let text =
            format!("rails {}-{} of {listed_count} {}", shown.start + 1, shown.end, theme.pick("↕", "(j/k)"));
        right.push(Segment::new(text, theme.strong(), 0));
    }
    paint(left, right, area, frame.buffer_mut(), theme.symbols);
}
