//! The machine drawn: NUMA nodes with their distances, and on each its root ports, switches, rails and GPUs, with the
//! speed of every link, what it carries now, and which one limits.

mod names;
mod row;
mod tree;
mod trouble;

use super::Theme;
use super::segments::{Segment, paint};
use super::units::memory;
use crate::app::App;
use probes::model::{NumaNode, RailId, Topology};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use row::Columns;
use std::collections::BTreeSet;
use tree::{Item, Roots};
use widgets::{Edge, branches};

/// From this width on, nodes stand beside each other.
const WIDE: u16 = 150;
/// Cells between them, for the link between sockets.
const GAP: u16 = 8;

/// One line of the drawing.
enum Line<'a> {
    Top(String),
    Heads,
    Row { item: Item<'a>, lead: String },
    Text(String),
    Bottom,
}

/// The drawing, laid out for its area.
struct Laid<'a> {
    /// Below the line that counts.
    body: Rect,
    nodes: Vec<Option<u32>>,
    /// The lines of each column.
    drawn: Vec<Vec<Line<'a>>>,
    /// Cells of a column.
    cells: u16,
    /// The first line that is seen.
    first: usize,
    /// How many lines are seen.
    room: usize,
    selected: Option<RailId>,
}

impl<'a> Laid<'a> {
    fn new(app: &'a App, area: Rect) -> Self {
        let topology = app.shown().topology();
        let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        let nodes = nodes(topology);
        let columns = if body.width >= WIDE && nodes.len() > 1 { 2 } else { 1 };
        let cells = (body.width - GAP * (columns - 1)) / columns;
        let laid = |roots| -> Vec<Vec<Line<'_>>> {
            let mut drawn: Vec<Vec<Line>> = (0..columns).map(|_| Vec::new()).collect();
            for node in &nodes {
                // the shorter column takes the next node; of two equal ones the left
                let lengths = drawn.iter().map(Vec::len);
                let at =
                    lengths.enumerate().min_by_key(|(at, length)| (*length, *at)).map_or(0, |(at, _)| at);
                drawn[at].extend(of_node(app, *node, roots));
            }
            drawn
        };
        let height = usize::from(body.height);
        let unfolded = laid(Roots::Unfolded);
        let drawn = if longest(&unfolded) <= height { unfolded } else { laid(Roots::Folded) };
        // the last line says which part is seen, where not all has room
        let room = if longest(&drawn) <= height { height } else { height.saturating_sub(1) };
        let selected = app.selection().rail.and_then(|at| app.rail_at(at));
        let first = first_line(selected, &drawn, room);
        Self { body, nodes, drawn, cells, first, room, selected }
    }
}

fn longest(drawn: &[Vec<Line>]) -> usize {
    drawn.iter().map(Vec::len).max().unwrap_or(0)
}

/// The rail whose row is at a cell, by its position among those that are listed.
pub fn rail_at(app: &App, area: Rect, cell: Position) -> Option<usize> {
    let laid = Laid::new(app, area);
    let (x, y) = (cell.x.checked_sub(laid.body.x)?, cell.y.checked_sub(laid.body.y)?);
    let column = usize::from(x / (laid.cells + GAP));
    let seen = usize::from(y);
    let line = laid.drawn.get(column)?.get(laid.first + seen).filter(|_| seen < laid.room)?;
    let Line::Row { item, .. } = line else { return None };
    let tree::Part::Rail(id) = item.part else { return None };
    app.groups().into_iter().flat_map(|group| group.rails).position(|listed| listed == id)
}

