//! Sliding super points of a whole network: a probe at each router, one collector, and NATS
//! JetStream between them.
//!
//! - [`network`]: what all of them have to agree on, a file.
//! - [`subjects`]: how messages are addressed and named.
//! - [`connect`]: the way to the broker, by TLS and a key.
//! - [`setup`]: makes both, and the broker's configuration.
//! - [`broker`]: a broker of this machine's own.
//! - [`probe`]: what one router sees, a delta per slice.
//! - [`collector`]: merges what the probes send, and reports.
//! - [`demo`]: all of them on one machine.
//!
//! Merging is commutative, associative and idempotent. So every transport that delivers at
//! least once gives the answer of one node that saw everything, and whoever is in doubt
//! whether something has arrived sends it again.
#![forbid(unsafe_code)]
#![allow(
    clippy::missing_errors_doc,
    reason = "the errors of a program are the texts of their causes"
)]

pub mod broker;
pub mod collector;
pub mod connect;
pub mod demo;
pub mod network;
pub mod probe;
pub mod setup;
pub mod subjects;
