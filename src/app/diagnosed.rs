//! A diagnosis on the screen: its table, and the key that begins or ends one.

use super::{App, Command, Mode, View};
use crate::experiments::told::Table;

impl App {
    /// The table as it stood at what is shown; `None` where the session has none, and in other views.
    #[must_use]
    pub fn diagnosed(&self) -> Option<&Table> {
        self.diagnosed.as_ref()
    }

    /// Computes the table of what is shown, for its view.
    pub(super) fn look_at_diagnosis(&mut self) {
        if !matches!(self.view, View::Experiments | View::Load) {
            return;
        }
        let at_ns = self.here_ns();
        let of = (at_ns, self.outline.experiments().frames());
        if self.diagnosed_of == Some(of) {
            return;
        }
        self.diagnosed_of = Some(of);
        let shown = self.shown();
        let table = self.outline.experiments().table(shown.session().topology(), &self.how.limits, at_ns);
        self.diagnosed = table;
    }

    /// Begins a diagnosis in this session, or ends the one that goes on.
    pub(super) fn diagnose(&mut self) -> Command {
        if self.how.anew.is_some() {
            return self.diagnose_anew();
        }
        if self.how.mode == Mode::Diagnosis {
            return Command::Quit;
        }
        self.say("no peer is known here: `railscope diagnose PEER --screen`")
    }
}
