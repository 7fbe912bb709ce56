//! A sweep on the screen: one that goes on beside it, or one that was saved.

use super::sheet::{self, Left, Sheet, Turn};
use crate::app::{Action, Progressed, Sweeping, Wish};
use crate::session::Stop;
use crate::settings::Screen;
use crate::view::{self, Hint, Sign, Theme};
use ratatui::Frame;
use std::time::Instant;
use tokio::sync::mpsc::UnboundedReceiver;

/// Shows a sweep until a key or a signal; a key that ends it, and leaving, tell `stop`.
///
/// # Errors
///
/// As the screen of a session.
pub fn sweep(
    sweeping: Sweeping,
    mut news: UnboundedReceiver<Progressed>,
    stop: Stop,
    screen: &Screen,
) -> anyhow::Result<Left> {
    let theme = super::theme_of(screen);
    let mut sheet = SweepSheet { sweeping, theme, stop, screen };
    let left = sheet::show(&mut sheet, &mut news, &screen.keys);
    // whatever made it end: nobody sees what would be measured now
    sheet.stop.stop();
    left
}

struct SweepSheet<'a> {
    sweeping: Sweeping,
    theme: Theme,
    stop: Stop,
    screen: &'a Screen,
}

impl Sheet for SweepSheet<'_> {
    type News = Progressed;

    fn theme(&mut self) -> &mut Theme {
        &mut self.theme
    }

    fn told(&self) -> (&'static str, &'static [Hint], &'static [Sign]) {
        ("Sweep", view::HINTS_OF_SWEEP, view::SIGNS_OF_SWEEP)
    }

    fn say(&mut self, text: String) {
        self.sweeping.say(text);
    }

    fn act(&mut self, action: Action) -> Turn {
        match self.sweeping.act(action) {
            Wish::None => Turn::Nothing,
            Wish::Draw => Turn::Draw,
            Wish::Copy(command) => Turn::Copy(command),
            Wish::Leave => Turn::Leave,
            Wish::End => {
                self.stop.stop();
                Turn::Draw
            }
        }
    }

    fn learn(&mut self, news: Progressed) {
        self.sweeping.learn(news);
    }

    fn draw(&mut self, now: Instant, frame: &mut Frame) {
        view::draw_sweep(&self.sweeping, &self.screen.keys, self.theme, now, frame);
    }

    fn is_running(&self) -> bool {
        self.sweeping.now().is_some()
    }
}
