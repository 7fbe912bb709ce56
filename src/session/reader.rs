//! Reads a session file block by block.

use super::base::Base;
use super::container::{self, Index};
use super::format::{BlockHead, BlockSpan, Columns, Header};
use super::{SourceError, decode};
use probes::model::{Frame, Session, Topology};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A session file being read. Holds one block at a time.
#[derive(Debug)]
pub(super) struct Reader {
    file: File,
    index: Index,
    columns: Columns,
    session: Arc<Session>,
}

/// One block.
#[derive(Debug)]
pub(super) struct Block {
    pub head: BlockHead,
    pub frames: Vec<Frame>,
}

impl Reader {
    /// Opens the file and reads its header.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no recording, is cut short inside its header, or is of a newer version.
    pub(super) fn open(path: &Path) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        let refuse = |reason: String| SourceError::File { path: name.clone(), reason };
        let kind = std::fs::metadata(path).map_err(|e| refuse(super::cannot_read(&e)))?.file_type();
        if !kind.is_file() && !kind.is_dir() {
            // opening a pipe waits for its writer, for ever if need be
            return Err(refuse(
                "is no file but a pipe or a device; copy the recording into a file first".into(),
            ));
        }
        let mut file = File::open(path).map_err(|e| refuse(super::cannot_read(&e)))?;
        let index = container::index(&mut file).map_err(|e| refuse(super::cannot_read(&e)))?;
        let Some(first) = index.places.first() else {
            return Err(refuse(match container::begins_as_zstd(&mut file) {
                Ok(true) => "is cut short inside its header; nothing of the session is in it".into(),
                _ => {
                    "is no railscope recording (recordings are zstd files; `railscope record FILE` makes one)"
                        .into()
                }
            }));
        };
        let packed = container::read_at(&mut file, *first).map_err(|e| refuse(super::cannot_read(&e)))?;
        let text = container::unpack(&packed).map_err(|e| {
            refuse(format!("its header is damaged ({e}); nothing of the session can be read"))
        })?;
        let (session, columns) = Header::read(&name, &text)?;
        Ok(Self { file, index, columns, session: Arc::new(session) })
    }

    pub(super) fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    /// How many blocks the file has.
    pub(super) fn blocks(&self) -> usize {
        self.index.places.len() - 1
    }

    /// Whether the recording was ended properly.
    pub(super) fn is_whole(&self) -> bool {
        self.index.whole
    }

    /// Bytes at the file's end that are no whole block.
    pub(super) fn left_over_bytes(&self) -> u64 {
        self.index.left_over_bytes
    }

    /// Reads one block.
    ///
    /// # Errors
    ///
    /// What is wrong with it; other blocks may be fine.
    pub(super) fn block(&mut self, block: usize) -> Result<Block, String> {
        let text = self.text(block)?;
        let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let head = lines.next().unwrap_or_default();
        let head: BlockHead = serde_json::from_slice(head).map_err(|e| format!("its first line: {e}"))?;
        let mut bases = vec![Base::default(); self.session.hosts.len()];
        for (base, load) in bases.iter_mut().zip(&head.load) {
            base.load.clone_from(load);
        }
        for (base, processes) in bases.iter_mut().zip(&head.processes) {
            base.processes.clone_from(processes);
        }
        let frames = lines
            .enumerate()
            .map(|(at, line)| {
                let frame = decode::frame(line, &self.columns, &mut bases);
                frame.and_then(|frame| self.fits(frame)).map_err(|e| format!("row {}: {e}", at + 1))
            })
            .collect::<Result<_, _>>()?;
        if let Some(reason) = self.misfit(&head) {
            return Err(format!("its first line: {reason}"));
        }
        Ok(Block { head, frames })
    }

    /// Whoever reads frames counts on it that they speak of rails that the header has.
    fn fits(&self, frame: Frame) -> Result<Frame, String> {
        let rails = self.session.hosts.get(frame.host).map_or(0, |topology| topology.rails.len());
        let misfit = frame.topology.as_ref().zip(self.session.hosts.get(frame.host));
        if let Some((now, first)) = misfit.filter(|(now, first)| !now.has_the_columns_of(first)) {
            return Err(format!(
                "a topology of {} rails for a host with {}, or of others",
                now.rails.len(),
                first.rails.len()
            ));
        }
        let beyond = frame.workers.iter().filter_map(|w| w.rail).find(|rail| rail.0 >= rails);
        match beyond {
            _ if frame.rails.len() > rails => {
                Err(format!("{} rails on a host with {rails}", frame.rails.len()))
            }
            Some(rail) => Err(format!("a worker on rail {} of a host with {rails}", rail.0)),
            None => Ok(frame),
        }
    }

    /// Likewise of sums; a file without any is as good, only a seek then has none.
    fn misfit(&self, head: &BlockHead) -> Option<String> {
        if head.sums.is_empty() {
            return None;
        }
        let rails = |topology: &Arc<Topology>| topology.rails.len();
        let sums = head.sums.iter().map(|sums| sums.rails.len());
        (!sums.eq(self.session.hosts.iter().map(rails))).then(|| "sums of other rails".to_owned())
    }

    /// Reads the time that one block covers.
    ///
    /// # Errors
    ///
    /// As [`Reader::block`].
    pub(super) fn span(&mut self, block: usize) -> Result<BlockSpan, String> {
        let text = self.text(block)?;
        let head = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        serde_json::from_slice(head).map_err(|e| format!("its first line: {e}"))
    }

    fn text(&mut self, block: usize) -> Result<Vec<u8>, String> {
        // the first zstd frame is the header
        let place = *self.index.places.get(block + 1).ok_or("the file has no such block")?;
        let packed = container::read_at(&mut self.file, place).map_err(|e: io::Error| e.to_string())?;
        container::unpack(&packed)
    }
}
