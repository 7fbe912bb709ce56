//! One row of the machine: its name, the link above it, what that carries and could, and what is the matter with it.

use super::names::{bare_name, name, nearest};
use super::tree::{Item, Part};
use super::trouble::{Remark, remark};
use crate::app::App;
use crate::ceilings;
use crate::report::rail_text;
use crate::view::badges;
use crate::view::figure::{self, Figure, Kind};
use crate::view::groups::devices;
use crate::view::units::percent;
use probes::model::{Hop, RailId};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use ratatui::widgets::Widget;
use widgets::{RailBar, clip, shorten};

/// Cells of `32 GT/s x16`, of `  57.6`, of `rx  48.9` and of ` 99%`.
const LINK: u16 = 11;
const CARRIES: u16 = 6;
const NOW: u16 = 9;
const SHARE: u16 = 4;

/// How rows are drawn: the cells of each part, of which 0 leaves it out, and the rail that is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    label: u16,
    bar: u16,
    /// The selected rail.
    selected: Option<RailId>,
}

impl Columns {
    /// The columns of rows of this width whose labels want so many cells.
    pub fn of(cells: u16, label: usize) -> Self {
        let figures = LINK + CARRIES + NOW + SHARE + 4;
        let rest = cells.saturating_sub(figures + 1);
        let most = if cells >= 90 { rest / 2 } else { rest.saturating_sub(12) };
        let label = u16::try_from(label).unwrap_or(u16::MAX).min(most);
        let left = rest.saturating_sub(label + 1);
        let bar = if left >= 24 { (left / 3).min(24) } else { 0 };
        Self { label, bar, selected: None }
    }

    /// The same, with the rail whose row is marked.
    pub fn with_selected(self, selected: Option<RailId>) -> Self {
        Self { selected, ..self }
    }

    /// Draws what each column holds.
    pub fn heads(self, app: &App, area: Rect, frame: &mut Frame) {
        let unit = app.rates().word();
        let at = area.x + 1 + self.label + 1;
        let text = format!("{:<11} {:>6} {:>9} {:>4}", "link", "can", format!("now {unit}"), "of");
        let room = usize::from(area.right().saturating_sub(at));
        let text = clip(&text, room, app.theme().symbols);
        frame.buffer_mut().set_string(at, area.y, text, app.theme().dim());
    }
}

