//! What the memory that data come from holds, so that data that arrived can be told from data that did not.

use super::Params;
use super::layout::Layout;
use crate::ffi::buffer::Buffer;
use crate::ffi::cuda;
use serde::{Deserialize, Serialize};

/// The word at position `at` of memory that data come from: no two alike, none zero, so that neither memory that was never
/// written nor data from a wrong place passes for it.
pub(super) fn word(at: usize) -> u64 {
    // the finalizer of splitmix64 (Steele, Lea, Flood 2014), a bijection
    let mut x = (at as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Above this, one word per cache line is compared, so that stopping takes milliseconds.
const COMPARE_ALL_BELOW_BYTES: u64 = 16 << 20;
/// Above this, fewer.
const MOST_BYTES_PER_LOOK: u64 = 512 << 20;
/// The first word of so many messages at most.
const MOST_MESSAGES_PER_LOOK: u64 = 4 << 20;

/// How much of a buffer is looked at, so that the end of a load does not take longer than the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    /// One word of so many, the first of a message in any case.
    every_words: usize,
    /// One message of so many.
    every_messages: usize,
}

impl Sample {
    fn of(layout: &Layout) -> Self {
        let every_words = match layout.bytes() {
            few if few <= COMPARE_ALL_BELOW_BYTES => 1,
            many => usize::try_from(many / MOST_BYTES_PER_LOOK).unwrap_or(usize::MAX / 8).max(1) * 8,
        };
        let messages = layout.places_filled(u64::MAX).saturating_mul(layout.lanes() as u64);
        let every_messages = usize::try_from(messages.div_ceil(MOST_MESSAGES_PER_LOOK)).unwrap_or(usize::MAX);
        Self { every_words, every_messages: every_messages.max(1) }
    }
}

impl Params {
    /// How much of a thread's data is compared at the end of the load, in words; `None`: all of it.
    #[must_use]
    pub fn sampled_check(&self) -> Option<String> {
        let Sample { every_words, every_messages } = Sample::of(&Layout::new(self));
        let message_words = usize::try_from(self.size_bytes.div_ceil(8)).unwrap_or(usize::MAX).max(1);
        let of_message = match every_words {
            1 => None,
            step if step >= message_words => Some("the first 8 bytes".to_owned()),
            step => Some(format!("8 bytes in {}", step * 8)),
        };
        let of_messages = if every_messages == 1 {
            "each message".to_owned()
        } else {
            format!("one message in {every_messages}")
        };
        match (of_message, every_messages) {
            (None, 1) => None,
            (None, _) => Some(of_messages),
            (Some(part), _) => Some(format!("{part} of {of_messages}")),
        }
    }
}

/// What of the memory that data went to is not what their source holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrong {
    /// Messages with a wrong word.
    pub messages: u64,
    /// Wrong words of 8 bytes among those compared.
    pub words: u64,
}

impl Wrong {
    /// `2 messages in the buffer are not what the peer holds (1024 words of 8 bytes)`.
    #[must_use]
    pub fn in_words(self, place: &str, wanted: &str) -> String {
        let (messages, are) = match self.messages {
            1 => ("1 message".to_owned(), "is"),
            several => (format!("{several} messages"), "are"),
        };
        let words = if self.words == 1 { "1 word".to_owned() } else { format!("{} words", self.words) };
        format!("{messages} in {place} {are} not {wanted} ({words} of 8 bytes)")
    }
}

/// Compares memory that data went to with what their source holds, over the places that were filled. `operations` are the
/// good operations of each queue pair.
///
/// # Errors
///
/// The buffer lies in a GPU whose driver does not give its content.
pub(super) fn wrong(
    buffer: &Buffer,
    layout: &Layout,
    size_bytes: u64,
    operations: &[u64],
) -> Result<Wrong, cuda::Error> {
    let Sample { every_words: step, every_messages } = Sample::of(layout);
    let whole = usize::try_from(size_bytes / 8).unwrap_or(usize::MAX);
    let rest = size_bytes % 8;
    let mut held = buffer.words();
    let mut wrong = Wrong::default();
    for (lane, operations) in (0..).zip(operations) {
        for place in (0..layout.places_filled(*operations)).step_by(every_messages) {
            let first = usize::try_from(layout.offset(lane, place) / 8).unwrap_or(usize::MAX);
            let mut words = 0;
            for at in (first..first + whole).step_by(step) {
                words += u64::from(held.at(at)? != word(at));
            }
            if rest != 0 {
                let differ = (held.at(first + whole)? ^ word(first + whole)).to_le();
                words += u64::from(differ & ((1 << (8 * rest)) - 1) != 0);
            }
            wrong.words += words;
            wrong.messages += u64::from(words > 0);
        }
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::{Layout, Wrong, word};
    use crate::ffi::pages::Pages;
    use crate::load::{Params, WorkingSet};

    fn wrong(size_bytes: u64, operations: &[u64], content: impl Fn(usize) -> u64) -> (u64, u64) {
        let params = Params { qps: 2, depth: 8, size_bytes, ..Params::default() };
        let layout = Layout::new(&params);
        let mut pages = Pages::map(usize::try_from(layout.bytes()).unwrap()).unwrap();
        pages.fill(content);
        let Wrong { messages, words } = super::wrong(&pages.into(), &layout, size_bytes, operations).unwrap();
        (messages, words)
    }

    #[test]
    fn data_that_arrived_are_recognised() {
        assert_eq!(wrong(65_536, &[1, 1], word), (0, 0));
        assert_eq!(wrong(1001, &[1, 100], word), (0, 0));
    }

    #[test]
    fn data_that_never_arrived_are_counted() {
        assert_eq!(wrong(65_536, &[1, 0], |_| 0), (1, 8192));
        assert_eq!(wrong(13, &[1, 0], |_| 0), (1, 2));
    }

    #[test]
    fn what_was_never_read_is_not_compared() {
        assert_eq!(wrong(65_536, &[0, 0], |_| 0), (0, 0));
    }

    #[test]
    fn data_from_a_wrong_place_are_counted() {
        assert_eq!(wrong(4096, &[9, 9], |at| word(at + 1)), (2, 1024));
    }

    #[test]
    fn a_large_set_is_checked_by_a_bounded_sample_that_is_said() {
        let said = |size_bytes, bytes| {
            Params { size_bytes, working_set: WorkingSet::Bytes(bytes), ..Params::default() }.sampled_check()
        };
        assert_eq!(Params::default().sampled_check(), None);
        assert_eq!(said(64 << 10, 8 << 20), None);
        assert_eq!(said(64 << 10, 256 << 20).unwrap(), "8 bytes in 64 of each message");
        assert_eq!(said(4096, 64 << 30).unwrap(), "the first 8 bytes of one message in 4");
        let params = Params { size_bytes: 64, working_set: WorkingSet::Bytes(1 << 40), ..Params::default() };
        let sample = super::Sample::of(&Layout::new(&params));
        assert_eq!(sample.every_messages, 4096, "2^34 messages, of which 2^22 are looked at");
    }
}
