//! Tags: who touched a recorder, in the low bits of its word.
//!
//! The tag of a host depends on the position in its run: were it one number per host, a
//! giant that shares it by chance would pass for the host at every position. It is made of
//! 16-bit operations alone, which vectorise by the dozen, because a tally computes one for
//! every position of a run.

use crate::hash;
use crate::pair::Address;
use crate::params::Params;

/// Makes the tags of one host in one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tagger {
    flip: u16,
    factor: u16,
    offset: u16,
    shift: u32,
}

impl Tagger {
    /// The tagger of `aip` in `row`; only for params with tags.
    #[inline(always)]
    pub(crate) fn new(params: &Params, row: u32, aip: Address) -> Self {
        let key = params.tag_keys[row as usize];
        let first = hash::hash(aip, key);
        let second = hash::hash(first, key);
        Self {
            flip: first as u16,
            factor: (first >> 16) as u16 | 1, // odd, or the product would lose bits
            offset: second as u16,
            shift: 16 - params.tag_bits,
        }
    }

    /// The tag at `position`, below `2^tag_bits`.
    #[inline(always)]
    pub(crate) fn tag(self, position: u16) -> u16 {
        let mut x = (position ^ self.flip).wrapping_mul(0x9e6d);
        x = (x ^ (x >> 7)).wrapping_mul(self.factor);
        x = (x ^ (x >> 9)).wrapping_add(self.offset).wrapping_mul(0xa2b5);
        x >> self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    // Expected values: an independent Python implementation (seed 0, Config::tagged()).
    #[test]
    fn tags_equal_the_pinned_vectors() {
        let params = Config::tagged().validate().unwrap();
        for (aip, row, position, tag) in [
            (0x0a00_0001, 0, 0, 20),
            (0x0a00_0001, 1, 0, 21),
            (0x0a00_0001, 0, 16383, 78),
            (0xffff_ffff, 1, 777, 167),
        ] {
            assert_eq!(
                Tagger::new(&params, row, aip).tag(position),
                tag,
                "{aip:#x} {row} {position}"
            );
        }
    }

    fn matches(params: &Params, a: Address, b: Address, distance: u16) -> u32 {
        let (a, b) = (Tagger::new(params, 0, a), Tagger::new(params, 0, b));
        let equal = |&z: &u16| a.tag(z) == b.tag(z.wrapping_add(distance));
        (0..16_384).filter(equal).count() as u32
    }

    // Runs of two hosts that overlap: 16384 positions match by chance with probability 1/256
    // each, 64 in the mean. Over 4000 pairs of hosts their mean has a standard deviation of
    // sqrt(64/4000) = 0.13, and their variance, 64 for independent positions, of about
    // 64·sqrt(2/4000) = 1.4. A variance of up to twice the ideal would still cost little.
    #[test]
    fn tags_of_overlapping_runs_match_like_chance() {
        let params = Config::tagged().validate().unwrap();
        let counts = (0..4000u32).map(|i| {
            let host = hash::hash(i, params.opposite_key);
            f64::from(matches(&params, host, hash::hash(i, params.low_key), (i % 16_384) as u16))
        });
        let (sum, squares) =
            counts.fold((0.0, 0.0), |(sum, squares), n| (sum + n, squares + n * n));
        let (mean, variance) = (sum / 4000.0, squares / 4000.0 - (sum / 4000.0) * (sum / 4000.0));
        assert!((mean - 64.0).abs() < 5.0 * 0.13, "{mean}");
        assert!((40.0..128.0).contains(&variance), "{variance}");
    }

    #[test]
    fn neighbouring_hosts_have_unrelated_tags() {
        let params = Config::tagged().validate().unwrap();
        for i in 0..200 {
            // A Poisson count of 64 stays within 6·8 of its mean; see above for its variance.
            let n = matches(&params, 0x0a00_0000 + i, 0x0a00_0001 + i, 0);
            assert!(n.abs_diff(64) < 6 * 12, "{i}: {n}");
        }
    }
}
