//! Flows from Kafka topics and from NATS streams and subjects. Brokers and producers are programs of other projects.
//!
//! If `kcat` or `nats-server` is missing, the tests are skipped with a message. With `SRLG_REQUIRE_KAFKA=1` and
//! `SRLG_REQUIRE_NATS=1`, the tests fail instead.

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
