//! The rails: grouped by NUMA node, one bar each.

mod bars;
mod heads;
mod legs;
mod lines;

use super::badges;
use super::columns::{Column, Columns, Wants};
use super::figure::{self, Figure, Kind};
use super::groups::{Group, Heading};
use super::{past, scale};
use crate::app::{App, Focus};
use crate::ceilings::{Ceilings, together_gb_per_s};
use crate::rules::Severity;
use crate::timeline::HostTimeline;
use bars::share;
pub use legs::rates as leg_rates;
use lines::{Legs, Line};
use probes::model::{Rail, RailId, Topology};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;
use std::ops::Range;
use widgets::{Trend, clip, shorten, width};

/// From so many lines on, blank lines between nodes cost no finding its place.
const ROOMY: u16 = 20;

/// The rails of a session, laid out for a height.
pub struct Rails<'a> {
    app: &'a App,
    topology: &'a Topology,
    host: &'a HostTimeline,
    groups: Vec<Group>,
    lines: Vec<Line>,
    columns: Columns,
    /// The name of each rail, short enough for its column.
    names: Vec<String>,
    /// What the bar of each shows.
    figures: Vec<Figure>,
    /// What bounds each, of the bytes that its figure counts.
    ceilings: Vec<Ceilings>,
    /// What shared links leave each rail while all are loaded, GB/s.
    together: Vec<Option<f64>>,
    largest_seen_gb_per_s: f64,
}

impl<'a> Rails<'a> {
    /// Lays the rails out for a screen of this width: with all legs of bonds, and blank lines between nodes, where
    /// `height` has room for them, and always with the legs of the selected rail.
    #[must_use]
    pub fn new(app: &'a App, width: u16, height: u16) -> Self {
        let topology = app.shown().topology();
        let host = app.shown().local();
        let groups = app.groups();
        let theme = app.theme();
        let longest = |of: &dyn Fn(&Rail) -> usize| topology.rails.iter().map(of).max().unwrap_or(0);
        let figures: Vec<_> =
            topology.rails_with_id().map(|(id, _)| Figure::of(host, topology, id)).collect();
        let kind = |id: RailId| figures[id.0].rate().map(|(kind, _)| kind);
        let ceilings: Vec<_> = topology
            .rails_with_id()
            .map(|(id, rail)| scale::bounds(host.ceilings(id, rail), rail, kind(id)))
            .collect();
        let wants = Wants {
            name: longest(&|rail| widgets::width(&theme.text(&name(rail)))),
            netdev: longest(&|rail| {
                rail.netdev.as_deref().map_or(0, |name| widgets::width(&theme.text(name)))
            }),
            is_flat: groups.iter().any(|group| matches!(group.heading, Heading::Sorted(_))),
            chosen: app.columns(),
        };
        let columns = Columns::of(width, &wants);
        let names: Vec<String> = topology.rails.iter().map(|rail| theme.text(&name(rail))).collect();
        let among: Vec<&str> = names.iter().map(String::as_str).collect();
        let short = |name: &&str| shorten(name, &among, usize::from(columns.name), app.theme().symbols);
        let names = among.iter().map(short).collect();
        let roomy = height >= ROOMY;
        let selected = app.selection().rail.map_or(Legs::None, Legs::One);
        let lines = [(Legs::All, roomy), (Legs::All, false), (selected, roomy)]
            .into_iter()
            .map(|(legs, blanks)| lines::of(topology, host, &groups, legs, blanks))
            .find(|lines| lines.len() <= usize::from(height))
            .unwrap_or_else(|| lines::of(topology, host, &groups, selected, false));
        // a READ window is no length for a bar: it may be little, and a rail may be above it
        let is_unbounded = |id: &RailId| ceilings[id.0].line.or(ceilings[id.0].pcie).is_none();
        let unbounded = topology.rails_with_id().filter(|(id, _)| is_unbounded(id));
        let largest_seen_gb_per_s = unbounded
            .flat_map(|(id, _)| [Kind::Read, Kind::Rx, Kind::Tx].map(|kind| figure::peak(host, id, kind)))
            .flatten()
            .fold(0.0, f64::max);
        let together = together_gb_per_s(topology).into_iter().zip(topology.rails_with_id());
        let together = together
            .map(|(share, (id, rail))| {
                let payload = Ceilings { pcie: share, ..Ceilings::default() };
                scale::bounds(payload, rail, kind(id)).pcie
            })
            .collect();
        Self {
            app,
            topology,
            host,
            groups,
            lines,
            columns,
            names,
            figures,
            ceilings,
            together,
            largest_seen_gb_per_s,
        }
    }

    /// Which columns there are.
    #[must_use]
    pub fn shown_columns(&self) -> [bool; Column::ALL.len()] {
        self.columns.shown()
    }

