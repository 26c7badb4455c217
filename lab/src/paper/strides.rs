//! The sweep over δ', the distance between neighbouring linear estimators, and over the memory of the SLEA.
//!
//! Equation 10 of the paper gives the share of memory that overlapping saves. The sweep measures what it costs: all
//! sizes process the same discrete windows. Only the first load is measured, because closes with many false super points
//! take seconds.

use anyhow::Result;
use srlg_core::{Config, Scheme};

use super::{Paper, score};
use crate::options::{Preset, Synthetic};
use crate::results::{Cell, Column, Results, Row, details};
use crate::system::Srlg;
use crate::table::short;
use crate::track::{Quality, Track};

/// Values of δ'. The last one is η' of the paper, at which no estimators overlap.
const STRIDES: [u32; 4] = [1, 16, 256, 1 << 14];

/// Numbers of columns at a stride of one recorder: a quarter of the paper's memory, all of it, and four times as much.
const COLUMNS_AT_STRIDE_1: [u32; 3] = [1 << 19, 1 << 21, 1 << 23];

const COLUMNS: &[Column] = &[
    Column::decimals(0, "estimators per row"),
    Column::decimals(2, "saved memory, %").metric("memory_reduction_rate", "%"),
    Column::megabytes("memory, MB").metric("memory_bytes", "B"),
    Column::percent("FPR").metric("fpr_mean", "%"),
    Column::percent("FNR").metric("fnr_mean", "%"),
    Column::percent("TFR").metric("tfr_mean", "%"),
    Column::percent("RMSE").metric("rmse", "%"),
];

/// Sizes of a SLEA.
#[derive(Clone, Copy)]
struct Sizes {
    stride: u32,
    columns: u32,
}

impl Sizes {
    fn all() -> impl Iterator<Item = Self> {
        COLUMNS_AT_STRIDE_1
            .into_iter()
            .flat_map(|columns| STRIDES.map(|stride| Self { stride, columns: columns / stride }))
    }

    fn config(self, options: &Synthetic) -> Config {
        let mut config = Config { window: 1, ..options.config(Preset::Paper) };
        if let Scheme::Paper { stride, columns, .. } = &mut config.scheme {
            (*stride, *columns) = (self.stride, self.columns);
        }
        config
    }

    /// Returns the share of memory that the overlap saves (equation 10) if estimators have `width` recorders.
    fn memory_reduction_rate(self, width: u32) -> f64 {
        let [stride, columns, width] = [self.stride, self.columns, width].map(f64::from);
        1.0 - (columns * stride + width - stride) / (width * columns)
    }
}

pub(super) fn results(options: &Paper, load: u32) -> Results {
    let Paper { windows, synthetic, .. } = options;
    let mut details = synthetic.details();
    details.extend(details!("experiment": "strides", "load": load, "windows": windows));
    Results {
        place: "strides".to_owned(),
        heading: format!("{} distinct pairs per window, by δ'", short(load)),
        setting: format!("{windows} consecutive windows of {} s", synthetic.window),
        names: vec!["δ'"],
        columns: COLUMNS,
        details,
        ..Results::default()
    }
}

/// Measures all sizes.
pub(super) fn trial(options: &Paper, load: u32, results: &mut Results) -> Result<()> {
    let Synthetic { threshold, seed, window, traffic } = options.synthetic;
    let sizes: Vec<_> = Sizes::all().collect();
    let track = |sizes: &Sizes| {
        let srlg = Srlg::new("paper", sizes.config(&options.synthetic))?;
        Ok(Track::new(Box::new(srlg)))
    };
    let mut tracks = sizes.iter().map(track).collect::<Result<Vec<_>>>()?;
    let mut seconds = traffic.slices(seed, options.windows * window, load);
    for _ in 0..options.windows {
        let slices: Vec<_> = seconds.by_ref().take(window as usize).collect();
        score(&mut tracks, &slices, threshold);
    }
    let width = options.synthetic.config(Preset::Paper).linear_width;
    results.rows.extend(sizes.iter().zip(&tracks).map(|(sizes, track)| row(*sizes, width, track)));
    Ok(())
}

fn row(sizes: Sizes, width: u32, track: &Track) -> Row {
    let Sizes { stride, columns } = sizes;
    let Quality { rates, errors, .. } = Quality::of(&track.windows);
    let cells = vec![
        columns.into(),
        Cell::ratio(Some(sizes.memory_reduction_rate(width))),
        track.system.memory_bytes().into(),
        Cell::ratio(rates.positive()),
        Cell::ratio(rates.negative()),
        Cell::ratio(rates.total()),
        Cell::ratio(errors.rmse()),
    ];
    Row::new(vec![stride.to_string()], cells, details!("stride": stride, "columns": columns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn sizes_have_the_rates_of_equation_10_and_equal_memory() {
        let sizes: Vec<_> = Sizes::all().collect();
        assert_eq!(sizes.len(), 12);
        // The paper has 2^17 estimators per row, with δ' = 16 and η' = 2^14.
        assert_eq!((sizes[5].stride, sizes[5].columns), (16, 1 << 17));
        let expected = 1.0 - 16.0 / 16_384.0 - (16_384.0 - 16.0) / (16_384.0 * 131_072.0);
        let rate = sizes[5].memory_reduction_rate(1 << 14);
        assert_relative_eq!(rate, expected, max_relative = 1e-12);
        // Without an overlap, nothing is saved.
        assert_eq!(sizes[7].memory_reduction_rate(1 << 14), 0.0);
        let recorders = |sizes: &Sizes| sizes.stride * sizes.columns;
        assert!(sizes[4..8].iter().all(|it| recorders(it) == 1 << 21));
    }
}
