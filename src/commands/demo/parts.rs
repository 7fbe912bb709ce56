//! What the session of a demo is of, part by part: its load, the same with other knobs, a diagnosis, or nothing.

use crate::cli::{DiagnoseArgs, LoadWords};
use crate::commands::diagnose::{self, Begun};
use crate::commands::load::in_words;
use crate::peer::request;
use crate::session::{Anew, Asked, FrameSource, Link, Next, Now, Stop, Throttle, Wish, only};
use crate::settings::Common;
use crate::sim::{AtRest, Pace, Scenario, Setup, Simulated, SimulatedPart, SoFar};
use probes::load::Params;
use probes::model::Session;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The simulated node of a demo.
pub(super) struct Demo {
    pub(super) scenario: String,
    pub(super) seed: u64,
    pub(super) every: Duration,
    /// Time after which its first load ends by itself; `None`: never.
    pub(super) time: Option<Duration>,
    pub(super) common: Common,
}

/// The diagnoses that were begun; copies mean the same ones.
#[derive(Clone, Default)]
pub(super) struct Diagnoses(Arc<Mutex<Vec<Begun>>>);

impl Diagnoses {
    /// Takes them all.
    pub(super) fn take(&self) -> Vec<Begun> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, begun: Begun) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(begun);
    }
}

/// The knobs of the load, as flags of `railscope load`; copies mean the same.
#[derive(Clone)]
struct Knobs {
    words: Arc<Mutex<LoadWords>>,
    /// Rails that it can be of.
    rails: Vec<String>,
}

impl Knobs {
    fn new(rails: Vec<String>) -> Result<Self, String> {
        let words = LoadWords::of(["--transport".into(), "sim".into()])?;
        Ok(Self { words: Arc::new(Mutex::new(words)), rails })
    }

    /// The same with these changes, and what they mean.
    fn changed(&self, changes: &str) -> Result<(LoadWords, Setup), String> {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner).changed(changes)?;
        let args = words.args()?.with_preset();
        let params = request::params(&args)?;
        Setup::check(&params)?;
        let rails = args.common.overlay.rails;
        let is_none = |name: &&String| !self.rails.contains(*name);
        if let Some(name) = rails.iter().flatten().find(is_none) {
            return Err(format!("-d {name}: this session has no such rail"));
        }
        // threads go where the scenario has them, until somebody says where
        let misplaced = !words.line().contains(" --place ");
        let warmup = Setup::default().warmup;
        Ok((words, Setup { misplaced, rails, warmup, ..Setup::of(&params, None) }))
    }

    fn keep(&self, words: LoadWords) {
        *self.words.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }
}

impl Demo {
    /// The first load, and what makes the later parts.
    pub(super) fn begin(
        self,
        stop: &Stop,
        throttle: Throttle,
    ) -> anyhow::Result<(Box<dyn FrameSource>, Next, Anew, Diagnoses)> {
        let (usual, setup) =
            (Params::default(), Setup { misplaced: true, in_all: self.time, ..Setup::default() });
        let part = stop.part();
        let source = self.load(&setup, &part, &throttle)?;
        let rails = source.session().topology().rails.iter().map(|rail| rail.device.clone()).collect();
        let knobs = Knobs::new(rails).map_err(anyhow::Error::msg)?;
        let judge = knobs.clone();
        let anew = Anew::new(move |changes| judge.changed(changes).map(|_| in_words(changes)));
        anew.ask(Asked {
            line: format!("railscope demo --scenario {} --seed {}", self.scenario, self.seed),
            timeout: usual.timeout,
            gid_index: usual.gid_index,
            traffic_class: usual.traffic_class,
        });
        let so_far = SoFar::default();
        let first = SimulatedPart::new(source, so_far.clone(), 0);
        anew.begun(Now::Load, part);
        let diagnoses = Diagnoses::default();
        let mut later = Later {
            session: first.session(),
            demo: self,
            knobs,
            anew: anew.clone(),
            so_far,
            stop: stop.clone(),
            throttle,
            diagnoses: diagnoses.clone(),
            is_diagnosing: false,
            loads: 1,
        };
        Ok((Box::new(first), Box::new(move |wish| later.next(wish)), anew, diagnoses))
    }