    /// Lines it would take to show everything.
    #[must_use]
    pub fn height(&self) -> u16 {
        u16::try_from(self.lines.len()).unwrap_or(u16::MAX)
    }

    /// Draws as many lines as the area has, the selected rail among them, and tells which rails those were.
    pub fn draw(&self, area: Rect, frame: &mut Frame) -> Range<usize> {
        let shown = self.shown(area.height);
        let buffer = frame.buffer_mut();
        for (y, line) in (area.top()..area.bottom()).zip(&shown) {
            let row = Rect { y, height: 1, ..area };
            match *line {
                Line::Blank => {}
                Line::Node { group } => self.node(&self.groups[group], y == area.top(), row, buffer),
                Line::Rail { id, position } => self.rail(id, position, row, buffer),
                Line::Leg { id, leg } => self.leg(id, leg, row, buffer),
            }
        }
        let positions = || {
            shown.iter().filter_map(|line| match line {
                Line::Rail { position, .. } => Some(*position),
                _ => None,
            })
        };
        positions().min().unwrap_or(0)..positions().max().map_or(0, |last| last + 1)
    }

    /// The lines that are seen in an area of this height, the selected rail among them.
    fn shown(&self, height: u16) -> Vec<Line> {
        let rows = usize::from(height);
        let last = self.lines.len().saturating_sub(rows);
        let first = self.first_shown(rows).min(last);
        // no line of a node without its rails
        let is_node = |at: usize| matches!(self.lines.get(at), Some(Line::Node { .. }));
        let first = if first < last && !is_node(first) && is_node(first + 1) { first + 1 } else { first };
        let shown = &self.lines[first..self.lines.len().min(first + rows)];
        let mut shown = shown.to_vec();
        // the node of the first rails stays in view when its own line has scrolled away
        if let Some(top) = shown.first_mut().filter(|line| !matches!(line, Line::Node { .. })) {
            let node = |line: &Line| if let Line::Node { group } = line { Some(*group) } else { None };
            if let Some(group) = self.lines[..first].iter().rev().find_map(node) {
                *top = Line::Node { group };
            }
        }
        shown
    }

    /// The first of so many lines that are seen: the selected rail is among them or, before a key chose one, as many of the
    /// rails that something is found of as there is room for, worst first.
    fn first_shown(&self, rows: usize) -> usize {
        let line_of = |id: RailId| {
            self.lines.iter().position(|line| matches!(line, Line::Rail { id: of, .. } if *of == id))
        };
        if let Some(selected) = self.app.selection().rail {
            let at = self.app.rail_at(selected).and_then(line_of).unwrap_or(0);
            return at.saturating_sub(rows / 2);
        }
        let bad = self.app.findings().iter().filter(|finding| finding.severity > Severity::Info);
        let of_device = |device: &String| self.topology.rail(device).and_then(|(id, _)| line_of(id));
        // the line of their node goes with them
        let mut span: Option<(usize, usize)> = None;
        for at in bad.flat_map(|finding| &finding.devices).filter_map(of_device) {
            let (first, last) = span.map_or((at, at), |(first, last)| (first.min(at), last.max(at)));
            if last - first + 1 < rows || span.is_none() {
                span = Some((first, last));
            }
        }
        match span {
            // where the first lines hold them all, those are seen
            Some((first, last)) if last >= rows => {
                first.saturating_sub((rows - (last - first + 1).min(rows)) / 2).max(1)
            }
            _ => 0,
        }
    }