/// Draws it. Keys move among the rails, so no lines are told.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) -> usize {
    let topology = app.shown().topology();
    let theme = app.theme();
    summary(app, Rect { height: area.height.min(1), ..area }, frame);
    let Laid { body, nodes, drawn, cells, first, room, selected } = Laid::new(app, area);
    for (column, lines) in (0_u16..).zip(&drawn) {
        let x = body.x + column * (cells + GAP);
        let fit =
            Columns::of(cells.saturating_sub(4), lines.iter().filter_map(label_cells).max().unwrap_or(0))
                .with_selected(selected);
        for (y, line) in (body.top()..body.bottom()).zip(lines.iter().skip(first).take(room)) {
            paint_line(app, line, fit, Rect { x, y, width: cells, height: 1 }, frame);
        }
    }
    if drawn.len() > 1 && first == 0 {
        between(topology, &nodes, Rect { x: body.x + cells, width: GAP, height: 1, ..body }, frame, theme);
    }
    if longest(&drawn) > room {
        let text = format!(
            " rows {}-{} of {} {} ",
            first + 1,
            first + room,
            longest(&drawn),
            theme.pick("↕", "(j/k)")
        );
        let cells = u16::try_from(widgets::width(&text)).unwrap_or(0).min(body.width);
        let at = (body.right() - cells, body.bottom().saturating_sub(1));
        frame.buffer_mut().set_string(at.0, at.1, text, theme.strong());
    }
    0
}

/// Nodes by number, and last whatever has no known node.
fn nodes(topology: &Topology) -> Vec<Option<u32>> {
    let known: BTreeSet<u32> = topology.numa.iter().map(|node| node.node).collect();
    let placed = topology.rails.iter().map(|rail| rail.numa_node).chain(
        topology
            .gpus
            .iter()
            .map(|gpu| gpu.numa_node)
            .chain(topology.lost_cards.iter().map(|card| card.numa_node)),
    );
    let mut all: Vec<Option<u32>> = known.iter().copied().map(Some).collect();
    for node in placed {
        if !all.contains(&node) {
            all.push(node);
        }
    }
    all.sort_by_key(|node| (node.is_none(), *node));
    all
}

fn of_node(app: &App, node: Option<u32>, roots: Roots) -> Vec<Line<'_>> {
    let topology = app.shown().topology();
    let mut lines = vec![Line::Top(title(topology, node))];
    let items = tree::of(topology, node, roots);
    if items.is_empty() {
        lines.push(Line::Text("no rail and no GPU hangs on this node".to_owned()));
    } else {
        lines.push(Line::Heads);
        let depths: Vec<usize> = items.iter().map(|item| item.depth).collect();
        let leads = branches(&depths, app.theme().symbols);
        lines.extend(items.into_iter().zip(leads).map(|(item, lead)| Line::Row { item, lead }));
    }
    lines.push(Line::Bottom);
    lines
}

/// What a node is: `NUMA 0, socket 0, 768 GiB, CPUs 0-95, to N1 32`.
fn title(topology: &Topology, number: Option<u32>) -> String {
    let Some(number) = number else { return "NUMA node unknown".to_owned() };
    let mut parts = vec![format!("NUMA {number}")];
    let Some(node) = topology.node(number) else { return parts.remove(0) };
    parts.extend(node.socket.map(|socket| format!("socket {socket}")));
    match node.memory_bytes {
        Some(0) => parts.push("NO MEMORY".to_owned()),
        Some(bytes) => parts.push(memory(bytes)),
        None => {}
    }
    parts.extend(distances(node));
    match &node.cpus {
        Some(cpus) if cpus.is_empty() => parts.push("NO CPUs".to_owned()),
        Some(cpus) => parts.push(format!("CPUs {cpus}")),
        None => {}
    }
    parts.join("  ")
}

