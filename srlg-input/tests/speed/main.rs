//! Measurements of the speed of packet and log reading, flow decoding and network look-ups. Run them with
//! `cargo test --release -p srlg-input --test speed -- --ignored --nocapture --test-threads 1`.

mod captures;
mod exports;
mod logs;
mod networks;

use srlg_input::contact::Host;

/// Returns a number that depends on all bits of a host. This is the minimum work that a caller does for each host.
fn number(host: Host) -> u64 {
    (host.as_v6() >> 64) as u64 ^ host.as_v6() as u64
}