/// Draws it.
pub fn draw(app: &App, item: &Item, lead: &str, columns: Columns, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let selected = columns.selected;
    let leads_to = selected.is_some_and(|id| item.rails.contains(&id));
    let buffer = frame.buffer_mut();
    if selected.is_some_and(|id| item.part == Part::Rail(id)) {
        buffer.set_string(area.x, area.y, theme.pick("▸", ">"), theme.strong());
    }
    let name_style = if leads_to { theme.strong() } else { theme.plain() };
    let fits = |name: &String| widgets::width(lead) + widgets::width(name) <= usize::from(columns.label);
    let names = [name(app, item, item.root), name(app, item, None), bare_name(app, item)];
    let names = names.map(|name| theme.text(&name));
    let name = names.iter().find(|name| fits(name)).cloned().unwrap_or_else(|| {
        let room = usize::from(columns.label).saturating_sub(widgets::width(lead));
        shorten(&names[2], &devices(app.shown().topology()), room, theme.symbols)
    });
    let label = format!("{lead}{name}");
    let label = clip(&label, usize::from(columns.label), theme.symbols);
    buffer.set_string(area.x + 1, area.y, label, name_style);
    let payload = item.hop.and_then(ceilings::link_payload_gb_per_s);
    let now = now(app, &item.rails);
    let share = now.zip(payload).map(|((_, rate), payload)| rate / payload);
    let remark = remark(app, item, payload);
    let trouble = remark.as_ref().filter(|remark| remark.is_of_link).map(|remark| remark.style);
    // the link of a root port with one card is told again, where the card is
    let is_told_below = item.part == Part::Root && item.below < 2;
    let style = trouble.unwrap_or(if is_told_below { theme.dim() } else { theme.plain() });
    let mut x = area.x + 1 + columns.label + 1;
    let mut put = |text: String, cells: u16, style: Style| {
        buffer.set_stringn(x, area.y, text, usize::from(cells), style);
        x += cells + 1;
    };
    let unit = app.rates();
    put(item.hop.map_or_else(|| unknown(item).to_owned(), link), LINK, style);
    put(payload.map(|gb| format!("{:>6}", unit.text(gb))).unwrap_or_default(), CARRIES, theme.dim());
    put(
        now.map(|(kind, gb)| format!("{:<2} {:>6}", kind.word(), unit.text(gb))).unwrap_or_default(),
        NOW,
        theme.plain(),
    );
    put(share.map(|share| format!("{:>4}", percent(share))).unwrap_or_default(), SHARE, theme.plain());
    if columns.bar > 0 {
        if item.hop.is_some() && !is_told_below {
            let bar = RailBar {
                share,
                marks: &[],
                text: "",
                absent: "",
                style: trouble.unwrap_or(theme.good()),
                track: theme.dim(),
                symbols: theme.symbols,
            };
            (&bar).render(Rect { x, width: columns.bar, ..area }, buffer);
        }
        x += columns.bar + 1;
    }
    let mut left = area.right().saturating_sub(x);
    let mut badges = match item.part {
        Part::Rail(id) => {
            let rail = &app.shown().topology().rails[id.0];
            badges::of(id, rail, app.shown().local().latest(), app.findings())
        }
        _ => Vec::new(),
    };
    if remark.as_ref().is_some_and(|remark| remark.is_of_link) {
        // of the rail's own link, what was found is told by the words beside its bar
        badges.retain(|badge| badge.sign != badges::OF_LINK);
    }
    if let Some(Remark { words, style, .. }) = remark {
        // what was found on the rail is told in words as long as that can be
        let cells = |text: &str| {
            widgets::width(text) + usize::from(!badges.is_empty()) + badges::cells(&badges, theme)
        };
        let text = words.iter().find(|text| cells(text) <= usize::from(left)).unwrap_or(&words[1]);
        let text = clip(&theme.text(text), usize::from(left), theme.symbols);
        let after = buffer.set_span(x, area.y, &Span::styled(text, style), left).0;
        let gap = u16::from(after < area.right());
        (x, left) = (after + gap, area.right().saturating_sub(after + gap));
    }
    if let Part::Gpu(at) = item.part {
        let text = clip(&nearest(app, at), usize::from(left), theme.symbols);
        buffer.set_string(x, area.y, text, theme.dim());
    }
    for span in badges::spans(&badges, usize::from(left), theme) {
        x = buffer.set_span(x, area.y, &span, area.right().saturating_sub(x)).0;
    }
}

/// What stands for a link that there is none of, or that is not known.
fn unknown(item: &Item) -> &'static str {
    match item.part {
        Part::Rail(_) if item.address.is_empty() => "none known",
        Part::Lost(_) => "not read",
        _ => "unknown",
    }
}

/// Speed and width: `32 GT/s x16`.
fn link(hop: &Hop) -> String {
    match (hop.current_gt_per_s, hop.current_width) {
        (None, None) => hop.raw_gb_per_s.map_or("unknown".to_owned(), |raw| format!("{raw:.0} GB/s raw")),
        _ => rail_text::link_now(hop).replace(" unknown", " ?"),
    }
}

/// The busier direction of what the rails at or below it move now.
fn now(app: &App, rails: &[RailId]) -> Option<(Kind, f64)> {
    let host = app.shown().local();
    let topology = app.shown().topology();
    let of = |id: RailId, kind: Kind| {
        figure::rate(host, id, kind).or_else(|| {
            // payload, where the NIC's own counters are not readable
            let (own, rate) = Figure::of(host, topology, id).rate()?;
            (own.is_inward() == kind.is_inward()).then_some(rate)
        })
    };
    let sum = |kind: Kind| {
        let rates: Vec<f64> = rails.iter().filter_map(|id| of(*id, kind)).collect();
        (!rates.is_empty()).then(|| (kind, rates.iter().sum::<f64>()))
    };
    match (sum(Kind::Rx), sum(Kind::Tx)) {
        (Some(rx), Some(tx)) => Some(if tx.1 > rx.1 { tx } else { rx }),
        (rx, tx) => rx.or(tx),
    }
}
