//! Synthetic and recorded traffic and its exact cardinalities, for tests and measurements of srlg.
//!
//! | Module | Contents |
//! |---|---|
//! | [`synthetic`] | seeded traffic of several models, identical on every machine |
//! | [`family`] | conversion of synthetic traffic to IPv4, IPv6 or both |
//! | [`packets`], [`export`] | synthetic packets, and their export as NetFlow, IPFIX and sFlow |
//! | [`trace`] | record files of real traffic |
//! | [`oracle`] | exact sliding cardinalities, computed with hash maps |
//! | [`score`] | false rates of a detector, and errors of its estimates |
//! | [`skip`] | report of a test that cannot run on this machine |
//!
//! An experiment passes synthetic traffic or a trace to the oracle and to a detector, and then scores the reports of
//! the detector. This crate does not depend on a detector. It generates the input of a detector and compares the
//! detector's reports with the exact cardinalities. The memory usage of this crate grows with the traffic.
#![forbid(unsafe_code)]

pub mod export;
pub mod family;
pub mod oracle;
pub mod packets;
pub mod score;
pub mod skip;
pub mod synthetic;
pub mod trace;