/// `distance N1 32`, of many nodes those of each distance together.
fn distances(node: &NumaNode) -> Option<String> {
    let mut by_distance: Vec<(u32, Vec<u32>)> = Vec::new();
    for (other, distance) in node.distances.iter().filter(|(other, _)| **other != node.node) {
        match by_distance.iter_mut().find(|(known, _)| known == distance) {
            Some((_, nodes)) => nodes.push(*other),
            None => by_distance.push((*distance, vec![*other])),
        }
    }
    by_distance.sort_unstable();
    let words = by_distance.into_iter().map(|(distance, nodes)| {
        let nodes: probes::model::CpuSet = nodes.into_iter().collect();
        format!("N{nodes} {distance}")
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("distance {}", words.join(", ")))
}

/// The link between two nodes that stand beside each other, with their distance.
fn between(topology: &Topology, nodes: &[Option<u32>], area: Rect, frame: &mut Frame, theme: Theme) {
    let [Some(Some(left)), Some(Some(right))] = [nodes.first(), nodes.get(1)] else { return };
    let Some(distance) = topology.distance(*left, *right) else { return };
    let across = theme.pick("═", "=");
    let text = format!("{distance:^4}");
    let side = across.repeat(usize::from(area.width).saturating_sub(text.len()) / 2);
    frame.buffer_mut().set_string(area.x, area.y, format!("{side}{text}{side}"), theme.dim());
}

/// The first line to be seen, so that the selected rail is.
fn first_line(selected: Option<RailId>, drawn: &[Vec<Line>], room: usize) -> usize {
    let longest = longest(drawn);
    let is_it = |line: &Line| matches!(line, Line::Row { item, .. } if selected.is_some_and(|id| item.part == tree::Part::Rail(id)));
    let at = drawn.iter().find_map(|lines| lines.iter().position(is_it)).unwrap_or(0);
    at.saturating_sub(room / 2).min(longest.saturating_sub(room))
}

fn label_cells(line: &Line) -> Option<usize> {
    match line {
        Line::Row { item, lead } => Some(widgets::width(lead) + names::least_label_cells(item)),
        _ => None,
    }
}

fn paint_line(app: &App, line: &Line, columns: Columns, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let edge = match line {
        Line::Top(title) => Edge::Top(title),
        Line::Bottom => Edge::Bottom,
        Line::Heads | Line::Row { .. } | Line::Text(_) => Edge::Sides,
    };
    let style = if matches!(line, Line::Top(_)) { theme.strong() } else { theme.dim() };
    let text = edge.line(usize::from(area.width), theme.symbols);
    frame.buffer_mut().set_string(area.x, area.y, text, style);
    let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(4), ..area };
    if edge == Edge::Sides {
        // what stands between the sides is not dim as they are
        frame.buffer_mut().set_style(inner, Style::reset());
    }
    match line {
        Line::Heads => columns.heads(app, inner, frame),
        Line::Row { item, lead } => row::draw(app, item, lead, columns, inner, frame),
        Line::Text(text) => {
            let room = usize::from(inner.width);
            let text = widgets::clip(text, room, theme.symbols);
            frame.buffer_mut().set_string(inner.x, inner.y, text, theme.dim());
        }
        Line::Top(_) | Line::Bottom => {}
    }
}

/// How many of what there are, and what the signs mean.
fn summary(app: &App, area: Rect, frame: &mut Frame) {
    let topology = app.shown().topology();
    let theme = app.theme();
    let sockets: BTreeSet<u32> = topology.numa.iter().filter_map(|node| node.socket).collect();
    let several = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let mut parts = Vec::new();
    if !sockets.is_empty() {
        parts.push(several(sockets.len(), "socket"));
    }
    parts.push(several(topology.numa.len(), "NUMA node"));
    parts.push(several(topology.rails.len(), "rail"));
    if !topology.gpus.is_empty() {
        parts.push(several(topology.gpus.len(), "GPU"));
    }
    if !topology.lost_cards.is_empty() {
        parts.push(several(topology.lost_cards.len(), "card") + " without RDMA device");
    }
    let left = vec![Segment::new(parts.join(", "), theme.strong(), 0)];
    let legend = format!("{} limits its rail; links: payload each way", theme.pick("◀", "<"));
    paint(left, vec![Segment::new(legend, theme.dim(), 1)], area, frame.buffer_mut(), theme.symbols);
}

#[cfg(test)]
mod tests;
