//! The help that lies over the screen: keys of the view in sight first, then the others, then the signs.

use super::hints::{Hint, shortest, together};
use super::signs::{self, Sign};
use super::theme::Theme;
use super::{boxed, whole};
use crate::app::{Action, App, BINDINGS, Keymap};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use widgets::width;

/// Cells of keys before their text.
const KEYS: usize = 8;
/// Cells of signs before their text.
const SIGNS: usize = 5;
/// Cells of the keys of a screen that is not of a session.
const SETS: usize = 11;
/// Cells between columns.
const GAP: usize = 2;

/// Lines under a heading.
struct Section {
    heading: String,
    lines: Vec<Line<'static>>,
}

/// Draws the help over the middle of `area` from this line on, and tells how many lines it can be scrolled to.
pub fn draw(app: &App, line: usize, area: Rect, frame: &mut Frame) -> usize {
    lay_over(&sections(app), (app.keys(), app.theme()), line, area, frame)
}

/// Draws the help of a screen that is not of a session, likewise.
pub fn draw_of(
    (name, hints, its_signs): (&str, &[Hint], &[Sign]),
    (keys, theme): (&Keymap, Theme),
    line: usize,
    frame: &mut Frame,
) -> usize {
    let area = frame.area();
    if whole::is_too_small(area) {
        return 0;
    }
    let told = hints.iter().map(|hint| (together(keys, hint.actions), hint.help));
    let lines = told.filter(|(key, _)| !key.is_empty()).map(|(key, text)| entry(&key, text, SETS, theme));
    let cells = its_signs.iter().map(|sign| width(signs::shown(*sign, theme))).max().unwrap_or(0);
    let signs = its_signs.iter().map(|sign| entry(signs::shown(*sign, theme), sign.2, cells, theme));
    let sections = [
        Section { heading: name.to_owned(), lines: lines.collect() },
        Section { heading: "Signs".to_owned(), lines: signs.collect() },
    ];
    lay_over(&sections, (keys, theme), line, area, frame)
}

/// It has as few columns as show all of it, as many as have room otherwise; what has no room is scrolled to.
fn lay_over(
    sections: &[Section],
    (keys, theme): (&Keymap, Theme),
    line: usize,
    area: Rect,
    frame: &mut Frame,
) -> usize {
    let room = (usize::from(area.width.saturating_sub(4)), usize::from(area.height.saturating_sub(2)));
    let columns = columns(sections, room, theme);
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let shown = rows.min(room.1);
    let places = rows - shown + 1;
    let from = line.min(places - 1);
    let widest = |lines: &[Line]| lines.iter().map(Line::width).max().unwrap_or(0);
    let closes = shortest(keys, Action::Help);
    let foot = if places > 1 {
        let [down, up] = [Action::Down, Action::Up].map(|action| shortest(keys, action));
        format!(" lines {}-{} of {rows}: {down} {up} scroll, {closes} closes ", from + 1, from + shown)
    } else {
        format!(" {closes} closes ")
    };
    let mut lines = vec![Line::default(); shown];
    for column in &columns {
        for (line, extra) in lines.iter_mut().zip(column.iter().skip(from)) {
            line.extend(extra.spans.iter().cloned());
        }
        let end = lines.iter().map(Line::width).max().unwrap_or(0).max(widest(column)) + GAP;
        for line in &mut lines {
            line.push_span(Span::raw(" ".repeat(end - line.width())));
        }
    }
    boxed::draw(theme, lines, (" railscope: keys and signs ", &foot), area, frame);
    places
}

