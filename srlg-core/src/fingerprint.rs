//! Sizes and fingerprints, by which two detectors check that they touch the same recorders and interpret words in the
//! same way.
//!
//! Sizes and seed have separate fingerprints, because their mismatches need different remedies.

use crate::config::{Config, RsraSizes, Scheme};
use crate::counter::tagged::MOST_TAGS;
use crate::hash::{self, HashFamily};
use crate::params::Params;
use crate::sizes::{SCHEME, SIZES, Size};

impl Params {
    /// Returns all sizes, without the seed.
    #[doc(hidden)]
    #[must_use]
    pub fn sizes(&self) -> [Size; SIZES] {
        let common = [
            Size::shaping(SCHEME, self.scheme_number()),
            Size::shaping("hash", self.hash as u32),
            Size::reading("threshold", self.threshold),
            Size::reading("window", self.window),
            Size::reading("candidate_limit", self.candidate_limit),
        ];
        let counter = self.counter_sizes();
        let counter = [
            Size::shaping("linear_rows", counter.rows),
            Size::shaping("linear_columns", counter.columns),
            Size::shaping("linear_width", counter.width),
            Size::shaping("linear_stride", counter.stride),
            Size::shaping("tags", counter.tags),
            Size::shaping("echo_delay", counter.echo_delay),
            Size::shaping("epoch_slices", counter.epoch_slices),
            Size::shaping("share", counter.share),
        ];
        let mut sizes = common.into_iter().chain(self.finder.sizes()).chain(counter);
        core::array::from_fn(|_| sizes.next().expect("there are SIZES sizes"))
    }

    /// Returns the fingerprint of the hash family and of all sizes that determine which recorders a pair touches and
    /// what their words mean. Two detectors can merge if the fingerprints of their sizes and of their
    /// [seeds](Self::seed_fingerprint) are equal.
    ///
    /// The fingerprint does not include sizes that only affect how recorders are read, such as limits and, in the
    /// paper's scheme, the window. In the tagged scheme, the window determines the length of epochs, which affects the
    /// fingerprint.
    #[must_use]
    pub fn sizes_fingerprint(&self) -> u64 {
        // If the meaning of the words or the hash changes, this version must change too.
        const VERSION: u64 = 6;
        let shaping = self.sizes().into_iter().enumerate().filter(|(_, size)| size.shapes);
        shaping.fold(VERSION, |sum, (number, size)| {
            hash::mix64(sum.rotate_left(7) ^ ((number as u64) << 32 | u64::from(size.value)))
        })
    }

    /// Returns the fingerprint of the seed: the hashes of 0 and 1 under the last column key. Only the paper's scheme
    /// with the maximum number of rows also uses that key to select columns.
    ///
    /// The fingerprint is stored with the state. It does not contain the seed, but anyone can use it to check a guess
    /// of the seed. The touches of a known host also reveal whether a guess is correct. A seed that can be guessed is
    /// therefore not secret. With [`HashFamily::Murmur`](crate::HashFamily::Murmur), which can be inverted, a seed is
    /// never secret. With [`HashFamily::HalfSip13`](crate::HashFamily::HalfSip13), no better attack is known than
    /// guessing all 64 bits.
    #[must_use]
    pub fn seed_fingerprint(&self) -> u64 {
        let hash = |address| u64::from(self.hash.of(address, self.seed_key));
        hash(0) << 32 | hash(1)
    }
}

impl Config {
    /// Returns the configuration whose params have these [sizes](Params::sizes), with the seed 0, or `None` if there is
    /// no such configuration.
    #[doc(hidden)]
    #[must_use]
    pub fn of_sizes(sizes: [u32; SIZES]) -> Option<Self> {
        let [scheme, hash, threshold, window, candidate_limit, finder @ .., _, _, _, _, _, _, _, _] =
            sizes;
        let [.., rows, columns, linear_width, stride, tags, _, _, share] = sizes;
        let scheme = match (scheme, finder) {
            (0, [rsra_rows, column_bits, width, bit_stride, _, _, hot_limit]) => {
                let finder =
                    RsraSizes { rows: rsra_rows, column_bits, width, bit_stride, hot_limit };
                Scheme::Paper { finder, rows, columns, stride }
            }
            // Short windows have more tags than a configuration may ask for.
            (1, [cell_bits, ..]) => {
                Scheme::Tagged { cell_bits, lines: columns, tags: tags.min(MOST_TAGS) }
            }
            _ => return None,
        };
        let family = |family: &HashFamily| *family as u32 == hash;
        let hash = [HashFamily::Murmur, HashFamily::HalfSip13].into_iter().find(family)?;
        let config =
            Self { scheme, threshold, window, linear_width, share, candidate_limit, hash, seed: 0 };
        let found = config.validate().ok()?.sizes().map(|size| size.value);
        (found == sizes).then_some(config)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, HashFamily, RsraSizes, Scheme};

