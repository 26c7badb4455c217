//! Flows from Kafka topics and from NATS streams and subjects, and sites that join and leave a network.
//!
//! If `kcat` or `nats-server` is missing, the tests that need it are skipped with a message. With
//! `SRLG_REQUIRE_KAFKA=1`, tests that need `kcat` fail instead. With `SRLG_REQUIRE_NATS=1`, tests that need
//! `nats-server` fail instead.

mod flows;
mod incidents;
mod kafka;
mod killed;
mod nats;
#[path = "../program/probe.rs"]
mod probe;
#[path = "../program/process.rs"]
mod process;
mod reading;
mod running;
#[path = "../program/nats.rs"]
mod server;
mod sites;
