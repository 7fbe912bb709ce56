//! A copy of a recording from which nobody can tell whose it was.

use super::writer::Writer;
use super::{FrameSource, Replay, SourceError};
use probes::capture::{Masked, Masker};
use probes::model::{Frame, Load, Process, Session, Topology};
use std::path::Path;
use std::sync::Arc;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskedCopy {
    /// Frames.
    pub frames: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// How much of what was replaced.
    pub masked: Masked,
    /// What is not as it should be with the recording; `None` when nothing is known to be wrong.
    pub warning: Option<String>,
}

impl MaskedCopy {
    /// How much of what was replaced: `8 GUIDs, 1 host names`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let masked: Vec<String> =
            self.masked.values.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        if masked.is_empty() { "nothing that names anybody".to_owned() } else { masked.join(", ") }
    }
}

/// Writes a masked copy of the recording at `from` into a new file.
///
/// It is read twice: what is an address anywhere in it is one everywhere. `share_done` is told how much of that is done,
/// 0 to 1.
///
/// # Errors
///
/// The recording cannot be read, or the copy exists already or cannot be written; then none is left behind.
pub fn masked_copy(
    from: &Path,
    to: &Path,
    share_done: &mut dyn FnMut(f64),
) -> Result<MaskedCopy, SourceError> {
    masked_copy_below(from, to, u64::MAX, share_done)
}

/// The same into a file that is never larger than `most_bytes`; frames that would make it so are left out.
///
/// # Errors
///
/// As for [`masked_copy`].
pub fn masked_copy_below(
    from: &Path,
    to: &Path,
    most_bytes: u64,
    share_done: &mut dyn FnMut(f64),
) -> Result<MaskedCopy, SourceError> {
    let mut pass = Pass::open(from, 0.0, share_done)?;
    let session = pass.replay.session();
    let mut parts = Parts::new(Masker::of(session.hosts.iter().map(|host| &**host)));
    let _ = parts.session(&session);
    while let Some(frame) = pass.next_frame()? {
        let _ = parts.frame(frame);
    }
    let warning = pass.replay.warning();
    let mut parts = Parts::new(parts.masker.with_key());
    let mut pass = Pass::open(from, 0.5, share_done)?;
    let mut writer = Writer::create(to, Arc::new(parts.session(&session)))?;
    writer.limit(most_bytes);
    let written = write(&mut pass, &mut parts, &mut writer, to, most_bytes);
    if written.is_err() {
        // half a copy would pass for a whole one
        let _ = std::fs::remove_file(to);
    }
    Ok(MaskedCopy { frames: written?, bytes: writer.bytes(), masked: parts.masker.masked(), warning })
}

/// One of the two times that the recording is read.
struct Pass<'a> {
    replay: Replay,
    span_ns: (u64, u64),
    /// Share of the whole that was done before it.
    done: f64,
    share_done: &'a mut dyn FnMut(f64),
}

impl<'a> Pass<'a> {
    fn open(from: &Path, done: f64, share_done: &'a mut dyn FnMut(f64)) -> Result<Self, SourceError> {
        let mut replay = Replay::open(from)?;
        let span_ns = replay.span_ns().unwrap_or_default();
        Ok(Self { replay, span_ns, done, share_done })
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        let frame = self.replay.next_frame()?;
        if let Some(frame) = &frame {
            let (first_ns, last_ns) = self.span_ns;
            let length_ns = last_ns.saturating_sub(first_ns).max(1) as f64;
            let share = (frame.at_ns.saturating_sub(first_ns) as f64 / length_ns).min(1.0);
            (self.share_done)(self.done + share / 2.0);
        }
        Ok(frame)
    }
}

/// How many frames were written.
fn write(
    pass: &mut Pass<'_>,
    parts: &mut Parts,
    writer: &mut Writer,
    to: &Path,
    most_bytes: u64,
) -> Result<u64, SourceError> {
    let mut frames = 0;
    let mut left_out = 0;
    let mut judge = |written: Result<(), super::writer::Lost>| match written {
        Ok(()) => Ok(true),
        Err(lost) if lost.cause.kind() == std::io::ErrorKind::FileTooLarge && most_bytes < u64::MAX => {
            left_out += lost.frames;
            Ok(false)
        }
        Err(lost) => Err(SourceError::File {
            path: to.display().to_string(),
            reason: super::cannot_write(&lost.cause),
        }),
    };
    while let Some(frame) = pass.next_frame()? {
        frames += 1;
        if !judge(writer.push(&Arc::new(parts.frame(frame))))? {
            break;
        }
    }
    judge(writer.finish())?;
    Ok(frames - left_out)
}

/// The parts of a session that name something. Most frames share them with the frame before.
struct Parts {
    masker: Masker,
    load: Shared<Load>,
    processes: Shared<Vec<Process>>,
    topology: Shared<Topology>,
}

/// The newest part of each host, whole and masked.
type Shared<T> = Vec<Option<(Arc<T>, Arc<T>)>>;

impl Parts {
    fn new(masker: Masker) -> Self {
        Self { masker, load: Vec::new(), processes: Vec::new(), topology: Vec::new() }
    }

    fn session(&mut self, session: &Session) -> Session {
        // a new field has to be looked at here before this compiles
        let Session { generated_by, started_unix_ms, interval_ns, hosts, clock_offset_ns, simulated } =
            session;
        Session {
            generated_by: generated_by.clone(),
            started_unix_ms: *started_unix_ms,
            interval_ns: *interval_ns,
            hosts: hosts.iter().map(|host| Arc::new(self.masker.topology(host))).collect(),
            clock_offset_ns: *clock_offset_ns,
            simulated: simulated.clone(),
        }
    }

    fn frame(&mut self, frame: Frame) -> Frame {
        // a new field has to be looked at here before this compiles
        let Frame {
            host,
            seq,
            at_ns,
            rails,
            processes,
            load,
            workers,
            peer,
            sampled_in_ns,
            topology,
            marks,
            failures,
            experiment,
        } = frame;
        let masker = &mut self.masker;
        Frame {
            processes: processes.map(|whole| {
                shared(&mut self.processes, host, whole, |processes| masker.processes(processes))
            }),
            load: load.map(|whole| shared(&mut self.load, host, whole, |load| masker.load(load))),
            topology: topology
                .map(|whole| shared(&mut self.topology, host, whole, |topology| masker.topology(topology))),
            failures: failures.iter().map(|failure| masker.failure(failure)).collect(),
            marks: marks.iter().map(|text| masker.mark(text)).collect(),
            experiment: experiment.map(|of| Arc::new(masker.experiment(&of))),
            host,
            seq,
            at_ns,
            rails,
            workers,
            peer,
            sampled_in_ns,
        }
    }
}

/// The masked part; the same one again for the part that the host had before.
fn shared<T>(known: &mut Shared<T>, host: usize, whole: Arc<T>, mask: impl FnOnce(&T) -> T) -> Arc<T> {
    let slot = super::base::slot(known, host);
    match slot {
        Some((of, masked)) if Arc::ptr_eq(of, &whole) => masked.clone(),
        _ => {
            let masked = Arc::new(mask(&whole));
            *slot = Some((whole, masked.clone()));
            masked
        }
    }
}

#[cfg(test)]
mod tests;
