//! The container: independent zstd frames, then a seek table in a skippable frame.
//!
//! Any zstd tool reads the whole file (`zstdcat FILE | jq`). The seek table is the one of the zstd seekable
//! format, so tools that know that format can jump as well.
//! Sources: RFC 8878 (frames, skippable frames); `contrib/seekable_format/zstd_seekable_compression_format.md`
//! of the zstd source (seek table).

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// First bytes of a zstd frame, little endian.
const ZSTD_MAGIC: u32 = 0xFD2F_B528;
/// A skippable frame's magic; the lowest four bits are free, the seekable format uses 0xE.
const SKIPPABLE_MAGIC: u32 = 0x184D_2A5E;
const SKIPPABLE_MASK: u32 = 0xFFFF_FFF0;
/// Last bytes of a file with a seek table.
const SEEKABLE_MAGIC: u32 = 0x8F92_EAB1;
/// Descriptor of the seek table: every entry has a checksum.
const WITH_CHECKSUMS: u8 = 1 << 7;
const FOOTER_BYTES: u64 = 9;
const ENTRY_BYTES: u64 = 12;
const SKIPPABLE_HEADER_BYTES: u64 = 8;

/// Largest text of one zstd frame that is unpacked, so that a damaged or hostile file cannot fill the memory.
pub(super) const MOST_TEXT_BYTES: u64 = 8 << 20;
/// Largest zstd frame that is read; text hardly ever grows when it is packed.
const MOST_PACKED_BYTES: u64 = MOST_TEXT_BYTES + (1 << 20);
/// 3 is zstd's default; 9 makes these small blocks a tenth smaller and costs under a millisecond each.
const LEVEL: i32 = 9;

/// One zstd frame, as the seek table lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    packed: u32,
    text: u32,
    /// Lowest 32 bits of the text's XXH64.
    checksum: u32,
}

/// Where one zstd frame lies in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub at: u64,
    pub bytes: u64,
}

/// Every zstd frame of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Index {
    pub places: Vec<Place>,
    /// Whether the seek table was there: the recording was ended properly.
    pub whole: bool,
    /// Bytes at the end that are no whole zstd frame.
    pub left_over_bytes: u64,
}

/// Packs text into one zstd frame with a checksum.
pub(super) fn pack(text: &[u8]) -> io::Result<(Vec<u8>, Entry)> {
    if text.len() as u64 > MOST_TEXT_BYTES {
        return Err(io::Error::other(format!(
            "a block of {} bytes is too large to be read back",
            text.len()
        )));
    }
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    compressor.include_checksum(true)?;
    let packed = compressor.compress(text)?;
    let size = |bytes: usize| u32::try_from(bytes).map_err(io::Error::other);
    // a frame's own checksum is the same number that the seek table wants (RFC 8878, 3.1.1)
    let checksum = packed.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let entry = Entry { packed: size(packed.len())?, text: size(text.len())?, checksum };
    Ok((packed, entry))
}

/// Unpacks one zstd frame and checks its checksum.
pub(super) fn unpack(packed: &[u8]) -> Result<Vec<u8>, String> {
    let declared = zstd::zstd_safe::get_frame_content_size(packed).ok().flatten();
    let bytes = declared.ok_or("does not say how long it is")?;
    if bytes > MOST_TEXT_BYTES {
        return Err(format!("says it holds {bytes} bytes, more than any block has"));
    }
    let capacity = usize::try_from(bytes).map_err(|e| e.to_string())?;
    zstd::bulk::decompress(packed, capacity).map_err(|e| e.to_string())
}

/// How long the seek table of so many zstd frames is.
pub(super) fn seek_table_bytes(entries: u64) -> u64 {
    SKIPPABLE_HEADER_BYTES + entries * ENTRY_BYTES + FOOTER_BYTES
}

/// The seek table as a skippable frame, to be put at the end of the file.
pub(super) fn seek_table(entries: &[Entry]) -> Vec<u8> {
    let content = entries.len() as u64 * ENTRY_BYTES + FOOTER_BYTES;
    let short = |n: u64| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    let mut table = Vec::new();
    table.extend(SKIPPABLE_MAGIC.to_le_bytes());
    table.extend(short(content));
    for entry in entries {
        table.extend(entry.packed.to_le_bytes());
        table.extend(entry.text.to_le_bytes());
        table.extend(entry.checksum.to_le_bytes());
    }
    table.extend(short(entries.len() as u64));
    table.push(WITH_CHECKSUMS);
    table.extend(SEEKABLE_MAGIC.to_le_bytes());
    table
}

/// Finds every zstd frame: through the seek table, or without one by walking from frame to frame.
pub(super) fn index(file: &mut (impl Read + Seek)) -> io::Result<Index> {
    let length = file.seek(SeekFrom::End(0))?;
    if let Some(places) = through_seek_table(file, length)? {
        return Ok(Index { places, whole: true, left_over_bytes: 0 });
    }
    walk(file, length)
}

/// Reads the zstd frame at `place`.
pub(super) fn read_at(file: &mut (impl Read + Seek), place: Place) -> io::Result<Vec<u8>> {
    if place.bytes > MOST_PACKED_BYTES {
        return Err(io::Error::other(format!("a block of {} bytes: larger than any block", place.bytes)));
    }
    file.seek(SeekFrom::Start(place.at))?;
    let mut packed = vec![0; usize::try_from(place.bytes).map_err(io::Error::other)?];
    file.read_exact(&mut packed)?;
    Ok(packed)
}

