//! The implementation of the crate [`srlg`](https://docs.rs/srlg), which re-exports all items of this crate and has the
//! documentation.

#![cfg_attr(docsrs, feature(doc_cfg))]
// Without compression, states are exchanged only in memory.
#![cfg_attr(
    not(feature = "state"),
    allow(dead_code, unused_imports, reason = "states are neither written nor read as bytes")
)]

mod backend;
pub mod config;
mod cpu;
mod detector;
mod device;
mod error;
mod finder;
#[cfg(any(feature = "cudarc", feature = "cust"))]
pub mod gpu;
#[cfg(all(any(feature = "cuda", test), not(any(feature = "cudarc", feature = "cust"))))]
mod gpu;
pub mod ingest;
mod kept;
mod open;
mod peers;
pub mod report;
mod share;
mod shares;
mod sparse;
pub mod state;
pub mod time;
mod vectors;

pub use detector::SlidingDetector;
pub use device::Device;
pub use error::Error;
pub use report::{SliceReport, SuperPoint};
pub use srlg_core::{Config, IpPair, Ipv4Pair};
