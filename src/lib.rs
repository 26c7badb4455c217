//! Detection of sliding super points: hosts in contact with at least θ distinct other hosts within a sliding window.
//!
//! After every time slice, a detector reports the super points and an estimated number of peers for each. A detector
//! uses a fixed amount of memory.
//!
//! # Example
//!
//! ```
//! use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
//! use std::net::Ipv4Addr;
//!
//! let config = Config { threshold: 1024, window: 300, ..Config::default() };
//! let mut detector = SlidingDetector::new(config, Device::Auto)?;
//! let scanner = Ipv4Addr::new(10, 0, 0, 1);
//! let targets = (0..5000).map(|target| Ipv4Addr::from_bits(0xc633_0000 + target));
//! let pairs: Vec<Ipv4Pair> = targets.map(|target| Ipv4Pair::new(scanner, target)).collect();
//! detector.ingest(&pairs)?; // takes &self, so any number of threads may call it
//! let report = detector.close_slice()?; // once per slice; the window moves
//! assert_eq!(report.super_points[0].host, scanner);
//! # Ok::<(), srlg::Error>(())
//! ```
//!
//! # Core types
//!
//! | Task | Items |
//! |---|---|
//! | Choose sizes for a load and a memory budget or an error | [`Config::for_load`], [`Config::for_error`] |
//! | Ingest from several threads, ingest IPv6, or use timestamps | [`ingest`], [`time`] |
//! | Query one host or a shorter window | [`SlidingDetector::begin_close`], [`SlidingDetector::cardinality_within`] |
//! | Check how reliable a report is | [`report::Health`] |
//! | Merge sites, or survive a restart | [`state`] |
//! | Resist hostile traffic | [`config::HashFamily`], [`config::random_seed`] |
//! | Read captures, flow exports and logs | the crate `srlg-input` |
//!
//! Up to about 100,000 distinct pairs per window, an exact hash map of pairs needs a few megabytes and is simpler.
//! Hosts far below θ are not reported. If such a host is queried under high load, its standard error can exceed its
//! estimate.
//!
//! # How it works
//!
//! A detector has two arrays of small age counters. The first array consists of cells, which store host addresses and
//! from which candidates are recovered. The second array consists of recorders, which store when, and by which host,
//! they were last touched. The cardinality of a host is estimated from the recorders that it touched. The window slides
//! because ages grow.
//!
//! A touch replaces the age of a recorder only by a smaller age. The result therefore does not depend on the number of
//! threads, the order of touches or repeated touches, and detectors merge without loss. [`Config::paper`] selects the
//! original scheme of J. Xu, [arXiv 1805.09246](https://arxiv.org/abs/1805.09246).
//!
//! # Sizes and units
//!
//! An IPv4 pair takes 8 bytes, and an IPv6 pair takes 32 bytes. Slices are numbered from 0, and the caller decides how
//! long they are. A cardinality is an estimated number of distinct peers, and is reported with its standard error.
//!
//! # Errors
//!
//! Most [`Error`] messages state the cause and a remedy. Traffic never causes an error. Instead, overload is reported
//! in [`report::FinderHealth::overload`].
//!
//! # Features
//!
//! - `cuda` (default) enables [`Device::Cuda`]. The driver is loaded at run time, so a build does not need CUDA.
//! - `state` (default) enables [`state`] as bytes, such as `Delta::to_bytes`. It needs a C compiler.
//! - `serde` enables serialisation of [`Config`] and of reports, and deserialisation of [`Config`].
//! - `bytemuck` enables conversion between pairs and plain bytes (`Pod`).
//! - `cudarc` and `cust` enable ingestion of pairs in device buffers of these crates. The versions of the crates are
//!   then part of the API.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(inline)]
pub use srlg_host::*;
