//! What is found on what is shown, and what is known of the whole session.

use super::{App, JUDGE_EVERY_NS};
use crate::report::alike;
use crate::rules::Finding;
use crate::view as screen;
use std::sync::Arc;

/// What the findings on the screen are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Judged {
    /// Of another picture.
    #[default]
    Never,
    /// Of this picture as it was when its newest frame was of this time; frames came since.
    Until(u64),
    /// Of what is shown.
    Now(u64),
}

impl Judged {
    /// The same after one frame more.
    pub(super) fn and_a_frame(self) -> Self {
        match self {
            Self::Never => Self::Never,
            Self::Until(ns) | Self::Now(ns) => Self::Until(ns),
        }
    }
}

impl App {
    /// Makes ready for drawing: judges what is shown, at once where another moment is looked at and once in a second of the
    /// session while it goes on, and asks how the recording fares.
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
        let newest_ns = self.history.newest_ns().unwrap_or(0);
        let is_due = match self.judged {
            Judged::Never => true,
            // nobody reads findings that change ten times a second, and to judge costs as much as to draw
            Judged::Until(ns) => {
                self.is_paused || self.ending.is_some() || newest_ns >= ns.saturating_add(JUDGE_EVERY_NS)
            }
            Judged::Now(_) => false,
        };
        if is_due {
            let findings = self.how.judge(self.shown());
            self.replace_findings(findings);
            self.judged = Judged::Now(newest_ns);
        }
    }

    /// Looks at the newest of a session that goes on, once in a while, also behind a picture that is held.
    fn outline_what_is_new(&mut self) {
        let Some(newest_ns) = self.history.newest_ns() else { return };
        let is_due = |looked_ns| newest_ns >= looked_ns + JUDGE_EVERY_NS;
        if self.outline.looked_to_ns().is_none_or(is_due) {
            let newest = self.history.newest();
            // most often it is what is shown, and was judged for that a moment ago
            if self.held.is_none() && self.judged == Judged::Now(newest_ns) {
                Arc::make_mut(&mut self.outline).look(newest, &self.findings);
            } else {
                Arc::make_mut(&mut self.outline).look(newest, &self.how.judge(newest));
            }
        }
    }

    /// Takes new findings; the selected one stays selected where it is still there.
    pub(super) fn replace_findings(&mut self, findings: Vec<Finding>) {
        let selected = self.selected_finding().cloned();
        let is_chosen = self.selection.finding.is_some();
        self.kinds = alike::kinds_in(&findings, self.shown());
        self.findings = findings;
        if is_chosen {
            self.select_finding_like(selected.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{App, How, Mode, Msg};
    use crate::rules::testing::{rail, session, two_sockets};
    use crate::view::Theme;
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use probes::model::{Frame, RailFrame};
    use std::sync::Arc;

    /// After a tenth of a second in which the port went down.
    fn a_port_that_went_down() -> App {
        let session = Arc::new(session(two_sockets(vec![rail("mlx5_0")])));
        let mut app = App::new(session, How { mode: Mode::Live, ..How::default() }, Theme::default());
        frame(&mut app, 0, "ACTIVE", "LinkUp");
        app.prepare();
        frame(&mut app, 1, "DOWN", "Polling");
        app.prepare();
        app
    }

    fn frame(app: &mut App, seq: u64, state: &str, phys_state: &str) {
        let (state, phys_state) = (Some(state.to_owned()), Some(phys_state.to_owned()));
        let rails = vec![RailFrame { state, phys_state, ..RailFrame::default() }];
        app.update(Msg::Frame(Arc::new(Frame { seq, at_ns: seq * 100_000_000, rails, ..Frame::default() })));
    }

    fn tells(app: &App) -> bool {
        app.findings().iter().any(|finding| finding.code == "link-down")
    }

    #[test]
    fn what_goes_on_is_judged_once_in_a_second_of_its_time() {
        let mut app = a_port_that_went_down();
        assert!(!tells(&app), "a tenth of a second after the last look");
        frame(&mut app, 10, "DOWN", "Polling");
        app.prepare();
        assert!(tells(&app));
    }

    #[test]
    fn what_is_held_and_what_has_ended_is_judged_as_it_is_seen() {
        let mut held = a_port_that_went_down();
        held.update(Msg::Key(KeyEvent::new(KeyCode::Char(' '), KeyModifiers::NONE)));
        held.prepare();
        assert!(tells(&held));
        let mut ended = a_port_that_went_down();
        ended.update(Msg::Ended(None));
        ended.prepare();
        assert!(tells(&ended));
    }
}