    fn load(&self, setup: &Setup, stop: &Stop, throttle: &Throttle) -> anyhow::Result<Box<dyn FrameSource>> {
        let world = Scenario::world(&self.scenario, self.seed)?;
        let source = Simulated::of(&world, setup, world.scenario().1, self.every, Pace::RealTime)?;
        let source = source.stopped_by(stop.clone()).held_by(throttle.clone());
        only(source, self.common.overlay.rails.as_deref())
    }
}

/// What makes the later parts of a demo.
struct Later {
    demo: Demo,
    knobs: Knobs,
    anew: Anew,
    session: Arc<Session>,
    so_far: SoFar,
    /// Ends the session.
    stop: Stop,
    throttle: Throttle,
    diagnoses: Diagnoses,
    is_diagnosing: bool,
    /// Loads that began.
    loads: u32,
}

impl Later {
    fn next(&mut self, wish: Option<Wish>) -> Option<Link> {
        let was_diagnosing = std::mem::take(&mut self.is_diagnosing);
        let stop = self.stop.part();
        match wish {
            Some(Wish::Load(changes)) => match self.load(&changes, &stop) {
                Ok(source) => {
                    self.anew.begun(Now::Load, stop);
                    let mark = format!("load started anew {}", in_words(&changes));
                    Some(Link { source, mark: Some(mark) })
                }
                Err(why) => Some(self.nothing(Now::Refused(why.clone()), &format!("no load: {why}"), stop)),
            },
            Some(Wish::Diagnosis) => match self.diagnosis(&stop) {
                Ok(source) => {
                    self.is_diagnosing = true;
                    self.anew.begun(Now::Diagnosis, stop);
                    Some(Link { source, mark: Some("diagnosis begins".to_owned()) })
                }
                Err(error) => {
                    let why = format!("{error:#}");
                    Some(self.nothing(Now::Refused(why.clone()), &format!("no diagnosis: {why}"), stop))
                }
            },
            None if was_diagnosing => Some(self.nothing(Now::Diagnosed, "diagnosis over", stop)),
            // a load that is over by itself is the end
            None => None,
        }
    }

    fn load(&mut self, changes: &str, stop: &Stop) -> Result<Box<dyn FrameSource>, String> {
        let (words, setup) = self.knobs.changed(changes)?;
        // what keys told the load before it is not meant for this one
        self.throttle.take();
        let source = self.demo.load(&setup, stop, &self.throttle).map_err(|error| format!("{error:#}"))?;
        let source = SimulatedPart::new(source, self.so_far.clone(), self.loads);
        self.loads += 1;
        self.knobs.keep(words);
        Ok(Box::new(source))
    }

    fn diagnosis(&self, stop: &Stop) -> anyhow::Result<Box<dyn FrameSource>> {
        let Demo { scenario, seed, common, .. } = &self.demo;
        let (source, begun) = diagnose::simulated(&DiagnoseArgs::of_scenario(scenario, *seed, common), stop)?;
        self.diagnoses.push(begun);
        Ok(Box::new(SimulatedPart::new(source, self.so_far.clone(), self.loads)))
    }

    fn nothing(&self, now: Now, mark: &str, stop: Stop) -> Link {
        let source = AtRest::after(self.session.clone(), self.so_far.clone(), self.demo.every, stop.clone());
        self.anew.begun(now, stop);
        Link { source: Box::new(source), mark: Some(mark.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::Knobs;

    #[test]
    fn the_knobs_of_a_demo_are_those_of_a_load_on_its_rails() {
        let knobs = Knobs::new(vec!["mlx5_0".to_owned(), "mlx5_1".to_owned()]).unwrap();
        let (_, setup) = knobs.changed("-d mlx5_1 -q 16").unwrap();
        assert_eq!((setup.rails.as_deref(), setup.qps), (Some(&["mlx5_1".to_owned()][..]), 16));
        assert!(setup.misplaced, "threads stay where the scenario has them");
        assert!(!knobs.changed("--place local").unwrap().1.misplaced, "somebody said where");
        assert_eq!(
            knobs.changed("-d nothing").err().as_deref(),
            Some("-d nothing: this session has no such rail")
        );
        assert!(knobs.changed("foo").is_err());
    }
}
