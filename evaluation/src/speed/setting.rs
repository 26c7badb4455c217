//! [`Setting`]: what is measured, and where.
//!
//! Invariant: equal settings make equal pairs; distinct pairs have no duplicate.

use anyhow::Result;
use srlg_core::{Config, IpPair};
use srlg_host::{Device, SlidingDetector};
use srlg_traffic::synthetic::distinct_pairs;

use super::Speed;

/// Pairs of a call of ingest from ordinary memory.
pub(super) const PAIRS_PER_CALL: usize = 1 << 14;
/// Inside hosts of distinct pairs.
const HOSTS: u32 = 200_000;

/// Options, and what follows from them and from the device that there is.
pub(super) struct Setting<'a> {
    pub(super) options: &'a Speed,
    pub(super) config: Config,
    /// Never [`Device::Auto`].
    pub(super) device: Device,
    /// Pairs of a round of ingest.
    pub(super) pairs: u32,
    /// Bytes of the detector's recorders.
    pub(super) recorder_bytes: usize,
}

impl<'a> Setting<'a> {
    pub(super) fn new(options: &'a Speed) -> Result<Self> {
        let config = Config { seed: options.seed, ..options.preset.config() };
        let detector = SlidingDetector::new(config, options.device)?;
        let (device, recorder_bytes) = (detector.device(), detector.memory_bytes());
        let usual = if device == Device::Cpu { 4_000_000 } else { 64_000_000 };
        let pairs = options.pairs.unwrap_or(usual);
        Ok(Self { options, config, device, pairs, recorder_bytes })
    }

    /// A detector that has seen nothing.
    pub(super) fn detector(&self) -> Result<SlidingDetector> {
        Ok(SlidingDetector::new(self.config, self.device)?)
    }

    /// `count` pairs of random hosts, no two of them equal.
    pub(super) fn distinct(&self, count: u32) -> Vec<IpPair> {
        distinct_pairs(self.options.seed, HOSTS, count.into()).collect()
    }
}

/// Begins a slice in which no recorder has been touched: the first touch of each writes.
pub(super) fn begin_untouched(detector: &mut SlidingDetector) -> Result<()> {
    let next = detector.slice() + u64::from(detector.params().counter_sizes().epoch_slices);
    detector.skip_to(next)?;
    Ok(detector.flush()?)
}
