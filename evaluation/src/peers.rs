//! What users have today: systems against which srlg is measured side by side.
//!
//! - [`ExactSets`]: for every host a hash map of its opposite hosts, of the standard library.
//! - [`ExactPairs`]: one hash map of pairs, with a fast hash.
//! - [`EstimatorMap`], [`HyperLogLogMap`]: for every host an estimator of a public crate.
//! - [`SketchRing`]: one invertible sketch per slice, all of them merged at every close.
//!
//! Each is a [`System`] over windows of `window` slices, made for a threshold. The exact ones and the ring report the window
//! that ends with the closed slice; the estimators cannot forget, and report windows that start anew.
//! [`memory_bytes`](System::memory_bytes) of hash maps are those of their tables with all unused places.

mod exact;
mod sketch_ring;
#[cfg(test)]
mod testing;
mod tumbling;

pub(crate) use exact::{ExactPairs, ExactSets};
pub(crate) use sketch_ring::SketchRing;
pub(crate) use tumbling::{EstimatorMap, HyperLogLogMap};

use srlg_core::Config;

use crate::system::System;

/// A kind of system that users have today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Sets,
    Pairs,
    Estimators,
    HyperLogLogs,
    Ring,
}

impl Peer {
    pub(crate) const ALL: [Self; 5] =
        [Self::Sets, Self::Pairs, Self::Estimators, Self::HyperLogLogs, Self::Ring];

    /// Those with an entry for every host.
    pub(crate) const MAPS: [Self; 4] =
        [Self::Sets, Self::Pairs, Self::Estimators, Self::HyperLogLogs];

    pub(crate) fn is_exact(self) -> bool {
        matches!(self, Self::Sets | Self::Pairs)
    }

    /// An empty system for the window, the threshold and the seed of `config`; a ring has `ring_bytes`.
    pub(crate) fn make(self, config: &Config, ring_bytes: usize) -> Box<dyn System + Send> {
        let Config { window, threshold, seed, .. } = *config;
        match self {
            Self::Sets => Box::new(ExactSets::new(window, threshold)),
            Self::Pairs => Box::new(ExactPairs::new(window, threshold)),
            Self::Estimators => Box::new(EstimatorMap::new(window, threshold)),
            Self::HyperLogLogs => Box::new(HyperLogLogMap::new(window, threshold)),
            Self::Ring => Box::new(SketchRing::new(window, threshold, ring_bytes, seed)),
        }
    }
}
