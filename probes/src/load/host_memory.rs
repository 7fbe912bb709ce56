//! Memory of the host for a buffer: on the wanted node, in huge pages when they are free.

use crate::bind;
use crate::ffi::pages::Pages;
use std::io;

/// Memory on `node` where it is known, with every word written, and the node it lies on.
///
/// It takes huge pages of 2 MiB that were set aside and are free, on the right node and at once; else ordinary pages,
/// which the kernel may put together. A lack of huge pages is never an error.
///
/// # Errors
///
/// The kernel gives no memory.
pub(super) fn take(
    bytes: usize,
    node: Option<u32>,
    content: fn(usize) -> u64,
) -> io::Result<(Pages, Option<u32>)> {
    if let Some((mut pages, lies_on)) = huge(bytes, node) {
        pages.fill(content);
        return Ok((pages, lies_on));
    }
    let mut pages = Pages::map(bytes)?;
    let bound = node.filter(|node| bind::memory(&pages, *node).is_ok());
    pages.fill(content);
    // where the pages lie counts, not where they were wished to
    let lies_on = bind::node_of(&pages).or(bound);
    Ok((pages, lies_on))
}

/// The same in huge pages; `None` where they are not to be had, or would lie on another node.
fn huge(bytes: usize, node: Option<u32>) -> Option<(Pages, Option<u32>)> {
    let mut pages = Pages::map_huge(bytes).ok()?;
    let bound = node.filter(|node| bind::memory(&pages, *node).is_ok());
    pages.populate().ok()?;
    let lies_on = bind::node_of(&pages).or(bound);
    (node.is_none() || lies_on == node).then_some((pages, lies_on))
}

#[cfg(test)]
mod tests {
    use super::take;

    #[test]
    fn memory_is_had_with_or_without_huge_pages() {
        let (pages, _) = take(3 << 20, None, |at| at as u64).unwrap();
        assert_eq!(pages.word((3 << 20) / 8 - 1), (3 << 20) / 8 - 1);
        assert!([4096, 2 << 20].contains(&pages.page_bytes()));
    }
}
