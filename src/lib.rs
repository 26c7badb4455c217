//! Sliding super points: hosts in contact with at least θ distinct other hosts within a sliding window, reported with their
//! cardinality after every slice of time, in fixed memory.
//!
//! This crate is `srlg-host` under a shorter name; all items are documented there.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(inline)]
pub use srlg_host::*;
