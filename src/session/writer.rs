//! Writes a session file: the header, a block a second, the seek table at the end.

use super::base::Base;
use super::container::{self, Entry};
use super::format::{BlockHead, Header, Look};
use super::{SourceError, encode};
use crate::timeline::Timeline;
use probes::model::{Frame, Session, Topology};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// A block holds at most this much time, so that a killed program loses no more.
const BLOCK_NS: u64 = 1_000_000_000;
/// A block is closed early above this; a reader must be able to hold it.
const BLOCK_TEXT_BYTES: usize = 4 << 20;

/// A session file being written.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    session: Arc<Session>,
    entries: Vec<Entry>,
    /// Where the last whole block ends.
    end: u64,
    blocks: u64,
    timeline: Timeline,
    bases: Vec<Base>,
    /// Where it stands what each host is by now; `None` is the header.
    looks: Vec<Option<Look>>,
    open: Option<Open>,
    /// Larger the file may not become, seek table included.
    most_bytes: u64,
}

/// The block that is being filled.
#[derive(Debug)]
struct Open {
    head: BlockHead,
    rows: Vec<u8>,
    /// The last look at each host that its rows hold.
    looks: Vec<Option<Arc<Topology>>>,
}

/// A block that could not be written.
#[derive(Debug)]
pub(super) struct Lost {
    pub frames: u64,
    pub cause: io::Error,
}

impl Writer {
    /// Makes the file and writes its header.
    ///
    /// # Errors
    ///
    /// The file exists already, or cannot be written here; then none is left behind.
    pub(super) fn create(path: &Path, session: Arc<Session>) -> Result<Self, SourceError> {
        let refuse = |e: &io::Error| SourceError::File {
            path: path.display().to_string(),
            reason: super::cannot_write(e),
        };
        let file = File::create_new(path).map_err(|e| refuse(&e))?;
        let mut writer = Self {
            file,
            entries: Vec::new(),
            end: 0,
            blocks: 0,
            timeline: Timeline::new(session.clone()),
            bases: vec![Base::default(); session.hosts.len()],
            looks: vec![None; session.hosts.len()],
            open: None,
            most_bytes: u64::MAX,
            session,
        };
        let header = Header::new(&writer.session).line();
        writer.append(&header).map_err(|e| {
            // an empty file would only be in the way of the next try
            let _ = std::fs::remove_file(path);
            refuse(&e)
        })?;
        Ok(writer)
    }

    /// Refuses, as too large, what would make the file larger than this, seek table included.
    pub(super) fn limit(&mut self, most_bytes: u64) {
        self.most_bytes = most_bytes;
    }

    /// Bytes on disk up to the last whole block; once finished, all of the file.
    pub(super) fn bytes(&self) -> u64 {
        self.end
    }

