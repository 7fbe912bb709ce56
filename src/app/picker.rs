//! Choosing columns.

use super::popups::Popup;
use super::{App, Command};
use crate::view::Column;

/// One entry more than columns: as they fit.
pub(super) const ENTRIES: usize = Column::ALL.len() + 1;

impl App {
    /// Opens the list of columns.
    pub(super) fn open_picker(&mut self) -> Command {
        self.popups.open(Popup::Columns(0));
        Command::DrawNow
    }

    /// Shows a column or leaves it out; the entry behind them leaves all to the width.
    pub(super) fn toggle(&mut self, at: usize) {
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

    /// The columns that were chosen; `None` leaves them to the width.
    #[must_use]
    pub fn columns(&self) -> Option<&[Column]> {
        self.columns.as_deref()
    }
}
