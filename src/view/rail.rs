//! One rail in full: what was found about it, its rates and their limits, addresses, PCIe path, legs, card, counters.

mod counters;
mod facts;
mod meaning;
mod rates;
mod users;

pub use counters::errors;

use super::findings;
use super::page::{self, Page};
use crate::app::App;
use probes::model::Rail;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;
use widgets::clip;

/// Lines of its name and its rates, which do not scroll.
const HEAD: u16 = 4;

/// Draws the selected rail, or the first; tells how many lines keys can scroll to.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) -> usize {
    let topology = app.shown().topology();
    let count = app.listed_rails();
    let position = app.selection().rail.unwrap_or(0).min(count.saturating_sub(1));
    let Some(id) = app.rail_at(position) else {
        let none = match app.filter() {
            "" => "no rails: no RDMA device is visible here".to_owned(),
            filter => format!("no rail is listed under the filter `{}`", app.theme().text(filter)),
        };
        let room = usize::from(area.width);
        frame.buffer_mut().set_stringn(area.x, area.y, none, room, app.theme().plain());
        return 0;
    };
    // links go down and come back during a session
    let rail = &app.shown().local().last_seen(id, &topology.rails[id.0]);
    let head = Rect { height: area.height.min(HEAD), ..area };
    title(app, rail, (position, count), head, frame);
    rates::draw(app, id, Rect { y: head.y + 1, height: head.height.saturating_sub(1), ..head }, frame);
    let body = Rect { y: head.bottom(), height: area.height - head.height, ..area };
    let (columns, cells) = page::columns(body);
    let mut left = Page::new(cells, app.theme());
    of_findings(app, rail, &mut left);
    users::draw(app, rail, &mut left);
    facts::gids(rail, &mut left);
    facts::pcie(rail, &mut left);
    let mut right = if columns == 1 { left.clone() } else { Page::new(cells, app.theme()) };
    facts::legs(app, id, rail, &mut right);
    facts::card(app, rail, &mut right);
    counters::draw(app, id, rail, &mut right);
    let pages = if columns == 1 { vec![right] } else { vec![left, right] };
    let lines = pages.into_iter().map(Page::into_lines).collect();
    page::draw(lines, app.line(), body, frame, app.theme())
}

/// Name, port and state of the rail, and which of how many it is.
fn title(app: &App, rail: &Rail, (position, count): (usize, usize), area: Rect, frame: &mut Frame) {
    use super::segments::{Segment, paint};
    let theme = app.theme();
    let mut left = vec![Segment::new(rail.device.clone(), theme.strong(), 0)];
    for (at, text) in facts::heading(rail).into_iter().enumerate() {
        left.push(Segment::new(text, theme.plain(), u8::try_from(at / 2 + 1).unwrap_or(9)));
    }
    let mut right = vec![Segment::new(format!("rail {} of {count}", position + 1), theme.dim(), 0)];
    if let Some((code, among, at)) = app.among().filter(|(_, among, _)| among.len() > 1) {
        right
            .insert(0, Segment::new(format!("{} of {} with {code}", at + 1, among.len()), theme.strong(), 1));
    }
    paint(left, right, Rect { height: area.height.min(1), ..area }, frame.buffer_mut(), theme.symbols);
}

/// What was found about this rail, worst first.
fn of_findings(app: &App, rail: &Rail, page: &mut Page) {
    let theme = app.theme();
    let about: Vec<_> = app.findings().iter().filter(|finding| finding.is_about(rail)).collect();
    page.heading("Findings", if about.is_empty() { "none about this rail" } else { "" });
    for finding in about {
        page.row(
            findings::word(finding.severity),
            &format!("{}: {}", finding.code, finding.message),
            theme.severity(finding.severity),
        );
        if !finding.advice.is_empty() {
            page.row("", &format!("{} {}", theme.pick("→", "->"), finding.advice), theme.plain());
        }
    }
}

/// Spans of cells for a table: each text cut and padded to its cells, one blank between.
fn table(theme: super::Theme, cells: &[(&str, usize)], style: ratatui::style::Style) -> Vec<Span<'static>> {
    let text = cells.iter().map(|(text, cells)| {
        let text = clip(&theme.text(text), *cells, theme.symbols);
        let pad = cells.saturating_sub(widgets::width(&text));
        format!("{text}{} ", " ".repeat(pad))
    });
    vec![Span::styled(text.collect::<String>(), style)]
}
