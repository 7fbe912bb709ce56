//! The planned load of a diagnosis that goes on, and what the one before it showed.

use crate::app::{Action, App, View};
use crate::experiments::Seen;
use crate::experiments::told::Table;
use crate::rules::Severity;
use crate::settings::Size;
use crate::view::page::Page;
use probes::model::LoadOp;

/// The diagnosis whose load stands here instead of the session's own; `None` where none goes on at what is shown.
pub fn shown(app: &App) -> Option<&Table> {
    let table = app.diagnosed().filter(|table| !table.is_left)?;
    let is_of_one = app.shown().local().latest().is_some_and(|frame| frame.experiment.is_some());
    is_of_one.then_some(table)
}

/// Draws it.
pub fn draw(app: &App, table: &Table, page: &mut Page) {
    let theme = page.theme();
    let is_over = app.ending().is_some() || table.now.is_none();
    match &table.now {
        Some(step) if !is_over => {
            page.heading("Experiment", &format!("{} of a diagnosis goes on: {step}", table.made + 1));
            let params = &step.params;
            let op = match params.op {
                LoadOp::Read => "READ",
                LoadOp::Write => "WRITE",
            };
            let size = Size(params.size_bytes);
            page.row("load", &format!("{op} {size}, {} queue pairs a rail", params.qps), theme.plain());
            page.row("rails", &step.rails.join(", "), theme.plain());
            let threads = format!("{} a rail, placed {}", params.workers, params.place);
            page.row("threads", &threads, theme.plain());
            page.row("posting", &format!("depth {}", params.depth), theme.plain());
        }
        _ => page.heading("No load", "the diagnosis is over"),
    }
    if let Some(caveat) = &table.caveat {
        page.row("mind", caveat, theme.severity(Severity::Warning));
    }
    if let Some(last) = &table.last {
        page.heading("Made last", &last.step.to_string());
        if let Some(why) = &last.failed {
            page.row("failed", why, theme.severity(Severity::Warning));
        } else {
            rates(app, last, page);
        }
    }
    let key = app.keys().first(Action::Go(View::Experiments));
    page.row(
        "more",
        &format!("{key} Experiments has the table of all loads, and what they mean"),
        theme.dim(),
    );
}

/// What each rail of a load did.
fn rates(app: &App, seen: &Seen, page: &mut Page) {
    let theme = page.theme();
    for rail in seen.rails.iter().filter(|rail| seen.step.rails.contains(&rail.device)) {
        let text = match rail.gb_per_s {
            Some(rate) => format!("{} {} of payload", app.rates().text(rate), app.rates().word()),
            None => "not known".to_owned(),
        };
        page.row("", &format!("{}: {text}", rail.device), theme.plain());
    }
}
