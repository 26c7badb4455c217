//! Estimator maths of srlg: which hosts are in contact with many distinct others.
//!
//! No allocation, no standard library, no unsafe code: the same functions run in a CPU
//! thread and in a GPU thread. The way through the crate:
//!
//! 1. [`Config`] holds sizes, [`Config::validate`] checks them into [`Params`].
//! 2. Two arrays of [`Recorder`]s: a [`finder`] finds hosts, a [`counter`] counts their peers.
//!    Both are updated by [`IpPair`]s and [`Ip6Pair`]s. [`scheme`] says which finder goes with which counter.
//! 3. At the end of a slice the [`finder`] offers candidates, and the counter makes a [`Tally`] of
//!    each.
//! 4. [`Params::estimate`] makes a cardinality of a [`Tally`]; the only
//!    floats are there, in [`finder::cells::chance`] and in [`finder::detection`].
//!
//! ```
//! use srlg_core::counter::{Counter, Lines, TaggedCounter};
//! use srlg_core::{ArrayParams, Config, IpPair, ReadRecorder, Recorder, Recorder16};
//!
//! let params = Config::default().validate()?;
//! let tagged = params.counter().tagged().expect("the default scheme");
//! let recorders: Vec<Recorder16> =
//!     (0..tagged.recorders()).map(|_| Recorder16::new(Recorder16::UNTOUCHED)).collect();
//! let lines = Lines::new(tagged, &recorders);
//! let pairs: Vec<IpPair> = (0..1000).map(|opposite| IpPair { inside: 7, opposite }).collect();
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

pub use array::{ARRAYS, ArrayShape, COUNTER, FINDER};
pub use config::{Config, RsraSizes, Scheme};
pub use counter::{Estimate, EstimateRange, Tally};
pub use epoch::{Ages, Span};
pub use error::ConfigError;
pub use hash::HashFamily;
pub use ids::{Batch, HostId, Ip6Batch, Ip6Ids, PairIds};
pub use packed::Packed;
pub use pair::{ADDRESS_BITS, Address, BATCH, Ip6Pair, IpPair, Limbs, host, limbs};
pub use params::Params;

pub use plan::Plan;
pub use recent::RecentRange;
pub use recorder::{
    ReadRecorder, Recorder, Recorder8, Recorder16, Recorder32, Recorder64, age_all, count_below,
};
pub use scheme::{CounterSizes, SchemeTypes};
pub use sizes::{SCHEME, SIZES, Size};
pub use validate::MOST_CANDIDATES;
pub use view::{ArrayParams, View};
pub use word::{Width, Word};
