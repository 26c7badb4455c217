//! Flows in topics of Kafka and in streams and subjects of NATS, whose brokers and producers are those of other projects.
//!
//! Without `kcat` or `nats-server` the tests say that they were skipped; with `SRLG_REQUIRE_KAFKA=1` and `SRLG_REQUIRE_NATS=1` they
//! fail.

#![cfg(feature = "kafka")]

mod flows;
mod incidents;
mod kafka;
mod killed;
mod nats;
mod reading;
mod running;
#[path = "../program/nats.rs"]
mod server;
