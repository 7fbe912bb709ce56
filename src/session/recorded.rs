//! A source whose frames are written into a file before they are passed on.

use super::writer::{Lost, Writer};
use super::{FrameSource, SourceError};
use probes::model::{Frame, Session};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Frames that wait for a slow disk: 13 minutes at ten a second, some 40 MB on eight rails.
const MOST_WAITING: usize = 8192;
/// A block that gets no more frames is written after this time.
const IDLE: Duration = Duration::from_secs(1);

/// A source that records what it passes on.
///
/// Compressing and writing is a thread of its own, so a slow disk never delays a sample. A write failure
/// never ends the session: it is counted, and [`RecordingStatus::trouble`] tells.
#[derive(Debug)]
pub struct Recorded<S> {
    source: S,
    to_writer: Option<SyncSender<Arc<Frame>>>,
    writer: Option<JoinHandle<()>>,
    when_full: WhenFull,
    status: Arc<RecordingStatus>,
}

/// What to do with a frame when the writer is far behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenFull {
    /// Simulated time can wait.
    Wait,
    /// A measurement cannot.
    LeaveOut,
}

/// How a recording fares; can be asked while it goes on and after it ended.
#[derive(Debug)]
pub struct RecordingStatus {
    path: PathBuf,
    frames: AtomicU64,
    lost: AtomicU64,
    bytes: AtomicU64,
    is_full: AtomicBool,
    last_error: Mutex<Option<String>>,
}

impl RecordingStatus {
    fn new(path: PathBuf, bytes: u64) -> Self {
        Self {
            path,
            frames: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            bytes: AtomicU64::new(bytes),
            is_full: AtomicBool::new(false),
            last_error: Mutex::new(None),
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Frames that are in whole blocks on disk.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// Bytes on disk, of whole blocks only.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether the file has the size that it was to have at most, and takes no more frames.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// What could not be kept and why, for people; `None` while all is well.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let error = self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let lost = self.lost.load(Ordering::Relaxed);
        Some(match lost {
            0 => format!("{}: {error}", self.path.display()),
            _ => format!("{}: {lost} frames are not in the recording: {error}", self.path.display()),
        })
    }

    fn note(&self, frames: u64, reason: String) {
        self.lost.fetch_add(frames, Ordering::Relaxed);
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }
}

impl<S: FrameSource> Recorded<S> {
    /// Makes the file, and records every frame of `source` into it.
    ///
    /// # Errors
    ///
    /// The file exists already, or cannot be made.
    pub fn create(source: S, path: &Path) -> Result<Self, SourceError> {
        Self::create_below(source, path, u64::MAX)
    }

    /// The same, into a file that is never larger than `most_bytes`; see [`RecordingStatus::is_full`].
    ///
    /// # Errors
    ///
    /// As for [`Recorded::create`].
    pub fn create_below(source: S, path: &Path, most_bytes: u64) -> Result<Self, SourceError> {
        Self::start(source, path, most_bytes, MOST_WAITING, || {})
    }

    /// The same; `begins` is called by the recorder's thread before it takes the first frame.
    fn start(
        source: S,
        path: &Path,
        most_bytes: u64,
        most_waiting: usize,
        begins: impl FnOnce() + Send + 'static,
    ) -> Result<Self, SourceError> {
        let session = source.session();
        let when_full = match session.simulated {
            Some(_) => WhenFull::Wait,
            None => WhenFull::LeaveOut,
        };
        let mut writer = Writer::create(path, session)?;
        writer.limit(most_bytes);
        let status = Arc::new(RecordingStatus::new(path.to_owned(), writer.bytes()));
        let (to_writer, frames) = sync_channel(most_waiting);
        let writer = std::thread::Builder::new()
            .name("recorder".into())
            .spawn({
                let status = status.clone();
                move || {
                    begins();
                    write(writer, &frames, &status, most_bytes);
                }
            })
            .map_err(|e| SourceError::Live(format!("no thread for the recorder: {e}")))?;
        Ok(Self { source, to_writer: Some(to_writer), writer: Some(writer), when_full, status })
    }

    /// A handle on how the recording fares, for whoever gives this source away.
    #[must_use]
    pub fn status(&self) -> Arc<RecordingStatus> {
        self.status.clone()
    }

    /// What could not be kept and why; `None` while all is well.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.status.trouble()
    }
}

impl<S> Recorded<S> {
    fn keep(&self, frame: &Frame) {
        let Some(to_writer) = &self.to_writer else {
            return;
        };
        let frame = Arc::new(frame.clone());
        let gone = "the recorder's thread has ended";
        match self.when_full {
            WhenFull::Wait => {
                if to_writer.send(frame).is_err() {
                    self.status.note(1, gone.into());
                }
            }
            WhenFull::LeaveOut => match to_writer.try_send(frame) {
                Ok(()) => {}
                Err(TrySendError::Full(_)) => self.status.note(1, "the disk is too slow".into()),
                Err(TrySendError::Disconnected(_)) => self.status.note(1, gone.into()),
            },
        }
    }

    /// Closes the file: the last block and the seek table are on disk when this returns.
    fn end(&mut self) {
        drop(self.to_writer.take());
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            self.status.note(0, "the recorder's thread panicked; the last block may be missing".into());
        }
    }
}

impl<S: FrameSource> FrameSource for Recorded<S> {
    fn session(&self) -> Arc<Session> {
        self.source.session()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        match self.source.next_frame() {
            Ok(Some(frame)) => {
                self.keep(&frame);
                Ok(Some(frame))
            }
            over => {
                self.end();
                over
            }
        }
    }
}

impl<S> Drop for Recorded<S> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Why a recording stops, and what to do.
fn cannot_go_on(error: &std::io::Error) -> String {
    use std::io::ErrorKind as Kind;
    let reason = super::cannot_write(error);
    match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
            format!("{reason}; what was written so far can be replayed")
        }
        _ => reason,
    }
}

fn write(mut writer: Writer, frames: &Receiver<Arc<Frame>>, status: &RecordingStatus, most_bytes: u64) {
    let mut taken = 0;
    let mut lost = 0;
    let mut judge = |done: Result<(), Lost>, waiting: u64, writer: &Writer, taken: u64| {
        if let Err(Lost { frames, cause }) = done {
            lost += frames;
            if cause.kind() == std::io::ErrorKind::FileTooLarge && most_bytes < u64::MAX {
                status.is_full.store(true, Ordering::Relaxed);
            } else {
                status.note(frames, cannot_go_on(&cause));
            }
        }
        status.frames.store(taken - lost - waiting, Ordering::Relaxed);
        status.bytes.store(writer.bytes(), Ordering::Relaxed);
    };
    loop {
        match frames.recv_timeout(IDLE) {
            Ok(frame) => {
                taken += 1;
                let done = writer.push(&frame);
                judge(done, writer.waiting(), &writer, taken);
            }
            Err(RecvTimeoutError::Timeout) => {
                let done = writer.flush();
                judge(done, 0, &writer, taken);
            }
            Err(RecvTimeoutError::Disconnected) => {
                let done = writer.finish();
                judge(done, 0, &writer, taken);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
