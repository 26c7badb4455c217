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
//! 2. A pair touches recorders ([`Recorder`]) in two arrays. Hosts are found in the array of a [`finder`], and their peers are
//!    counted in the array of a [`counter`]. A [`scheme`] combines a finder and a counter.
//! 3. When a slice closes, the finder returns candidates, and the counter computes a [`Tally`] of each candidate.
//! 4. [`Params::estimate`] converts a [`Tally`] to a cardinality. Only this step, the computation of loads, plans and
//!    expected errors, and the modules [`finder::cells::chance`] and [`finder::detection`] use floating point.
//!
//! # Example
//!
//! This program finds a host in each window. It uses hidden items, so it needs an exact version of this crate. In place
//! of the vectors and the map, a program without an allocator uses arrays.
//!
//! ```
//! use srlg_core::counter::{Counter, Lines, TaggedCounter};
//! use srlg_core::finder::cells::touch_cells;
//! use srlg_core::{ArrayParams, Config, Ipv4Pair, ReadRecorder, Recorder, Recorder16, Recorder64, age_all};
//! use std::collections::BTreeMap;
//!
//! let params = Config { window: 3, ..Config::default() }.validate()?;
//! let (cells, tagged) = (params.finder().cells().unwrap(), params.counter().tagged().unwrap());
//! let mut finder: Vec<_> = (0..cells.recorders()).map(|_| Recorder64::new(Recorder64::UNTOUCHED)).collect();
//! let mut counter: Vec<_> = (0..tagged.recorders()).map(|_| Recorder16::new(Recorder16::UNTOUCHED)).collect();
//! for slice in 0..6 {
//!     // Host 7 contacts 1000 new peers in each of the first three slices.
//!     let peers = if slice < 3 { slice * 1000..(slice + 1) * 1000 } else { 0..0 };
//!     let pairs: Vec<_> = peers.map(|peer| Ipv4Pair { inside: 7, peer }).collect();
//!     pairs.iter().for_each(|pair| touch_cells(cells, &finder, pair, 0));
//!     Lines::new(tagged, &counter).touch(&pairs, 0);
//!
//!     // The slice closes: hosts with several cells in the window are candidates.
//!     let span = params.span(slice.into(), 3);
//!     let mut candidates = BTreeMap::<u32, u32>::new();
//!     for (place, cell) in (0..).zip(&finder) {
//!         let word = cell.word();
//!         if cells.age(word) < span.finder_ages && let Some(host) = cells.host(cells.owner(place, word)) {
//!             *candidates.entry(host).or_default() += 1;
//!         }
//!     }
//!     let lines = Lines::new(tagged, &counter);
//!     let tally = |host: u32| TaggedCounter::tally(lines, host.into(), span, 0..tagged.width());
//!     candidates.retain(|_, held| *held >= 4);
//!     let found: Vec<_> = candidates.keys().map(|&host| (host, params.estimate(&[tally(host)], span, &[]))).collect();
//!     let expected = [1000.0, 2000.0, 3000.0, 2000.0, 1000.0].get(slice as usize);
//!     assert_eq!(found.len(), expected.into_iter().count());
//!     for ((host, estimate), expected) in found.iter().zip(expected) {
//!         assert!(*host == 7 && (estimate.cardinality - expected).abs() < 5.0 * estimate.std_error);
//!     }
//!
//!     // The window moves by one slice.
//!     let [finder_step, counter_step] = params.age_steps(params.ages(u64::from(slice) + 1, 1));
//!     age_all(&mut finder, finder_step, 0);
//!     age_all(&mut counter, counter_step as u16, 0);
//! }
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

#[cfg(feature = "serde")]
pub use config::with_seed;
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
