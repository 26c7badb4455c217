//! Ways in for pairs: of both address families, from several threads, from pinned memory.
//!
//! One thread that ingests and closes needs no more than
//! [`SlidingDetector::ingest`](crate::SlidingDetector::ingest), which takes slices of [`IpPair`](crate::IpPair) or
//! [`Ip6Pair`]. A [`PairBatch`] sorts addresses of both families into these. A thread that must not wait for a close gets a
//! [`Feed`]; [`Feed::ingest_at`] also takes pairs of earlier and later slices, and answers with an [`Arrival`].
//!
//! An `IpPair` is two 32-bit words, an [`Ip6Pair`] eight; neither has padding. The capacity of a feed is a number of pairs
//! of each family.
//!
//! ```
//! # use srlg_host as srlg;
//! use srlg::ingest::PairBatch;
//! use srlg::{Config, Device, SlidingDetector};
//!
//! let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
//! let mut feed = detector.feed(1 << 16)?;
//! let receiver = std::thread::spawn(move || {
//!     let mut pairs = PairBatch::new();
//!     (0..5000).for_each(|peer: u32| pairs.push([10, 0, 0, 1].into(), peer.to_be_bytes().into()));
//!     pairs.feed(&mut feed)
//! });
//! receiver.join().unwrap()?;
//! assert_eq!(detector.close_slice()?.super_points.len(), 1);
//! # Ok::<(), srlg::Error>(())
//! ```

pub(crate) mod batch;
pub(crate) mod feed;
pub(crate) mod pairs;
pub(crate) mod pinned;

pub use batch::PairBatch;
pub use feed::{Arrival, Feed};
pub use pairs::Pair;
pub use pinned::PinnedPairs;
pub use srlg_core::Ip6Pair;
