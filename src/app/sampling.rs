//! How often is sampled.

use super::{App, Command, Mode};
use crate::session::Every;
use crate::settings::Period;

/// Samples that tell how far apart they are.
const JUDGED: usize = 4;
/// What such a time is rounded to, nanoseconds.
const ROUND_NS: u64 = 50_000_000;

impl App {
    /// Time between the newest samples, nanoseconds.
    #[must_use]
    pub fn interval_ns(&self) -> u64 {
        if self.how.mode.is_past() {
            return self.recorded_interval_ns();
        }
        let asked = self.how.every.as_ref().map(Every::get);
        let asked_ns = asked.map(probes::times::nanoseconds);
        asked_ns.unwrap_or(self.shown().session().interval_ns)
    }

    /// Time between the samples of a recording at what is shown, nanoseconds: its header tells that of its start alone, and
    /// keys may have changed it since.
    fn recorded_interval_ns(&self) -> u64 {
        let told_ns = self.shown().session().interval_ns;
        let times: Vec<u64> =
            self.shown().local().frames().rev().take(JUDGED).map(|frame| frame.at_ns).collect();
        let mut gaps: Vec<u64> = times.windows(2).map(|two| two[0].saturating_sub(two[1])).collect();
        gaps.sort_unstable();
        let Some(usual_ns) = gaps.get(gaps.len() / 2).copied().filter(|_| times.len() == JUDGED) else {
            return told_ns;
        };
        // samples come a little early and late
        if usual_ns.abs_diff(told_ns) <= told_ns / 4 {
            told_ns
        } else {
            (usual_ns.saturating_add(ROUND_NS / 2) / ROUND_NS).max(1) * ROUND_NS
        }
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
