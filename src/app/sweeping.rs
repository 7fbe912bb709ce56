//! A sweep on the screen: what was measured so far, what is being measured, and which point is selected.

use super::{Action, selection};
use crate::sweep::statements::{Curve, curves};
use crate::sweep::{Point, Spot, Sweep};
use crate::view::{RateUnit, Rates};
use std::time::{Duration, Instant};

/// What a key does to a sweep on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Nothing.
    None,
    /// It is to be drawn anew.
    Draw,
    /// The point under way is to be given up, and none measured after it.
    End,
    /// Put this into the clipboard of the terminal, and draw.
    Copy(String),
    /// Leave.
    Leave,
}

/// What becomes known of a sweep that goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Progressed {
    /// A point begins, and all that is left takes so long from that moment.
    Begun(Spot, Duration, Instant),
    /// A point was measured; the sweep with it.
    Measured(Box<Sweep>),
    /// There is nothing more to come: why, if it was ended before its last point.
    Over(Option<String>),
}

/// How far a sweep is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It was measured before.
    Saved,
    /// It goes on.
    Measuring,
    /// The point under way is being given up.
    Ending,
    /// It is over: why, if before its last point.
    Over(Option<String>),
}

/// A sweep on the screen.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweeping {
    sweep: Sweep,
    curves: Vec<Curve>,
    stage: Stage,
    /// What is being measured, and when all will be done.
    now: Option<(Spot, Option<Instant>)>,
    /// `None` follows the newest point.
    selected: Option<Spot>,
    newest: Option<Spot>,
    unit: RateUnit,
    notice: Option<String>,
}

impl Sweeping {
    /// A sweep that is going to be measured, or gone on with.
    #[must_use]
    pub fn begun(sweep: Sweep, unit: Option<RateUnit>) -> Self {
        Self { stage: Stage::Measuring, ..Self::saved(sweep, unit) }
    }

    /// A sweep that was measured before.
    #[must_use]
    pub fn saved(sweep: Sweep, unit: Option<RateUnit>) -> Self {
        let newest = sweep.points.last().map(|point| point.spot);
        Self {
            curves: curves(&sweep),
            sweep,
            stage: Stage::Saved,
            now: None,
            selected: None,
            newest,
            // sweeps are published in Gb/s
            unit: unit.unwrap_or(RateUnit::GigabitsPerS),
            notice: None,
        }
    }

    /// What was measured so far.
    #[must_use]
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// Its curves.
    #[must_use]
    pub fn curves(&self) -> &[Curve] {
        &self.curves
    }

    /// How far it is.
    #[must_use]
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// What is being measured.
    #[must_use]
    pub fn now(&self) -> Option<Spot> {
        self.now.map(|(spot, _)| spot)
    }

    /// Time until all is measured; `None` where nothing is.
    #[must_use]
    pub fn left(&self, now: Instant) -> Option<Duration> {
        self.now?.1.map(|done_at| done_at.saturating_duration_since(now))
    }

    /// The selected point: the newest until a key chose one.
    #[must_use]
    pub fn point(&self) -> Option<&Point> {
        self.sweep.point(self.selected.or(self.newest)?)
    }

    /// How rates are written, by the largest of them.
    #[must_use]
    pub fn unit(&self) -> Rates {
        let gbit = self.curves.iter().flat_map(|curve| &curve.rates).map(|(_, gbit)| *gbit);
        Rates::up_to(gbit.reduce(f64::max).unwrap_or(f64::INFINITY) / 8.0, self.unit)
    }

    /// What the last key has to say.
    #[must_use]
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Says this until the next key.
    pub fn say(&mut self, text: String) {
        self.notice = Some(text);
    }

    /// Takes what became known.
    pub fn learn(&mut self, news: Progressed) {
        match news {
            Progressed::Begun(spot, left, at) => self.now = Some((spot, at.checked_add(left))),
            Progressed::Measured(sweep) => {
                let is_new = |point: &&Point| self.sweep.point(point.spot).is_none();
                self.newest = sweep.points.iter().find(is_new).map(|point| point.spot).or(self.newest);
                self.curves = curves(&sweep);
                self.sweep = *sweep;
            }
            Progressed::Over(why) => {
                self.now = None;
                self.stage = Stage::Over(why);
            }
        }
    }

    /// Takes a key.
    pub fn act(&mut self, action: Action) -> Wish {
        self.notice = None;
        match action {
            Action::Quit | Action::Back if self.stage == Stage::Measuring => {
                self.stage = Stage::Ending;
                Wish::End
            }
            Action::Quit | Action::Back => Wish::Leave,
            Action::Units => {
                self.unit = self.unit.next();
                Wish::Draw
            }
            Action::Copy => self.copy(),
            Action::Rails
            | Action::Findings
            | Action::Up
            | Action::Down
            | Action::PageUp
            | Action::PageDown
            | Action::First
            | Action::Last => self.move_about(action),
            _ => Wish::None,
        }
    }

