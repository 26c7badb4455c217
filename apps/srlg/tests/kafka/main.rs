//! Flows in topics of Kafka, whose brokers and producers are those of another project.
//!
//! Without `kcat` the tests say that they were skipped; with `SRLG_REQUIRE_KAFKA=1` they fail.

#![cfg(feature = "kafka")]

mod broker;
mod flows;
mod input;
mod killed;
