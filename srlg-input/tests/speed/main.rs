//! Measurements of the time that packets, flow records and look-ups of networks take. This runs them:
//! `cargo test --release -p srlg-input --test speed -- --ignored --nocapture --test-threads 1`.

mod captures;
mod exports;
mod networks;

use srlg_input::contact::Host;

/// What a user of a host does at least: take it for a number.
fn number(host: Host) -> u64 {
    (host.as_v6() >> 64) as u64 ^ host.as_v6() as u64
}
