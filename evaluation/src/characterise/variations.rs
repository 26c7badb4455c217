//! Configurations beside the presets: other sizes, other tags.
//!
//! This file alone knows what the schemes consist of.

use anyhow::Result;
use srlg_core::{Config, RsraSizes, Scheme};

/// Least numbers of tags to ask for, from the fewest that there can be.
const TAGS: [u32; 7] = [64, 128, 256, 512, 1024, 2048, 4096];

/// The default preset with ever more tags instead of ages, for windows of `window` slices;
/// each with the number of its tags, since ages may leave more than are asked for.
pub(super) fn tag_splits(window: u32) -> Result<Vec<(u32, Config)>> {
    let preset = Config { window, ..Config::default() };
    let Scheme::Tagged { cell_bits, lines, .. } = preset.scheme else { return Ok(Vec::new()) };
    let mut splits = Vec::new();
    for least in TAGS {
        let scheme = Scheme::Tagged { cell_bits, lines, tags: least };
        let config = Config { scheme, ..preset };
        splits.push((config.validate()?.counter_sizes().tags, config));
    }
    splits.dedup_by_key(|&mut (tags, _)| tags);
    Ok(splits)
}

/// `config` with both arrays doubled or halved, time and again.
pub(super) fn resized(config: Config, doublings: i32) -> Config {
    let scaled = |size: u32| (f64::from(size) * libm::exp2(doublings.into())) as u32;
    let more_bits = |bits: u32| bits.saturating_add_signed(doublings);
    let scheme = match config.scheme {
        Scheme::Paper { finder, rows, columns, stride } => {
            let column_bits = more_bits(finder.column_bits);
            // As small as lets the rows cover the address.
            let uncovered = 32_u32.saturating_sub(column_bits);
            let bit_stride = uncovered.div_ceil(finder.rows - 2);
            let finder = RsraSizes { column_bits, bit_stride, ..finder };
            Scheme::Paper { finder, rows, columns: scaled(columns), stride }
        }
        Scheme::Tagged { cell_bits, lines, tags } => {
            Scheme::Tagged { cell_bits: more_bits(cell_bits), lines: scaled(lines), tags }
        }
        other => unreachable!("the sizes of {other:?} are not known here"),
    };
    Config { scheme, ..config }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;
    use clap::ValueEnum;

    #[test]
    fn doubling_both_arrays_doubles_the_memory() {
        for preset in Preset::value_variants() {
            let (name, preset) = (preset.name(), preset.config());
            let bytes = |doublings| {
                let config = resized(preset, doublings);
                config.validate().unwrap().recorder_bytes() as f64
            };
            for doublings in -3..2 {
                let ratio = bytes(doublings + 1) / bytes(doublings);
                // The paper's rows end with a whole estimator, which does not grow.
                assert!((ratio - 2.0).abs() < 0.08, "{name} {doublings}: {ratio}");
            }
            assert_eq!(resized(preset, 0), preset);
        }
    }

    #[test]
    fn every_split_has_more_tags_than_the_one_before() {
        for window in [20, 300, 3000] {
            let splits = tag_splits(window).unwrap();
            assert!(splits.len() >= 3 && splits.is_sorted_by(|one, next| one.0 < next.0));
            // The preset itself is the first.
            assert_eq!(splits[0].1.scheme, Config::default().scheme);
        }
    }
}
