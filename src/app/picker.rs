//! Choosing columns.

use super::{Action, App, Command, View, selection};
use crate::view::Column;

/// One entry more than columns: as they fit.
const ENTRIES: usize = Column::ALL.len() + 1;

impl App {
    /// Opens the list of columns.
    pub(super) fn open_picker(&mut self) -> Command {
        self.go(View::Home);
        self.picker = Some(0);
        Command::DrawNow
    }

    /// A key while the list of columns lies over the screen.
    pub(super) fn pick(&mut self, at: usize, action: Action) -> Command {
        match action {
            Action::Quit => return Command::Quit,
            Action::Back | Action::Columns => self.picker = None,
            Action::Open | Action::Pause => self.toggle(at),
            Action::Help => {
                self.picker = None;
                self.help = self.help.toggled();
            }
            _ => self.picker = Some(selection::moved(Some(at), action, ENTRIES - 1).min(ENTRIES - 1)),
        }
        Command::DrawNow
    }

    fn toggle(&mut self, at: usize) {
        let Some(column) = Column::ALL.get(at) else {
            self.columns = None;
            return;
        };
        let shown = self.seen.columns;
        let columns = self.columns.get_or_insert_with(|| {
            Column::ALL
                .into_iter()
                .zip(shown)
                .filter(|(_, is_shown)| *is_shown)
                .map(|(column, _)| column)
                .collect()
        });
        match columns.iter().position(|chosen| chosen == column) {
            Some(at) => drop(columns.remove(at)),
            None => columns.push(*column),
        }
    }

    /// The entry that keys have moved to in the list of columns; `None` while it is closed.
    #[must_use]
    pub fn picker(&self) -> Option<usize> {
        self.picker
    }

    /// The columns that were chosen; `None` leaves them to the width.
    #[must_use]
    pub fn columns(&self) -> Option<&[Column]> {
        self.columns.as_deref()
    }
}
