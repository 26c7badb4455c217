//! Traffic whose truth is known, and the truth: what srlg is tested and measured with.
//!
//! - [`synthetic`]: seeded traffic of several models, the same bits on every machine.
//! - [`family`]: the same traffic as IPv4, as IPv6, or as both.
//! - [`packets`], [`export`]: packets of made-up traffic, and what exporters of every format make of them.
//! - [`trace`]: record files of real traffic.
//! - [`oracle`]: exact sliding cardinalities, by hash maps.
//! - [`score`]: false rates and errors of a detector's reports against the truth.
//!
//! The order of use is traffic or trace, oracle, detector, score. Nothing here knows a detector:
//! it takes what a detector takes, and compares numbers. Memory grows with the traffic.
#![forbid(unsafe_code)]

pub mod export;
pub mod family;
pub mod oracle;
pub mod packets;
pub mod score;
pub mod synthetic;
pub mod trace;
