//! Finds *sliding super points*: hosts in contact with at least θ distinct other hosts within a sliding window, and tells
//! with how many, after every slice of time, in memory that is fixed at the start.
//!
//! # Start here
//!
//! ```
//! use srlg::{Config, Device, IpPair, SlidingDetector};
//! use std::net::Ipv4Addr;
//!
//! let config = Config { threshold: 1024, window: 300, ..Config::default() };
//! let mut detector = SlidingDetector::new(config, Device::Auto)?;
//! let scanner = Ipv4Addr::new(10, 0, 0, 1);
//! let targets = (0..5000).map(|target| Ipv4Addr::from_bits(0xc633_0000 + target));
//! let pairs: Vec<IpPair> = targets.map(|target| IpPair::new(scanner, target)).collect();
//! detector.ingest(&pairs)?; // takes &self: any number of threads
//! let report = detector.close_slice()?; // once per slice; the window moves
//! assert_eq!(report.super_points[0].host, scanner);
//! # Ok::<(), srlg::Error>(())
//! ```
//!
//! | to | see |
//! |---|---|
//! | choose sizes for a load and a memory | [`Config::for_load`] |
//! | receive pairs in threads, of IPv6, out of time stamps | [`ingest`], [`time`] |
//! | ask for one host, or for shorter windows | [`SlidingDetector::begin_close`], [`SlidingDetector::cardinality_within`] |
//! | know how well the detector fared | [`report::Health`] |
//! | merge sites, survive a restart | [`state`] |
//! | hash against hostile traffic | [`config::HashFamily`], [`config::random_seed`] |
//! | read captures, flow exports and logs | the crates `srlg-capture`, `srlg-flow` and `srlg-input` |
//!
//! # When not
//!
//! Up to some 100,000 distinct pairs per window an exact hash map of pairs fits in a few megabytes, and is simpler. Hosts far
//! below θ are not reported, and an estimate of such a host is mostly noise.
//!
//! # How
//!
//! Two arrays of small age counters: cells hold the hosts themselves, from which they are read again; recorders remember when,
//! and by whom, they were touched last, and an estimate counts a host's own touches. Ages make the window slide. A touch is
//! a minimum, so threads, order and repetition do not matter, and detectors merge bit for bit. The scheme of J. Xu, [arXiv
//! 1805.09246](https://arxiv.org/abs/1805.09246), with which all began, is [`Config::paper`].
//!
//! # Shapes and units
//!
//! A pair is 8 bytes of IPv4, 32 of IPv6. Slices are numbered from 0, and are as long as the caller says. Cardinalities are
//! numbers of distinct opposite hosts, with a standard error each.
//!
//! # Errors
//!
//! [`Error`] names the rule that was broken, the value, and the way out. Traffic is never an error: what was too much is in
//! [`report::Health::overload`].
//!
//! # Features
//!
//! - `cuda` (default): [`Device::Cuda`]. The driver is loaded at run time; nothing of CUDA is needed to build.
//! - `serde`: [`Config`] is read and written, reports are written.
//! - `bytemuck`: pairs are plain bytes (`Pod`).
//! - `cudarc`, `cust`: pairs in device buffers of these crates, the versions of which are then part of the interface.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub use srlg_host::{Config, Device, Error, IpPair, SliceReport, SlidingDetector, SuperPoint};

/// Sizes of a detector: schemes, hashes, plans for a load.
///
/// # When not
///
/// [`Config::default`] is right up to some 20 million distinct pairs per window, in 31.6 MB.
///
/// # How
///
/// [`Config`] has every size as a plain field; [`Config::for_load`] makes a [`Plan`](config::Plan) for a load and a memory.
/// [`Params`](config::Params) are sizes that were checked, which readers of [`state`] ask for.
///
/// # Shapes and units
///
/// Thresholds and errors are in opposite hosts, windows in slices, loads in distinct pairs per window, memory in bytes.
///
/// # Errors
///
/// [`ConfigError`](config::ConfigError) names the size that breaks a rule, and what to give.
///
/// # Example
///
/// ```
/// use srlg::Config;
/// use srlg::config::{HashFamily, random_seed};
///
/// let plan = Config::for_load(1024, 300, 2_000_000, 8_000_000)?;
/// assert!(plan.std_error < 20.0 && plan.miss_probability < 0.01);
/// let hostile = Config { hash: HashFamily::HalfSip13, seed: random_seed()?, ..plan.config };
/// hostile.validate()?;
/// # Ok::<(), srlg::Error>(())
/// ```
pub mod config {
    pub use srlg_host::{
        ConfigError, HashFamily, MOST_CANDIDATES, Params, Plan, RsraSizes, Scheme, random_seed,
    };
}

