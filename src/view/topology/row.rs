//! One row of the machine: its name, the link above it, what that carries and could, and what is the matter with it.

use super::tree::{Item, Part};
use crate::app::App;
use crate::ceilings;
use crate::report::rail_text;
use crate::rules::Severity;
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

/// Cells that the name of a row cannot do without.
pub fn least_label_cells(item: &Item) -> usize {
    match item.part {
        Part::Rail(_) | Part::Gpu(_) => 24,
        Part::Root | Part::Switch | Part::Lost(_) => 10 + short(item.address).len(),
    }
}

/// The usual domain goes without saying.
fn short(address: &str) -> &str {
    address.strip_prefix("0000:").unwrap_or(address)
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
    let trouble = trouble(app, item, payload);
    let style = trouble.as_ref().map_or(theme.plain(), |(_, style)| *style);
    let mut x = area.x + 1 + columns.label + 1;
    let mut put = |text: String, cells: u16, style: Style| {
        buffer.set_stringn(x, area.y, text, usize::from(cells), style);
        x += cells + 1;
    };
    let unit = app.rates();
    put(item.hop.map(link).unwrap_or_default(), LINK, style);
    put(payload.map(|gb| format!("{:>6}", unit.text(gb))).unwrap_or_default(), CARRIES, theme.dim());
    put(
        now.map(|(kind, gb)| format!("{:<2} {:>6}", kind.word(), unit.text(gb))).unwrap_or_default(),
        NOW,
        theme.plain(),
    );
    put(share.map(|share| format!("{:>4}", percent(share))).unwrap_or_default(), SHARE, theme.plain());
    if columns.bar > 0 {
        if item.hop.is_some() {
            let bar = RailBar {
                share,
                marks: &[],
                text: "",
                absent: "",
                style: if trouble.is_some() { style } else { theme.good() },
                track: theme.dim(),
                symbols: theme.symbols,
            };
            (&bar).render(Rect { x, width: columns.bar, ..area }, buffer);
        }
        x += columns.bar + 1;
    }
    let mut left = area.right().saturating_sub(x);
    if let Some((texts, style)) = trouble {
        let fits = |text: &&String| widgets::width(text) <= usize::from(left);
        let text = texts.iter().find(fits).unwrap_or(&texts[1]);
        let text = clip(text, usize::from(left), theme.symbols);
        let after = buffer.set_span(x, area.y, &Span::styled(text, style), left).0;
        let gap = u16::from(after < area.right());
        (x, left) = (after + gap, area.right().saturating_sub(after + gap));
    }
    if let Part::Gpu(at) = item.part {
        let text = clip(&nearest(app, at), usize::from(left), theme.symbols);
        buffer.set_string(x, area.y, text, theme.dim());
    }
    if let Part::Rail(id) = item.part {
        let rail = &app.shown().topology().rails[id.0];
        let badges = badges::of(id, rail, app.shown().local().latest(), app.findings());
        for span in badges::spans(&badges, usize::from(left), theme) {
            x = buffer.set_span(x, area.y, &span, area.right().saturating_sub(x)).0;
        }
    }
}

/// The rails that are nearest to a GPU, with how near: `PIX mlx5_0`.
fn nearest(app: &App, gpu: usize) -> String {
    let gpu = &app.shown().topology().gpus[gpu];
    let paths = || gpu.paths.iter().filter_map(|path| Some((path.class?, path.device.as_str())));
    let Some(class) = paths().map(|(class, _)| class).min() else { return String::new() };
    let devices: Vec<&str> = paths().filter(|(other, _)| *other == class).map(|(_, device)| device).collect();
    format!("{} {}", class.word(), devices.join(", "))
}

/// What it is called: a rail by device and netdev, everything else by its PCI address.
fn name(app: &App, item: &Item, root: Option<&str>) -> String {
    let topology = app.shown().topology();
    let address = short(item.address);
    let behind = root.map(|root| format!(" on {}", short(root))).unwrap_or_default();
    match item.part {
        Part::Root => format!("root port {address}"),
        Part::Switch => format!("switch {address}"),
        Part::Rail(id) => {
            let rail = &topology.rails[id.0];
            let port = if rail.port > 1 { format!(":{}", rail.port) } else { String::new() };
            let address =
                if address.is_empty() { " no PCI function".to_owned() } else { format!(" {address}") };
            format!("{}{port}{address}{behind}", rail.device)
        }
        Part::Gpu(at) => {
            let gpu = &topology.gpus[at];
            let model = gpu.model.as_deref().map(|model| format!(" {model}")).unwrap_or_default();
            format!("{} {address}{model}{behind}", gpu.name)
        }
        Part::Lost(_) => format!("card {address}: no RDMA device"),
    }
}

/// What tells it from its like: the device, the GPU, the PCI address.
fn bare_name(app: &App, item: &Item) -> String {
    let topology = app.shown().topology();
    match item.part {
        Part::Rail(id) => topology.rails[id.0].device.clone(),
        Part::Gpu(at) => topology.gpus[at].name.clone(),
        Part::Root | Part::Switch | Part::Lost(_) => short(item.address).to_owned(),
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

/// What is the matter with the link above it, at length and in short.
fn trouble(app: &App, item: &Item, payload: Option<f64>) -> Option<([String; 2], Style)> {
    let theme = app.theme();
    let topology = app.shown().topology();
    if let Part::Lost(_) = item.part {
        return Some((
            [theme.pick("✗ lost", "X lost"); 2].map(str::to_owned),
            theme.severity(Severity::Error),
        ));
    }
    let hop = item.hop?;
    let mut words: Vec<[String; 2]> = Vec::new();
    let mut severity = None;
    if rail_text::is_below_both_ends(hop) {
        let most = rail_text::link_at_most(hop).map(|most| format!(" of {most}")).unwrap_or_default();
        let down = theme.pick("↓", "v");
        words.push([format!("{down} trained low{most}"), format!("{down} low")]);
        severity = Some(Severity::Warning);
    }
    let line = |id: RailId| ceilings::line_goodput_gb_per_s(&topology.rails[id.0]);
    let limits = |id: &RailId| {
        let path = topology.rails[id.0].pcie.as_ref()?;
        let (slowest, _) = ceilings::slowest_hop(path)?;
        let is_slowest = slowest.address == hop.address;
        let is_below = payload.zip(line(*id)).is_some_and(|(payload, line)| payload < line);
        Some(is_slowest && is_below)
    };
    let wanted: f64 = item.rails.iter().filter_map(|id| line(*id)).sum();
    if item.rails.len() > 1 && payload.is_some_and(|payload| payload < wanted) {
        let (sign, count) = (theme.pick("◀", "<"), item.rails.len());
        let wanted = app.rates().text(wanted);
        words.push([
            format!("{sign} {count} rails share it, want {wanted}"),
            format!("{sign} {count} share it"),
        ]);
        severity = severity.max(Some(Severity::Info));
    } else if item.rails.iter().any(|id| limits(id) == Some(true)) {
        words.push([format!("{} limits", theme.pick("◀", "<")), theme.pick("◀", "<").to_owned()]);
        severity = severity.max(Some(Severity::Info));
    }
    let joined = |at: usize| words.iter().map(|word| word[at].as_str()).collect::<Vec<_>>().join(" ");
    severity.map(|severity| ([joined(0), joined(1)], theme.severity(severity)))
}
