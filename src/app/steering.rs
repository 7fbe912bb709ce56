//! Changing our load while it runs: the rate that each rail is held to, and nothing at all.
//!
//! Each change is a mark of the session, so that a replay and a report tell when it was made; frames carry the load as it
//! is from then on, and rates are judged only where nothing holds it.

use super::prompt::{Prompt, Question};
use super::{Action, App, Command, View};
use crate::session::Rate;
use probes::model::Load;

/// Steps of the rate, in each power of ten.
const STEPS: [f64; 10] = [1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];
/// Lower rates are typed.
const LEAST_GB_PER_S: f64 = 0.01;
/// Beyond what any port carries.
const MOST_GB_PER_S: f64 = 1000.0;

/// Forms of a rate, for the prompt.
pub const FORMS_OF_RATE: &str = "GB/s a rail, such as 20; 0 posts nothing, `none` as much as goes";

/// What was asked of a load while it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Steering {
    /// The newest of it, which frames may not show yet.
    told: Option<Rate>,
    /// The rate before nothing was let go.
    before: Option<Rate>,
}

impl App {
    /// Whether the load on the screen can be changed.
    #[must_use]
    pub fn can_steer(&self) -> bool {
        let can_be_held = self.newest().local().load().is_some_and(Load::can_be_held);
        self.how.throttle.is_some() && self.ending.is_none() && can_be_held
    }

    /// The rate that each rail of the load is held to by now, GB/s; `None`: as much as goes.
    #[must_use]
    pub fn cap_gb_per_s(&self) -> Option<f64> {
        let planned = || self.newest().local().load().and_then(|load| load.rate_gb_per_s);
        self.steering.told.map_or_else(planned, |told| told.gb_per_s)
    }

    /// The rate that keys set, GB/s, with `None` for as much as goes; of a load that is held, the one it had before. `None`
    /// where no key set any.
    pub(super) fn rate_set_by_keys(&self) -> Option<Rate> {
        let told = self.steering.told?;
        let rate = if told.gb_per_s == Some(0.0) { self.steering.before.unwrap_or(told) } else { told };
        Some(Rate { gb_per_s: rate.gb_per_s.filter(|rate| *rate > 0.0) })
    }

    /// What keys set was of another load.
    pub(super) fn forget_steering(&mut self) {
        self.steering = Steering::default();
    }

    /// A key that changes the load.
    pub(super) fn steer(&mut self, action: Action) -> Command {
        if let Err(why) = self.steers_here() {
            return self.say(why);
        }
        let cap = self.cap_gb_per_s();
        match action {
            Action::Faster | Action::Slower if cap == Some(0.0) => {
                self.say("the load is held; let it go on first, or type a rate")
            }
            Action::Faster => self.hold_to(cap.and_then(|cap| step_up(cap, self.widest_line_gb_per_s()))),
            Action::Slower => self.hold_to(Some(step_down(cap.unwrap_or(self.widest_line_gb_per_s())))),
            Action::HoldLoad if cap == Some(0.0) => {
                let before = self.steering.before.take();
                self.hold_to(before.and_then(|before| before.gb_per_s))
            }
            Action::HoldLoad => {
                self.steering.before = Some(Rate { gb_per_s: cap });
                self.hold_to(Some(0.0))
            }
            Action::Rate => {
                self.prompt = Some(Prompt::new(Question::Rate));
                Command::DrawNow
            }
            _ => Command::None,
        }
    }

    /// Whether the keys that change the load do so here.
    ///
    /// # Errors
    ///
    /// In words, why they do not.
    fn steers_here(&self) -> Result<(), &'static str> {
        if self.view != View::Load {
            return Err("the load is changed where it is shown in full: the Load view");
        }
        if self.can_steer() {
            return Ok(());
        }
        Err(match (self.how.mode.is_past(), self.newest().local().load()) {
            (true, _) => "what is over cannot be changed",
            (false, None) => "there is no load",
            (false, Some(_)) => "this load cannot be changed while it runs",
        })
    }

    /// Takes a rate that was typed.
    ///
    /// # Errors
    ///
    /// In words: it is none.
    pub(super) fn hold_to_typed(&mut self, text: &str) -> Result<Command, String> {
        self.steers_here()?;
        let text = text.trim();
        if text == "none" {
            return Ok(self.hold_to(None));
        }
        let rate = text.parse::<f64>().ok().filter(|rate| (0.0..=MOST_GB_PER_S).contains(rate));
        let rate = rate.ok_or_else(|| format!("`{text}` is no rate; {FORMS_OF_RATE}"))?;
        Ok(self.hold_to(Some(rate)))
    }

    fn hold_to(&mut self, gb_per_s: Option<f64>) -> Command {
        let Some(throttle) = &self.how.throttle else { return Command::None };
        throttle.set(gb_per_s);
        self.steering.told = Some(Rate { gb_per_s });
        let text = match gb_per_s {
            None => "load: no rate cap, as much as goes".to_owned(),
            Some(0.0) => "load: held, nothing is posted".to_owned(),
            Some(rate) => format!("load: at most {rate} GB/s a rail"),
        };
        self.how.marks.set(&text);
        self.say(&text)
    }

    /// The most that any rail's wire carries, GB/s.
    fn widest_line_gb_per_s(&self) -> f64 {
        let lines = self.newest().topology().rails.iter().filter_map(|rail| rail.line_gbit_per_s);
        let widest = lines.fold(0.0, f64::max) / 8.0;
        if widest > 0.0 { widest } else { MOST_GB_PER_S / 10.0 }
    }
}

