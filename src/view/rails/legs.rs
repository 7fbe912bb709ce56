//! The legs of a bond, under their rail.

use super::{Rails, share};
use crate::timeline::{HostTimeline, Interval, LegRates};
use crate::view::figure::{self, Kind};
use crate::view::units::percent;
use probes::model::{Leg, RailId};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use widgets::{RailBar, clip, shorten, width};

/// Whether a word gives way where the room is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Note {
    Matters,
    MayGo,
}

impl Rails<'_> {
    pub(super) fn leg(&self, id: RailId, at: usize, row: Rect, buffer: &mut Buffer) {
        let theme = self.app.theme();
        let Some(bond) = &self.topology.rails[id.0].bond else { return };
        let Some(leg) = bond.legs.get(at) else { return };
        let last = at + 1 == bond.legs.len();
        let [_, name, _, _, _, bar, _, ceiling, ..] = self.columns.starts().map(|start| row.x + start);
        let branch = if last { theme.pick("└", "`") } else { theme.pick("├", "|") };
        let room = usize::from(bar.saturating_sub(name + 1));
        let (state, note) = self.leg_state(id, at, leg);
        let lead = width(branch) + 1;
        let is_told = note == Note::Matters || lead + width(&leg.netdev) + 1 + width(&state) <= room;
        let (state, taken) = if is_told { (state.as_str(), 1 + width(&state)) } else { ("", 0) };
        // legs of a bond have names that begin alike, and often end so
        let among: Vec<&str> = bond.legs.iter().map(|leg| leg.netdev.as_str()).collect();
        let netdev = shorten(&leg.netdev, &among, room.saturating_sub(lead + taken), theme.symbols);
        let text = format!("{branch} {netdev} {state}");
        buffer.set_string(name, row.y, clip(text.trim_end(), room, theme.symbols), theme.dim());
        let kind = self.figures[id.0].rate().map_or(Kind::Rx, |(kind, _)| kind);
        let rates = rates(self.host, id).and_then(|legs| legs.get(at).copied()).unwrap_or_default();
        let rate = if kind.is_inward() { rates.rx_gb_per_s } else { rates.tx_gb_per_s };
        // headers are counted too, so the leg is held against its raw rate
        let most = leg.speed_gbit_per_s.map(|gbit| gbit / 8.0);
        let scale = most.unwrap_or_else(|| self.scale(id));
        let text = rate.map_or_else(String::new, |rate| {
            let of = most.map(|most| percent(rate / most)).unwrap_or_default();
            let word = if kind.is_inward() { Kind::Rx } else { Kind::Tx }.word();
            format!("{word:<5} {:>6} {of:>4}", self.app.rates().text(rate))
        });
        let widget = RailBar {
            share: rate.and_then(|rate| share(rate, scale)),
            marks: &[],
            text: &text,
            absent: "no data",
            style: theme.dim(),
            track: theme.dim(),
            symbols: theme.symbols,
        };
        (&widget).render(Rect { x: bar, width: self.columns.bar, ..row }, buffer);
        if let (Some(most), true) = (most, self.columns.ceiling > 0) {
            let text = format!("{:>5} wire", self.app.rates().text(most));
            buffer.set_stringn(ceiling, row.y, text, usize::from(self.columns.ceiling), theme.dim());
        }
    }

    fn leg_state(&self, id: RailId, at: usize, leg: &Leg) -> (String, Note) {
        let read = self.host.frames().rev().find_map(|frame| frame.rails.get(id.0)?.legs.get(at));
        let link_up = read.and_then(|leg| leg.link_up).or(leg.link_up);
        let active = read.and_then(|leg| leg.active).or(leg.active);
        match (link_up, active) {
            (Some(false), _) => ("down".into(), Note::Matters),
            (_, Some(false)) => ("idle".into(), Note::Matters),
            _ => (leg.speed_gbit_per_s.map(|gbit| format!("{gbit:.0}G")).unwrap_or_default(), Note::MayGo),
        }
    }
}

/// The legs' rates of now: as they were read last, unless that is long ago, or was over so long a time that the rail's rate
/// beside them is another's.
pub fn rates(host: &HostTimeline, id: RailId) -> Option<&[LegRates]> {
    let now_ns = host.latest()?.at_ns;
    let of_rail = |at: usize| {
        move |interval: &'_ Interval| interval.rails.get(at).is_some_and(|rates| !rates.legs.is_empty())
    };
    let newest = host.intervals().rev().find(|interval| of_rail(id.0)(interval))?;
    let rates = &newest.rails[id.0];
    let counted_ns = host.now(id).map_or(0, |rates| rates.counted_ns);
    let is_now = now_ns.saturating_sub(newest.to_ns) <= figure::STALE_NS.max(rates.legs_ns.saturating_mul(3));
    let is_as_long = rates.legs_ns <= figure::STALE_NS.max(counted_ns.saturating_mul(3));
    (is_now && is_as_long).then_some(rates.legs.as_slice())
}
