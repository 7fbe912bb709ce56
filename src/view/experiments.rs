//! The experiments of a diagnosis: how far it is, and the table of causes as it fills in.

use super::page::{self, Page};
use super::theme::Theme;
use super::units::time_left;
use crate::app::{Action, App};
use crate::experiments::diagnosis::not_together;
use crate::experiments::hypotheses::{Answer, Hypothesis};
use crate::experiments::told::Table;
use crate::experiments::{RailDiagnosis, SharedLimit};
use crate::rules::Severity;
use probes::model::ExperimentKind;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use widgets::{padded, width};

/// Cells of the name of a rail in the overview.
const NAME: usize = 16;
/// Cells of a rate in the overview.
const RATE: usize = 9;
/// Cells of an answer in the overview.
const ANSWER: usize = 4;
/// Cells of the bar of progress at most.
const BAR: usize = 40;

/// Draws it; tells how many lines keys can scroll to.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) -> usize {
    let theme = app.theme();
    let (columns, cells) = page::columns(area);
    let Some(table) = app.diagnosed() else {
        return page::draw(vec![none(app, area.width)], app.line(), area, frame, theme);
    };
    let mut left = Page::new(cells, theme);
    progress(app, table, &mut left);
    verdict(table, &mut left);
    overview(app, table, &mut left);
    let mut right = if columns == 1 { left.clone() } else { Page::new(cells, theme) };
    table.shared_limits.iter().for_each(|limit| shared(limit, &mut right));
    table.rails.iter().filter(|rail| rail.slow).for_each(|rail| causes(rail, &mut right));
    table.rails.iter().filter(|rail| !rail.slow).for_each(|rail| healthy(rail, &mut right));
    let pages = if columns == 1 { vec![right] } else { vec![left, right] };
    page::draw(pages.into_iter().map(Page::into_lines).collect(), app.line(), area, frame, theme)
}

/// What stands there without a diagnosis.
fn none(app: &App, cells: u16) -> Vec<ratatui::text::Line<'static>> {
    let theme = app.theme();
    let mut page = Page::new(cells, theme);
    if app.is_diagnosing() {
        page.heading("Experiments", "the first load goes on");
        return page.into_lines();
    }
    page.heading("No diagnosis", "this session has none so far");
    if app.goes_on().is_some() {
        let key = app.keys().first(Action::Diagnose);
        let says = format!(
            "{key} loads the rails one way after the other, and tells which of seven causes makes one slow"
        );
        page.row("start", &says, theme.plain());
    } else {
        page.row(
            "start",
            "on the peer `railscope serve`; here `railscope diagnose PEER --screen`, which --record keeps",
            theme.plain(),
        );
        let key = app.keys().first(Action::Diagnose);
        page.row(
            "try",
            &format!("`railscope demo`, and there {key}, as on the screen of `railscope load PEER`"),
            theme.plain(),
        );
    }
    page.into_lines()
}

/// How many loads were made, how many are left, and the one that goes on.
fn progress(app: &App, table: &Table, page: &mut Page) {
    let theme = page.theme();
    let all = table.made + table.left;
    let is_over = table.now.is_none();
    let beside = if is_over {
        format!("all {all} were made")
    } else if table.is_left || app.ending().is_some() {
        format!("{} of {all} were made before it ended", table.made)
    } else {
        // which rails are slow, and so what is to be tried on them, is not known before these loads were made
        let is_open = table
            .now
            .as_ref()
            .is_some_and(|step| matches!(step.kind, ExperimentKind::Alone | ExperimentKind::Together));
        let least = if is_open { "at least " } else { "" };
        format!("{} of {least}{all}, {least}{}", table.made, time_left(table.time_left))
    };
    page.heading("Experiments", &beside);
    let room = page.cells().saturating_sub(2).min(BAR);
    let done = (room * table.made).checked_div(all).unwrap_or(0);
    page.line(vec![
        Span::styled(theme.pick("█", "#").repeat(done), theme.strong()),
        Span::styled(theme.pick("░", "-").repeat(room - done), theme.dim()),
    ]);
    if let (Some(step), None, false) = (&table.now, app.ending(), table.is_left) {
        page.row("now", &step.to_string(), theme.plain());
    }
    if let Some(caveat) = &table.caveat {
        page.row("mind", caveat, theme.severity(Severity::Warning));
    }
}

