//! The bar of a rail: its rate on the scale of its own ceiling, with marks of what limits it.

use super::{Figure, Rails, scale};
use crate::rules::Severity;
use crate::view::units::percent;
use probes::model::RailId;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;
use widgets::{Mark, RailBar};

impl Rails<'_> {
    /// Draws it.
    pub(super) fn bar(
        &self,
        id: RailId,
        figure: &Figure,
        worst: Option<Severity>,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let theme = self.app.theme();
        let ceilings = self.ceilings[id.0];
        let scale = self.scale(id);
        let mark = |limit: Option<f64>, symbol| {
            Some(Mark { at: share(limit?, scale)?, symbol, style: theme.mark() })
        };
        let (line, pcie) =
            if theme.symbols == widgets::Symbols::Unicode { ('│', '┊') } else { ('|', ':') };
        // worth a mark of its own only where sharing costs something
        let shared = self.together[id.0]
            .filter(|share| ceilings.lowest().is_some_and(|lowest| *share < 0.99 * lowest));
        let sharing = if theme.symbols == widgets::Symbols::Unicode { '◆' } else { '*' };
        let marks: Vec<_> = [mark(ceilings.line, line), mark(ceilings.pcie, pcie), mark(shared, sharing)]
            .into_iter()
            .flatten()
            .collect();
        let (share, text, absent) = match figure {
            Figure::None(reason) => (None, String::new(), theme.text(&format!("no data: {reason}"))),
            Figure::Rate { kind, gb_per_s } => {
                let of = ceilings.lowest().map(|lowest| percent(gb_per_s / lowest)).unwrap_or_default();
                let rate = self.app.rates().text(*gb_per_s);
                (
                    Some(share(*gb_per_s, scale).unwrap_or(0.0)),
                    format!("{:<5} {rate:>6} {of:>4}", kind.word()),
                    String::new(),
                )
            }
        };
        let bar = RailBar {
            share,
            marks: &marks,
            text: &text,
            absent: &absent,
            style: self.style(worst),
            track: theme.dim(),
            symbols: theme.symbols,
        };
        (&bar).render(area, buffer);
    }

    /// Full length of the rail's bar, GB/s.
    pub(super) fn scale(&self, id: RailId) -> f64 {
        scale::of_bar(&self.ceilings[id.0], self.largest_seen_gb_per_s)
    }

    pub(super) fn style(&self, worst: Option<Severity>) -> Style {
        let theme = self.app.theme();
        match worst {
            None | Some(Severity::Info) => theme.good(),
            Some(severity) => theme.severity(severity),
        }
    }
}

pub(super) fn share(gb_per_s: f64, scale: f64) -> Option<f64> {
    if scale > 0.0 { Some(gb_per_s / scale) } else { (gb_per_s == 0.0).then_some(0.0) }
}
