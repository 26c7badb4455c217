//! Estimator maths of srlg: which hosts are in contact with many distinct others.
//!
//! No allocation, no standard library, no unsafe code: the same functions run in a CPU
//! thread and in a GPU thread. The way through the crate:
//!
//! 1. [`Config`] holds sizes, [`Config::validate`] checks them into [`Params`].
//! 2. Arrays of [`Recorder`]s are seen through two views: [`Rsra`] finds hosts, [`Slea`]
//!    counts their peers. Both take an [`IpPair`] with `touch`.
//! 3. At the end of a slice [`Rsra::mask`] says which columns are hot, [`regain`] turns
//!    hot columns back into hosts, [`Slea::tally`] counts for each of them.
//! 4. [`estimate`](estimate::estimate) makes a cardinality of a [`Tally`]; the only
//!    floats are there and in [`detection`].
//!
//! ```
//! use srlg_core::{Age16, Config, IpPair, Recorder, Slea, estimate};
//!
//! let params = Config::paper().validate()?;
//! let recorders: Vec<Age16> =
//!     (0..params.linear_recorders()).map(|_| Age16::new(Age16::UNTOUCHED)).collect();
//! let slea = Slea::new(&params, &recorders);
//! for bip in 0..1000 {
//!     slea.touch(IpPair { aip: 7, bip }, 0);
//! }
//! let rows = [0; 5]; // nobody else is there: no background
//! let estimate = estimate::estimate(&params, slea.tally(7, 1), &rows);
//! assert!((estimate.cardinality - 1000.0).abs() < 50.0);
//! # Ok::<(), srlg_core::ConfigError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod config;
pub mod detection;
pub mod estimate;
pub mod hash;
mod linear;
mod pair;
mod params;
mod recorder;
pub mod regain;
mod rhfg;
mod rough;

pub use config::{Config, ConfigError};
pub use linear::{Slea, Tally};
pub use pair::{ADDRESS_BITS, Address, IpPair};
pub use params::{MAX_LINEAR_ROWS, Params};
pub use recorder::{Age16, FrozenAge16, Reading, Recorder, count_within};
pub use rough::Rsra;
