//! In what pages the buffers of a load lie.

use super::super::LoadBlock;

/// From so many bytes on a page is a huge one.
const HUGE_BYTES: u64 = 2 << 20;

/// `huge pages of 2 MiB`, `ordinary pages`, or how many threads have which; `None` where it is not known.
pub(super) fn of(load: &LoadBlock) -> Option<String> {
    let pages: Vec<u64> = load.threads.iter().filter_map(|thread| thread.page_bytes).collect();
    let huge = pages.iter().filter(|bytes| **bytes >= HUGE_BYTES).count();
    match huge {
        _ if pages.is_empty() => None,
        0 => Some("buffers in ordinary pages".to_owned()),
        all if all == pages.len() => Some("buffers in huge pages of 2 MiB".to_owned()),
        some => Some(format!(
            "{some} of {} buffers in huge pages of 2 MiB, the others in ordinary ones",
            pages.len()
        )),
    }
}
