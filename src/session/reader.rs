//! Reads a session file block by block.

use super::base::Base;
use super::container::{self, Index};
use super::format::{BlockHead, BlockSpan, Columns, Header, Look};
use super::{SourceError, decode};
use crate::timeline::Past;
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
    /// Frames before it, as far as what follows needs them.
    pub before: Vec<Frame>,
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
        dense(&text).map_or(Ok(()), |reason| Err(refuse(format!("its header is damaged: {reason}"))))?;
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
        let mut before = self.bases(&head);
        let before = head
            .before
            .iter()
            .map(|row| decode::row(row, &self.columns, &mut before).and_then(|frame| self.fits(frame)))
            .collect::<Result<_, _>>()
            .map_err(|e| format!("its first line: {e}"))?;
        let mut bases = self.bases(&head);
        let mut frames: Vec<Frame> = lines
            .enumerate()
            .map(|(at, line)| {
                let frame = decode::frame(line, &self.columns, &mut bases);
                frame.and_then(|frame| self.fits(frame)).map_err(|e| format!("row {}: {e}", at + 1))
            })
            .collect::<Result<_, _>>()?;
        if let Some(reason) = self.misfit(&head) {
            return Err(format!("its first line: {reason}"));
        }
        self.hand_on_looks(&head, &mut frames);
        Ok(Block { head, before, frames })
    }

    /// A look whose block was lost is the first frame's.
    fn hand_on_looks(&self, head: &BlockHead, frames: &mut [Frame]) {
        for (host, look) in head.topology.iter().enumerate() {
            if let Some(Look::Here(topology)) = look
                && let Some(first) = frames.iter_mut().find(|frame| frame.host == host)
                && first.topology.is_none()
            {
                first.topology = self.first_fits(host, topology.clone());
            }
        }
    }

    /// What each host's rows go on from.
    fn bases(&self, head: &BlockHead) -> Vec<Base> {
        let of_host = |host: usize| Base {
            load: head.load.get(host).cloned().flatten(),
            processes: head.processes.get(host).cloned().flatten(),
            ..Base::default()
        };
        (0..self.session.hosts.len()).map(of_host).collect()
    }

    /// What is known of each host before a block that was read.
    pub(super) fn past(&mut self, number: usize, block: &Block) -> Vec<Past> {
        let hosts = 0..self.session.hosts.len();
        let head = &block.head;
        hosts
            .map(|host| Past {
                sums: head.sums.get(host).cloned().unwrap_or_default(),
                topology: self.look(number, head, host),
                processes: head.processes.get(host).cloned().flatten(),
                frames: block.before.iter().filter(|f| f.host == host).cloned().map(Arc::new).collect(),
                loaded_since: head.loaded_since.get(host).cloned().unwrap_or_default(),
            })
            .collect()
    }

    /// What a host is before a block; `None` is what the header says. Where a damaged block had it, it is what it was
    /// before that one, as in a read from the beginning.
    fn look(&mut self, number: usize, head: &BlockHead, host: usize) -> Option<Arc<Topology>> {
        let mut before = number;
        let mut look = head.topology.get(host).cloned().flatten()?;
        loop {
            let number = match look {
                Look::Here(topology) => return self.first_fits(host, topology),
                // what comes later cannot be meant: a damaged file must not lead in a circle
                Look::Block(number) => usize::try_from(number).ok().filter(|number| *number < before)?,
            };
            let readable = (0..=number).rev().find_map(|at| Some((at, self.block(at).ok()?)));
            let (at, block) = readable?;
            let in_rows = block.frames.into_iter().rev().filter(|frame| frame.host == host);
            if let Some(topology) = in_rows.into_iter().find_map(|frame| frame.topology) {
                return Some(topology);
            }
            before = at;
            look = block.head.topology.get(host).cloned().flatten()?;
        }
    }

    fn first_fits(&self, host: usize, topology: Arc<Topology>) -> Option<Arc<Topology>> {
        let first = self.session.hosts.get(host)?;
        Some(topology).filter(|topology| topology.has_the_columns_of(first))
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
        let text = container::unpack(&packed)?;
        dense(&text).map_or(Ok(text), Err)
    }
}

/// Most lists and objects of one zstd frame: each becomes some hundred bytes of memory. A second of 64 rails at 100
/// samples has a tenth of it.
const MOST_LISTS: usize = 200_000;
/// Most values of one line, likewise.
const MOST_VALUES: usize = 500_000;

/// Why a text would take far more memory than it has bytes; `None` where it does not.
fn dense(text: &[u8]) -> Option<String> {
    let lists = text.iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if lists > MOST_LISTS {
        return Some(format!("{lists} lists and objects, more than any block has"));
    }
    let values = |line: &[u8]| line.split(|byte| *byte == b',').count();
    let most = text.split(|byte| *byte == b'\n').map(values).max().unwrap_or(0);
    (most > MOST_VALUES).then(|| format!("a line of {most} values, more than any has"))
}
