//! Fine and coarse regions of a linear estimator.

use super::TaggedModel;

/// Positions of a linear estimator that one opposite host in 2^s touches, unless a coarser region has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) first: u32,
    pub(super) width: u32,
    pub(super) s: u32,
}

impl Region {
    /// Those of a fine region of `width` positions, the fine one first.
    pub(super) fn all(width: u32) -> Vec<Self> {
        let coarse: &[(u32, u32)] = match width {
            0..256 => &[],
            256..1024 => &[(width, width.ilog2() - 6)],
            1024..16_384 => &[(4096, width.ilog2() - 7), (4096, width.ilog2() - 3)],
            _ => &[(8192, width.ilog2() - 6)],
        };
        let mut regions = vec![Self { first: 0, width, s: 0 }];
        for &(width, s) in coarse {
            let before = regions[regions.len() - 1];
            regions.push(Self { first: before.first + before.width, width, s });
        }
        regions
    }
}

impl TaggedModel {
    /// p: the share of the opposite hosts that touches region number `region`.
    pub(super) fn share(&self, region: usize) -> f64 {
        let from =
            |region: usize| self.regions.get(region).map_or(0.0, |it| 0.5f64.powi(it.s as i32));
        from(region) - from(region + 1)
    }
}
