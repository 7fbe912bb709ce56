//! A session without a screen: every frame into a timeline, then the report.

use crate::printable::tell;
use crate::session::{FrameSource, Recorded, RecordingStatus};
use crate::timeline::Timeline;
use std::path::Path;
use std::sync::Arc;

/// Plays a source to its end.
///
/// # Errors
///
/// The source cannot go on.
pub fn play(source: &mut dyn FrameSource) -> anyhow::Result<Timeline> {
    let mut timeline = Timeline::new(source.session());
    while let Some(frame) = source.next_frame()? {
        timeline.push(frame);
    }
    Ok(timeline)
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