/// What came of it, which is what one came for.
fn verdict(table: &Table, page: &mut Page) {
    let theme = page.theme();
    let (so_far, over) = ("so far: loads to come may still turn it", "all loads were made");
    let cut_short = "of the loads that were made: the others may have turned it";
    page.heading(
        "Verdict",
        match (&table.now, table.is_left) {
            (None, _) => over,
            (Some(_), true) => cut_short,
            (Some(_), false) => so_far,
        },
    );
    for limit in &table.shared_limits {
        let text = format!("{} share a limit beyond this host's PCIe and memory", limit.devices.join(", "));
        page.row("SLOW", &text, theme.severity(Severity::Warning));
    }
    let slow: Vec<&RailDiagnosis> = table.rails.iter().filter(|rail| rail.slow).collect();
    for rail in &slow {
        let held = rail.hypotheses.iter().filter(|held| held.answer == Answer::Yes);
        let says: Vec<String> = held.map(|held| format!("{} ({})", held.says, held.id)).collect();
        let cause = match (rail.cause, says.is_empty()) {
            (None, _) => "no cause is known yet".to_owned(),
            (Some(cause), true) => cause.to_owned(),
            (Some(cause), false) => format!("{cause}: {}", says.join("; ")),
        };
        page.row("SLOW", &format!("{} {cause}", rail.device), theme.severity(Severity::Warning));
    }
    let unmeasured =
        table.rails.iter().filter(|rail| rail.alone_gb_per_s.is_none() && !rail.failed.is_empty());
    let unmeasured: Vec<&str> = unmeasured.map(|rail| rail.device.as_str()).collect();
    if !unmeasured.is_empty() {
        let text = format!("{} could not be measured, for the reasons below", unmeasured.join(", "));
        page.row("UNKNOWN", &text, theme.severity(Severity::Warning));
    }
    if slow.is_empty() && table.shared_limits.is_empty() {
        let text = match (table.is_functional_check, unmeasured.is_empty()) {
            (true, _) => "not judged: a load over TCP proves nothing about a rail",
            (false, true) if not_together(&table.rails) => {
                "no rail is slow alone; all together could not be measured, for the reasons below"
            }
            (false, true) => "no rail is slow",
            (false, false) if unmeasured.len() == table.rails.len() => "nothing could be measured",
            (false, false) => "of the others no rail is slow",
        };
        page.row("", text, theme.plain());
    }
}

/// A line for each rail: its rates, and the answers.
fn overview(app: &App, table: &Table, page: &mut Page) {
    let theme = page.theme();
    page.heading("Rails", &format!("payload in {}; H1 to H7 as told below", app.rates().word()));
    let head = |text: &str, cells: usize| Span::styled(format!("{text:>cells$}"), theme.dim());
    let mut names = vec![Span::styled(format!("{:<NAME$}", "rail"), theme.dim())];
    names.extend(["alone", "together", "ceiling"].map(|name| head(name, RATE)));
    names.push(Span::raw(" "));
    names.extend((1..=7).map(|number| head(&format!("H{number}"), ANSWER)));
    page.line(names);
    for rail in &table.rails {
        let rate = |value: Option<f64>| {
            let text = value.map_or_else(|| "-".to_owned(), |value| app.rates().text(value));
            Span::styled(format!("{text:>RATE$}"), theme.plain())
        };
        let name = padded(&rail.device, NAME - 1, theme.symbols) + " ";
        let mut line = vec![
            Span::styled(name, strength(rail, theme)),
            rate(rail.alone_gb_per_s),
            rate(rail.together_gb_per_s),
            rate(rail.ceiling_gb_per_s),
            Span::raw(" "),
        ];
        line.extend(rail.hypotheses.iter().map(|held| {
            let text = held.answer.to_string();
            Span::styled(format!("{text:>ANSWER$}"), of_answer(held.answer, theme))
        }));
        let room = page.cells().saturating_sub(NAME + 3 * RATE + 1 + 7 * ANSWER);
        // of all that stands there, one begins below the other
        let gap = if room > "control".len() + 1 { 2 } else { 1 };
        let beside = match (rail.cause, rail.control) {
            (Some(cause), _) if width(cause) + gap <= room => format!("{:gap$}{cause}", ""),
            _ if rail.slow => format!("{:gap$}SLOW", ""),
            (_, true) => format!("{:1$}control", "", 7 * ANSWER + gap),
            (_, false) => String::new(),
        };
        line.push(Span::styled(beside, strength(rail, theme)));
        page.line(line);
    }
}

fn strength(rail: &RailDiagnosis, theme: Theme) -> Style {
    if rail.slow { theme.severity(Severity::Warning) } else { theme.plain() }
}

fn of_answer(answer: Answer, theme: Theme) -> Style {
    match answer {
        Answer::Yes => theme.severity(Severity::Error),
        Answer::No => theme.dim(),
        Answer::Inconclusive | Answer::Unknown => theme.plain(),
    }
}

/// A limit that several rails have in common.
fn shared(limit: &SharedLimit, page: &mut Page) {
    let theme = page.theme();
    page.heading(&limit.devices.join(", "), "share a limit beyond this host's PCIe and memory");
    page.row("", &limit.because, theme.severity(Severity::Warning));
}

/// The seven causes of a slow rail.
fn causes(rail: &RailDiagnosis, page: &mut Page) {
    let theme = page.theme();
    page.heading(&format!("{} {}", rail.device, rail.cause.unwrap_or_default()), &rail.slow_because);
    for Hypothesis { id, says, answer, because, .. } in &rail.hypotheses {
        page.row(&format!("{id} {answer}"), &format!("{says}: {because}"), of_answer(*answer, theme));
    }
}

/// What is told of a rail that is not slow: what another node costs it, and what could not be measured.
fn healthy(rail: &RailDiagnosis, page: &mut Page) {
    let theme = page.theme();
    if let Some(cost) = &rail.placement {
        page.heading(&rail.device, "the fastest healthy rail: what another node costs it");
        page.row("", cost, theme.plain());
    }
    for why in &rail.failed {
        page.heading(&rail.device, "not measured");
        page.row("", why, theme.plain());
    }
}

#[cfg(test)]
mod tests;
