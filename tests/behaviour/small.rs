//! Sizes so small that contacts collide, and that a test can afford many detectors. The golden files
//! are of these sizes: they stay.

use srlg::{Config, Scheme};

/// Small arrays in the tagged scheme.
pub(crate) fn tagged() -> Config {
    Config {
        threshold: 32,
        window: 8,
        rough_column_bits: 12,
        bit_stride: 10,
        rough_rows: 4,
        scheme: Scheme::Tagged { lines: 24, tags: 64 },
        linear_width: 256,
        ..Config::default()
    }
}

/// The same in the paper's scheme.
pub(crate) fn paper() -> Config {
    Config { scheme: Scheme::Paper { rows: 2, columns: 500, stride: 1 }, ..tagged() }
}
