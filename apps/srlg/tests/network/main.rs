//! Probes and collectors as processes with a real broker. The tests cover what a simulation cannot show: access control,
//! kills, full disks, the system clock, and what a broker does. `src/simulation` has the tests of the rules.
//!
//! If `nats-server` is missing, the tests are skipped with a message. With `SRLG_REQUIRE_NATS=1`, the tests fail
//! instead.
#![allow(unreachable_pub, reason = "a test has no public interface")]

mod access;
mod clock;
mod collecting;
mod collector;
mod details;
#[path = "../program/disk.rs"]
mod disk;
mod errors;
mod exports;
#[path = "../program/faketime.rs"]
mod faketime;
mod full_disk;
mod input;
#[path = "../program/manager.rs"]
mod manager;
mod merged;
mod messages;
#[path = "../program/nats.rs"]
mod nats;
mod net;
#[path = "../program/network_messages.rs"]
mod network_messages;
#[path = "../program/network_traffic.rs"]
mod network_traffic;
mod parity;
#[path = "../program/probe.rs"]
mod probe;
#[path = "../program/process.rs"]
mod process;
mod rate;
mod regions;
mod routers;
mod senders;
mod spool;
mod strangers;
mod versions;
