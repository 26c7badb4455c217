//! srlg: which hosts are in contact with at least θ distinct other hosts within a
//! sliding window, and with how many, every slice of time, in fixed memory.
//!
//! [`SlidingDetector`] takes pairs and reports super points; [`SliceClock`] turns
//! timestamps into slices for it, and [`Slicer`] sorts pairs by them. [`Config`] holds every size.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
mod batch;
mod checkpoint;
mod clock;
mod close;
#[cfg(any(feature = "cuda", test))]
mod counter;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod detector;
mod device;
#[cfg(feature = "cuda")]
#[cfg_attr(
    not(any(feature = "cudarc", feature = "cust")),
    allow(unreachable_pub, reason = "public with the crates of the types")
)]
mod device_pairs;
mod error;
mod feed;
mod finder;
#[cfg(any(feature = "cuda", test))]
mod gpu;
mod kept;
mod open;
mod pairs;
mod peers;
mod pinned;
mod report;
mod seed;
mod share;
mod slicer;
mod state;
mod vectors;

#[cfg(feature = "cudarc")]
pub use cudarc;

pub use batch::PairBatch;
pub use checkpoint::{Checkpoints, Damaged, Latest};
pub use clock::{Placement, SliceClock};
pub use detector::{Closing, SlidingDetector};
pub use device::Device;
#[cfg(any(feature = "cudarc", feature = "cust"))]
pub use device_pairs::DevicePairs;
pub use error::Error;
pub use feed::{Arrival, Feed};
pub use finder::{FinderHealth, Overload};
pub use pairs::Pair;
pub use pinned::PinnedPairs;
pub use report::{Health, SamplePeer, SliceReport, StageTimes, SuperPoint};
pub use seed::random_seed;
pub use slicer::{SliceSink, Slicer};
pub use srlg_core::{
    Config, ConfigError, Estimate, EstimateRange, HashFamily, Ip6Pair, IpPair, MOST_CANDIDATES,
    Params, Plan, RsraSizes, Scheme,
};
pub use state::{Delta, FormatError, Snapshot, Stored};
