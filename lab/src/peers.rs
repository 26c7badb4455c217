//! Alternatives to srlg that are measured on the same traffic as srlg.
//!
//! - [`Sets`]: for each host, a hash map from the standard library that contains the peers of the host.
//! - [`Pairs`]: one hash map of pairs, with a fast hash function.
//! - [`CompactTable`]: one compact hash table of pairs, with 7 bytes per slot.
//! - [`SampledTable`]: a compact hash table of fixed size, for a sample of the pairs.
//! - [`OwnCounters`]: for each of a known number of hosts, a linear counter.
//! - [`EstimatorMap`], [`HyperLogLogMap`]: for each host, an estimator from a public crate.
//! - [`SketchRing`]: one invertible sketch per slice. All sketches are merged at every close.
//! - [`TwoZones`]: two invertible sketches. A scan moves the content of one sketch into the other, bucket by bucket.
//! - [`RgsSketch`]: an invertible sketch for small memory budgets.
//!
//! Each alternative is a [`System`] with windows of `window` slices and a threshold. The first five, which are tables of
//! a [`SlidingMap`], and [`SketchRing`] report on the window that ends with the closed slice. A report of [`TwoZones`]
//! covers one to two windows. The estimators and RGS-Sketch cannot forget pairs, so they restart after every window. For
//! a hash table, [`memory_bytes`](System::memory_bytes) includes empty slots.

mod compact;
mod counters;
mod exact;
mod rgs_sketch;
mod sampled;
mod sketch_ring;
#[cfg(test)]
mod testing;
mod tumbling;

pub(crate) use compact::{CompactTable, SLOT_BYTES};
pub(crate) use counters::OwnCounters;
pub(crate) use exact::{Pairs, Sets, SlidingMap};
pub(crate) use rgs_sketch::RgsSketch;
pub(crate) use sampled::SampledTable;
pub(crate) use sketch_ring::{SketchRing, TwoZones};
pub(crate) use tumbling::{EstimatorMap, HyperLogLogMap};

use srlg_core::Config;

use crate::system::{Counter, System};

/// An alternative with which srlg is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Sets,
    Pairs,
    Compact,
    Estimators,
    HyperLogLogs,
    Sampled,
    Ring,
    Zones,
    Rgs,
}

impl Peer {
    /// All alternatives for any number of hosts.
    pub(crate) const ALL: [Self; 9] = [
        Self::Sets,
        Self::Pairs,
        Self::Compact,
        Self::Estimators,
        Self::HyperLogLogs,
        Self::Sampled,
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
            Self::Sets => Box::new(SlidingMap::new(window, threshold, Sets::default())),
            Self::Pairs => Box::new(SlidingMap::new(window, threshold, Pairs::default())),
            Self::Compact => {
                let table = CompactTable::<SLOT_BYTES>::least(window);
                Box::new(SlidingMap::new(window, threshold, table))
            }
            Self::Estimators => Box::new(EstimatorMap::new(window, threshold)),
            Self::HyperLogLogs => Box::new(HyperLogLogMap::new(window, threshold)),
            Self::Sampled => sampled(config, sketch_bytes)
                .expect("commands give a table the memory of many thousand pairs"),
            Self::Ring => Box::new(SketchRing::new(window, threshold, sketch_bytes, seed)),
            Self::Zones => Box::new(TwoZones::new(window, threshold, sketch_bytes, seed)),
            Self::Rgs => Box::new(RgsSketch::new(window, threshold, sketch_bytes, seed)),
        }
    }
}

/// Creates a table of sampled pairs with at most `bytes` bytes. Its slots are as short as this size allows. Returns
/// `None` if the size is too small for the window.
pub(crate) fn sampled(config: &Config, bytes: usize) -> Option<Box<dyn Counter + Send>> {
    let Config { window, threshold, seed, .. } = *config;
    if let Some(table) = SampledTable::<SLOT_BYTES>::with_memory(window, bytes, seed) {
        return Some(Box::new(SlidingMap::new(window, threshold, table)));
    }
    let table = SampledTable::<{ SLOT_BYTES + 1 }>::with_memory(window, bytes, seed)?;
    Some(Box::new(SlidingMap::new(window, threshold, table)))
}
