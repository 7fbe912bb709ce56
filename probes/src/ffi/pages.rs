//! Memory for a device: page-aligned, not yet touched, written by hardware behind the compiler's back.

use std::io;
use std::ptr::NonNull;

/// Size of a huge page on x86-64 and on 64-bit Arm with 4 KiB pages.
const HUGE_BYTES: usize = 2 << 20;

/// Anonymous memory, unmapped on drop. A device may write it at any time while it is registered, so it is only
/// read and written through volatile accesses of single words, never lent as a slice of bytes.
#[derive(Debug)]
pub struct Pages {
    map: NonNull<u8>,
    map_bytes: usize,
    start: NonNull<u8>,
    bytes: usize,
    page_bytes: usize,
}

// SAFETY: - plain memory, owned by this value alone
unsafe impl Send for Pages {}

impl Pages {
    /// Maps at least `bytes` of memory without touching it, so that the first touch, or a binding made before
    /// it, decides the NUMA node. From 2 MiB on it is aligned for transparent huge pages, and asks for them.
    ///
    /// # Errors
    ///
    /// The kernel gives no memory.
    pub fn map(bytes: usize) -> io::Result<Self> {
        let huge = bytes >= HUGE_BYTES;
        let unit = if huge { HUGE_BYTES } else { 4096 };
        let too_much = || io::Error::from_raw_os_error(libc::ENOMEM);
        let bytes = bytes.max(1).checked_next_multiple_of(unit).ok_or_else(too_much)?;
        let slack = if huge { HUGE_BYTES } else { 0 };
        let map_bytes = bytes.checked_add(slack).ok_or_else(too_much)?;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: - a new anonymous mapping, at an address of the kernel's choice
        let map = unsafe {
            libc::mmap(std::ptr::null_mut(), map_bytes, prot, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let map = NonNull::new(map.cast::<u8>()).ok_or_else(too_much)?;
        let offset = if huge { map.as_ptr().align_offset(HUGE_BYTES) } else { 0 };
        // SAFETY: - `offset` is below HUGE_BYTES, which is the slack of the mapping
        let start = unsafe { map.add(offset) };
        // Both are wishes; a kernel without them does as well.
        // DONTFORK: a child's copy-on-write must not move pages that a device writes.
        // SAFETY: - `start` and `bytes` lie inside the mapping and are page-aligned
        unsafe {
            libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_DONTFORK);
            if huge {
                libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE);
            }
        }
        Ok(Self { map, map_bytes, start, bytes, page_bytes: 4096 })
    }

    /// The same in huge pages of 2 MiB that the administrator has set aside (`vm.nr_hugepages`), not yet touched.
    ///
    /// # Errors
    ///
    /// Fewer are free than are needed.
    pub fn map_huge(bytes: usize) -> io::Result<Self> {
        let too_much = || io::Error::from_raw_os_error(libc::ENOMEM);
        let bytes = bytes.max(1).checked_next_multiple_of(HUGE_BYTES).ok_or_else(too_much)?;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB | libc::MAP_HUGE_2MB;
        // SAFETY: - a new anonymous mapping, at an address of the kernel's choice
        let map = unsafe { libc::mmap(std::ptr::null_mut(), bytes, prot, flags, -1, 0) };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(map.cast::<u8>()).ok_or_else(too_much)?;
        // SAFETY: - the whole mapping; a wish, as above
        unsafe { libc::madvise(map, bytes, libc::MADV_DONTFORK) };
        Ok(Self { map: start, map_bytes: bytes, start, bytes, page_bytes: HUGE_BYTES })
    }

    /// Brings every page into being. Of huge pages that a cpuset or a policy keeps away the first touch would be a
    /// fatal signal; this is an error instead.
    ///
    /// # Errors
    ///
    /// There are not enough pages, or the kernel is older than 5.14 and cannot do that (`madvise`(2),
    /// `MADV_POPULATE_WRITE`).
    pub fn populate(&mut self) -> io::Result<()> {
        // SAFETY: - the range is a mapping of this value, which is borrowed exclusively
        let answer =
            unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, libc::MADV_POPULATE_WRITE) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Size of its pages, bytes, as they were asked for: the kernel may put ordinary ones together.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// First byte.
    #[must_use]
    pub fn address(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Length, bytes: what was asked for, rounded up to whole pages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there is no memory; there always is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// How many 8-byte words there are.
    #[must_use]
    pub fn words(&self) -> usize {
        self.bytes / 8
    }

    /// A mapping starts at a page, so it is aligned.
    fn first_word(&self) -> *mut u64 {
        self.start.as_ptr().cast()
    }

    /// The word at position `at`.
    ///
    /// # Panics
    ///
    /// There is no such word.
    #[must_use]
    pub fn word(&self, at: usize) -> u64 {
        assert!(at < self.words(), "word {at} of {}", self.words());
        // SAFETY: - inside the mapping, aligned; volatile because a device may write it
        unsafe { self.first_word().add(at).read_volatile() }
    }

    /// Writes every word, which also brings every page into being.
    pub fn fill(&mut self, word: impl Fn(usize) -> u64) {
        for at in 0..self.words() {
            // SAFETY: - inside the mapping, aligned, and nobody else writes: this value is borrowed exclusively
            unsafe { self.first_word().add(at).write_volatile(word(at)) };
        }
    }

    /// Lends the address range to `look`, which must not touch the bytes: for binding and for asking where
    /// the pages lie.
    #[cfg(feature = "hwloc")]
    pub(crate) fn range<R>(&self, look: impl FnOnce(&[std::mem::MaybeUninit<u8>]) -> R) -> R {
        // SAFETY: - the range is mapped; as `MaybeUninit` nothing is claimed about what the bytes hold
        look(unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes) })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: - the mapping of `map`, unmapped once; a registration of it is gone, as it owned this value
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.map_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::{HUGE_BYTES, Pages};

    #[test]
    fn small_memory_is_whole_pages_and_large_memory_is_aligned_for_huge_ones() {
        assert_eq!(Pages::map(1).unwrap().len(), 4096);
        let large = Pages::map(HUGE_BYTES + 1).unwrap();
        assert_eq!(large.len(), 2 * HUGE_BYTES);
        assert_eq!(large.address() as usize % HUGE_BYTES, 0);
    }

    #[test]
    fn huge_pages_are_whole_or_not_to_be_had() {
        let Ok(mut pages) = Pages::map_huge(HUGE_BYTES + 1) else {
            eprintln!("not tried: no huge pages are set aside here (sysctl vm.nr_hugepages)");
            return;
        };
        assert_eq!((pages.len(), pages.page_bytes()), (2 * HUGE_BYTES, HUGE_BYTES));
        if pages.populate().is_ok() {
            pages.fill(|at| at as u64);
            assert_eq!(pages.word(HUGE_BYTES / 8), (HUGE_BYTES / 8) as u64);
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut pages = Pages::map(8192).unwrap();
        pages.fill(|at| at as u64 * 3);
        assert_eq!((pages.word(0), pages.word(1023)), (0, 3069));
    }

    #[test]
    fn more_than_there_is_is_an_error() {
        assert!(Pages::map(usize::MAX).is_err());
        assert!(Pages::map(1 << 60).is_err());
    }
}