/// Ways in for pairs: of both families, in threads of their own, in memory that GPUs read.
///
/// # When not
///
/// One thread that ingests and closes needs no more than [`SlidingDetector::ingest`] and [`IpPair`].
///
/// # How
///
/// [`SlidingDetector::ingest`] takes slices of [`IpPair`] and of [`Ip6Pair`](ingest::Ip6Pair);
/// [`PairBatch`](ingest::PairBatch) sorts addresses of both into these. A thread that must not wait for closes has a
/// [`Feed`](ingest::Feed), and gives pairs of any slice of the window by [`Feed::ingest_at`](ingest::Feed::ingest_at), which
/// answers with an [`Arrival`](ingest::Arrival).
///
/// # Shapes and units
///
/// An [`IpPair`] is two words of 32 bits, an [`Ip6Pair`](ingest::Ip6Pair) eight; neither has padding. The capacity of a feed is a
/// number of pairs of each type.
///
/// # Errors
///
/// [`Error::Ip6InPaper`], [`Error::FeedMemory`], [`Error::DetectorDropped`].
///
/// # Example
///
/// ```
/// use srlg::ingest::PairBatch;
/// use srlg::{Config, Device, SlidingDetector};
///
/// let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
/// let mut feed = detector.feed(1 << 16)?;
/// let receiver = std::thread::spawn(move || {
///     let mut pairs = PairBatch::new();
///     (0..5000).for_each(|peer: u32| pairs.push([10, 0, 0, 1].into(), peer.to_be_bytes().into()));
///     pairs.feed(&mut feed)
/// });
/// receiver.join().unwrap()?;
/// assert_eq!(detector.close_slice()?.super_points.len(), 1);
/// # Ok::<(), srlg::Error>(())
/// ```
pub mod ingest {
    pub use srlg_host::{Arrival, Feed, Ip6Pair, Pair, PairBatch, PinnedPairs};
}

/// What a close tells besides super points: estimates, sample peers, health, times.
///
/// # When not
///
/// Who needs super points alone reads [`SliceReport::super_points`].
///
/// # How
///
/// [`SlidingDetector::close_slice`] returns a [`SliceReport`]; [`SlidingDetector::begin_close`] a
/// [`Closing`](report::Closing), which answers questions about the window before it moves.
///
/// # Shapes and units
///
/// Cardinalities and standard errors are numbers of opposite hosts; probabilities and shares are from 0 to 1. What has no
/// bound is infinite, which JSON writes as `null`; it writes times as seconds and nanoseconds.
///
/// # Errors
///
/// [`Error::QueryWindow`] and [`Error::Ip6InPaper`] of questions; what was too much for a detector is no error, but in
/// [`Health::overload`](report::Health::overload).
///
/// # Example
///
/// ```
/// use srlg::{Config, Device, IpPair, SlidingDetector};
///
/// let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
/// detector.ingest(&(0..5000).map(|opposite| IpPair { inside: 7, opposite }).collect::<Vec<_>>())?;
/// let closing = detector.begin_close()?;
/// let point = &closing.super_points()[0];
/// assert!(point.lower(4.0) < 5000.0 && 5000.0 < point.upper(4.0));
/// assert!(closing.cardinality_within(point.host, 60)?.cardinality > 4000.0);
/// let report = closing.end()?;
/// assert!(report.health.errors_hold && report.health.overload.is_none());
/// # Ok::<(), srlg::Error>(())
/// ```
pub mod report {
    pub use srlg_host::{
        Closing, Estimate, EstimateRange, FinderHealth, Health, Overload, SamplePeer, StageTimes,
    };
}

