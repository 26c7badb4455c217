//! Measurements of the time that packets, flow records and look-ups of networks take. This runs them:
//! `cargo test --release -p srlg-input --test speed -- --ignored --nocapture --test-threads 1`.

mod captures;
mod exports;
mod networks;

use std::net::IpAddr;

/// What a user of a host does at least: take it for a number.
fn number(host: IpAddr) -> u64 {
    match host {
        IpAddr::V4(host) => host.to_bits().into(),
        IpAddr::V6(host) => (host.to_bits() >> 64) as u64 ^ host.to_bits() as u64,
    }
}
