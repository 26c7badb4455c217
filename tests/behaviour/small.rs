//! Sizes so small that contacts collide, and that a test can afford many detectors. The golden files
//! are of these sizes: they stay, whatever becomes of the defaults.

use srlg::{Config, Hash, RsraSizes, Scheme};

/// Small arrays in the tagged scheme.
pub(crate) fn tagged() -> Config {
    Config {
        threshold: 32,
        window: 8,
        scheme: Scheme::Tagged { cell_bits: 12, lines: 24, tags: 64 },
        linear_width: 256,
        candidate_limit: 1 << 14,
        hash: Hash::Murmur,
        seed: 0,
    }
}

/// The same in the paper's scheme.
pub(crate) fn paper() -> Config {
    let finder =
        RsraSizes { rows: 4, column_bits: 12, width: 8, bit_stride: 10, hot_limit: 1 << 14 };
    Config { scheme: Scheme::Paper { finder, rows: 2, columns: 500, stride: 1 }, ..tagged() }
}