/// What detectors keep and tell each other: snapshots, deltas, checkpoints on disk.
///
/// # When not
///
/// A detector that may start with an empty window after a restart, and is alone, needs none of it.
///
/// # How
///
/// A [`Snapshot`](state::Snapshot) is all of a detector, a [`Delta`](state::Delta) what was touched in the last slices; both
/// merge late, repeated, and in any order. [`Checkpoints`](state::Checkpoints) are snapshots in a folder, the last complete
/// one of which survives a kill. Nodes that merge have equal sizes, hashes and seeds, and number slices alike.
///
/// # Shapes and units
///
/// Both go to bytes and back; a snapshot is at most some 32 MB by default, a delta some 4 bytes for each new pair.
///
/// # Errors
///
/// [`FormatError`](state::FormatError) for bytes that are damaged; [`Error::OtherSizes`], [`Error::OtherSeed`],
/// [`Error::FromFuture`] and [`Error::OlderThanWindow`] for what cannot be merged here, or not now.
///
/// # Example
///
/// ```
/// use srlg::state::Snapshot;
/// use srlg::{Config, Device, IpPair, SlidingDetector};
///
/// let config = Config { threshold: 64, ..Config::default() };
/// let mut sites = [0, 1].map(|_| SlidingDetector::new(config, Device::Cpu).unwrap());
/// for (site, peers) in sites.iter().zip([0..50, 50..100]) {
///     site.ingest(&peers.map(|opposite| IpPair { inside: 7, opposite }).collect::<Vec<_>>())?;
/// }
/// let bytes = sites[1].snapshot()?.to_bytes()?;
/// let snapshot = Snapshot::from_bytes(&bytes, sites[0].params())?;
/// sites[0].merge_snapshot(&snapshot)?;
/// assert_eq!(sites[0].close_slice()?.super_points.len(), 1); // below the threshold at each
/// # Ok::<(), srlg::Error>(())
/// ```
pub mod state {
    pub use srlg_host::{Checkpoints, Damaged, Delta, FormatError, Latest, Snapshot, Stored};
}

/// Slices out of time stamps.
///
/// # When not
///
/// A program that closes slices by a timer of its own needs neither clock nor slicer.
///
/// # How
///
/// [`SliceClock`](time::SliceClock) says which slice a time is of, and when slices end; [`Slicer`](time::Slicer) sorts
/// pairs by that for a [`SliceSink`](time::SliceSink), which starts and ends slices.
///
/// # Shapes and units
///
/// Times are nanoseconds since the Unix epoch; a slice is 1 ns to 584 years long, and slice n begins n lengths after the epoch.
///
/// # Errors
///
/// [`Error::SliceLength`]. A time stamp that cannot be right is no error: [`Placement`](time::Placement) says so, and the clock
/// counts it.
///
/// # Example
///
/// ```
/// use srlg::time::{Placement, SliceClock};
/// use std::time::Duration;
///
/// let mut clock = SliceClock::new(Duration::from_secs(1), 5, Duration::from_secs(3600))?;
/// assert_eq!(clock.place(100_200_000_000), Placement::Start { slice: 100 });
/// assert_eq!(clock.place(100_900_000_000), Placement::Running);
/// # Ok::<(), srlg::Error>(())
/// ```
pub mod time {
    pub use srlg_host::{Placement, SliceClock, SliceSink, Slicer};
}

/// Pairs that are in the memory of a GPU already, by the crates `cudarc` and `cust`.
///
/// # When not
///
/// Pairs in ordinary memory go in by [`SlidingDetector::ingest`], on a GPU too.
///
/// # How
///
/// [`SlidingDetector::ingest_device`] takes [`DevicePairs`](gpu::DevicePairs): device memory of cudarc that holds `[u32; 2]` or
/// `[u32; 8]`, and of cust that holds [`IpPair`] or [`Ip6Pair`](ingest::Ip6Pair).
///
/// # Shapes and units
///
/// A pair is two words of 32 bits or eight, those of the inside host first.
///
/// # Errors
///
/// [`Error::NotOnDevice`], [`Error::OtherDevice`], [`Error::PairsContext`].
#[cfg(any(feature = "cudarc", feature = "cust"))]
pub mod gpu {
    pub use srlg_host::DevicePairs;
    #[cfg(feature = "cudarc")]
    pub use srlg_host::cudarc;
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
