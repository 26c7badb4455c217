//! [`Region`]: a part of a linear estimator that counts only a share of the peers.
//!
//! About η' ln η' peers use up η' positions, and a host in a flood can have more. The *fine* region of η' positions is
//! therefore followed by *coarse* regions. Every peer touches the fine region, and about one peer in c also touches a
//! coarse region, or a coarser one. The low 16 bits of a hash select the coarse region, and the high bits select the
//! position in a region. If the high bits have few values, all positions are equally likely only if their number is a
//! power of two. All hosts share all lines, so the coarse positions do not make the fine region smaller. In the
//! following table, b is log2(η'), rounded down:
//!
//! | fine positions η' | coarse regions | approximate range |
//! |---|---|---|
//! | 16,384 and more | 32,768 positions, c = 48, and 8,192 positions, c = 2^(b - 6) | 640 · 2^b |
//! | 1,024 to 16,383 | 8,192 positions, c = min(2^(b - 7), 48), and 4,096 positions, c = 2^(b - 3) | 2,560 · 2^b |
//! | 256 to 1,023 | η' positions, c = 2^(b - 6) | 5,700 at 256, 26,000 at 512, 55,000 at 992 |
//! | fewer | no coarse region | η' ln η' |
//!
//! A region of w positions that receives a share p of n peers has ν = n p/w peers per position. The relative variance
//! of its estimate is (e^ν - 1)/(ν² w). This variance is smallest at ν = 1.6, and less than 2.5 times the minimum from
//! ν = 0.35 to ν = 4.2. A single region is therefore sufficient for cardinalities that differ by up to a factor of 12.
//! To count up to 10^7 peers, an estimator needs one or two coarse regions in addition to the fine region.
//!
//! # A share of the pairs
//! If only one pair in k is counted, only the first whole lines of every region are in use, up to a k-th of its
//! positions. Peers that select another position touch nothing. A larger k therefore uses a part of the positions of a
//! smaller k, and these positions are the same.
//!
//! A detector can therefore change k while it runs. Pairs touch the positions of the running k, and estimates use the
//! positions of the largest k in the window, which pairs have touched in all of its slices.

use crate::hash;

use super::sizes::LINE;

/// Number of values of the bits that select a coarse region.
pub(super) const PARTS: u32 = 1 << 16;

/// Maximum number of regions, fine and coarse.
pub const REGIONS: usize = 3;

/// A range of positions in a linear estimator. Only a share of the peers touches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Region {
    /// First position of the region.
    pub first: u32,
    /// Number of positions that estimates use, a multiple of [`LINE`].
    pub width: u32,
    /// Number of positions that pairs touch, a multiple of [`LINE`].
    pub touched: u32,
    /// Number of positions that pairs touch if all pairs are counted.
    pub full: u32,
    /// Number of values of the low 16 bits of a hash with which it belongs to the region, unless it belongs to a
    /// coarser coarse region. Every hash belongs to the fine region.
    parts: u32,
}

impl Region {
    /// Returns the position that `hash` selects, whether pairs touch it or not.
    #[inline(always)]
    pub(super) fn selected(&self, hash: u32) -> u32 {
        self.first + hash::reduce(hash, self.full)
    }

    /// Returns the position that `hash` selects, or `None` if pairs do not touch this position.
    #[inline(always)]
    pub(super) fn position(&self, hash: u32) -> Option<u32> {
        let position = self.selected(hash);
        (position - self.first < self.touched).then_some(position)
    }
}

