//! The line at the foot of the screen: the keys, or the text that is being typed.

use super::segments::{Segment, paint};
use crate::app::{Action, App, BINDINGS, FORMS_OF_RATE, FORMS_OF_TIME, Keymap, Mode, Prompt, Question, View};
use ratatui::Frame;
use ratatui::layout::Rect;
use widgets::{clip, width};

/// Draws the keys at the foot of the screen, or the text that is being typed there.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) {
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
                (Action::Findings, View::Topology | View::Placement | View::Load | View::Experiments)
                | (Action::Open, View::Rail)
                | (
                    Action::Sort,
                    View::Rail | View::Topology | View::Placement | View::Load | View::Experiments,
                )
                | (Action::Filter, View::Load | View::Experiments) => {
                    return None;
                }
                (Action::Diagnose, View::Experiments) if app.how().mode == Mode::Diagnosis => {
                    if app.how().diagnose.is_some() { "end, back" } else { "end" }
                }
                (Action::Diagnose, View::Experiments) if app.how().diagnose.is_some() => "begin",
                (Action::Down, View::Rail | View::Load | View::Experiments) => "scroll",
                (Action::Copy, View::Placement) => "copy",
                _ => binding.foot?,
            };
            // help and quit stay to the last
            let rank = match (binding.action, app.view()) {
                (Action::Help | Action::Quit, _) => 0,
                (Action::Pause | Action::StepBack | Action::Jump | Action::NextFinding, _)
                | (Action::Copy, View::Placement)
                | (Action::Findings, View::Rail) => 1,
                (Action::Filter | Action::Sort, _) => 3,
                _ => 2,
            };
            let keys = match binding.action {
                Action::StepBack => {
                    [Action::StepBack, Action::StepOn].map(|key| app.keys().first(key)).join(" ")
                }
                Action::Down => [Action::Down, Action::Up].map(|key| shortest(app.keys(), key)).join("/"),
                action => shortest(app.keys(), action),
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

/// The shortest key of an action; empty where it has none.
pub fn shortest(keys: &Keymap, action: Action) -> String {
    let keys = keys.keys(action).iter().map(|key| crate::app::shown(*key));
    keys.min_by_key(|key| key.chars().count()).unwrap_or_default()
}

/// Draws the text that is being typed: its end, where it is too long.
fn ask(app: &App, prompt: &Prompt, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let (question, forms) = match prompt.question {
        Question::Time => ("go to:", FORMS_OF_TIME),
        Question::Rate => ("rate cap:", FORMS_OF_RATE),
        Question::Filter => ("filter:", "device, netdev, N0 or code; Enter keeps it, Esc ends it"),
        Question::Mark => ("mark:", "what happens now, in a few words; Enter sets it"),
    };
    let room = usize::from(area.width).saturating_sub(question.len() + 2);
    let typed = theme.text(&prompt.text);
    let mut end = typed.as_str();
    while width(end) > room && !end.is_empty() {
        end = &end[end.chars().next().map_or(0, char::len_utf8)..];
    }
    let room = usize::from(area.width).saturating_sub(width(end) + question.len() + 4);
    let (hint, style) = match &prompt.refusal {
        // of a reason, its beginning says more than nothing
        Some(refusal) => (clip(&theme.text(refusal), room, theme.symbols), theme.strong()),
        None if width(forms) <= room => (theme.text(forms), theme.dim()),
        None => (String::new(), theme.dim()),
    };
    let left = vec![
        Segment::new(question, theme.strong(), 0),
        Segment::new(format!("{end}{}", theme.pick("▏", "_")), theme.plain(), 0),
    ];
    let right = vec![Segment::new(hint, style, 1)];
    paint(left, right, area, frame.buffer_mut(), theme.symbols);
}