    /// Frames of the block that is not on disk yet.
    pub(super) fn waiting(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.head.frames)
    }

    /// Adds a frame; may close the block before it.
    ///
    /// # Errors
    ///
    /// That block could not be written; the frame itself is kept.
    pub(super) fn push(&mut self, frame: &Arc<Frame>) -> Result<(), Lost> {
        let at_ns = super::on_first_clock(&self.session, frame);
        let full = self.open.as_ref().is_some_and(|open| {
            at_ns.saturating_sub(open.head.first_ns) >= BLOCK_NS || open.rows.len() >= BLOCK_TEXT_BYTES
        });
        let flushed = if full { self.flush() } else { Ok(()) };
        if self.open.is_none() {
            self.open = Some(self.begin(at_ns));
        }
        if let (Some(open), Some(base)) = (&mut self.open, self.bases.get_mut(frame.host)) {
            encode::frame(&mut open.rows, frame, base);
            if let Some(topology) = &frame.topology {
                open.looks[frame.host] = Some(topology.clone());
            }
            open.head.frames += 1;
            open.head.first_ns = open.head.first_ns.min(at_ns);
            open.head.last_ns = open.head.last_ns.max(at_ns);
            self.timeline.push(frame.clone());
        }
        flushed
    }

    /// Writes the block that is open, whole or not at all.
    ///
    /// # Errors
    ///
    /// It could not be written; the file ends after the last whole block, and the next may succeed.
    pub(super) fn flush(&mut self) -> Result<(), Lost> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let mut text = serde_json::to_vec(&open.head).expect("a block header has only string keys");
        text.push(b'\n');
        text.extend_from_slice(&open.rows);
        if let Err(cause) = self.append(&text) {
            for (look, topology) in self.looks.iter_mut().zip(open.looks) {
                *look = topology.map(Look::Here).or(look.take());
            }
            return Err(Lost { frames: open.head.frames, cause });
        }
        for (look, in_rows) in self.looks.iter_mut().zip(&open.looks) {
            if in_rows.is_some() || matches!(look, Some(Look::Here(_))) {
                *look = Some(Look::Block(self.blocks));
            }
        }
        self.blocks += 1;
        Ok(())
    }

    /// Writes what is open and the seek table.
    ///
    /// # Errors
    ///
    /// Something could not be written.
    pub(super) fn finish(&mut self) -> Result<(), Lost> {
        let flushed = self.flush();
        let table = container::seek_table(&self.entries);
        let ended = self.file.write_all(&table).map_err(|cause| Lost { frames: 0, cause: self.undo(cause) });
        if ended.is_ok() {
            self.end += table.len() as u64;
        }
        flushed.and(ended)
    }

    fn begin(&mut self, at_ns: u64) -> Open {
        for base in &mut self.bases {
            // numbers start anew, so that a block can be read alone
            *base = Base { load: base.load.take(), processes: base.processes.take(), ..Base::default() };
        }
        let past = self.timeline.past();
        let before = past.iter().zip(&self.bases).flat_map(|(past, base)| {
            let mut base = base.clone();
            past.frames.iter().map(move |frame| encode::value(frame, &mut base))
        });
        let before = before.collect();
        let (sums, loaded_since) = past.into_iter().map(|past| (past.sums, past.loaded_since)).unzip();
        let head = BlockHead {
            block: self.blocks,
            first_ns: at_ns,
            last_ns: at_ns,
            frames: 0,
            sums,
            load: self.bases.iter().map(|base| base.load.clone()).collect(),
            processes: self.bases.iter().map(|base| base.processes.clone()).collect(),
            topology: self.looks.clone(),
            before,
            loaded_since,
        };
        Open { head, rows: Vec::new(), looks: vec![None; self.bases.len()] }
    }

    fn append(&mut self, text: &[u8]) -> io::Result<()> {
        let (packed, entry) = container::pack(text)?;
        let ended =
            self.end + packed.len() as u64 + container::seek_table_bytes(self.entries.len() as u64 + 1);
        if ended > self.most_bytes {
            // a smaller block after this one would leave a hole
            self.most_bytes = 0;
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        self.file.write_all(&packed).map_err(|e| self.undo(e))?;
        self.end += packed.len() as u64;
        self.entries.push(entry);
        Ok(())
    }

    /// Cuts half a block off again. If that fails too, a reader leaves it out.
    fn undo(&mut self, cause: io::Error) -> io::Error {
        let _ = self.file.set_len(self.end);
        let _ = self.file.seek(SeekFrom::Start(self.end));
        cause
    }
}

#[cfg(test)]
impl Writer {
    /// Every write fails from now on, until the file is given back.
    pub(super) fn take_file_away(&mut self, path: &Path) -> File {
        let read_only = File::open(path).expect("the file is there");
        std::mem::replace(&mut self.file, read_only)
    }

    pub(super) fn give_file_back(&mut self, file: File) {
        self.file = file;
    }
}

#[cfg(test)]
mod tests {
    use super::Writer;
    use crate::session::{FrameSource, Replay};
    use probes::model::{Frame, Session, Topology};
    use std::sync::Arc;

    #[test]
    fn a_block_that_cannot_be_written_is_counted_and_the_next_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rsz");
        let session = Session {
            generated_by: "railscope test".into(),
            started_unix_ms: None,
            interval_ns: 500_000_000,
            hosts: vec![Arc::new(Topology::default())],
            clock_offset_ns: None,
            simulated: None,
        };
        let mut writer = Writer::create(&path, Arc::new(session)).unwrap();
        // two frames a block
        let later = Topology { newcomers: vec!["mlx5_9".into()], ..Topology::default() };
        let later = Some(Arc::new(later));
        let frame = |seq| {
            let topology = later.clone().filter(|_| seq == 3);
            Arc::new(Frame { seq, at_ns: seq * 500_000_000, topology, ..Frame::default() })
        };
        let push = |seqs: std::ops::Range<u64>, writer: &mut Writer| {
            let lost = seqs.filter_map(|seq| writer.push(&frame(seq)).err()).map(|lost| lost.frames);
            lost.sum::<u64>()
        };
        assert_eq!(push(0..3, &mut writer), 0);
        let file = writer.take_file_away(&path);
        assert_eq!(push(3..5, &mut writer), 2, "frames 2 and 3");
        writer.give_file_back(file);
        assert_eq!(push(5..8, &mut writer), 0);
        writer.finish().unwrap();
        let mut replay = Replay::open(&path).unwrap();
        let seqs = std::iter::from_fn(|| replay.next_frame().unwrap()).map(|frame| frame.seq);
        assert_eq!(seqs.collect::<Vec<_>>(), [0, 1, 4, 5, 6, 7]);
        assert_eq!(replay.warning(), None);
        // frame 3 is lost, what it told of the host is not
        let there = replay.seek(3_500_000_000).unwrap().timeline(replay.session());
        assert_eq!(there.topology().newcomers, ["mlx5_9"]);
    }
}
