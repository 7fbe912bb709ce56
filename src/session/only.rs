//! A source of which only some rails are looked at.

use super::{FrameSource, SourceError};
use crate::timeline::{Past, Sums};
use probes::model::{Frame, Load, Process, RailId, Session, Topology};
use std::sync::Arc;

/// The source with the rails that `--rails` names; all of them without it.
///
/// # Errors
///
/// A named rail is not there; the error names those that are.
pub fn only<S: FrameSource + 'static>(
    source: S,
    rails: Option<&[String]>,
) -> anyhow::Result<Box<dyn FrameSource>> {
    match rails {
        None => Ok(Box::new(source)),
        Some(names) => Ok(Box::new(Only::new(source, names)?)),
    }
}

/// A source without the rails that were not asked for, as `--rails` wants it of recordings and simulations.
///
/// Rails of a second host, the target, all stay.
#[derive(Debug)]
pub struct Only<S> {
    source: S,
    session: Arc<Session>,
    /// Positions in the whole topology of the rails that stay.
    kept: Vec<usize>,
    names: Vec<String>,
    /// Rails that are left out.
    dropped: Vec<String>,
    /// The last load, whole and with what stays of it: it is the same in nearly every frame.
    load: Option<(Arc<Load>, Arc<Load>)>,
}

impl<S: FrameSource> Only<S> {
    /// Leaves out every rail of the local host that is not named.
    ///
    /// # Errors
    ///
    /// A named rail is not there; the error names those that are.
    pub fn new(source: S, names: &[String]) -> anyhow::Result<Self> {
        let whole = source.session();
        let mut local = whole.topology().clone();
        super::open::keep(&mut local, names)?;
        let is_kept = |rail: &probes::model::Rail| names.contains(&rail.device);
        let kept =
            whole.topology().rails_with_id().filter(|(_, rail)| is_kept(rail)).map(|(id, _)| id.0).collect();
        let dropped = whole.topology().rails.iter().filter(|rail| !is_kept(rail));
        let dropped = dropped.map(|rail| rail.device.clone()).collect();
        let mut session = (*whole).clone();
        session.hosts[0] = Arc::new(local);
        Ok(Self { source, session: Arc::new(session), kept, names: names.to_vec(), dropped, load: None })
    }
}

impl<S> Only<S> {
    pub(super) fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Leaves out of what is known of the local host's past what of its frames is left out.
    pub(super) fn cut_past(&mut self, past: &mut Past) {
        self.cut_sums(&mut past.sums);
        let (topology, processes) = (past.topology.take(), past.processes.take());
        past.topology = topology.map(|topology| self.cut_topology(&topology));
        past.processes = processes.map(|processes| self.cut_processes(&processes));
        let frames = std::mem::take(&mut past.frames);
        past.frames = frames.iter().map(|frame| Arc::new(self.cut((**frame).clone()))).collect();
        past.loaded_since = self.of_kept(&past.loaded_since);
    }

    fn cut_sums(&self, sums: &mut Sums) {
        if sums.rails.is_empty() {
            return;
        }
        sums.rails = self.of_kept(&sums.rails);
        sums.states = self.of_kept(&sums.states);
        sums.legs_up = self.of_kept(&sums.legs_up);
        sums.events.retain(|event| !self.dropped.contains(&event.device));
        sums.workers.retain_mut(|worker| {
            let to = worker.rail.and_then(|rail| self.kept.iter().position(|&at| at == rail.0));
            worker.rail = to.map(RailId);
            to.is_some()
        });
    }

    /// Of something that each rail has one of, those of the rails that stay.
    fn of_kept<T: Clone + Default>(&self, of_all: &[T]) -> Vec<T> {
        self.kept.iter().map(|&at| of_all.get(at).cloned().unwrap_or_default()).collect()
    }

    fn cut_processes(&self, whole: &[Process]) -> Arc<Vec<Process>> {
        Arc::new(whole.iter().filter(|process| self.is_kept(&process.device)).cloned().collect())
    }

