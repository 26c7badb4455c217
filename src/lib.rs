//! Detection of sliding super points: hosts in contact with at least θ distinct other hosts within a sliding window.
//!
//! After every time slice, a detector reports each of these hosts with its estimated number of peers. Its memory is
//! fixed.
//!
//! This crate is `srlg-host` under a shorter name. All items are documented there.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(inline)]
pub use srlg_host::*;
