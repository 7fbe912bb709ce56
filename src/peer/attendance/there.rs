//! What people hear of the server's own direction.

use super::super::link::{printable, printable_name};
use super::super::message::Progress;
use super::{Attendance, Running};
use tokio::time::Instant;

/// How a failure goes on that passed.
const CAME_BACK: &str = " (it came back";

impl Attendance {
    /// How far the server is with its own direction.
    pub(super) fn progress_there(&self, running: &mut Running, progress: Progress, mends: bool) {
        let before = self.there.progress();
        let known = |line: &String| {
            // that it came back is told below
            let told = |old: &String| {
                let end = line
                    .strip_prefix(old.as_str())
                    .or_else(|| line.strip_prefix(old.split(CAME_BACK).next()?));
                end.is_some_and(|end| end.is_empty() || end.starts_with(CAME_BACK))
            };
            before.as_ref().is_some_and(|before| before.troubles.iter().any(told))
        };
        let host = self.link.peer();
        for line in progress.troubles.iter().filter(|line| !known(line)) {
            let line = format!("{host}: {}", printable(line));
            (self.say)(&line);
            self.diary.note(None, &line);
        }
        let now = Instant::now();
        running.away_there.retain(|thread, since| {
            let is_away = progress.failed.contains(thread);
            if !is_away {
                let seconds = now.duration_since(*since).as_secs_f64();
                let line =
                    format!("{host}: the direction of {}: back after {seconds:.1} s", printable_name(thread));
                (self.say)(&line);
                self.diary.note(None, &line);
            }
            is_away
        });
        for thread in &progress.failed {
            // where ours is opened anew, the server's is, too, and that is told of ours
            let is_ours = self.party.at_of_there(thread).is_some_and(|at| running.mending.is_away(at));
            let is_over = running.seconds.is_some() || !self.party.mends();
            if is_ours || is_over || running.away_there.contains_key(thread) {
                continue;
            }
            running.away_there.insert(thread.clone(), now);
            let then = if !mends {
                "it stays down until ours fails too: only then both are opened anew"
            } else if running.mending.has_time(now) {
                "it is tried again there"
            } else {
                "it is not tried again, as the load is about to end"
            };
            let line = format!("{host}: the direction of {} failed; {then}", printable_name(thread));
            (self.say)(&line);
            self.diary.note(None, &line);
        }
        self.there.set(progress);
    }
}
