//! Another load, or a diagnosis, in the session that is on the screen.

use super::prompt::{Prompt, Question};
use super::{Action, App, Command, View};
use crate::session::{Anew, Asked, Now};
use crate::timeline::Timeline;

/// Forms of changes, for the prompt.
pub const FORMS_OF_CHANGES: &str =
    "flags of `railscope load`: -q 16 -s 1M; `-o default` takes one back; Enter starts";

impl App {
    /// What goes on in a session whose load can be started anew; `None` of any other, and once it is over.
    #[must_use]
    pub fn goes_on(&self) -> Option<Now> {
        self.anew().map(Anew::now)
    }

    /// What its last load was asked for with, and the rate that keys set since.
    #[must_use]
    pub fn asked(&self) -> Option<Asked> {
        let mut asked = self.how.anew.as_ref()?.asked();
        if let Some(set) = self.rate_set_by_keys() {
            let mut words: Vec<&str> = asked.line.split(' ').collect();
            if let Some(at) = words.iter().position(|word| *word == "--rate") {
                words.drain(at..words.len().min(at + 2));
            }
            asked.line =
                words.join(" ") + &set.gb_per_s.map(|rate| format!(" --rate {rate}")).unwrap_or_default();
        }
        Some(asked)
    }

    fn anew(&self) -> Option<&Anew> {
        self.how.anew.as_ref().filter(|_| self.ending.is_none())
    }

    /// Whether planned loads are being made.
    #[must_use]
    pub fn is_diagnosing(&self) -> bool {
        self.how.mode == super::Mode::Diagnosis || self.goes_on() == Some(Now::Diagnosis)
    }

    /// What is shown, or where no load goes on any more, the session as it was with the last one.
    #[must_use]
    pub fn with_load(&self) -> &Timeline {
        let shown = self.shown();
        let is_newest = self.held.is_none() && shown.local().load().is_none();
        self.last_loaded.as_deref().filter(|_| is_newest).unwrap_or(shown)
    }

    /// Keeps the session as it is with its load, before a frame without one comes.
    pub(super) fn keep_loaded(&mut self, comes_a_load: bool) {
        let newest = self.history.newest();
        if self.how.anew.is_some() && !comes_a_load && newest.local().load().is_some() {
            self.last_loaded = Some(Box::new(newest.clone()));
        }
    }

    /// Asks with which knobs the load is to be started anew.
    pub(super) fn ask_anew(&mut self) -> Command {
        let Some(anew) = self.anew() else {
            let why = if self.how.mode.is_past() {
                "what is over is not started anew"
            } else {
                "no load can be started from here: `railscope load PEER` has this key"
            };
            return self.say(why);
        };
        let now = anew.now();
        if let Some(wait) = now.wait() {
            return self.say(&wait);
        }
        let text = if matches!(now, Now::Refused(_)) { self.asked_anew.clone() } else { String::new() };
        self.prompt = Some(Prompt { text, ..Prompt::new(Question::Anew) });
        Command::DrawNow
    }

    /// Has the load begin with what was typed, and the rate that keys set.
    ///
    /// # Errors
    ///
    /// In words: there is no such load, and the one that goes on does so still.
    pub(super) fn start_anew(&mut self, typed: &str) -> Result<Command, String> {
        let Some(anew) = self.anew() else { return Ok(Command::None) };
        let set = self.rate_set_by_keys().map(|set| match set.gb_per_s {
            Some(rate) => format!("--rate {rate} "),
            None => "--rate default ".to_owned(),
        });
        let words = anew.load(&format!("{}{typed}", set.unwrap_or_default()))?;
        typed.trim().clone_into(&mut self.asked_anew);
        self.forget_steering();
        Ok(self.say(&format!("the load ends, and is started {words}")))
    }

    /// Begins a diagnosis, or ends it and starts the load again.
    pub(super) fn diagnose_anew(&mut self) -> Command {
        let Some(anew) = self.anew() else { return Command::None };
        if anew.now() == Now::Diagnosis {
            return self.end_diagnosis(View::Experiments);
        }
        match anew.diagnosis() {
            Ok(()) => {
                self.go(View::Experiments);
                let (key, back) = (self.keys().first(Action::Diagnose), self.keys().first(Action::Back));
                self.say(&format!(
                    "the load ends; the rails are loaded one way after the other; {key} or {back} ends it"
                ))
            }
            Err(why) => self.say(&why),
        }
    }

    /// Whether a diagnosis of this session stands between the screen and its load.
    pub(super) fn is_away_from_load(&self) -> bool {
        matches!(self.goes_on(), Some(Now::Diagnosis | Now::Diagnosed))
    }

    /// Back from a diagnosis to the load, which is started again.
    pub(super) fn leave_diagnosis(&mut self) -> Command {
        self.end_diagnosis(View::Load)
    }

    /// Ends a diagnosis, starts the load again, and goes where what came of either is seen.
    fn end_diagnosis(&mut self, view: View) -> Command {
        match self.start_anew("") {
            Ok(_) => {
                self.go(view);
                let kept = self.where_the_table_is();
                self.say(&format!("the diagnosis ends, and the load is started again; {kept}"))
            }
            Err(why) => self.say(&why),
        }
    }

    /// Where the table of a diagnosis stays.
    fn where_the_table_is(&self) -> String {
        if self.view == View::Experiments {
            return "what it showed stays here".to_owned();
        }
        match self.keys().first(Action::Go(View::Experiments)) {
            key if key.is_empty() => "what it showed stays in Experiments".to_owned(),
            key => format!("what it showed: {key} Experiments"),
        }
    }

