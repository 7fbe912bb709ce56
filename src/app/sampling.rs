//! How often is sampled.

use super::{App, Command, Mode};
use crate::session::Every;
use crate::settings::Period;

impl App {
    /// Time between the newest samples, nanoseconds.
    #[must_use]
    pub fn interval_ns(&self) -> u64 {
        let asked = self.how.every.as_ref().map(Every::get);
        let asked_ns = asked.map(probes::times::nanoseconds);
        asked_ns.unwrap_or(self.shown().session().interval_ns)
    }

    /// Samples further apart, or closer to each other; or says why not.
    pub(super) fn sample(&mut self, further_apart: bool) -> Command {
        let now = Period(std::time::Duration::from_nanos(self.interval_ns()));
        let Some(every) = &self.how.every else {
            let why = match self.how.mode {
                Mode::Replay => {
                    format!("no other interval: this was sampled every {now}, when it was recorded")
                }
                Mode::Tree => {
                    format!("no other interval: a copied tree has steps of {now}; --every sets them")
                }
                Mode::Demo => {
                    format!("no other interval: the simulation goes by {now}; --every sets it at the start")
                }
                Mode::Live | Mode::Load | Mode::Diagnosis => format!("no other interval than {now} here"),
            };
            return self.say(&why);
        };
        let has_changed = if further_apart { every.lengthen() } else { every.shorten() };
        if !has_changed {
            let most = if further_apart { "longest" } else { "shortest" };
            return self.say(&format!("{now} is the {most} interval that keys go to"));
        }
        let text = format!("sampling every {} from here on", Period(every.get()));
        // a recording tells one interval, that of its start
        self.how.marks.set(&text);
        self.say(&text)
    }
}
