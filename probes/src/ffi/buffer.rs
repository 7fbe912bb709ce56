//! Memory that a device reads and writes: of the host, or of a GPU.

use super::cuda::{DeviceMemory, Error};
use super::pages::Pages;

/// Words copied from or to a GPU at a time: 1 MiB.
const PIECE_WORDS: usize = 1 << 17;

/// Memory for a device.
#[derive(Debug)]
pub enum Buffer {
    /// The host's.
    Host(Pages),
    /// A GPU's.
    Gpu(DeviceMemory),
}

impl From<Pages> for Buffer {
    fn from(pages: Pages) -> Self {
        Self::Host(pages)
    }
}

impl From<DeviceMemory> for Buffer {
    fn from(memory: DeviceMemory) -> Self {
        Self::Gpu(memory)
    }
}

impl Buffer {
    /// Address of the first byte, as the device and the peer must name it.
    #[must_use]
    pub fn address(&self) -> u64 {
        match self {
            Self::Host(pages) => pages.address() as u64,
            Self::Gpu(memory) => memory.address(),
        }
    }

    /// Length, bytes: what was asked for, rounded up to whole pages.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Host(pages) => pages.len(),
            Self::Gpu(memory) => memory.len(),
        }
    }

    /// Size of its pages, bytes, as they were asked for; `None` of a GPU's.
    #[must_use]
    pub fn page_bytes(&self) -> Option<u64> {
        match self {
            Self::Host(pages) => Some(pages.page_bytes() as u64),
            Self::Gpu(_) => None,
        }
    }

    /// Whether there is no memory; there always is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes every word.
    ///
    /// # Errors
    ///
    /// The GPU's driver says why not.
    pub fn fill(&mut self, word: impl Fn(usize) -> u64) -> Result<(), Error> {
        let memory = match self {
            Self::Host(pages) => {
                pages.fill(word);
                return Ok(());
            }
            Self::Gpu(memory) => memory,
        };
        let words = memory.len() / 8;
        for first in (0..words).step_by(PIECE_WORDS) {
            let piece: Vec<u64> = (first..words.min(first + PIECE_WORDS)).map(&word).collect();
            memory.copy_in(first, &piece)?;
        }
        Ok(())
    }

    /// The words, to look at.
    #[must_use]
    pub fn words(&self) -> Words<'_> {
        Words { buffer: self, piece: Vec::new(), first: 0 }
    }
}

/// The words of a [`Buffer`], of a GPU copied to the host in pieces: cheap when looked at in rising order.
pub struct Words<'a> {
    buffer: &'a Buffer,
    piece: Vec<u64>,
    /// Position of the first word of `piece`.
    first: usize,
}

impl Words<'_> {
    /// The word at position `at`.
    ///
    /// # Errors
    ///
    /// The GPU's driver says why not.
    ///
    /// # Panics
    ///
    /// There is no such word.
    pub fn at(&mut self, at: usize) -> Result<u64, Error> {
        let memory = match self.buffer {
            Buffer::Host(pages) => return Ok(pages.word(at)),
            Buffer::Gpu(memory) => memory,
        };
        if !(self.first..self.first + self.piece.len()).contains(&at) {
            let words = memory.len() / 8;
            assert!(at < words, "word {at} of {words}");
            self.first = at / PIECE_WORDS * PIECE_WORDS;
            self.piece.resize(PIECE_WORDS.min(words - self.first), 0);
            memory.copy_out(self.first, &mut self.piece)?;
        }
        Ok(self.piece[at - self.first])
    }
}
