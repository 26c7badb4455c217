//! [`Region`]: a part of a linear estimator that counts only a share of the peers.
//!
//! About η' ln η' peers use up η' positions, and a host in a flood can have more. The *fine* region of η' positions is
//! therefore followed by *coarse* regions, each of which about one peer in 2^s touches. Each peer touches one position,
//! in one of the regions. The low bits of a peer's hash select the region, and the high bits select the position. The
//! selections are independent, because s + 16 ≤ 32. All hosts share all lines, so the coarse positions do not make the
//! fine region smaller. In the following table, b is log2(η'), rounded down:
//!
//! | fine positions η' | coarse regions | approximate range |
//! |---|---|---|
//! | 16,384 and more | 8,192 positions, s = b - 6 | 640 · 2^b |
//! | 1,024 to 16,383 | two regions of 4,096 positions, s = b - 7 and s = b - 3 | 2,560 · 2^b |
//! | 256 to 1,023 | η' positions, s = b - 6 | 5,700 at 256, 26,000 at 512, 55,000 at 992 |
//! | fewer | no coarse region | η' ln η' |
//!
//! A region of w positions that receives a share p of n peers has ν = n p/w peers per position. The relative variance
//! of its estimate is (e^ν - 1)/(ν² w). This variance is smallest at ν = 1.6, and less than 2.5 times the minimum from
//! ν = 0.35 to ν = 4.2. A single region is therefore sufficient for cardinalities that differ by up to a factor of 12.
//! To count up to 10^7 peers, an estimator needs one or two coarse regions in addition to the fine region. If the
//! coarse lines of a host are not read, the peers in the coarse regions add a relative variance of 1/(2^s n). For a
//! host with 1,024 peers and s = 9, this adds a standard error of 0.14 %.

use crate::hash;

/// Maximum number of regions, fine and coarse.
pub const REGIONS: usize = 3;

/// A range of positions in a linear estimator. Only a share of the peers touches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Region {
    /// First position of the region.
    pub first: u32,
    /// Number of positions, a multiple of [`LINE`](super::LINE).
    pub width: u32,
    /// Mask of low bits. A hash in which these bits are 0 belongs to the region, unless it belongs to a coarser region.
    mask: u32,
}

/// All regions of a linear estimator, the fine one first. Each region is at least twice as coarse as its predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Regions {
    /// If an estimator has fewer than `REGIONS` regions, the last one is repeated.
    regions: [Region; REGIONS],
    count: u32,
}

impl Regions {
    pub(crate) fn new(width: u32) -> Self {
        let fine = Region { first: 0, width, mask: 0 };
        let bits = width.ilog2();
        let region = |first, width, s: u32| Region { first, width, mask: (1 << s) - 1 };
        match width {
            ..256 => Self { regions: [fine; REGIONS], count: 1 },
            1024..16_384 => {
                let near = region(width, 4096, bits - 7);
                Self { regions: [fine, near, region(width + 4096, 4096, bits - 3)], count: 3 }
            }
            _ => {
                let coarse = region(width, width.min(8192), bits - 6);
                Self { regions: [fine, coarse, coarse], count: 2 }
            }
        }
    }

    /// Returns the regions, the fine one first.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[Region] {
        &self.regions[..self.count as usize]
    }

    pub(crate) const fn positions(&self) -> u32 {
        let last = self.regions[self.count as usize - 1];
        last.first + last.width
    }

    #[inline(always)]
    pub(super) fn position(&self, hash: u32) -> u32 {
        let [mut region, coarse @ ..] = self.regions;
        // Selections vectorise, and branches do not.
        for coarse in coarse {
            region = if hash & coarse.mask == 0 { coarse } else { region };
        }
        region.first + hash::reduce(hash, region.width)
    }

    /// Returns the number of peers, out of `hosts`, that are expected to touch the fine region. `hosts` must be a
    /// multiple of 2^16.
    pub(super) const fn of_fine(&self, hosts: u64) -> u64 {
        match self.coarse_bits() {
            Some(bits) => hosts - (hosts >> bits),
            None => hosts,
        }
    }

    /// Returns s of the first coarse region, or `None` if there is none. One peer in 2^s does not touch the fine
    /// region.
    pub(super) const fn coarse_bits(&self) -> Option<u32> {
        if self.count > 1 { Some(self.regions[1].mask.count_ones()) } else { None }
    }

    /// Returns the share of the peers that touch region number `region`.
    pub(super) fn share(&self, region: usize) -> f64 {
        let from = |region: usize| {
            let mask = self.as_slice().get(region).map(|region| region.mask);
            mask.map_or(0.0, |mask| 1.0 / (f64::from(mask) + 1.0))
        };
        from(region) - from(region + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sizes::LINE;
    use super::*;
    use crate::hash::{HashFamily, KeySequence};
    use approx::{abs_diff_eq, assert_abs_diff_eq};

    #[test]
    fn regions_are_whole_lines_behind_each_other_and_share_all_peers() {
        for width in (32..=57_344).step_by(32) {
            let regions = Regions::new(width);
            let mut end = 0;
            for region in regions.as_slice() {
                assert_eq!((region.first, region.width % LINE), (end, 0), "{width}");
                end += region.width;
            }
            assert_eq!(regions.positions(), end);
            assert!(end <= 1 << 16, "{width}: {end}");
            let shares = (0..regions.as_slice().len()).map(|region| regions.share(region));
            assert_abs_diff_eq!(shares.sum::<f64>(), 1.0, epsilon = 1e-15);
        }
    }

    // A region receives a binomial number of the 2^20 hashes. The tolerance is five standard deviations.
    #[test]
    fn each_region_gets_its_share_all_over_its_positions() {
        for width in [96, 256, 4096, 32_768] {
            let regions = Regions::new(width);
            let hashes: u32 = 1 << 20;
            for (number, region) in regions.as_slice().iter().enumerate() {
                let (mut count, mut sum) = (0u32, 0.0);
                let key = KeySequence::new(width.into()).next_key();
                for hash in (0..hashes).map(|address| HashFamily::Murmur.of(address, key)) {
                    let position = regions.position(hash);
                    if (region.first..region.first + region.width).contains(&position) {
                        count += 1;
                        sum += f64::from(position - region.first);
                    }
                }
                let mean = f64::from(hashes) * regions.share(number);
                assert_abs_diff_eq!(f64::from(count), mean, epsilon = 5.0 * libm::sqrt(mean));
                // Uniform positions have a variance of width²/12.
                let middle = f64::from(region.width) / 2.0;
                let deviation = f64::from(region.width) / libm::sqrt(12.0 * f64::from(count));
                let is_near =
                    abs_diff_eq!(sum / f64::from(count), middle, epsilon = 5.0 * deviation + 0.5);
                assert!(is_near, "{width} {number}");
            }
        }
    }
}
