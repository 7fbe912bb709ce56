//! The line that says which processes use the rails, those on a rail with a finding first.

use super::segments::{GAP, Segment, paint};
use crate::app::App;
use crate::rules::Severity;
use probes::model::{Process, ProcessSource};
use ratatui::Frame;
use ratatui::layout::Rect;
use std::collections::BTreeMap;

/// A process, and the rails it uses.
struct User<'a> {
    pid: u32,
    name: &'a str,
    rank: Option<u32>,
    rails: Vec<&'a str>,
}

/// Lines it takes: none where no process but our own load is known.
pub fn height(app: &App) -> u16 {
    u16::from(others(app).next().is_some())
}

/// Processes other than our load, which the header tells of.
fn others(app: &App) -> impl Iterator<Item = &Process> {
    let processes = app.shown().local().processes().unwrap_or_default();
    processes.iter().filter(|process| process.source != ProcessSource::OurLoad)
}

/// Users, those on rails with a warning first, in the order of the findings.
fn users(app: &App) -> Vec<User<'_>> {
    let mut users = BTreeMap::<u32, User>::new();
    for process in others(app) {
        let user = users.entry(process.pid).or_insert_with(|| User {
            pid: process.pid,
            name: &process.name,
            rank: process.rank.as_ref().map(|rank| rank.rank),
            rails: Vec::new(),
        });
        user.rails.push(&process.device);
    }
    let bad = |finding: &&crate::rules::Finding| finding.severity > Severity::Info;
    let named: Vec<_> = app.findings().iter().filter(bad).flat_map(|finding| &finding.devices).collect();
    let place = |user: &User| {
        let of = |rail: &&str| named.iter().position(|named| named == rail);
        user.rails.iter().filter_map(of).min().unwrap_or(usize::MAX)
    };
    let mut users: Vec<_> = users.into_values().collect();
    users.sort_by_key(|user| (place(user), user.pid));
    users
}

/// Draws it.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let users = users(app);
    if users.is_empty() || area.height == 0 {
        return;
    }
    let mut left = vec![Segment::new("used by", theme.dim(), 0)];
    left.extend(users.iter().enumerate().map(|(at, user)| {
        let rank = user.rank.map(|rank| format!(" rank {rank}")).unwrap_or_default();
        let rails = match user.rails.as_slice() {
            [rail] => (*rail).to_owned(),
            rails => format!("{} rails", rails.len()),
        };
        let text = theme.text(&format!("{} (PID {}){rank}: {rails}", user.name, user.pid));
        let style = if at == 0 { theme.plain() } else { theme.dim() };
        Segment::new(text, style, u8::try_from(at).unwrap_or(u8::MAX))
    }));
    let right = match users.len() {
        1 => Vec::new(),
        many => vec![Segment::new(format!("{many} processes"), theme.dim(), 0)],
    };
    // names that have no room are not left out in silence
    let room = usize::from(area.width);
    let cells = |left: &[Segment]| left.iter().chain(&right).map(|piece| piece.cells() + GAP).sum::<usize>();
    if cells(&left) > room {
        let sign = Segment::new(theme.pick("…", "~"), theme.dim(), 0);
        while left.len() > 2 && cells(&left) + sign.cells() + GAP > room {
            left.pop();
        }
        left.push(sign);
    }
    paint(left, right, area, frame.buffer_mut(), theme.symbols);
}
