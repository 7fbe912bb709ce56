//! What went wrong with a rail of our load, in words.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Most characters that are kept of a text.
const MOST_CHARS: usize = 400;

/// What went wrong with a rail of our load, or right again after that, as it is told to people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// RDMA device of this host; `None` where it is about the peer.
    #[serde(default)]
    pub device: Option<String>,
    /// The rail, the status or call, and the cause; at most 400 characters.
    pub text: String,
}

impl Failure {
    /// What went wrong with this device; of a long text its beginning.
    #[must_use]
    pub fn new(device: Option<&str>, text: &str) -> Self {
        let text = match text.char_indices().nth(MOST_CHARS) {
            None => text.to_owned(),
            Some(_) => text.chars().take(MOST_CHARS - 1).chain(['…']).collect(),
        };
        Self { device: device.map(str::to_owned), text }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;

    #[test]
    fn a_long_text_is_kept_by_its_beginning() {
        let long = "é".repeat(500);
        let kept = Failure::new(Some("mlx5_0"), &long).text;
        assert_eq!((kept.chars().count(), kept.chars().last()), (400, Some('…')));
        assert_eq!(Failure::new(None, "short").text, "short");
        assert_eq!(Failure::new(None, &long[..800]).text.chars().count(), 400);
    }
}
