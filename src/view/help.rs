//! The help that lies over the screen, and the line of keys at its foot.

use super::badges::LEGEND;
use super::segments::{Segment, paint};
use crate::app::{Action, App, BINDINGS, FORMS_OF_TIME, Mode, Prompt, Question, View};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Paragraph};
use widgets::{Symbols, width};

/// Draws the keys at the foot of the screen, or the text that is being typed there.
pub fn foot(app: &App, area: Rect, frame: &mut Frame) {
    if let Some(prompt) = app.prompt() {
        ask(app, prompt, area, frame);
        return;
    }
    let theme = app.theme();
    let travels = app.is_paused() || app.how().mode == Mode::Replay;
    let pieces = BINDINGS
        .iter()
        .filter_map(|binding| {
            let word = match (binding.action, app.view()) {
                (Action::Pause, _) if app.is_paused() && app.how().mode.is_past() => "go on",
                (Action::Pause, _) if app.is_paused() => "to live",
                (Action::StepBack, _) if travels => "step",
                (Action::Jump, _) if travels => "go to",
                (Action::NextFinding, _) if travels => "finding",
                (Action::NextEvent, _) if travels => "event",
                (Action::Findings, View::Rail) => "next rail",
                (Action::Findings, View::Topology | View::Placement | View::Load)
                | (Action::Open, View::Rail) => {
                    return None;
                }
                (Action::Down, View::Rail | View::Load) => "scroll",
                (Action::Copy, View::Placement) => "copy",
                _ => binding.foot?,
            };
            // help and quit stay to the last
            let rank = match (binding.action, app.view()) {
                (Action::Help | Action::Quit, _) => 0,
                (Action::Pause | Action::StepBack | Action::Jump | Action::NextFinding, _)
                | (Action::Copy, View::Placement)
                | (Action::Findings, View::Rail) => 1,
                _ => 2,
            };
            let keys = match binding.action {
                Action::StepBack => {
                    [Action::StepBack, Action::StepOn].map(|key| app.keys().first(key)).join(" ")
                }
                Action::Down => [Action::Down, Action::Up].map(|key| shortest(app, key)).join("/"),
                action => shortest(app, action),
            };
            (!keys.trim().is_empty()).then(|| Segment::new(format!("{keys} {word}"), theme.dim(), rank))
        })
        .collect();
    let over = || match app.ending() {
        Some(_) => format!("there is no more; {} leaves", app.keys().first(Action::Quit)),
        None => String::new(),
    };
    let note = app.notice().map_or_else(over, |notice| theme.text(notice));
    let right = vec![Segment::new(note, theme.strong(), 0)];
    paint(pieces, right, area, frame.buffer_mut(), theme.symbols);
}

/// The key of an action for the foot of the screen: the shortest.
fn shortest(app: &App, action: Action) -> String {
    let keys = app.keys().keys(action).iter().map(|key| crate::app::shown(*key));
    keys.min_by_key(|key| key.chars().count()).unwrap_or_default()
}

/// Draws the text that is being typed: its end, where it is too long.
fn ask(app: &App, prompt: &Prompt, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let (question, forms) = match prompt.question {
        Question::Time => ("go to:", FORMS_OF_TIME),
        Question::Mark => ("mark:", "what happens now, in a few words; Enter sets it"),
    };
    let room = usize::from(area.width).saturating_sub(question.len() + 2);
    let typed = theme.text(&prompt.text);
    let mut end = typed.as_str();
    while width(end) > room && !end.is_empty() {
        end = &end[end.chars().next().map_or(0, char::len_utf8)..];
    }
    let mut hint = prompt.refusal.as_deref().unwrap_or(forms);
    if prompt.refusal.is_some() && width(end) + question.len() + 4 + width(hint) > usize::from(area.width) {
        hint = "no time";
    }
    let left = vec![
        Segment::new(question, theme.strong(), 0),
        Segment::new(format!("{end}{}", theme.pick("▏", "_")), theme.plain(), 0),
    ];
    let is_roomy = width(end) + question.len() + 4 + width(hint) <= usize::from(area.width);
    let style = if prompt.refusal.is_some() { theme.strong() } else { theme.dim() };
    let right = vec![Segment::new(if is_roomy { theme.text(hint) } else { String::new() }, style, 1)];
    paint(left, right, area, frame.buffer_mut(), theme.symbols);
}