    fn rail(&self, id: RailId, position: usize, row: Rect, buffer: &mut Buffer) {
        let theme = self.app.theme();
        let rail = &self.topology.rails[id.0];
        let latest = self.host.latest();
        let badges = badges::of(id, rail, latest, self.app.findings());
        let worst = badges.iter().map(|badge| badge.severity).max();
        let [cursor, name_at, node, netdev, state, bar, other, ceiling, peak, trend, badges_at] =
            self.columns.starts().map(|start| row.x + start);
        let selected = self.app.selection().rail == Some(position);
        if selected {
            let style = if self.app.selection().focus == Focus::Rails { theme.strong() } else { theme.dim() };
            buffer.set_string(cursor, row.y, theme.pick("▸", ">"), style);
        }
        let mut put = |x: u16, cells: u16, text: &str, style: Style| {
            buffer.set_string(x, row.y, clip(&theme.text(text), usize::from(cells), theme.symbols), style);
        };
        let name_style = if selected { theme.strong() } else { theme.plain() };
        let short = &self.names[id.0];
        put(name_at, self.columns.name, short, name_style);
        let on = rail.numa_node.map_or("N?".to_owned(), |node| format!("N{node}"));
        put(node, self.columns.node, &on, theme.dim());
        put(netdev, self.columns.netdev, rail.netdev.as_deref().unwrap_or("-"), theme.dim());
        let (word, style) = self.state(id, rail);
        put(state, self.columns.state, &word, style);

        let figure = &self.figures[id.0];
        let scale = self.scale(id);
        let kind = figure.rate().map(|(kind, _)| kind);
        self.bar(id, figure, worst, Rect { x: bar, width: self.columns.bar, ..row }, buffer);
        if let (Some(kind), true) = (kind, self.columns.other > 0) {
            let back = if kind.is_inward() { Kind::Tx } else { Kind::Rx };
            if let Some(rate) = figure::rate(self.host, id, back) {
                let text = format!("{} {:>6}", back.word(), self.app.rates().text(rate));
                buffer.set_stringn(other, row.y, text, usize::from(self.columns.other), theme.dim());
            }
        }
        if let (Some(text), true) = (self.ceiling(id, rail), self.columns.ceiling > 0) {
            let room = usize::from(self.columns.ceiling);
            buffer.set_stringn(ceiling, row.y, text, room, theme.dim());
        }
        let past = || past::of(self.app, id, kind.unwrap_or(Kind::Rx), usize::from(self.columns.trend));
        let past = (self.columns.peak + self.columns.trend > 0).then(past).unwrap_or_default();
        if let (Some(_), true, Some(most)) = (kind, self.columns.peak > 0, past.peak_gb_per_s) {
            buffer.set_stringn(peak, row.y, format!("{:>6}", self.app.rates().text(most)), 6, theme.dim());
        }
        if self.columns.trend > 0 {
            let shares: Vec<_> = past.trend_gb_per_s.iter().map(|gb| share((*gb)?, scale)).collect();
            let trend_style = self.style(worst);
            let widget =
                Trend { shares: &shares, style: trend_style, absent: theme.dim(), symbols: theme.symbols };
            (&widget).render(Rect { x: trend, width: self.columns.trend, ..row }, buffer);
        }
        self.badges(id, &badges, Rect { x: badges_at, width: self.columns.badges, ..row }, buffer);
    }

    /// What bounds the rail; `None` of a port over which nothing goes, and where nothing is known.
    fn ceiling(&self, id: RailId, rail: &Rail) -> Option<String> {
        if self.host.last_state(id, rail).is_some_and(|state| state != "ACTIVE") || self.host.is_lost(id) {
            return None;
        }
        let ceilings = self.ceilings[id.0];
        let (lowest, word) = (ceilings.lowest()?, scale::lowest_word(&ceilings)?);
        // a PCIe path is no ceiling to go by where the wire may be narrower
        if word == scale::PCIE && ceilings.line.or(ceilings.line_raw).is_none() {
            return Some(format!("{:>5} line", "?"));
        }
        Some(format!("{:>5} {word}", self.app.rates().text(lowest)))
    }

    fn badges(&self, id: RailId, badges: &[badges::Badge], area: Rect, buffer: &mut Buffer) {
        let theme = self.app.theme();
        let mut x = area.x;
        for span in badges::spans(badges, usize::from(area.width), theme) {
            x = buffer.set_span(x, area.y, &span, area.right().saturating_sub(x)).0;
        }
        if self.ceilings[id.0].lowest().is_none() {
            let lead = if x > area.x { " " } else { "" };
            let room = usize::from(area.right().saturating_sub(x));
            let fits = |text: &&str| width(text) + lead.len() <= room;
            if let Some(text) = ["no ceiling known", "no ceiling"].into_iter().find(fits) {
                buffer.set_string(x, area.y, format!("{lead}{text}"), theme.dim());
            }
        }
    }

    fn state(&self, id: RailId, rail: &Rail) -> (String, Style) {
        let theme = self.app.theme();
        if self.host.latest().and_then(|frame| frame.rails.get(id.0)).is_some_and(|rail| rail.lost) {
            return ("GONE".into(), theme.severity(Severity::Error));
        }
        let newest = self.host.sums().states.get(id.0).and_then(Option::as_deref);
        match newest.or(rail.state.as_deref()) {
            Some("ACTIVE") if self.columns.state < 6 => ("up".into(), theme.dim()),
            Some("ACTIVE") => ("ACTIVE".into(), theme.dim()),
            Some("INITIALIZING") => ("INIT".into(), theme.severity(Severity::Error)),
            Some(word) => (word.into(), theme.severity(Severity::Error)),
            None => ("?".into(), theme.dim()),
        }
    }
}

/// The device, and its port where that is not the first.
fn name(rail: &Rail) -> String {
    if rail.port <= 1 { rail.device.clone() } else { format!("{}:{}", rail.device, rail.port) }
}
