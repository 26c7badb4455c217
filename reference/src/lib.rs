//! The two schemes of srlg as plain arrays and loops, written to be read and to be compared with the fast code.
//!
//! [`TaggedModel`] implements the scheme of `Config::default()`, which docs/tagged-recorders.md and docs/design.md
//! explain. Read `tagged.rs` from top to bottom, then `tagged/counting.rs` with docs/tagged-recorders.md. Finally, read
//! `tagged/finding.rs` with the section on cells in docs/design.md. [`TaggedModel`] shares only the hash functions with
//! the fast code.
//!
//! [`PaperModel`] implements the scheme of `Config::paper()`. `paper.rs` follows the paper line by line, with the
//! corrections of docs/paper-notes.md. [`PaperModel`] and the fast code share the hash functions and the code that
//! computes positions and columns from hashes. Fixed test vectors check the shared code.
//!
//! A recorder is an integer in a `Vec`, and the recorders are aged and merged one by one. Models are therefore only
//! suitable for small sizes. Each model is an oracle for the tests. The recorders, tallies, candidates and estimates of
//! a detector must be the same as in the model, bit for bit.
//!
//! # Example
//!
//! ```
//! use srlg_core::{Config, Ipv4Pair, Scheme};
//! use srlg_reference::TaggedModel;
//! use std::net::{IpAddr, Ipv4Addr};
//!
//! let scheme = Scheme::Tagged { cell_bits: 12, lines: 2500, tags: 109 };
//! let mut model = TaggedModel::new(Config { scheme, ..Config::default() })?;
//! for peer in 0..500 {
//!     model.touch(Ipv4Pair { inside: 0x0a00_0001, peer: 0x0808_0000 + peer }, 0);
//! }
//! let host = IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0001));
//! let estimate = model.estimate(host, 1);
//! approx::assert_abs_diff_eq!(estimate.cardinality, 500.0, epsilon = 5.0 * estimate.std_error);
//! # Ok::<(), srlg_core::ConfigError>(())
//! ```
#![forbid(unsafe_code)]

mod paper;
mod tagged;

pub use paper::{PaperModel, Tuple};
pub use tagged::{TaggedEstimate, TaggedModel, TaggedTally};