/// Draws the help over the middle of `area`.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let entry = |key: String, text: &str, cells: usize| {
        Line::from(vec![Span::styled(format!(" {key:<cells$} "), theme.strong()), Span::raw(text.to_owned())])
    };
    let keys: Vec<Line> =
        BINDINGS.iter().map(|key| entry(app.keys().in_short(key.action), key.help, 8)).collect();
    let legend = LEGEND.iter().map(|(unicode, ascii, text)| (theme.pick(unicode, ascii), *text));
    let marks = [
        (theme.pick("│", "|"), "most that the wire carries"),
        (theme.pick("┊", ":"), "most that PCIe carries"),
        (theme.pick("◆", "*"), "what shared links leave it"),
        (theme.pick("▶", ">"), "beyond the scale"),
        ("", "rx, tx: counted by the NIC"),
        ("", "READ, WRITE: our load's payload"),
        ("", "figures are means of a second"),
    ];
    let signs: Vec<_> = legend.chain(marks).map(|(sign, text)| entry(sign.to_owned(), text, 2)).collect();
    let room = (usize::from(area.width.saturating_sub(4)), usize::from(area.height.saturating_sub(2)));
    let lines = columns(keys, signs, room);
    let widest = |lines: &[Line]| lines.iter().map(Line::width).max().unwrap_or(0);
    let cells = u16::try_from(widest(&lines) + 3).unwrap_or(area.width).min(area.width);
    let rows = u16::try_from(lines.len() + 2).unwrap_or(area.height).min(area.height);
    let over = Rect {
        x: area.x + (area.width - cells) / 2,
        y: area.y + (area.height - rows) / 2,
        width: cells,
        height: rows,
    };
    let block = Block::bordered().title(" railscope: keys and signs ").title_bottom(" ? or Esc closes ");
    let block = match theme.symbols {
        Symbols::Unicode => block.border_type(BorderType::Plain),
        Symbols::Ascii => block.border_set(ASCII_BORDER),
    };
    frame.render_widget(Clear, over);
    frame.render_widget(Paragraph::new(lines).block(block), over);
}

/// The keys in as few columns as fit in height, the signs beside or below them as far as there is room.
fn columns(
    mut keys: Vec<Line<'static>>,
    signs: Vec<Line<'static>>,
    room: (usize, usize),
) -> Vec<Line<'static>> {
    let (width, height) = room;
    if keys.len() > height {
        let rest = keys.split_off(keys.len().div_ceil(2));
        keys = beside(keys, rest);
    }
    let widest = |lines: &[Line]| lines.iter().map(Line::width).max().unwrap_or(0);
    if widest(&keys) + 2 + widest(&signs) <= width {
        return beside(keys, signs);
    }
    let left = height.saturating_sub(keys.len());
    if left > 0 && widest(&signs) * 2 + 2 <= width {
        let mut signs = signs;
        let second = signs.split_off(signs.len().div_ceil(2));
        keys.extend(beside(signs, second).into_iter().take(left));
    } else {
        keys.extend(signs.into_iter().take(left));
    }
    keys
}

/// Two columns, two cells apart.
fn beside(mut left: Vec<Line<'static>>, right: Vec<Line<'static>>) -> Vec<Line<'static>> {
    let cells = left.iter().map(Line::width).max().unwrap_or(0) + 2;
    for (at, extra) in right.into_iter().enumerate() {
        if at >= left.len() {
            left.push(Line::default());
        }
        let line = &mut left[at];
        line.push_span(Span::raw(" ".repeat(cells - line.width())));
        line.extend(extra.spans);
    }
    left
}

const ASCII_BORDER: ratatui::symbols::border::Set = ratatui::symbols::border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};
