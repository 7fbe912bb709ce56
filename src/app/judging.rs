//! What is found on what is shown, and what is known of the whole session.

use super::{App, OUTLINE_EVERY_NS};
use crate::rules::Finding;
use crate::view as screen;
use std::sync::Arc;

impl App {
    /// Makes ready for drawing: judges what is shown, if it was not judged since it changed, and asks how the
    /// recording fares.
    pub fn prepare(&mut self) {
        self.recording_trouble = self.how.recording.as_ref().and_then(|status| status.trouble());
        self.judge();
        self.look_at_diagnosis();
        self.renew_order();
        self.largest_gb_per_s = screen::largest_gb_per_s(self.shown(), self.largest_gb_per_s);
        if !self.how.mode.is_seekable() {
            self.outline_what_is_new();
        }
    }

    pub(super) fn judge(&mut self) {
        if self.judged {
            return;
        }
        let findings = self.how.judge(self.shown());
        self.replace_findings(findings);
        self.judged = true;
    }

    /// Looks at the newest of a session that goes on, once in a while, also behind a picture that is held.
    fn outline_what_is_new(&mut self) {
        let Some(newest_ns) = self.history.newest_ns() else { return };
        let is_due = |looked_ns| newest_ns >= looked_ns + OUTLINE_EVERY_NS;
        if self.outline.looked_to_ns().is_none_or(is_due) {
            let newest = self.history.newest();
            let findings = self.how.judge(newest);
            Arc::make_mut(&mut self.outline).look(newest, &findings);
        }
    }

    /// Takes new findings; the selected one stays selected where it is still there.
    pub(super) fn replace_findings(&mut self, findings: Vec<Finding>) {
        let selected = self.selected_finding().cloned();
        let is_chosen = self.selection.finding.is_some();
        self.findings = findings;
        if is_chosen {
            self.select_finding_like(selected.as_ref());
        }
    }
}