/// What stands in the help, in its order.
fn sections(app: &App) -> Vec<Section> {
    let theme = app.theme();
    let view = app.view();
    let keys = |heading: String, belongs: &dyn Fn(Action) -> bool| Section {
        heading,
        lines: BINDINGS
            .iter()
            .filter(|binding| belongs(binding.action))
            .map(|binding| entry(&app.keys().in_short(binding.action), binding.help, KEYS, theme))
            .collect(),
    };
    let is_of_view = move |action: Action| of(action) == Of::Place && action.is_of(view);
    let mut sections = vec![
        keys(format!("{} (the view in sight)", view.name()), &is_of_view),
        keys("Time".to_owned(), &|action| of(action) == Of::Time),
        keys("Everywhere".to_owned(), &|action| of(action) == Of::All),
        keys("In other views".to_owned(), &|action| of(action) == Of::Place && !is_of_view(action)),
    ];
    sections.extend(
        signs::of_session().map(|(heading, its_signs)| Section {
            heading: heading.to_owned(),
            lines: its_signs
                .into_iter()
                .map(|sign| entry(signs::shown(sign, theme), sign.2, SIGNS, theme))
                .collect(),
        }),
    );
    sections
}

/// What a key is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// Where one is in a view, and what is done there.
    Place,
    /// Where one is in the session.
    Time,
    /// The screen.
    All,
}

fn of(action: Action) -> Of {
    use Action as A;
    match action {
        A::Up
        | A::Down
        | A::PageUp
        | A::PageDown
        | A::First
        | A::Last
        | A::Rails
        | A::Findings
        | A::Other
        | A::Open
        | A::Copy
        | A::Filter
        | A::Sort
        | A::Reverse
        | A::Columns
        | A::ZoomIn
        | A::ZoomOut
        | A::Heat
        | A::HoldLoad
        | A::StartAnew
        | A::Rate => Of::Place,
        A::Pause
        | A::StepBack
        | A::StepOn
        | A::Jump
        | A::Start
        | A::End
        | A::Mark
        | A::SampleMore
        | A::SampleLess
        | A::NextFinding
        | A::PreviousFinding
        | A::NextEvent
        | A::PreviousEvent
        | A::Faster
        | A::Slower => Of::Time,
        A::Quit
        | A::Back
        | A::Help
        | A::Diagnose
        | A::Sessions
        | A::Go(_)
        | A::NextView
        | A::PreviousView
        | A::Units
        | A::Colours => Of::All,
    }
}

fn entry(key: &str, text: &str, cells: usize, theme: Theme) -> Line<'static> {
    let pad = " ".repeat(cells.saturating_sub(width(key)));
    Line::from(vec![Span::styled(format!(" {key}{pad} "), theme.strong()), Span::raw(text.to_owned())])
}

/// The sections one after the other, from the top of one column to that of the next.
fn columns(sections: &[Section], (cells, rows): (usize, usize), theme: Theme) -> Vec<Vec<Line<'static>>> {
    let widest = sections.iter().flat_map(|section| &section.lines).map(Line::width).max().unwrap_or(1);
    let most = ((cells + GAP) / (widest + GAP)).max(1);
    let whole: usize = sections.iter().map(|section| section.lines.len() + 2).sum();
    (1..=most)
        .map(|count| flow(sections, whole.div_ceil(count), theme))
        .find(|columns| columns.iter().all(|column| column.len() <= rows))
        .unwrap_or_else(|| flow(sections, whole.div_ceil(most), theme))
}

/// Columns of at most so many lines, of which none ends in a heading.
fn flow(sections: &[Section], length: usize, theme: Theme) -> Vec<Vec<Line<'static>>> {
    let mut columns: Vec<Vec<Line>> = vec![Vec::new()];
    for section in sections {
        let heading = Line::from(Span::styled(section.heading.clone(), theme.dim()));
        let used = columns.last().map_or(0, Vec::len);
        if used > 0 && used + 3 > length {
            columns.push(vec![heading]);
        } else if let Some(column) = columns.last_mut() {
            if used > 0 {
                column.push(Line::default());
            }
            column.push(heading);
        }
        for line in &section.lines {
            if columns.last().is_some_and(|column| column.len() >= length) {
                columns.push(Vec::new());
            }
            if let Some(column) = columns.last_mut() {
                column.push(line.clone());
            }
        }
    }
    columns
}
