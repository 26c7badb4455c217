//! Fingerprints: whether two detectors touch the same recorders, and mean the same by their words.
//!
//! There are two, as there are two ways out where they differ: of the sizes, and of the seed.

use crate::hash;
use crate::params::Params;

impl Params {
    /// Names the sizes that decide which recorder a pair touches and what its word means, and the
    /// hash family: detectors that merge have equal ones, and equal [seeds](Self::seed_fingerprint).
    ///
    /// The limits are left out, and the paper's scheme leaves out the window: they only decide
    /// how recorders are read.
    #[must_use]
    pub fn sizes_fingerprint(&self) -> u64 {
        // Another meaning of the words, or another hash, needs another version.
        const VERSION: u64 = 3;
        let (finder, counter) = (self.finder_sizes(), self.counter_sizes());
        let sizes = [
            (finder.rows, finder.column_bits),
            (finder.width, finder.bit_stride),
            (finder.lsb_threshold, counter.rows),
            (counter.columns, counter.width),
            (counter.stride, self.hash as u32),
            (counter.tags, counter.echo_delay),
            (counter.epoch_slices, finder.epoch_slices),
        ];
        sizes.into_iter().fold(VERSION, |sum, (high, low)| {
            hash::mix64(sum.rotate_left(7) ^ (u64::from(high) << 32 | u64::from(low)))
        })
    }

    /// Names the seed: the hashes of 0 and 1 under the last of its column keys, which only the
    /// paper's scheme uses, and only with all of its rows.
    ///
    /// It is written beside what a detector has seen, and does not say the seed. It lets somebody
    /// test a guess of the seed, as what a known host touches does. So a seed that can be
    /// guessed is no secret, nor is any seed under [`Hash::Murmur`](crate::Hash::Murmur), which can be inverted. Under
    /// [`Hash::HalfSip13`](crate::Hash::HalfSip13) nobody is known to do better than to guess all of its 64 bits.
    #[must_use]
    pub fn seed_fingerprint(&self) -> u64 {
        let hash = |address| u64::from(self.hash.of(address, self.seed_key));
        hash(0) << 32 | hash(1)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, Hash, Scheme};

    // Expected value: an independent Python implementation, see CONTRIBUTING.md.
    #[test]
    fn fingerprint_of_the_seed_equals_the_pinned_vector() {
        let of = |config: Config| config.validate().unwrap().seed_fingerprint();
        assert_eq!(of(Config::paper()), 0xcb76_dbea_aa0d_90e3);
        assert_eq!(of(Config::default()), of(Config::paper()), "whatever the sizes");
        let sizes = |config: Config| config.validate().unwrap().sizes_fingerprint();
        assert_eq!(sizes(Config::paper()), sizes(Config { seed: 1, ..Config::paper() }));
    }

    #[test]
    fn fingerprint_tells_what_shapes_recorders_and_ignores_what_reads_them() {
        let of = |config: Config| {
            let params = config.validate().unwrap();
            (params.sizes_fingerprint(), params.seed_fingerprint())
        };
        let paper = Config::paper();
        assert_eq!(of(paper), of(Config { window: 10, hot_limit: 1, candidate_limit: 1, ..paper }));
        let tagged = Config::default();
        assert_eq!(of(tagged), of(Config { hot_limit: 1, ..tagged }));
        assert_ne!(of(tagged), of(Config { window: 1000, ..tagged }), "other epochs");
        let other_lines = Scheme::Tagged { lines: 412_499, tags: 64 };
        assert_ne!(of(tagged), of(Config { scheme: other_lines, ..tagged }));
        assert_ne!(of(tagged), of(Config { scheme: paper.scheme, ..tagged }));
        let linear = |rows, columns, stride| Config {
            scheme: Scheme::Paper { rows, columns, stride },
            ..paper
        };
        for other in [
            Config { seed: 1, ..paper },
            Config { hash: Hash::HalfSip13, ..paper },
            Config { threshold: 2048, ..paper },
            Config { rough_rows: 6, ..paper },
            Config { rough_column_bits: 18, ..paper },
            Config { rough_width: 4, threshold: 512, ..paper },
            Config { oversampling_bits: 1, ..paper },
            Config { linear_width: 1 << 13, ..paper },
            Config { bit_stride: 6, ..paper },
            linear(5, 1 << 16, 16),
            linear(4, 1 << 17, 16),
            linear(5, 1 << 17, 15),
        ] {
            assert_ne!(of(paper), of(other), "{other:?}");
        }
    }
}
