//! Synthetic and recorded traffic with exact answers, for tests and measurements of srlg.
//!
//! | Module | Contents |
//! |---|---|
//! | [`synthetic`] | seeded traffic of several models, with the same bits on every machine |
//! | [`family`] | conversion of this traffic to IPv4, IPv6 or both |
//! | [`packets`], [`export`] | packets of synthetic traffic, and their exports in every flow format |
//! | [`trace`] | record files of real traffic |
//! | [`oracle`] | exact sliding cardinalities, computed with hash maps |
//! | [`score`] | false rates and errors of a detector's reports |
//!
//! An evaluation uses synthetic traffic or a trace, the oracle, a detector and the score, in this order. This crate
//! does not depend on a detector. It generates the input of a detector and compares numbers. Its memory grows with the
//! traffic.
#![forbid(unsafe_code)]

pub mod export;
pub mod family;
pub mod oracle;
pub mod packets;
pub mod score;
pub mod synthetic;
pub mod trace;
