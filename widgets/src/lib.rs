//! Bars, trends and lists for a screen full of rails.
//!
//! A widget here takes plain values (cells, labels, styles, shares) and paints them into a buffer.
//! It knows no NIC, no unit and no rule; what a value means is decided by the program's views.
//!
//! | widget | paints |
//! |---|---|
//! | [`RailBar`] | one bar on a scale of its own, with marks and a text at its end |
//! | [`Trend`] | a small graph, one cell a value, that shows where there was none |
//! | [`Scrubber`] | where one is in a length of time, and where in it something happened |
//! | [`FindingList`] | what was found, worst first, each with what to do |

mod finding_list;
mod rail_bar;
mod scrubber;
mod symbols;
mod trend;
mod wrap;

pub use finding_list::{FindingItem, FindingList};
pub use rail_bar::{Mark, RailBar};
pub use scrubber::{Level, ScrubCell, Scrubber, Tick};
pub use symbols::Symbols;
pub use trend::Trend;
pub use wrap::{clip, width, wrap};