    fn is_kept(&self, device: &str) -> bool {
        self.session.topology().rail(device).is_some()
    }

    pub(super) fn cut(&mut self, mut frame: Frame) -> Frame {
        if frame.host != 0 {
            return frame;
        }
        frame.rails = self.of_kept(&frame.rails);
        frame.workers.retain_mut(|worker| {
            let to = worker.rail.and_then(|rail| self.kept.iter().position(|&at| at == rail.0));
            worker.rail = to.map(RailId);
            to.is_some()
        });
        frame.failures.retain(|failure| failure.device.as_deref().is_none_or(|device| self.is_kept(device)));
        frame.load = frame.load.map(|load| self.cut_load(&load));
        frame.topology = frame.topology.map(|topology| self.cut_topology(&topology));
        frame.processes = frame.processes.map(|processes| self.cut_processes(&processes));
        frame
    }

    /// What stays of a later look; one that does not fit the first is passed on, for the timeline to leave out.
    fn cut_topology(&self, whole: &Arc<Topology>) -> Arc<Topology> {
        let mut cut = (**whole).clone();
        match super::open::keep(&mut cut, &self.names) {
            Ok(()) => Arc::new(cut),
            Err(_) => whole.clone(),
        }
    }

    fn cut_load(&mut self, whole: &Arc<Load>) -> Arc<Load> {
        if let Some((of, cut)) = &self.load
            && Arc::ptr_eq(of, whole)
        {
            return cut.clone();
        }
        let mut cut = (**whole).clone();
        cut.devices.retain(|device| self.is_kept(device));
        cut.workers.retain(|worker| self.is_kept(&worker.device));
        let cut = Arc::new(cut);
        self.load = Some((whole.clone(), cut.clone()));
        cut
    }
}

impl<S: FrameSource> FrameSource for Only<S> {
    fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        Ok(self.source.next_frame()?.map(|frame| self.cut(frame)))
    }
}

#[cfg(test)]
mod tests {
    use super::Only;
    use crate::session::FrameSource;
    use crate::sim::{Pace, Simulated};
    use probes::model::RailId;
    use std::time::Duration;

    fn mixed() -> Simulated {
        let (every, end) = (Duration::from_millis(100), Duration::from_secs(1));
        Simulated::new("mixed", 1, every, Pace::AsFastAsPossible, Some(end)).unwrap()
    }

    #[test]
    fn only_the_named_rails_stay_in_topology_frames_and_load() {
        let names = ["mlx5_bond_8", "mlx5_bond_3"].map(str::to_owned);
        let mut only = Only::new(mixed(), &names).unwrap();
        let session = only.session();
        let devices: Vec<_> = session.topology().rails.iter().map(|rail| rail.device.as_str()).collect();
        assert_eq!(devices, ["mlx5_bond_3", "mlx5_bond_8"]);
        let mut whole = mixed();
        while let Some(frame) = only.next_frame().unwrap() {
            let all = whole.next_frame().unwrap().unwrap();
            assert_eq!(frame.rails, [all.rails[2].clone(), all.rails[7].clone()]);
            assert_eq!(frame.workers.len(), 2);
            assert_eq!(
                (frame.workers[1].rail, frame.workers[1].bytes),
                (Some(RailId(1)), all.workers[7].bytes)
            );
            let load = frame.load.unwrap();
            assert_eq!(load.devices, ["mlx5_bond_3", "mlx5_bond_8"]);
            assert_eq!(load.workers[1].device, "mlx5_bond_8");
        }
    }

    #[test]
    fn a_rail_that_is_not_there_is_named_with_those_that_are() {
        let error = Only::new(mixed(), &["mlx5_9".to_owned()]).unwrap_err().to_string();
        assert!(
            error.starts_with("--rails: no rail `mlx5_9`; rails here: mlx5_bond_1, mlx5_bond_2"),
            "{error}"
        );
    }
}
