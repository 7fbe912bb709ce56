//! A sweep: the same load at one message size, queue-pair and thread count after the other, and what the curves say.
//!
//! | module | holds |
//! |---|---|
//! | [`grid`] | which points there are |
//! | [`row`] | what one point measured, from two samples of one load |
//! | [`bound`] | what bounds it |
//! | [`saved`] | the whole, as JSON and in a file to go on from |
//! | [`statements`] | peaks, plateaus and differences in words |
//! | `headings` | where it was measured, and with what |
//! | [`text`], [`curve`], [`svg`] | how it is shown |
//!
//! All of it is pure; what measures is `commands/sweep.rs`.

pub mod bound;
pub mod curve;
pub mod grid;
mod headings;
pub mod row;
pub mod saved;
pub mod statements;
pub mod svg;
pub mod text;

pub use curve::scale_top;
pub use grid::{Grid, Sizes, Spot};
pub use headings::headings;
pub use row::Point;
pub use saved::{Resume, Sweep};
