//! A session without a screen: every frame into a timeline, then the report.

use crate::experiments::told::Told;
use crate::printable::tell;
use crate::session::{FrameSource, Recorded, RecordingStatus};
use crate::timeline::Timeline;
use std::path::Path;
use std::sync::Arc;

/// A session that was played to its end.
#[derive(Debug)]
pub struct Played {
    /// What it amounts to.
    pub timeline: Timeline,
    /// The planned loads of a diagnosis in it.
    pub told: Told,
}

impl From<Timeline> for Played {
    /// Of a session without planned loads.
    fn from(timeline: Timeline) -> Self {
        Self { timeline, told: Told::default() }
    }
}

/// Plays a source to its end.
///
/// # Errors
///
/// The source cannot go on.
pub fn play(source: &mut dyn FrameSource) -> anyhow::Result<Played> {
    let mut played = Played::from(Timeline::new(source.session()));
    while let Some(frame) = source.next_frame()? {
        played.told.frame(&frame);
        played.timeline.push(frame);
    }
    Ok(played)
}

/// A source that is recorded if a file was named, and how the recording fares.
pub type MaybeRecorded = (Box<dyn FrameSource>, Option<Arc<RecordingStatus>>);

/// Records the source if a file was named.
///
/// # Errors
///
/// The file exists already, or cannot be made.
pub fn recorded(source: Box<dyn FrameSource>, file: Option<&Path>) -> anyhow::Result<MaybeRecorded> {
    let Some(file) = file else { return Ok((source, None)) };
    let recorded = Recorded::create(source, file)?;
    let status = recorded.status();
    Ok((Box::new(recorded), Some(status)))
}

/// Says on stderr what the recording could not keep. Ask after the source is dropped.
pub fn tell_trouble(status: Option<&RecordingStatus>) {
    if let Some(trouble) = status.and_then(RecordingStatus::trouble) {
        tell(format_args!("recording: {trouble}"));
    }
}
