//! Bars, trends and lists for a screen full of rails.
//!
//! A widget here takes plain values (cells, labels, styles, shares) and paints them into a buffer.
//! It knows no NIC, no rule, and units only to keep them beside their figures; what a value means is decided by the program's views.
//!
//! | widget | paints |
//! |---|---|
//! | [`RailBar`] | one bar on a scale of its own, with marks and a text at its end |
//! | [`Trend`] | a small graph, one cell a value, that shows where there was none |
//! | [`Scrubber`] | where one is in a length of time, and where in it something happened |
//! | [`FindingList`] | what was found, worst first, each with what to do |
//! | [`HeatStrip`] | how full something was over a time, one cell a stretch |
//! | [`Curves`] | curves over one another, each with a mark of its own |
//! | [`Edge`] | a frame, line by line, so that what is in it can scroll |
//! | [`branches`] | the lines before the rows of a tree |
//! | [`Svg`] | the whole screen as a picture |
//! | [`PlainText`] | the whole screen as text |

mod curves;
mod finding_list;
mod heat_strip;
mod panel;
mod plain_text;
mod rail_bar;
mod scrubber;
mod shorten;
mod svg;
mod symbols;
mod tree;
mod trend;
mod wrap;

pub use curves::{Curve, Curves, Note, mark, mark_of_several};
pub use finding_list::{FindingItem, FindingList};
pub use heat_strip::{HeatCell, HeatStrip};
pub use panel::Edge;
pub use plain_text::PlainText;
pub use rail_bar::{Mark, RailBar};
pub use scrubber::{Level, ScrubCell, Scrubber, Tick};
pub use shorten::{clip_start, shorten};
pub use svg::{Rgb, Svg};
pub use symbols::Symbols;
pub use tree::branches;
pub use trend::Trend;
pub use wrap::{clip, padded, padded_left, width, wrap};
