//! Sliding super points: hosts in contact with at least θ distinct other hosts within a sliding window, reported with their
//! cardinality after every slice of time, in fixed memory.
//!
//! # Start here
//!
//! ```
//! # use srlg_host as srlg;
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
//! | choose sizes for a load and a memory budget | [`Config::for_load`] |
//! | ingest from several threads, IPv6, or by time stamps | [`ingest`], [`time`] |
//! | ask about one host, or a shorter window | [`SlidingDetector::begin_close`], [`SlidingDetector::cardinality_within`] |
//! | know how reliable a report is | [`report::Health`] |
//! | merge sites, or survive a restart | [`state`] |
//! | resist hostile traffic | [`config::HashFamily`], [`config::random_seed`] |
//! | read captures, flow exports and logs | the crate `srlg-input` |
//!
//! Up to some 100,000 distinct pairs per window, an exact hash map of pairs fits in a few megabytes and is simpler. Hosts far
//! below θ are not reported, and an estimate of such a host is mostly noise.
//!
//! # How it works
//!
//! There are two arrays of small age counters. Cells hold the hosts themselves, which are recovered from them. Recorders
//! remember when and by whom they were touched last, and an estimate counts a host's own touches. Ages make the window slide.
//! A touch is a minimum, so threads, order and repetition do not matter, and detectors merge bit for bit. The scheme of
//! J. Xu, [arXiv 1805.09246](https://arxiv.org/abs/1805.09246), where this started, is [`Config::paper`].
//!
//! # Shapes and units
//!
//! A pair takes 8 bytes in IPv4 and 32 in IPv6. Slices are numbered from 0, and are as long as the caller decides.
//! Cardinalities are numbers of distinct peers, each with a standard error.
//!
//! # Errors
//!
//! An [`Error`] names the rule that was broken, the value, and the way out. Traffic is never an error: overload is reported in
//! [`report::FinderHealth::overload`].
//!
//! # Features
//!
//! - `cuda` (default): [`Device::Cuda`]. The driver is loaded at run time; nothing of CUDA is needed to build.
//! - `serde`: [`Config`] is read and written, reports are written.
//! - `bytemuck`: pairs are plain bytes (`Pod`).
//! - `cudarc`, `cust`: pairs in device buffers of these crates, whose versions are then part of the interface.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
pub mod config;
mod cpu;
mod detector;
mod device;
mod error;
mod finder;
#[cfg(any(feature = "cudarc", feature = "cust"))]
pub mod gpu;
#[cfg(all(any(feature = "cuda", test), not(any(feature = "cudarc", feature = "cust"))))]
mod gpu;
pub mod ingest;
mod kept;
mod open;
mod peers;
pub mod report;
mod share;
pub mod state;
pub mod time;
mod vectors;

pub use detector::SlidingDetector;
pub use device::Device;
pub use error::Error;
pub use report::{SliceReport, SuperPoint};
pub use srlg_core::{Config, IpPair};
