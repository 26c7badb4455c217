//! Detection of sliding super points: hosts in contact with at least θ distinct other hosts within a sliding window.
//!
//! After every slice, a detector reports these hosts and an estimated number of peers for each. Its memory use is
//! fixed.
//!
//! This crate re-exports all items of `srlg-host`, so that programs can use the shorter name `srlg`. The documentation
//! of `srlg-host` has an overview.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(inline)]
pub use srlg_host::*;
