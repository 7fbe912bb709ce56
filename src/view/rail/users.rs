//! Who uses the rail: processes and threads of our load, where they run, and what is found of that.

use crate::app::{Action, App, View};
use crate::rules::Severity;
use crate::view::findings::word;
use crate::view::page::Page;
use crate::view::placement;
use probes::model::Rail;

/// A line for each.
pub fn draw(app: &App, rail: &Rail, page: &mut Page) {
    let theme = page.theme();
    let users = placement::users_of(app, rail);
    let key = app.keys().first(Action::Go(View::Placement));
    let beside = match (users.len(), app.shown().local().processes()) {
        (0, None) => "not known: processes were not looked up in this session".to_owned(),
        (0, Some(_)) => "no process has a queue pair or an open device file of it".to_owned(),
        _ => format!("more in {key} Placement"),
    };
    page.heading("Users", &beside);
    for user in users {
        let style = user.worst.map_or(theme.plain(), |severity| theme.severity(severity));
        let label = match user.worst {
            Some(severity) if severity > Severity::Info => word(severity),
            _ => "",
        };
        page.row(label, &user.text, style);
    }
}
