//! Ingestion of pairs: both address families, several threads, and pinned memory.
//!
//! A thread that both ingests and closes needs only [`SlidingDetector::ingest`](crate::SlidingDetector::ingest), which
//! accepts [`Ipv4Pair`](crate::Ipv4Pair)s or [`IpPair`](crate::IpPair)s. A [`PairBatch`] accepts addresses of both
//! families and stores each pair as the appropriate type.
//!
//! A thread that must not wait for a close uses a [`Feed`], which buffers pairs during a close. [`Feed::ingest_at`]
//! ingests pairs that belong to a given slice. It returns an [`Arrival`], the position of this slice relative to the
//! running slice.
//!
//! An `Ipv4Pair` consists of two 32-bit words and an `IpPair` of eight, without padding. The capacity of a feed is the
//! number of pairs of each type that it can buffer.
//!
//! # Example
//!
//! ```
//! # use srlg_host as srlg;
//! use srlg::ingest::PairBatch;
//! use srlg::{Config, Device, SlidingDetector};
//!
//! let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
//! let mut feed = detector.feed(1 << 16)?;
//! let receiver = std::thread::spawn(move || {
//!     let pairs = (0..5000u32).map(|peer| ([10, 0, 0, 1], peer.to_be_bytes()));
//!     pairs.collect::<PairBatch>().feed(&mut feed)
//! });
//! receiver.join().unwrap()?;
//! assert_eq!(detector.close_slice()?.super_points.len(), 1);
//! # Ok::<(), srlg::Error>(())
//! ```

pub(crate) mod batch;
pub(crate) mod bytes;
pub(crate) mod feed;
pub(crate) mod pairs;
pub(crate) mod pinned;

pub use batch::PairBatch;
pub use feed::{Arrival, Feed, Taken};
pub use pairs::Pair;
pub use pinned::PinnedPairs;
