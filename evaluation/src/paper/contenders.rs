//! Which systems take part, with which sizes.

use super::track::Track;
use crate::number;
use crate::preset::Preset;
use crate::rivals::{dcds, gse, vbfa};
use crate::system::Srlg;
use anyhow::{Result, ensure};
use clap::ValueEnum;
use srlg_core::Config;

/// Srlg's presets over windows of `window` slices.
pub(super) fn srlg(window: u32, threshold: u32, seed: u64) -> Result<Vec<Track>> {
    let made = Preset::value_variants().iter().map(|preset| {
        let config = Config { threshold, window, seed, ..preset.config() };
        Ok(Track::new(Srlg::new(preset.name(), config)?))
    });
    made.collect()
}

/// The systems that the paper compares with, at `bytes` of memory each.
pub(super) fn rivals(bytes: u32, threshold: u32, seed: u64) -> [Track; 3] {
    let bytes = bytes as usize;
    [
        Track::new(dcds::Dcds::new(dcds::Config::with_memory(bytes, threshold, seed))),
        Track::new(vbfa::Vbfa::new(vbfa::Config::with_memory(bytes, threshold, seed))),
        Track::new(gse::Gse::new(gse::Config::with_memory(bytes, threshold, seed))),
    ]
}

/// Refuses memories for which a rival has no sizes.
///
/// DCDS wants 8 arrays of at least 128 vectors, of 4 bits per opposite host of the threshold;
/// VBFA wants a word for each of 40,960 vectors.
pub(super) fn check_memory(memories: &[u32], threshold: u32) -> Result<()> {
    let least = threshold.saturating_mul(1000).max(400_000);
    ensure!(
        memories.iter().all(|&bytes| bytes >= least),
        "--rival-memory must be at least {} at this threshold",
        number::short(least)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_memory_that_passes_the_check_makes_rivals() {
        for threshold in [1_u32, 17, 100, 399, 401, 1000, 1024, 5000, 32_768] {
            let least = threshold.saturating_mul(1000).max(400_000);
            assert!(check_memory(&[least], threshold).is_ok());
            assert!(check_memory(&[least, least - 1], threshold).is_err());
            assert_eq!(rivals(least, threshold, 1).len(), 3);
        }
    }
}
