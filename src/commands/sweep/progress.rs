//! How far a sweep is, and who is told; without a screen it is stderr: stdout is the result's.

use crate::commands::progress::Progress;
use crate::printable::tell;
use crate::sweep::{Point, Spot, Sweep};
use crate::view::time_left;
use std::time::{Duration, Instant};

/// Who is told how far a sweep is.
pub(super) trait Watch {
    /// A point begins; all that is missing takes so long from now.
    fn begin(&mut self, spot: Spot, left: Duration);
    /// A point was measured, and is part of the sweep by now.
    fn end(&mut self, sweep: &Sweep, point: &Point, left: Duration);
}

/// How fast a sweep is.
#[derive(Debug)]
pub(super) struct Pace {
    points: usize,
    done: usize,
    began: Instant,
    /// What a point takes before one was made.
    planned: Duration,
}

impl Pace {
    /// Of so many points that take `planned` each, connecting left out.
    pub(super) fn new(points: usize, planned: Duration) -> Self {
        Self { points, done: 0, began: Instant::now(), planned }
    }

    /// One more was measured.
    pub(super) fn one_more(&mut self) {
        self.done += 1;
    }

    /// Time left, from what the points so far took.
    pub(super) fn left(&self) -> Duration {
        self.left_after(self.began.elapsed())
    }

    fn left_after(&self, elapsed: Duration) -> Duration {
        let each = match u32::try_from(self.done) {
            Ok(done) if done > 0 => elapsed / done,
            _ => self.planned,
        };
        each * u32::try_from(self.points - self.done).unwrap_or(u32::MAX)
    }
}

/// Tells stderr: a line for each point, and one that is written over while it is measured.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: Progress,
}

impl Watch for Lines {
    fn begin(&mut self, spot: Spot, left: Duration) {
        self.line.show(format_args!("measuring {spot}"), Some(left));
    }

    fn end(&mut self, sweep: &Sweep, point: &Point, left: Duration) {
        let rate =
            point.all.gbit_per_s.map_or_else(|| "no rate".to_owned(), |rate| format!("{rate:.2} Gb/s"));
        let caveat = point.caveat.as_ref().map_or(String::new(), |caveat| format!(", {caveat}"));
        let failed = point.left_out.as_ref().map_or(String::new(), |why| format!(", LEFT OUT: {why}"));
        tell(format_args!(
            "point {} of {}: {}: {rate} ({}{caveat}){failed}, {}",
            sweep.points.len(),
            sweep.grid.spots().len(),
            point.spot,
            point.bound.by,
            time_left(left)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;
    use std::time::{Duration, Instant};

    #[test]
    fn time_left_is_learnt_from_the_points_so_far() {
        let planned = Duration::from_secs(17);
        let mut pace = Pace { points: 4, done: 0, began: Instant::now(), planned };
        assert_eq!(pace.left_after(Duration::ZERO), Duration::from_secs(68));
        pace.done = 3;
        assert_eq!(pace.left_after(Duration::from_mins(1)), Duration::from_secs(20));
    }
}
