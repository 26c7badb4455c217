//! Alternatives to srlg that are measured on the same traffic as srlg.
//!
//! - [`ExactSets`]: for each host, a hash map from the standard library that contains the peers of the host.
//! - [`ExactPairs`]: one hash map of pairs, with a fast hash function.
//! - [`CompactPairs`]: one compact hash table of pairs, with 7 bytes per slot.
//! - [`EstimatorMap`], [`HyperLogLogMap`]: for each host, an estimator from a public crate.
//! - [`SketchRing`]: one invertible sketch per slice. All sketches are merged at every close.
//! - [`TwoZones`]: two invertible sketches. A scan moves the content of one sketch into the other, bucket by bucket.
//! - [`RgsSketch`]: an invertible sketch for small memory budgets.
//!
//! Each alternative is a [`System`] with windows of `window` slices and a threshold. The exact tables and
//! [`SketchRing`] report on the window that ends with the closed slice. A report of [`TwoZones`] covers one to two
//! windows. The estimators and RGS-Sketch cannot forget pairs, so they restart after every window. For a hash table,
//! [`memory_bytes`](System::memory_bytes) includes empty slots.

mod compact;
mod exact;
mod rgs_sketch;
mod sketch_ring;
#[cfg(test)]
mod testing;
mod tumbling;

pub(crate) use compact::CompactPairs;
pub(crate) use exact::{ExactPairs, ExactSets};
pub(crate) use rgs_sketch::RgsSketch;
pub(crate) use sketch_ring::{SketchRing, TwoZones};
pub(crate) use tumbling::{EstimatorMap, HyperLogLogMap};

use srlg_core::Config;

use crate::system::System;

/// An alternative with which srlg is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Sets,
    Pairs,
    Compact,
    Estimators,
    HyperLogLogs,
    Ring,
    Zones,
    Rgs,
}

impl Peer {
    /// All alternatives.
    pub(crate) const ALL: [Self; 8] = [
        Self::Sets,
        Self::Pairs,
        Self::Compact,
        Self::Estimators,
        Self::HyperLogLogs,
        Self::Ring,
        Self::Zones,
        Self::Rgs,
    ];

    /// Alternatives whose tables grow with the number of hosts or pairs.
    pub(crate) const TABLES: [Self; 5] =
        [Self::Sets, Self::Pairs, Self::Compact, Self::Estimators, Self::HyperLogLogs];

    pub(crate) fn is_exact(self) -> bool {
        matches!(self, Self::Sets | Self::Pairs | Self::Compact)
    }

    /// Creates an empty system with the window, threshold and seed of `config`. A sketch uses at most `sketch_bytes`
    /// bytes of memory.
    pub(crate) fn make(self, config: &Config, sketch_bytes: usize) -> Box<dyn System + Send> {
        let Config { window, threshold, seed, .. } = *config;
        match self {
            Self::Sets => Box::new(ExactSets::new(window, threshold)),
            Self::Pairs => Box::new(ExactPairs::new(window, threshold)),
            Self::Compact => Box::new(CompactPairs::new(window, threshold)),
            Self::Estimators => Box::new(EstimatorMap::new(window, threshold)),
            Self::HyperLogLogs => Box::new(HyperLogLogMap::new(window, threshold)),
            Self::Ring => Box::new(SketchRing::new(window, threshold, sketch_bytes, seed)),
            Self::Zones => Box::new(TwoZones::new(window, threshold, sketch_bytes, seed)),
            Self::Rgs => Box::new(RgsSketch::new(window, threshold, sketch_bytes, seed)),
        }
    }
}
