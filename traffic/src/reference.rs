//! Both schemes as slowly as they read: the oracles of the fast code, at small sizes.
//!
//! [`PaperModel`] is the paper's, line by line; [`TaggedModel`] is the default,
//! docs/tagged-recorders.md in code. The second shares nothing with the fast code but its hash
//! functions; the first also its positions and columns, which pinned vectors hold. Recorders are
//! plain integers, and hosts are found by trying all that come into question.

mod paper;
mod tagged;

pub use paper::{PaperModel, Tuple};
pub use tagged::{TaggedEstimate, TaggedModel, TaggedTally};
