//! What the survey learnt, in the words of other tools.

mod env;

pub use env::Env;
