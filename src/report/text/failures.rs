//! What went wrong with rails of our load, a line each.

use super::super::LoadBlock;
use super::wrap::Wrapped;
use std::fmt::{self, Formatter};

/// Most that are printed; the JSON has the first hundred.
const MOST_LISTED: usize = 12;

/// The first of them, with the time of the sample that saw each.
pub(super) fn write(f: &mut Formatter<'_>, load: &LoadBlock) -> fmt::Result {
    // what is printed as the reason why it ended is not said twice
    let is_news = |text: &str| load.ended.as_deref().is_none_or(|ended| !text.contains(ended));
    let told: Vec<_> = load.failures.iter().filter(|failure| is_news(&failure.text)).collect();
    for failure in told.iter().take(MOST_LISTED) {
        let when = format!("  at {:.1} s: ", failure.at_s);
        write!(f, "{}", Wrapped { lead: &when, text: &failure.text })?;
    }
    let more = told.len().saturating_sub(MOST_LISTED) as u64 + load.more_failures;
    match more {
        0 => Ok(()),
        1 => writeln!(f, "  and one more of these: --json lists the first hundred"),
        more => writeln!(f, "  and {more} more of these: --json lists the first hundred"),
    }
}
