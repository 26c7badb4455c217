//! Flows in topics of Kafka, whose brokers and producers are those of another project.
//!
//! Without `kcat` and, for one of them, `nats-server` the tests say that they were skipped; with `SRLG_REQUIRE_KAFKA=1` they fail.

#![cfg(feature = "kafka")]

mod broker;
mod flows;
mod input;
mod killed;
#[path = "../program/nats.rs"]
mod nats;
mod tls;