    /// Along a curve from size to size, or to another curve at the same size.
    fn move_about(&mut self, action: Action) -> Wish {
        let Some(here) = self.point().map(|point| point.spot) else { return Wish::None };
        let measured: Vec<Spot> = self.sweep.points.iter().map(|point| point.spot).collect();
        let is_along = |spot: &Spot| (spot.qps, spot.workers) == (here.qps, here.workers);
        let along: Vec<Spot> = measured.iter().copied().filter(is_along).collect();
        let (places, step) = match action {
            Action::Up | Action::Down => {
                // the nearest size of each curve
                let mut heads: Vec<Spot> = Vec::new();
                for spot in &measured {
                    let known = heads.iter_mut().find(|s| (s.qps, s.workers) == (spot.qps, spot.workers));
                    let far = |spot: &Spot| spot.size_bytes.abs_diff(here.size_bytes);
                    match known {
                        Some(known) if far(spot) < far(known) => *known = *spot,
                        Some(_) => {}
                        None => heads.push(*spot),
                    }
                }
                (heads, action)
            }
            Action::Rails => (along, Action::Up),
            Action::Findings => (along, Action::Down),
            _ => (along, action),
        };
        let at = places.iter().position(|spot| *spot == here);
        let last = places.len().saturating_sub(1);
        self.selected = places.get(selection::moved(at, step, last).min(last)).copied();
        Wish::Draw
    }

    /// Copies the command that measures the selected point on this host with perftest.
    fn copy(&mut self) -> Wish {
        let lines = self.point().and_then(|point| point.perftest.first());
        let command = lines.and_then(|lines| lines.lines().last()).map(|line| {
            // `mlx5_0: here: ib_read_bw ...`
            line.split_once(": here: ").map_or(line, |(_, command)| command).to_owned()
        });
        let Some(command) = command else {
            self.notice = Some("there is no perftest command for this point".to_owned());
            return Wish::Draw;
        };
        self.notice = Some(format!("copied: {command}"));
        Wish::Copy(command)
    }
}

#[cfg(test)]
mod tests {
    use super::{Progressed, Stage, Sweeping, Wish};
    use crate::app::Action;
    use crate::sweep::{Grid, Point, Spot, Sweep};
    use probes::load::Params;
    use std::time::{Duration, Instant};

    fn sweep(points: usize) -> Sweep {
        let grid = Grid::new(&"1K..4K".parse().unwrap(), &[1, 4], &[1]).unwrap();
        let mut sweep = Sweep::new(Params::default(), 15.0, grid);
        for (at, spot) in sweep.grid.spots().into_iter().take(points).enumerate() {
            let mut point = Point { spot, ..Point::default() };
            point.all.gbit_per_s = Some(10.0 + at as f64);
            sweep.add(point);
        }
        sweep
    }

    fn spot(of: &Sweeping) -> (u64, u32) {
        of.point().map(|point| (point.spot.size_bytes, point.spot.qps)).unwrap()
    }

    #[test]
    fn the_newest_point_is_shown_until_a_key_chooses_one() {
        let mut sweeping = Sweeping::begun(sweep(0), None);
        assert!(sweeping.point().is_none());
        sweeping.learn(Progressed::Measured(Box::new(sweep(1))));
        sweeping.learn(Progressed::Measured(Box::new(sweep(2))));
        assert_eq!(spot(&sweeping), (2048, 1));
        assert_eq!(sweeping.act(Action::Rails), Wish::Draw);
        sweeping.learn(Progressed::Measured(Box::new(sweep(6))));
        assert_eq!(spot(&sweeping), (1024, 1));
    }

    #[test]
    fn keys_go_along_a_curve_and_across_the_curves() {
        let mut sweeping = Sweeping::saved(sweep(6), None);
        let steps = [
            (Action::Rails, (2048, 4)),
            (Action::Up, (2048, 1)),
            (Action::Up, (2048, 1)),
            (Action::Findings, (4096, 1)),
            (Action::Findings, (4096, 1)),
            (Action::Down, (4096, 4)),
            (Action::First, (1024, 4)),
        ];
        for (action, at) in steps {
            sweeping.act(action);
            assert_eq!(spot(&sweeping), at, "{action:?}");
        }
    }

    #[test]
    fn leaving_first_ends_the_sweep_and_keeps_what_was_measured() {
        let mut sweeping = Sweeping::begun(sweep(2), None);
        let (now, spot) = (Instant::now(), Spot { size_bytes: 4096, qps: 1, workers: 1 });
        sweeping.learn(Progressed::Begun(spot, Duration::from_mins(1), now));
        assert_eq!(sweeping.left(now + Duration::from_secs(20)), Some(Duration::from_secs(40)));
        assert_eq!((sweeping.act(Action::Quit), sweeping.stage()), (Wish::End, &Stage::Ending));
        sweeping.learn(Progressed::Over(Some("stopped".into())));
        assert_eq!((sweeping.now(), sweeping.sweep().points.len()), (None, 2));
        assert_eq!(sweeping.act(Action::Quit), Wish::Leave);
        assert_eq!(Sweeping::saved(sweep(1), None).act(Action::Back), Wish::Leave, "nothing is ended");
    }

    #[test]
    fn the_command_of_a_point_is_copied() {
        let mut measured = sweep(2);
        measured.points[1].perftest =
            vec!["mlx5_0: on n2: ib_read_bw\nmlx5_0: here: ib_read_bw -q 1 n2".into()];
        let mut sweeping = Sweeping::saved(measured, None);
        assert_eq!(sweeping.act(Action::Copy), Wish::Copy("ib_read_bw -q 1 n2".into()));
        sweeping.act(Action::Rails);
        assert_eq!(sweeping.act(Action::Copy), Wish::Draw);
    }
}