    // The expected value comes from an independent Python implementation, hash_vectors.py.
    #[test]
    fn fingerprint_of_the_seed_equals_the_pinned_vector() {
        let of = |config: Config| config.validate().unwrap().seed_fingerprint();
        assert_eq!(of(Config::paper()), 0xcb76_dbea_aa0d_90e3);
        assert_eq!(of(Config::default()), of(Config::paper()), "whatever the sizes");
        let sizes = |config: Config| config.validate().unwrap().sizes_fingerprint();
        assert_eq!(sizes(Config::paper()), sizes(Config { seed: 1, ..Config::paper() }));
    }

    #[test]
    fn a_configuration_is_found_by_its_sizes() {
        let plan = |threshold, window, pairs, memory| {
            Config::for_load(threshold, window, pairs, memory).unwrap().config
        };
        for config in [
            Config::default(),
            Config { share: 4, window: 600, candidate_limit: 7, ..Config::default() },
            Config { hash: HashFamily::HalfSip13, ..Config::default().for_threshold(100_000) },
            plan(64, 60, 100_000, 2_000_000),
            plan(1024, 3600, 20_000_000, 64_000_000),
            plan(200, 1, 1_000_000, 8_000_000),
            Config::paper(),
        ] {
            let sizes = config.validate().unwrap().sizes().map(|size| size.value);
            let found =
                Config::of_sizes(sizes).unwrap_or_else(|| panic!("no {config:?} of {sizes:?}"));
            assert_eq!(found.validate().unwrap(), config.validate().unwrap());
            for place in 0..sizes.len() {
                let mut others = sizes;
                others[place] += 1;
                let found = Config::of_sizes(others);
                let found = found.map(|it| it.validate().unwrap().sizes().map(|size| size.value));
                assert!(found.is_none_or(|found| found == others), "{place}");
            }
        }
        assert_eq!(Config::of_sizes([u32::MAX; 20]), None);
    }

    #[test]
    fn fingerprint_tells_what_shapes_recorders_and_ignores_what_reads_them() {
        let of = |config: Config| {
            let params = config.validate().unwrap();
            (params.sizes_fingerprint(), params.seed_fingerprint())
        };
        let paper = Config::paper();
        let rsra = |sizes: RsraSizes| Config::paper_with(sizes);
        let sizes = RsraSizes::PAPER;
        let limited = rsra(RsraSizes { hot_limit: 1, ..sizes });
        assert_eq!(of(paper), of(Config { window: 10, candidate_limit: 1, ..limited }));
        let tagged = Config::default();
        assert_eq!(of(tagged), of(Config { candidate_limit: 1, ..tagged }));
        assert_ne!(of(tagged), of(Config { window: 1000, ..tagged }), "other epochs");
        assert_ne!(of(tagged), of(Config { share: 2, ..tagged }));
        for (cell_bits, lines) in [(18, 461_599), (17, 461_600)] {
            let scheme = Scheme::Tagged { cell_bits, lines, tags: 64 };
            assert_ne!(of(tagged), of(Config { scheme, ..tagged }));
        }
        assert_ne!(of(tagged), of(Config { scheme: paper.scheme, ..tagged }));
        let linear = |rows, columns, stride| Config {
            scheme: Scheme::Paper { finder: sizes, rows, columns, stride },
            ..paper
        };
        for other in [
            Config { seed: 1, ..paper },
            Config { hash: HashFamily::HalfSip13, ..paper },
            Config { threshold: 2048, ..paper },
            rsra(RsraSizes { rows: 6, ..sizes }),
            rsra(RsraSizes { column_bits: 18, ..sizes }),
            Config { threshold: 512, ..rsra(RsraSizes { width: 4, ..sizes }) },
            Config { linear_width: 1 << 13, ..paper },
            rsra(RsraSizes { bit_stride: 6, ..sizes }),
            linear(5, 1 << 16, 16),
            linear(4, 1 << 17, 16),
            linear(5, 1 << 17, 15),
        ] {
            assert_ne!(of(paper), of(other), "{other:?}");
        }
    }
}