/// Whether the file starts as zstd files do.
pub(super) fn begins_as_zstd(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    let mut four = [0; 4];
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut four)?;
    Ok(word(&four) == ZSTD_MAGIC)
}

/// Whether the file begins as recordings do; `false` too where it cannot be read.
pub(crate) fn begins_as_recording(path: &Path) -> bool {
    File::open(path).and_then(|mut file| begins_as_zstd(&mut file)).unwrap_or(false)
}

fn through_seek_table(file: &mut (impl Read + Seek), length: u64) -> io::Result<Option<Vec<Place>>> {
    let Some(footer_at) = length.checked_sub(FOOTER_BYTES) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(footer_at))?;
    let mut footer = [0; 9];
    file.read_exact(&mut footer)?;
    let count = u64::from(word(&footer));
    if word(&footer[5..]) != SEEKABLE_MAGIC || footer[4] != WITH_CHECKSUMS {
        return Ok(None);
    }
    let content = count * ENTRY_BYTES + FOOTER_BYTES;
    let Some(table_at) = length.checked_sub(content + SKIPPABLE_HEADER_BYTES) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(table_at))?;
    let mut head = [0; 8];
    file.read_exact(&mut head)?;
    if word(&head) != SKIPPABLE_MAGIC || u64::from(word(&head[4..])) != content {
        return Ok(None);
    }
    let mut entries = vec![0; usize::try_from(count * ENTRY_BYTES).map_err(io::Error::other)?];
    file.read_exact(&mut entries)?;
    let mut at = 0;
    let mut places = Vec::with_capacity(entries.len() / 12);
    for entry in entries.chunks_exact(12) {
        let bytes = u64::from(word(entry));
        places.push(Place { at, bytes });
        at += bytes;
    }
    // a table that does not fit its file is worth nothing
    Ok((at == table_at).then_some(places))
}

fn walk(file: &mut (impl Read + Seek), length: u64) -> io::Result<Index> {
    let mut file = io::BufReader::new(file);
    file.seek(SeekFrom::Start(0))?;
    let mut places = Vec::new();
    let mut at = 0;
    while let Some((bytes, kind)) = frame_length(&mut file, at)? {
        if at + bytes > length {
            break;
        }
        if kind == Kind::Zstd {
            places.push(Place { at, bytes });
        }
        at += bytes;
        seek_to(&mut file, at)?;
    }
    Ok(Index { places, whole: false, left_over_bytes: length - at })
}

#[derive(PartialEq)]
enum Kind {
    Zstd,
    Skippable,
}

/// Length of the frame at `from`, where the reader stands; `None` where no whole frame header is.
fn frame_length(file: &mut io::BufReader<impl Read + Seek>, from: u64) -> io::Result<Option<(u64, Kind)>> {
    match measure(file, from) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        other => other,
    }
}

fn measure(file: &mut io::BufReader<impl Read + Seek>, from: u64) -> io::Result<Option<(u64, Kind)>> {
    let mut four = [0; 4];
    file.read_exact(&mut four)?;
    let magic = word(&four);
    if magic & SKIPPABLE_MASK == SKIPPABLE_MAGIC & SKIPPABLE_MASK {
        file.read_exact(&mut four)?;
        return Ok(Some((SKIPPABLE_HEADER_BYTES + u64::from(word(&four)), Kind::Skippable)));
    }
    if magic != ZSTD_MAGIC {
        return Ok(None);
    }
    let mut one = [0];
    file.read_exact(&mut one)?;
    let descriptor = one[0];
    let mut at = from + 5 + header_rest(descriptor);
    seek_to(file, at)?;
    loop {
        let mut three = [0; 3];
        file.read_exact(&mut three)?;
        let block = u64::from(three[0]) | u64::from(three[1]) << 8 | u64::from(three[2]) << 16;
        at += 3 + match block >> 1 & 3 {
            // raw and compressed blocks hold their size, a run holds one byte
            0 | 2 => block >> 3,
            1 => 1,
            _ => return Ok(None),
        };
        if at - from > MOST_PACKED_BYTES {
            return Ok(None);
        }
        seek_to(file, at)?;
        if block & 1 == 1 {
            break;
        }
    }
    let checksum = if descriptor & 4 == 0 { 0 } else { 4 };
    Ok(Some((at + checksum - from, Kind::Zstd)))
}

/// Bytes of the frame header behind its descriptor: window, dictionary, content size (RFC 8878, 3.1.1.1).
fn header_rest(descriptor: u8) -> u64 {
    let single_segment = descriptor >> 5 & 1;
    let window = u64::from(1 - single_segment);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_size = match (descriptor >> 6, single_segment) {
        (0, 0) => 0,
        (0, _) => 1,
        (flag, _) => 1 << flag,
    };
    window + dictionary + content_size
}

/// Moves within the buffer where it can.
fn seek_to(file: &mut io::BufReader<impl Read + Seek>, at: u64) -> io::Result<()> {
    let now = file.stream_position()?;
    let by = at.cast_signed() - now.cast_signed();
    file.seek_relative(by)
}

fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |four| u32::from_le_bytes(*four))
}

#[cfg(test)]
mod tests;
