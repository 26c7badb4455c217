//! [`Region`]: the parts of a linear estimator, each of which counts a share of the opposite hosts.
//!
//! η' positions are used up by some η' ln η' opposite hosts: a flood has more. So *coarse* regions are behind
//! them, the *fine* region, and one opposite host in 2^s goes there instead: it touches one position, whatever
//! region that is in. The low bits of an opposite host's hash choose the region and the high bits the position
//! in the region, which are independent as s + 16 ≤ 32. Lines belong to nobody, so that coarse positions are
//! added: none is taken from the fine region.
//!
//! | fine positions η' | coarse regions | range, about |
//! |---|---|---|
//! | 16,384 and more | 8,192 positions, s = log2(η') - 6 | 640 η' |
//! | 1,024 to 16,383 | two of 4,096 positions, s = log2(η') - 7 and 4 more | 2,560 η' |
//! | 256 to 1,023 | η' positions, s = log2(η') - 6 | 5,700 at 256, 26,000 at 512, 55,000 at 992 |
//! | fewer | none | η' ln η' |
//!
//! A region of w positions that gets a share p of n opposite hosts, ν = n p/w for each position, errs by
//! (e^ν - 1)/(ν² w), relative variance: least at ν = 1.6, twice as much at 0.35 and 4.2. So one region serves a
//! factor of 12 in n well, and 10^5 to 10^7 opposite hosts take the fine region and one or two more. What a
//! coarse region takes from the fine one costs a host of n, whose coarse lines are not looked at, a relative
//! variance of p/n: 0.14 % of a host of 1,024 where s is 9.

use crate::hash;

/// Fine and coarse regions, at most.
pub const REGIONS: usize = 3;

/// Names the positions of a linear estimator that a share of the opposite hosts touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Region {
    /// The first position.
    pub first: u32,
    /// Positions, whole lines.
    pub width: u32,
    /// Hashes without a bit of it are the region's, if they are of no region behind it.
    mask: u32,
}

/// Holds all regions of a linear estimator, the fine one first, each twice as coarse as the one before or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Regions {
    /// The last one again where there are fewer.
    regions: [Region; REGIONS],
    count: u32,
}

impl Regions {
    /// The regions of a linear estimator with a fine one of `width` positions.
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

    /// Positions of all regions.
    pub(crate) const fn positions(&self) -> u32 {
        let last = self.regions[self.count as usize - 1];
        last.first + last.width
    }

    /// The position of an opposite host with this `hash`.
    #[inline(always)]
    pub(super) fn position(&self, hash: u32) -> u32 {
        let [mut region, coarse @ ..] = self.regions;
        // Selections, which vectorise.
        for coarse in coarse {
            region = if hash & coarse.mask == 0 { coarse } else { region };
        }
        region.first + hash::reduce(hash, region.width)
    }

    /// How many of `hosts` opposite hosts, a multiple of 2^16, touch the fine region, in the mean.
    pub(super) const fn of_fine(&self, hosts: u64) -> u64 {
        match self.coarse_bits() {
            Some(bits) => hosts - (hosts >> bits),
            None => hosts,
        }
    }

    /// s of the first coarse region, if there is one: an opposite host in 2^s does not touch the fine region.
    pub(super) const fn coarse_bits(&self) -> Option<u32> {
        if self.count > 1 { Some(self.regions[1].mask.count_ones()) } else { None }
    }

    /// Share of the opposite hosts that touches region number `region`.
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
    use super::super::params::LINE;
    use super::*;
    use crate::hash::{HashFamily, KeySequence};
    use approx::{abs_diff_eq, assert_abs_diff_eq};

    #[test]
    fn regions_are_whole_lines_behind_each_other_and_share_all_opposite_hosts() {
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

    // Of 2^20 hashes a region gets a binomial number: five deviations of it.
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
