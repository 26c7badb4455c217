//! Tags: numbers in the low part of a recorder's word, by which the touches of a host are recognised.
//!
//! The tag of a host depends on the position in its estimator. With a single tag per host, another host with very many
//! peers and the same tag would produce false matches everywhere. A touch and its echo have different tags. The tags of
//! every position are computed for a tally, so the computation uses only 16-bit operations, which vectorise well.

use super::params::TaggedParams;
use crate::ids::HostId;

/// The two tags of one position. Each is smaller than the number of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TagPair {
    pub(super) touch: u16,
    pub(super) echo: u16,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Tagger {
    flip: u16,
    factor: u16,
    offset: u16,
    tags: u16,
}

impl Tagger {
    #[inline(always)]
    pub(super) fn new(params: &TaggedParams, host: HostId) -> Self {
        let first = params.hash.of(host.hi, params.tag_key);
        let second = params.hash.of(first, params.tag_key);
        Self {
            flip: first as u16,
            factor: (first >> 16) as u16 | 1, // An even factor would lose bits.
            offset: second as u16,
            tags: params.tags as u16,
        }
    }

    #[inline(always)]
    pub(super) fn tags(self, position: u16) -> TagPair {
        let mut x = (position ^ self.flip).wrapping_mul(0x9e6d);
        x = (x ^ (x >> 7)).wrapping_mul(self.factor);
        x = (x ^ (x >> 9)).wrapping_add(self.offset).wrapping_mul(0xa2b5);
        let echo = (x ^ (x >> 8)).wrapping_mul(self.factor);
        let reduce = |word| high_product(word, self.tags);
        TagPair { touch: reduce(x), echo: reduce(echo ^ (echo >> 7)) }
    }
}

/// Returns the upper half of the product of `word` and `factor`, where `factor` is less than 2^15.
///
/// The function first computes a minimum that always equals `factor`. Without this minimum, the compiler widens the
/// factor to 32 bits before a loop over words, and the loop uses only half of each vector.
#[inline(always)]
pub(super) fn high_product(word: u16, factor: u16) -> u16 {
    let factor = factor.min(word | 1 << 15);
    ((u32::from(word) * u32::from(factor)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use approx::assert_abs_diff_eq;

    fn params() -> TaggedParams {
        *Config::default().validate().unwrap().counter().tagged().unwrap()
    }

    #[test]
    fn high_product_of_all_words_and_of_the_largest_factor_is_the_upper_half() {
        for (word, factor) in (0..=u16::MAX).flat_map(|word| [1, 109, 32_767].map(|of| (word, of)))
        {
            let product = u32::from(word) * u32::from(factor);
            assert_eq!(u32::from(high_product(word, factor)), product / 65_536, "{word} {factor}");
        }
    }

    // The expected values come from an independent Python implementation (seed 0, Config::default()).
    #[test]
    fn tags_equal_the_pinned_vectors() {
        for (inside, position, touch, echo) in [
            (0x0a00_0001, 0, 9, 106),
            (0x0a00_0001, 1, 72, 107),
            (0x0a00_0001, 16383, 105, 60),
            (0xffff_ffff, 777, 71, 53),
        ] {
            let tags = Tagger::new(&params(), inside.into()).tags(position);
            assert_eq!(tags, TagPair { touch, echo }, "{inside:#x} {position}");
        }
    }

    /// Counts the matches between the tags of `a` and `b` at 16,384 positions: touch with touch, echo with echo, and
    /// touch with echo. Position z of `a` is compared with position z + `distance` of `b`.
    fn matches(params: &TaggedParams, a: u32, b: u32, distance: u16) -> [f64; 3] {
        let (a, b) = (Tagger::new(params, a.into()), Tagger::new(params, b.into()));
        let count = |equal: &dyn Fn(TagPair, TagPair) -> bool| {
            let equal = |&z: &u16| equal(a.tags(z), b.tags(z.wrapping_add(distance)));
            (0..16_384).filter(equal).count() as f64
        };
        [
            count(&|a, b| a.touch == b.touch),
            count(&|a, b| a.echo == b.echo),
            count(&|a, b| a.touch == b.echo),
        ]
    }

    // Each of 16384 positions matches by chance with probability 1/109, so the expected number is 150.3. Over 4000
    // pairs of hosts, the mean number has a standard deviation of sqrt(150/4000) = 0.19. For independent positions, the
    // variance of the number is 149, with a standard deviation of about 149·sqrt(2/4000) = 3.3. Even twice the ideal
    // variance would cost little.
    #[test]
    fn tags_of_two_hosts_match_like_chance() {
        let params = params();
        let (mut sums, mut squares) = ([0.0; 3], [0.0; 3]);
        for i in 0..4000u32 {
            let (a, b) =
                (params.hash.of(i, params.position_key), params.hash.of(i, params.line_key));
            let counts = matches(&params, a, b, (i % 16_384) as u16);
            for (kind, n) in counts.into_iter().enumerate() {
                sums[kind] += n;
                squares[kind] += n * n;
            }
        }
        for kind in 0..3 {
            let mean = sums[kind] / 4000.0;
            let variance = squares[kind] / 4000.0 - mean * mean;
            assert_abs_diff_eq!(mean, 16_384.0 / 109.0, epsilon = 5.0 * 0.19);
            assert!((100.0..300.0).contains(&variance), "{kind}: {variance}");
        }
    }

    // The tag of a touch does not reveal the tag of its echo, so each of 109² bins has probability 1/109². Over 65536
    // positions of 40 hosts, a bin contains 220.6 positions, with a standard deviation of 15.
    #[test]
    fn tags_of_a_touch_and_its_echo_are_unrelated() {
        let params = params();
        let mut bins = [[0u32; 109]; 109];
        for host in 0..40u32 {
            let tagger = Tagger::new(&params, params.hash.of(host, params.line_key).into());
            for position in 0..=u16::MAX {
                let TagPair { touch, echo } = tagger.tags(position);
                bins[usize::from(touch)][usize::from(echo)] += 1;
            }
        }
        let bins = bins.as_flattened();
        assert!(bins.iter().all(|n| (100..400).contains(n)));
    }

    #[test]
    fn neighbouring_hosts_have_unrelated_tags() {
        let params = params();
        for i in 0..200 {
            // Poisson counts of 150 stay within 6·12.3 of their mean. The comment above explains their variance.
            for n in matches(&params, 0x0a00_0000 + i, 0x0a00_0001 + i, 0) {
                assert_abs_diff_eq!(n, 150.3, epsilon = 6.0 * 18.0);
            }
        }
    }
}
