//! Both schemes as slowly as they read: the oracles of the fast code, at small sizes.
//!
//! [`PaperModel`] is the paper's, line by line; [`TaggedModel`] is the default,
//! docs/tagged-recorders.md in code. Neither shares more with the fast code than its hash
//! functions: recorders are plain integers, and hosts are found by trying all that come into question.

mod paper;
mod tagged;

pub use paper::{PaperModel, Tuple};
pub use tagged::{TaggedEstimate, TaggedModel, TaggedTally};
