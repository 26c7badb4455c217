//! The estimators of srlg, which find hosts in contact with many distinct other hosts.
//!
//! The crate does not use heap allocation, the standard library or unsafe code, so CPU threads and GPU threads run the
//! same functions. Its public API consists of the types and constants listed on this page, which the crate `srlg`
//! re-exports. All modules, macros and hidden items are internal to `srlg-host` and `srlg-kernels`, and may change in
//! any version.
//!
//! A detector works in four steps:
//!
//! 1. [`Config`] contains the sizes. [`Config::validate`] checks them and returns [`Params`].
//! 2. A pair touches [`Recorder`]s in two arrays. Hosts are found in the array of a [`finder`], and their peers are
//!    counted in the array of a [`counter`]. A [`scheme`] combines a finder and a counter.
//! 3. When a slice closes, the finder returns candidates, and the counter computes a [`Tally`] of each candidate.
//! 4. [`Params::estimate`] converts a [`Tally`] to a cardinality. Only this step, the computation of loads, plans and
//!    expected errors, and the modules [`finder::cells::chance`] and [`finder::detection`] use floating point.
//!
//! # Example
//!
//! ```
//! use srlg_core::counter::{Counter, Lines, TaggedCounter};
//! use srlg_core::{ArrayParams, Config, Ipv4Pair, ReadRecorder, Recorder, Recorder16};
//!
//! let params = Config::default().validate()?;
//! let tagged = params.counter().tagged().expect("the default scheme");
//! let recorders: Vec<Recorder16> =
//!     (0..tagged.recorders()).map(|_| Recorder16::new(Recorder16::UNTOUCHED)).collect();
//! let lines = Lines::new(tagged, &recorders);
//! let pairs: Vec<Ipv4Pair> = (0..1000).map(|peer| Ipv4Pair { inside: 7, peer }).collect();
//! lines.touch(&pairs, 0);
//! let span = params.span(0, 300);
//! let tally = TaggedCounter::tally(lines, 7.into(), span, 0..tagged.width());
//! let estimate = params.estimate(&[tally], span, &[]);
//! assert!((estimate.cardinality - 1000.0).abs() < 5.0 * estimate.std_error);
//! # Ok::<(), srlg_core::ConfigError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod array;
mod config;
pub mod counter;
mod epoch;
mod error;
pub mod finder;
mod fingerprint;
mod getters;
pub mod hash;
mod ids;
mod packed;
mod pair;
mod params;
mod plan;
mod recent;
mod recorder;
pub mod scheme;
mod sizes;
mod validate;
mod view;
mod window;
mod word;

pub use config::{Config, RsraSizes, Scheme};
pub use counter::{Estimate, EstimateRange};
pub use error::ConfigError;
pub use hash::HashFamily;
pub use pair::{IpPair, Ipv4Pair};
pub use params::Params;
pub use plan::Plan;
pub use validate::MOST_CANDIDATES;

#[doc(hidden)]
pub use array::{ARRAYS, ArrayShape, COUNTER, FINDER};
#[doc(hidden)]
pub use counter::Tally;
#[doc(hidden)]
pub use epoch::{Ages, Span};
#[doc(hidden)]
pub use ids::{Batch, HostId, Ip6Batch, Ip6Ids, PairIds};
#[doc(hidden)]
pub use packed::Packed;
#[doc(hidden)]
pub use pair::{ADDRESS_BITS, Address, BATCH, Limbs, host, limbs};
#[doc(hidden)]
pub use recent::RecentRange;
#[doc(hidden)]
pub use recorder::{
    ReadRecorder, Recorder, Recorder8, Recorder16, Recorder32, Recorder64, age_all, count_below,
};
#[doc(hidden)]
pub use scheme::{CounterSizes, SchemeTypes};
#[doc(hidden)]
pub use sizes::{SCHEME, SIZES, Size};
#[doc(hidden)]
pub use view::{ArrayParams, ArrayView};
#[doc(hidden)]
pub use word::{Width, Word};