fn steps() -> impl DoubleEndedIterator<Item = f64> {
    [0.01, 0.1, 1.0, 10.0, 100.0].into_iter().flat_map(|power| STEPS.map(|step| step * power))
}

/// The next lower step, or the least.
fn step_down(from: f64) -> f64 {
    steps().rev().find(|step| *step < from * 0.999).unwrap_or(LEAST_GB_PER_S)
}

/// The next higher step; `None`, as much as goes, where no wire carries that.
fn step_up(from: f64, most: f64) -> Option<f64> {
    steps().find(|step| *step > from * 1.001).filter(|step| *step < most)
}

#[cfg(test)]
mod tests {
    use super::{step_down, step_up};
    use crate::app::{App, Command, How, Mode, Msg, View};
    use crate::session::{FrameSource, Marks, Rate, Throttle};
    use crate::sim::{Pace, Simulated};
    use crate::view::Theme;
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn steps_are_round_and_end_at_the_wire() {
        assert_eq!([50.0, 40.0, 30.0, 1.0, 0.01].map(step_down), [40.0, 30.0, 25.0, 0.8, 0.01]);
        assert_eq!(
            [0.0, 20.0, 25.0, 40.0].map(|from| step_up(from, 50.0)),
            [Some(0.01), Some(25.0), Some(30.0), None]
        );
    }

    /// The Load view of a simulation, with what drives its load.
    fn watched(throttle: &Throttle) -> (App, Simulated) {
        let (every, end) = (Duration::from_millis(100), Duration::from_mins(1));
        let source = Simulated::new("healthy", 1, every, Pace::AsFastAsPossible, Some(end)).unwrap();
        let mut source = source.held_by(throttle.clone());
        let how =
            How { mode: Mode::Demo, throttle: Some(throttle.clone()), marks: Marks::new(), ..How::default() };
        let mut app = App::new(source.session(), how, Theme::default()).at_view(View::Load);
        advance(&mut app, &mut source, 20);
        (app, source)
    }

    fn advance(app: &mut App, source: &mut Simulated, frames: usize) {
        for _ in 0..frames {
            app.update(Msg::Frame(Arc::new(source.next_frame().unwrap().unwrap())));
        }
    }

    fn press(app: &mut App, key: char) -> Command {
        app.update(Msg::Key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE)))
    }

    /// GB/s of the first rail over the newest second.
    fn rate(app: &App) -> f64 {
        let frames: Vec<_> = app.newest().local().frames().rev().take(11).collect();
        let bytes = |at: usize| frames[at].workers[0].bytes as f64;
        (bytes(0) - bytes(10)) / 1e9
    }

    #[test]
    fn a_load_is_held_and_let_go_and_its_frames_say_so() {
        let throttle = Throttle::new();
        let (mut app, mut source) = watched(&throttle);
        assert!(rate(&app) > 45.0);
        press(&mut app, '-');
        press(&mut app, '-');
        assert_eq!(app.cap_gb_per_s(), Some(30.0), "two steps, before a frame came");
        advance(&mut app, &mut source, 12);
        assert!((rate(&app) - 30.0).abs() < 1.0, "{}", rate(&app));
        assert_eq!(app.newest().local().load().unwrap().rate_gb_per_s, Some(30.0));
        press(&mut app, 'X');
        advance(&mut app, &mut source, 12);
        assert!(rate(&app) < 0.001);
        press(&mut app, 'X');
        assert_eq!(app.notice(), Some("load: at most 30 GB/s a rail"), "as before it was held");
        press(&mut app, 'R');
        "none".chars().for_each(|key| drop(press(&mut app, key)));
        app.update(Msg::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)));
        advance(&mut app, &mut source, 12);
        assert!(rate(&app) > 45.0);
        assert_eq!(app.newest().local().load().unwrap().rate_gb_per_s, None);
    }

    #[test]
    fn a_load_is_not_changed_by_a_key_that_was_meant_for_another_view() {
        let throttle = Throttle::new();
        let (app, _source) = watched(&throttle);
        let mut app = app.at_view(View::Home);
        press(&mut app, 'X');
        assert!(app.notice().unwrap().contains("Load view"), "{:?}", app.notice());
        assert_eq!((app.cap_gb_per_s(), throttle.take()), (None, None::<Rate>));
    }
}