/// Returns the number of positions of a region that are in use if one pair in `share` is counted.
fn used(full: u32, share: u32) -> u32 {
    full / share / LINE * LINE
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
    /// Creates the regions of an estimator with `width` fine positions. One pair in `share` is counted.
    pub(crate) fn new(width: u32, share: u32) -> Self {
        let one_in = |c: u32| PARTS / c;
        let bits = width.ilog2();
        let region = |first, full: u32, parts: u32| {
            let width = used(full, share);
            Region { first, width, touched: width, full, parts }
        };
        let fine = region(0, width, PARTS);
        match width {
            ..256 => Self { regions: [fine; REGIONS], count: 1 },
            256..1024 => {
                let coarse = region(width, width, one_in(1 << (bits - 6)));
                Self { regions: [fine, coarse, coarse], count: 2 }
            }
            1024..16_384 => {
                let near = region(width, 8192, one_in((1 << (bits - 7)).min(48)));
                let far = region(width + 8192, 4096, one_in(1 << (bits - 3)));
                Self { regions: [fine, near, far], count: 3 }
            }
            _ => {
                let near = region(width, 32_768, one_in(48));
                let far = region(width + 32_768, 8192, one_in(1 << (bits - 6)));
                Self { regions: [fine, near, far], count: 3 }
            }
        }
    }

    /// Returns the same regions while one pair in `share` is counted and one in `largest` was counted at least.
    pub(crate) fn with_shares(mut self, share: u32, largest: u32) -> Self {
        for region in &mut self.regions {
            (region.touched, region.width) = (used(region.full, share), used(region.full, largest));
        }
        self
    }

    /// Returns the regions, the fine one first.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[Region] {
        &self.regions[..self.count as usize]
    }

    /// Returns the fine region.
    #[inline(always)]
    pub(crate) const fn fine(&self) -> &Region {
        &self.regions[0]
    }

    /// Returns the number of positions, fine and coarse, that pairs touch if all pairs are counted.
    pub(crate) const fn positions(&self) -> u32 {
        let last = self.regions[self.count as usize - 1];
        last.first + last.full
    }

    /// Returns whether `hash` belongs to a coarse region.
    #[inline(always)]
    pub(super) fn is_coarse(&self, hash: u32) -> bool {
        self.count > 1 && hash % PARTS < self.regions[1].parts
    }

    /// Returns the coarse region of `hash`, which must [belong](Self::is_coarse) to one.
    #[inline(always)]
    pub(super) fn coarse(&self, hash: u32) -> &Region {
        &self.regions[if hash % PARTS < self.regions[2].parts { 2 } else { 1 }]
    }

    /// Returns how many peers, out of [`PARTS`], belong to a coarse region.
    #[inline(always)]
    pub(super) const fn coarse_parts(&self) -> u32 {
        if self.count > 1 { self.regions[1].parts } else { 0 }
    }

    /// Returns the share of the peers that touch region number `region`.
    pub(super) fn share(&self, region: usize) -> f64 {
        f64::from(self.as_slice()[region].width) * self.rate(region)
    }

    /// Returns the probability that a peer touches a given position, of those that pairs touch, of region number
    /// `region`.
    pub(super) fn rate(&self, region: usize) -> f64 {
        let coarser = if region == 0 { None } else { self.as_slice().get(region + 1) };
        let Region { parts, full, .. } = self.as_slice()[region];
        let parts = parts - coarser.map_or(0, |coarser| coarser.parts);
        f64::from(parts) / f64::from(PARTS) / f64::from(full)
    }

    /// Returns the mean number of positions that a pair touches.
    pub(super) fn touches(&self) -> f64 {
        let touches =
            |(number, region): (usize, &Region)| f64::from(region.touched) * self.rate(number);
        self.as_slice().iter().enumerate().map(touches).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{HashFamily, KeySequence};
    use approx::{abs_diff_eq, assert_abs_diff_eq};
    extern crate std;
    use std::vec::Vec;

    #[test]
    fn regions_are_whole_lines_behind_each_other_and_coarse_ones_share_their_peers() {
        for width in (32..=57_344).step_by(32) {
            let regions = Regions::new(width, 1);
            let mut end = 0;
            for region in regions.as_slice() {
                assert_eq!((region.first, region.width % LINE), (end, 0), "{width}");
                assert_eq!(region.width, region.full);
                end += region.width;
            }
            assert_eq!(regions.positions(), end);
            assert_abs_diff_eq!(regions.share(0), 1.0, epsilon = 1e-15);
            let coarse: f64 = (1..regions.as_slice().len()).map(|it| regions.share(it)).sum();
            let expected = f64::from(regions.coarse_parts()) / f64::from(PARTS);
            assert_abs_diff_eq!(coarse, expected, epsilon = 1e-15);
            assert_abs_diff_eq!(regions.touches(), 1.0 + expected, epsilon = 1e-15);
        }
    }

    #[test]
    fn larger_shares_use_the_first_lines_of_each_region_at_the_same_rate() {
        for width in [2080, 4096, 50_016] {
            let all = Regions::new(width, 1);
            for share in [2, 4, 16, 32] {
                let some = Regions::new(width, share);
                for (number, (all, some)) in all.as_slice().iter().zip(some.as_slice()).enumerate()
                {
                    assert_eq!((some.first, some.full), (all.first, all.full));
                    assert!(
                        some.width <= all.width / share && some.width + LINE > all.width / share
                    );
                    assert_eq!(
                        Regions::new(width, share).rate(number),
                        Regions::new(width, 1).rate(number)
                    );
                }
            }
        }
    }

    // A region receives a binomial number of the 2^20 hashes. The tolerance is five standard deviations.
    #[test]
    fn each_region_gets_its_share_all_over_its_positions() {
        for (width, share) in [(96, 1), (256, 1), (4096, 1), (4096, 4), (32_768, 1), (32_768, 16)] {
            let regions = Regions::new(width, share);
            let key = KeySequence::new(width.into()).next_key();
            let hashes: Vec<u32> =
                (0..1 << 20).map(|address| HashFamily::Murmur.of(address, key)).collect();
            for (number, region) in regions.as_slice().iter().enumerate() {
                let (mut count, mut sum) = (0u32, 0.0);
                for &hash in &hashes {
                    let belongs =
                        number == 0 || regions.is_coarse(hash) && regions.coarse(hash) == region;
                    if let Some(position) = region.position(hash).filter(|_| belongs) {
                        assert!((region.first..region.first + region.width).contains(&position));
                        count += 1;
                        sum += f64::from(position - region.first);
                    }
                }
                let mean = hashes.len() as f64 * regions.share(number);
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
