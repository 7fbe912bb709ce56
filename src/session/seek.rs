//! A session of which any part can be had, not only the next.

use super::{FrameSource, Only, Replay, Sought, SourceError, Until};

/// A session of which any part can be had: a recording, or what of it is looked at.
pub trait Seekable: FrameSource {
    /// Times of the first and last frame, nanoseconds; `None` when neither end can be read.
    fn span_ns(&mut self) -> Option<(u64, u64)>;

    /// Goes to the newest frame at or before `at_ns` on the first host's clock, or to the first frame, and gives the
    /// minute up to it; [`FrameSource::next_frame`] goes on from there.
    ///
    /// # Errors
    ///
    /// The block that holds the place is damaged; then `next_frame` goes on behind it.
    fn seek(&mut self, at_ns: u64) -> Result<Sought, SourceError>;
}

impl<S: Seekable + ?Sized> Seekable for Box<S> {
    fn span_ns(&mut self) -> Option<(u64, u64)> {
        (**self).span_ns()
    }

    fn seek(&mut self, at_ns: u64) -> Result<Sought, SourceError> {
        (**self).seek(at_ns)
    }
}

impl Seekable for Replay {
    fn span_ns(&mut self) -> Option<(u64, u64)> {
        Self::span_ns(self)
    }

    fn seek(&mut self, at_ns: u64) -> Result<Sought, SourceError> {
        Self::seek(self, at_ns)
    }
}

impl<S: Seekable> Seekable for Only<S> {
    fn span_ns(&mut self) -> Option<(u64, u64)> {
        self.source_mut().span_ns()
    }

    fn seek(&mut self, at_ns: u64) -> Result<Sought, SourceError> {
        let mut sought = self.source_mut().seek(at_ns)?;
        if let Some(local) = sought.past.first_mut() {
            self.cut_past(local);
        }
        let frames = sought.frames.into_iter().map(|frame| self.cut(frame)).collect();
        Ok(Sought { frames, ..sought })
    }
}

impl<S: Seekable> Seekable for Until<S> {
    fn span_ns(&mut self) -> Option<(u64, u64)> {
        let (first, last) = self.source_mut().span_ns()?;
        Some((first, last.min(self.end_ns().max(first))))
    }

    fn seek(&mut self, at_ns: u64) -> Result<Sought, SourceError> {
        let at_ns = at_ns.min(self.end_ns());
        let sought = self.source_mut().seek(at_ns)?;
        self.goes_on();
        Ok(sought)
    }
}

#[cfg(test)]
mod tests {
    use super::Seekable;
    use crate::session::{FrameSource, Only, Recorded, Replay, Stop, Until};
    use crate::sim::{Pace, Simulated};
    use crate::timeline::Timeline;
    use probes::model::Frame;
    use std::path::PathBuf;
    use std::time::Duration;

    const SECOND: u64 = 1_000_000_000;

    /// Four seconds of eight rails, in a file.
    fn recorded(folder: &tempfile::TempDir) -> PathBuf {
        let path = folder.path().join("mixed.rsz");
        let (every, end) = (Duration::from_millis(100), Duration::from_secs(4));
        let source = Simulated::new("mixed", 1, every, Pace::AsFastAsPossible, Some(end)).unwrap();
        let mut recorded = Recorded::create(source, &path).unwrap();
        while recorded.next_frame().unwrap().is_some() {}
        path
    }

    fn frames(source: &mut impl FrameSource) -> Vec<Frame> {
        std::iter::from_fn(|| source.next_frame().unwrap()).collect()
    }

    #[test]
    fn a_part_of_the_rails_is_the_same_part_after_a_seek() {
        let folder = tempfile::tempdir().unwrap();
        let path = recorded(&folder);
        let names = ["mlx5_bond_8", "mlx5_bond_3"].map(str::to_owned);
        let open = || Only::new(Replay::open(&path).unwrap(), &names).unwrap();
        let mut all = open();
        let mut source = open();
        let to_ns = 2 * SECOND + SECOND / 2;
        let mut read = Timeline::new(all.session());
        while let Some(frame) = all.next_frame().unwrap() {
            read.push(frame.clone());
            if frame.at_ns == to_ns {
                break;
            }
        }
        let sought = source.seek(to_ns).unwrap().timeline(source.session());
        assert_eq!(sought.past(), read.past());
        assert_eq!(frames(&mut source), frames(&mut all));
    }

    #[test]
    fn nothing_lies_behind_the_end_that_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let replay = Replay::open(&recorded(&folder)).unwrap();
        let mut source = Until::new(replay, Some(Duration::from_millis(2500)), Stop::new());
        assert_eq!(source.span_ns(), Some((0, 2 * SECOND + SECOND / 2)));
        let before = frames(&mut source);
        let sought = source.seek(u64::MAX).unwrap();
        assert_eq!(sought.frames.last(), before.last());
        assert_eq!(frames(&mut source), []);
        source.seek(2 * SECOND).unwrap();
        assert_eq!(frames(&mut source).len(), 5, "it goes on after it had ended");
    }
}
