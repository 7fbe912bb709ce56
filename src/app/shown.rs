//! What the screen knows, for whoever draws it.

use super::{App, Ending, How, Keymap, Popup, Popups, Prompt, Selection, View, Zoom};
use crate::outline::Outline;
use crate::rules::Finding;
use crate::timeline::Timeline;
use crate::view::{Rates, Theme};

impl App {
    /// Ends the screen's work and hands the session over.
    #[must_use]
    pub fn into_timeline(self) -> Timeline {
        self.history.into_newest()
    }

    /// What is on the screen: the newest, or what is held.
    #[must_use]
    pub fn shown(&self) -> &Timeline {
        self.held.as_deref().unwrap_or_else(|| self.history.newest())
    }

    /// The newest, even while the picture is held.
    #[must_use]
    pub fn newest(&self) -> &Timeline {
        self.history.newest()
    }

    /// Whether the picture is held.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// What is known of the whole session.
    #[must_use]
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// A text that is being typed.
    #[must_use]
    pub fn prompt(&self) -> Option<&Prompt> {
        self.prompt.as_ref()
    }

    /// What the last key has to say.
    #[must_use]
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// How the session is looked at.
    #[must_use]
    pub fn how(&self) -> &How {
        &self.how
    }

    /// Colours and characters.
    #[must_use]
    pub fn theme(&self) -> Theme {
        self.theme
    }

    /// Findings on what is shown, worst first.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What is selected.
    #[must_use]
    pub fn selection(&self) -> Selection {
        self.selection
    }

    /// The view that is shown.
    #[must_use]
    pub fn view(&self) -> View {
        self.view
    }

    /// Shows this view from the start.
    #[must_use]
    pub fn at_view(mut self, view: View) -> Self {
        self.view = view;
        self
    }

    /// Selects the rail of this position on the screen.
    #[must_use]
    pub fn with_rail(mut self, position: usize) -> Self {
        self.selection.rail = Some(position);
        self
    }

    /// Lays the help over the screen.
    #[must_use]
    pub fn with_help(mut self) -> Self {
        self.popups.open(Popup::Help(0));
        self
    }

    /// The line that keys have moved to in the view that is shown, from 0.
    #[must_use]
    pub fn line(&self) -> usize {
        self.lines[self.view.place()]
    }

    /// The keys in force.
    #[must_use]
    pub fn keys(&self) -> &Keymap {
        &self.how.screen.keys
    }

    /// What lies over the screen.
    #[must_use]
    pub fn popups(&self) -> &Popups {
        &self.popups
    }

    /// Whether the rates over the whole session are asked for.
    #[must_use]
    pub fn heat_is_open(&self) -> bool {
        self.heat_open
    }

    /// What of the past trends show.
    #[must_use]
    pub fn zoom(&self) -> Zoom {
        self.zoom.unwrap_or_default()
    }

    /// What of the past strips over the session show: all of it, unless a key asked for less.
    #[must_use]
    pub fn zoom_of_strips(&self) -> Option<Zoom> {
        self.zoom
    }

    /// How rates are written.
    #[must_use]
    pub fn rates(&self) -> Rates {
        Rates::up_to(self.largest_gb_per_s, self.unit)
    }

    /// How many times its own pace a replay goes.
    #[must_use]
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// How the session ended; `None` while it goes on.
    #[must_use]
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// What the recording could not keep, and why; `None` while all is well.
    #[must_use]
    pub fn recording_trouble(&self) -> Option<&str> {
        self.recording_trouble.as_deref()
    }
}
