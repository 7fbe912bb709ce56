//! How far a sweep is, on stderr: stdout is the result's.

use crate::printable::{Printable, tell};
use crate::sweep::{Point, Spot};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How far a sweep is.
#[derive(Debug)]
pub(super) struct Progress {
    points: usize,
    done: usize,
    began: Instant,
    /// What a point takes before one was made.
    planned: Duration,
    on_terminal: bool,
}

impl Progress {
    /// For so many points that take `planned` each, connecting left out.
    pub(super) fn new(points: usize, planned: Duration) -> Self {
        Self { points, done: 0, began: Instant::now(), planned, on_terminal: std::io::stderr().is_terminal() }
    }

    /// A point begins.
    pub(super) fn begin(&self, spot: Spot) {
        if self.on_terminal {
            let (at, of) = (self.done + 1, self.points);
            let line = format!("point {at} of {of}: {spot}, {} left", words(self.left(self.began.elapsed())));
            // stderr may be gone; the sweep goes on
            let _ = write!(std::io::stderr(), "\r{}\x1b[K", Printable(line));
            let _ = std::io::stderr().flush();
        }
    }

    /// A point was measured.
    pub(super) fn end(&mut self, point: &Point) {
        self.done += 1;
        let rate =
            point.all.gbit_per_s.map_or_else(|| "no rate".to_owned(), |rate| format!("{rate:.2} Gb/s"));
        let caveat = point.caveat.as_ref().map_or(String::new(), |caveat| format!(", {caveat}"));
        let failed = point.left_out.as_ref().map_or(String::new(), |why| format!(", LEFT OUT: {why}"));
        let clear = if self.on_terminal { "\r\x1b[K" } else { "" };
        let _ = write!(std::io::stderr(), "{clear}");
        tell(format_args!(
            "point {} of {}: {}: {rate} ({}{caveat}){failed}, {} left",
            self.done,
            self.points,
            point.spot,
            point.bound.by,
            words(self.left(self.began.elapsed()))
        ));
    }

    /// Time left, from what the points so far took.
    fn left(&self, elapsed: Duration) -> Duration {
        let each = match u32::try_from(self.done) {
            Ok(done) if done > 0 => elapsed / done,
            _ => self.planned,
        };
        each * u32::try_from(self.points - self.done).unwrap_or(u32::MAX)
    }
}

/// `3 min 20 s`.
fn words(time: Duration) -> String {
    let seconds = (time + Duration::from_millis(500)).as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, words};
    use std::time::{Duration, Instant};

    #[test]
    fn time_left_is_learnt_from_the_points_so_far() {
        let planned = Duration::from_secs(17);
        let mut progress =
            Progress { points: 4, done: 0, began: Instant::now(), planned, on_terminal: false };
        assert_eq!(progress.left(Duration::ZERO), Duration::from_secs(68));
        progress.done = 3;
        assert_eq!(progress.left(Duration::from_mins(1)), Duration::from_secs(20));
    }

    #[test]
    fn times_are_said_as_people_say_them() {
        assert_eq!([9, 200, 7260].map(|s| words(Duration::from_secs(s))), ["9 s", "3 min 20 s", "2 h 1 min"]);
    }
}
