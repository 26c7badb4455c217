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
//! use srlg_core::{Config, IpPair, Reading, Recorder, Recorder16, Slea, estimate};
//!
//! let params = Config::default().validate()?;
//! let recorders: Vec<Recorder16> =
//!     (0..params.linear_recorders()).map(|_| Recorder16::new(Recorder16::UNTOUCHED)).collect();
//! let slea = Slea::new(&params, &recorders);
//! let pairs: Vec<IpPair> = (0..1000).map(|bip| IpPair { aip: 7, bip }).collect();
//! slea.touch(&pairs, 0);
//! let span = params.span(0, 300);
//! let estimate = estimate::estimate(&params, &slea.tally(7, span, params.linear_width()), span, &[]);
//! assert!((estimate.cardinality - 1000.0).abs() < 5.0 * estimate.std_error);
//! # Ok::<(), srlg_core::ConfigError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod config;
pub mod detection;
mod epoch;
pub mod estimate;
mod fingerprint;
pub mod hash;
mod linear;
mod packed;
mod pair;
mod params;
mod recorder;
pub mod regain;
mod rhfg;
mod rough;
mod tag;

pub use config::{Config, ConfigError, Plan, Scheme};
pub use epoch::{Ages, Span};
pub use hash::Hash;
pub use linear::{
    AGES, BATCH, Cells, Histograms, LINE, Slea, Tally, Touch, Touches, touch_lines, touch_rows,
};
pub use packed::Packed;
pub use pair::{ADDRESS_BITS, Address, IpPair};
pub use params::{MAX_LINEAR_ROWS, Params};
pub use recorder::{
    Frozen8, Frozen16, Reading, Recorder, Recorder8, Recorder16, count_below, grow_all,
};
pub use rough::{Rsra, touch_rough};
