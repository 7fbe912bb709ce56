//! What a person points at.

use super::{Action, App, Command, Focus, SortBy};
use crate::view::Spot;

/// Which way a wheel is turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wheel {
    /// Away from the person.
    Up,
    /// Towards the person.
    Down,
}

impl App {
    /// A click.
    pub(super) fn click(&mut self, spot: Spot) -> Command {
        self.notice = None;
        match spot {
            Spot::Share(share) => return self.go_to_share(share),
            Spot::Tab(view) => self.go(view),
            // once more on the same heading turns the order round
            Spot::Heading(by) if by == self.sorted_by() && by != SortBy::Name => return self.sort_reversed(),
            Spot::Heading(by) => return self.sort_by(by),
            Spot::Rail(at) if self.selection.rail == Some(at) && self.selection.focus == Focus::Rails => {
                return self.open();
            }
            Spot::Rail(at) => {
                self.selection.focus = Focus::Rails;
                self.selection.rail = Some(at);
            }
            Spot::Finding(Some(at))
                if self.selection.finding == Some(at) && self.selection.focus == Focus::Findings =>
            {
                return self.open();
            }
            Spot::Finding(Some(at)) => {
                self.selection.focus = Focus::Findings;
                self.selection.finding = Some(at);
            }
            Spot::Row(at) if self.line() == at => return self.open(),
            Spot::Row(at) => self.lines[self.view.place()] = at,
            // beside it or on it: a mouse has no key to close it with
            Spot::Over => {
                self.take_over(Action::Back);
            }
            Spot::Finding(None) | Spot::Past => return Command::None,
        }
        Command::DrawNow
    }

    /// A turn of the wheel: zooms the past, moves in what it is turned over.
    pub(super) fn turn(&mut self, wheel: Wheel, spot: Option<Spot>) -> Command {
        let (action, zoom) = match wheel {
            Wheel::Up => (Action::Up, Action::ZoomIn),
            Wheel::Down => (Action::Down, Action::ZoomOut),
        };
        if self.popups.is_open() {
            self.take_over(action);
            return Command::DrawNow;
        }
        match spot {
            Some(Spot::Past) => return self.act(zoom),
            Some(Spot::Rail(_) | Spot::Heading(_)) => self.selection.focus = Focus::Rails,
            Some(Spot::Finding(_)) => self.selection.focus = Focus::Findings,
            Some(Spot::Share(_) | Spot::Tab(_)) => return Command::None,
            Some(Spot::Row(_) | Spot::Over) | None => {}
        }
        self.act(action)
    }
}