    /// Says that the diagnosis of this session is over by itself, when the first frame after it comes.
    pub(super) fn notice_its_end(&mut self, comes_an_experiment: bool) {
        let before = self.history.newest().local().latest();
        let was_of_one = before.is_some_and(|frame| frame.experiment.is_some());
        if was_of_one && !comes_an_experiment && self.how.anew.is_some() && self.notice.is_none() {
            let text = format!("the diagnosis is over; {}", self.where_the_table_is());
            self.say(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::app::{App, Command, How, Mode, Msg, View};
    use crate::session::{Anew, Asked, FrameSource, Marks, Now, Stop, Throttle, Wish};
    use crate::sim::{Pace, Simulated};
    use crate::view::Theme;
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use probes::model::Frame;
    use std::sync::Arc;
    use std::time::Duration;

    /// The Load view of a load that can be started anew, with what is asked of it, and its source.
    fn watched() -> (App, Anew, Simulated) {
        let anew = Anew::new(|changes| match changes {
            "-q 0" => Err("0 is not in 1..=4096".to_owned()),
            changes => Ok(format!("with {changes}")),
        });
        anew.begun(Now::Load, Stop::new());
        let (every, end) = (Duration::from_millis(100), Duration::from_mins(1));
        let mut source = Simulated::new("healthy", 1, every, Pace::AsFastAsPossible, Some(end)).unwrap();
        let how = How {
            mode: Mode::Load,
            throttle: Some(Throttle::new()),
            marks: Marks::new(),
            anew: Some(anew.clone()),
            ..How::default()
        };
        let mut app = App::new(source.session(), how, Theme::default()).at_view(View::Load);
        for _ in 0..20 {
            app.update(Msg::Frame(Arc::new(source.next_frame().unwrap().unwrap())));
        }
        (app, anew, source)
    }

    fn types(app: &mut App, text: &str) -> Command {
        let press = |code| Msg::Key(KeyEvent::new(code, KeyModifiers::NONE));
        let code = |char| match char {
            '\r' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            char => KeyCode::Char(char),
        };
        text.chars().map(|char| app.update(press(code(char)))).last().unwrap()
    }

    #[test]
    fn other_knobs_are_typed_and_a_bad_one_leaves_the_load_and_the_prompt() {
        let (mut app, anew, _) = watched();
        types(&mut app, "S-q 0\r");
        assert_eq!(app.prompt().unwrap().refusal.as_deref(), Some("0 is not in 1..=4096"));
        assert_eq!((anew.take(), app.goes_on()), (None, Some(Now::Load)));
        types(&mut app, "\x1bR12.5\r");
        anew.ask(Asked { line: "railscope load n2 --rate 5 -q 4".to_owned(), ..Asked::default() });
        assert_eq!(
            app.asked().unwrap().line,
            "railscope load n2 -q 4 --rate 12.5",
            "the line with the rate of now"
        );
        types(&mut app, "S-q 16\r");
        assert_eq!(anew.take(), Some(Wish::Load("--rate 12.5 -q 16".to_owned())), "with the rate of now");
        assert!(app.prompt().is_none() && app.notice().unwrap().contains("--rate 12.5 -q 16"));
        types(&mut app, "S");
        assert!(app.notice().unwrap().starts_with("wait"), "{:?}", app.notice());
        assert_eq!(app.cap_gb_per_s(), None, "what keys set is a flag of the new load");
    }

    #[test]
    fn a_refused_start_leaves_the_old_figures_and_what_was_typed() {
        let (mut app, anew, mut source) = watched();
        let devices = |app: &App| app.with_load().local().load().map(|load| load.devices.len());
        types(&mut app, "S-q 16\r");
        anew.take();
        anew.begun(Now::Refused("n2 is busy".to_owned()), Stop::new());
        for _ in 0..700 {
            let frame = source.next_frame().unwrap().unwrap();
            let frame = Frame { load: None, workers: Vec::new(), ..frame };
            app.update(Msg::Frame(Arc::new(frame)));
            if app.newest().local().frames().len() > 600 {
                break;
            }
        }
        assert!(app.newest().local().newest_load().is_none() || app.newest().local().load().is_none());
        assert_eq!(devices(&app), Some(8), "the load that was");
        types(&mut app, "S");
        assert_eq!(app.prompt().unwrap().text, "-q 16");
    }

    #[test]
    fn a_diagnosis_is_begun_and_left_for_the_load() {
        let (mut app, anew, _) = watched();
        types(&mut app, "d");
        assert_eq!((anew.take(), app.view()), (Some(Wish::Diagnosis), View::Experiments));
        anew.begun(Now::Diagnosis, Stop::new());
        assert!(app.is_diagnosing());
        assert_ne!(types(&mut app, "\x1b"), Command::Quit);
        assert_eq!((anew.take(), app.view()), (Some(Wish::Load(String::new())), View::Load));
        assert!(app.notice().unwrap().ends_with("what it showed: 6 Experiments"), "{:?}", app.notice());
        anew.begun(Now::Diagnosis, Stop::new());
        types(&mut app, "d");
        assert_eq!((anew.take(), app.view()), (Some(Wish::Load(String::new())), View::Experiments));
        assert!(app.notice().unwrap().ends_with("what it showed stays here"), "{:?}", app.notice());
        anew.begun(Now::Diagnosed, Stop::new());
        types(&mut app, "d");
        assert_eq!(anew.take(), Some(Wish::Diagnosis), "another one");
    }
}
