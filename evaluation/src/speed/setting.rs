//! [`Setting`]: what is measured, and the traffic that it is measured with.
//!
//! Invariant: equal settings make equal pairs; distinct pairs have no duplicate.

use anyhow::Result;
use srlg_core::{Config, IpPair};
use srlg_evaluation::traffic::{Backbone, distinct_pairs};
use srlg_host::{Device, SlidingDetector};

use super::Speed;

/// Inside hosts of distinct pairs.
const HOSTS: u32 = 200_000;
/// Mean packets of a pair, where pairs repeat.
pub(super) const PACKETS_PER_PAIR: u32 = 10;

/// Options, and what follows from them and from the device that there is.
pub(super) struct Setting<'a> {
    pub(super) options: &'a Speed,
    pub(super) config: Config,
    /// Never [`Device::Auto`].
    pub(super) device: Device,
    /// Pairs of a round of ingest.
    pub(super) pairs: u32,
}

impl<'a> Setting<'a> {
    pub(super) fn new(options: &'a Speed) -> Result<Self> {
        let config = Config { seed: options.seed, ..options.preset.config() };
        let device = SlidingDetector::new(config, options.device)?.device();
        let usual = if device == Device::Cpu { 4_000_000 } else { 64_000_000 };
        Ok(Self { options, config, device, pairs: options.pairs.unwrap_or(usual) })
    }

    /// A detector that has seen nothing.
    pub(super) fn detector(&self) -> Result<SlidingDetector> {
        Ok(SlidingDetector::new(self.config, self.device)?)
    }

    /// `count` pairs of random hosts, no two of them equal.
    pub(super) fn distinct(&self, count: u32) -> Vec<IpPair> {
        distinct_pairs(self.options.seed, HOSTS, count.into()).collect()
    }

    /// Packets of the backbone model, in their order: the pairs of five minutes.
    pub(super) fn packets(&self) -> Vec<IpPair> {
        // The mean is that of many: a tenth more, so that there are enough.
        let pairs = self.pairs / PACKETS_PER_PAIR + self.pairs / 100 + 1;
        let model = Backbone { seed: self.options.seed, pairs, ..Backbone::default() };
        let model = Backbone { packets_per_pair: PACKETS_PER_PAIR, ..model };
        model.slices().flatten().take(self.pairs as usize).collect()
    }
}

/// Begins a slice in which no recorder has been touched: the first touch of each writes.
pub(super) fn begin_untouched(detector: &mut SlidingDetector) -> Result<()> {
    let next = detector.slice() + u64::from(detector.params().epoch_slices());
    detector.skip_to(next)?;
    Ok(detector.flush()?)
}
