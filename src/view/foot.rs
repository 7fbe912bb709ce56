//! The line at the foot of the screen: the keys, or the text that is being typed.

use super::hints::piece;
use super::segments::{GAP, Segment, paint};
use super::theme::Theme;
use crate::app::{
    Action, App, BINDINGS, FORMS_OF_CHANGES, FORMS_OF_RATE, FORMS_OF_TIME, Mode, Prompt, Question, View,
};
use ratatui::Frame;
use ratatui::layout::Rect;
use widgets::{clip, width};

/// Draws the keys at the foot of the screen, or the text that is being typed there.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    if let Some(prompt) = app.prompt() {
        ask(prompt, theme, area, frame);
        return;
    }
    let travels = app.is_paused() || app.how().mode == Mode::Replay;
    let pieces = BINDINGS
        .iter()
        .filter(|binding| binding.action.is_of(app.view()))
        .filter_map(|binding| {
            let word = match (binding.action, app.view()) {
                (Action::Pause, _) if app.is_paused() && app.how().mode.is_past() => "go on",
                (Action::Pause, _) if app.is_paused() => "to live",
                (Action::StepBack, _) if travels => "step",
                (Action::Jump, _) if travels => "go to",
                (Action::NextFinding, _) if travels => "finding",
                (Action::NextEvent, _) if travels => "event",
                (Action::Findings, View::Rail) => "next rail",
                (Action::Diagnose, _) if app.is_diagnosing() && app.ending().is_none() => "end diagnosis",
                (Action::Diagnose, View::Experiments) if app.goes_on().is_some() => "begin",
                (Action::Diagnose, _) if app.goes_on().is_some() => "diagnose",
                (Action::Down, View::Rail | View::Load | View::Experiments) => "scroll",
                (Action::Copy, View::Placement) => "copy",
                (Action::HoldLoad, View::Load) if app.can_steer() => "hold",
                (Action::Rate, View::Load) if app.can_steer() => "rate",
                (Action::StartAnew, View::Load) if app.goes_on().is_some() => "start anew",
                _ => binding.foot?,
            };
            // help and quit stay to the last
            let rank = match (binding.action, app.view()) {
                (Action::Help | Action::Quit, _) => 0,
                (
                    Action::Pause
                    | Action::StepBack
                    | Action::Jump
                    | Action::NextFinding
                    | Action::HoldLoad
                    | Action::Rate
                    | Action::StartAnew,
                    _,
                )
                | (Action::Copy, View::Placement)
                | (Action::Findings, View::Rail) => 1,
                (Action::Filter | Action::Sort, _) => 3,
                _ => 2,
            };
            let actions: &[Action] = match &binding.action {
                Action::StepBack => &[Action::StepBack, Action::StepOn],
                Action::Down => &[Action::Down, Action::Up],
                action => std::slice::from_ref(action),
            };
            piece(app.keys(), actions, (word, rank), theme)
        })
        .collect();
    let over = || match app.ending() {
        Some(_) => format!("there is no more; {} leaves", app.keys().first(Action::Quit)),
        None => String::new(),
    };
    // that it is over stands above, too: keys that still do something come first
    let right = match app.notice() {
        Some(notice) => Segment::new(theme.text(notice), theme.strong(), 0),
        None => Segment::new(over(), theme.strong(), u8::MAX),
    };
    let right = vec![right];
    paint(pieces, right, area, frame.buffer_mut(), theme.symbols);
}

/// Draws the text that is being typed: its end, where it is too long.
pub fn ask(prompt: &Prompt, theme: Theme, area: Rect, frame: &mut Frame) {
    let (question, forms) = match prompt.question {
        Question::Time => ("go to:", FORMS_OF_TIME),
        Question::Rate => ("rate cap:", FORMS_OF_RATE),
        Question::Anew => ("start anew with:", FORMS_OF_CHANGES),
        Question::Sessions => ("filter:", "file, host or code of a finding; Enter keeps it, Esc ends it"),
        Question::Filter => ("filter:", "device, netdev, N0 or code; Enter keeps it, Esc ends it"),
        Question::Mark => ("mark:", "what happens now, in a few words; Enter sets it"),
    };
    let cells = usize::from(area.width);
    // a reason is of more use than the beginning of what it is about
    let room = if prompt.refusal.is_some() { cells / 3 } else { cells.saturating_sub(question.len() + 2) };
    let typed = theme.text(&prompt.text);
    let mut end = typed.as_str();
    while width(end) > room && !end.is_empty() {
        end = &end[end.chars().next().map_or(0, char::len_utf8)..];
    }
    let room = cells.saturating_sub(width(end) + question.len() + 1 + 2 * GAP);
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

#[cfg(test)]
mod tests {
    use super::ask;
    use crate::app::{Prompt, Question};
    use crate::view::Theme;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn why_an_answer_is_of_no_use_stands_beside_it_however_long_either_is() {
        let refusal = Some("`foo` is no flag of a load; `railscope load --help` has them".to_owned());
        for text in ["foo", "-q 16 -s 1M --place cpu:0,mem:1 --workers 4 --tclass 106 foo"] {
            for cells in [50, 60, 80, 120] {
                let prompt =
                    Prompt { text: text.to_owned(), refusal: refusal.clone(), ..Prompt::new(Question::Anew) };
                let mut terminal = Terminal::new(TestBackend::new(cells, 1)).unwrap();
                terminal.draw(|frame| ask(&prompt, Theme::default(), frame.area(), frame)).unwrap();
                let line = terminal.backend().to_string();
                assert!(line.contains("foo") && line.contains("`foo` is n"), "{cells}: {line}");
            }
        }
    }
}
