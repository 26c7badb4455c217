//! Measurements of the time that packets, flow records and look-ups of networks take. This runs them:
//! `cargo test --release -p srlg-input --test speed -- --ignored --nocapture --test-threads 1`.

mod captures;
mod exports;
mod networks;
