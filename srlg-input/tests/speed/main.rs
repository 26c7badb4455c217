//! Measurements of the time that packets, flow records and network look-ups take. Run them with
//! `cargo test --release -p srlg-input --test speed -- --ignored --nocapture --test-threads 1`.

mod captures;
mod exports;
mod networks;

use srlg_input::contact::Host;

/// Returns a number that depends on all bits of a host. Every caller does at least this work with a host.
fn number(host: Host) -> u64 {
    (host.as_v6() >> 64) as u64 ^ host.as_v6() as u64
}
