//! How far a sweep is, on stderr: stdout is the result's.

use crate::commands::progress::{self, words};
use crate::printable::tell;
use crate::sweep::{Point, Spot};
use std::time::{Duration, Instant};

/// How far a sweep is.
#[derive(Debug)]
pub(super) struct Progress {
    points: usize,
    done: usize,
    began: Instant,
    /// What a point takes before one was made.
    planned: Duration,
    line: progress::Progress,
}

impl Progress {
    /// For so many points that take `planned` each, connecting left out.
    pub(super) fn new(points: usize, planned: Duration) -> Self {
        Self { points, done: 0, began: Instant::now(), planned, line: progress::Progress::new() }
    }

    /// A point begins.
    pub(super) fn begin(&self, spot: Spot) {
        let (at, of) = (self.done + 1, self.points);
        self.line.show(format_args!("point {at} of {of}: {spot}"), Some(self.left(self.began.elapsed())));
    }

    /// A point was measured.
    pub(super) fn end(&mut self, point: &Point) {
        self.done += 1;
        let rate =
            point.all.gbit_per_s.map_or_else(|| "no rate".to_owned(), |rate| format!("{rate:.2} Gb/s"));
        let caveat = point.caveat.as_ref().map_or(String::new(), |caveat| format!(", {caveat}"));
        let failed = point.left_out.as_ref().map_or(String::new(), |why| format!(", LEFT OUT: {why}"));
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

#[cfg(test)]
mod tests {
    use super::Progress;
    use crate::commands::progress;
    use std::time::{Duration, Instant};

    #[test]
    fn time_left_is_learnt_from_the_points_so_far() {
        let (planned, line) = (Duration::from_secs(17), progress::Progress::unseen());
        let mut progress = Progress { points: 4, done: 0, began: Instant::now(), planned, line };
        assert_eq!(progress.left(Duration::ZERO), Duration::from_secs(68));
        progress.done = 3;
        assert_eq!(progress.left(Duration::from_mins(1)), Duration::from_secs(20));
    }
}
