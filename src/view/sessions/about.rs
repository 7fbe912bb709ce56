//! The selected session in full: whose it is, and what was found at its end.

use crate::app::{Entry, State};
use crate::rules::Severity;
use crate::view::segments::{Segment, paint};
use crate::view::whole::put;
use crate::view::{Theme, findings};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use widgets::FindingList;

/// Draws it.
pub(super) fn draw(entry: &Entry, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let summary = match &entry.state {
        State::Unread => return,
        State::Damaged(why) => {
            put(why, theme.severity(Severity::Error), theme, area, buffer);
            return;
        }
        State::Sweep(sweep) => {
            put(&sweep.statements.join("\n"), theme.plain(), theme, area, buffer);
            return;
        }
        State::Read(summary) => summary,
    };
    let with = summary.peer.as_ref().map_or(String::new(), |peer| format!(" with {peer}"));
    let host = format!("{}{with}", summary.host.as_deref().unwrap_or("host unknown"));
    let count = summary.findings.as_ref().map_or(0, Vec::len);
    let found =
        if count == 1 { "1 finding at its end".to_owned() } else { format!("{count} findings at its end") };
    let title = Rect { height: area.height.min(1), ..area };
    let left = vec![
        Segment::new(theme.text(&entry.name()), theme.strong(), 0),
        Segment::new(theme.text(&host), theme.plain(), 1),
        Segment::new(if summary.simulated { "SIMULATED" } else { "" }, theme.plain(), 1),
    ];
    paint(left, vec![Segment::new(found, theme.dim(), 0)], title, buffer, theme.symbols);
    let mut body = Rect { y: area.y + title.height, height: area.height - title.height, ..area };
    if let Some(warning) = &summary.warning {
        let height = put(warning, theme.severity(Severity::Warning), theme, body, buffer);
        body = Rect { y: body.y + height, height: body.height - height, ..body };
    }
    let items: Vec<_> = summary.told().iter().map(|told| findings::item(told, theme)).collect();
    let empty = if summary.findings.is_some() { "Nothing was found." } else { "Its end cannot be judged." };
    let symbols = theme.symbols;
    let list = FindingList {
        items: &items,
        selected: None,
        from: 0,
        focused: false,
        empty,
        advice: theme.plain(),
        symbols,
    };
    (&list).render(body, buffer);
}
