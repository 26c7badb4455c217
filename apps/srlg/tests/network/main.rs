//! Probes and collectors with a real broker. The tests cover, for example, access control, alerts, and results that do
//! not change if a process is killed.
//!
//! If `nats-server` is missing, the tests are skipped with a message. With `SRLG_REQUIRE_NATS=1`, the tests fail
//! instead.
#![allow(unreachable_pub, reason = "a test has no public interface")]

mod access;
mod alerts;
mod clock;
mod collecting;
mod collector;
#[path = "../program/disk.rs"]
mod disk;
mod errors;
mod exports;
#[path = "../program/faketime.rs"]
mod faketime;
mod full_disk;
mod handmade;
mod input;
mod merged;
mod messages;
#[path = "../program/nats.rs"]
mod nats;
mod net;
mod network_traffic;
mod one_site;
#[path = "../program/process.rs"]
mod process;
mod rate;
mod senders;
mod sites;
mod spool;
mod strangers;
mod versions;
