//! Rows of errors, with the intervals that they lie in.
//!
//! Shape: [`of`], from a [`Sweep`] and its [`Point`]s to [`Results`]; in every sweep the RMSE has
//! a chart, and along cardinalities the bias, elsewhere the false rate. Invariant: bars of charts
//! hold the truth with 95 %.

use super::Characterise;
use super::sweeps::Sweep;
use super::trial::Point;
use crate::accuracy::Errors;
use crate::plot::Scale;
use crate::study::{Cell, Column, Results, Row};

/// Standard errors on either side of a mean that hold the truth with 95 %.
const INTERVAL: f64 = 1.96;

const HOSTS: Column = Column::decimals(0, "hosts");
const RMSE: Column = Column::percent("RMSE").metric("rmse", "%").chart_of(
    "rmse",
    "relative error (RMSE), %",
    Scale::Logarithmic,
);
const BIAS: Column = Column::signed("bias").metric("bias", "%");
const COVERAGE: Column = Column::percent("in the interval of 95 %").metric("coverage95", "%");
const FALSE: Column = Column::percent("TFR").metric("tfr_mean", "%");
const MEMORY: Column = Column::megabytes("memory, MB");

/// Along cardinalities there is one false rate, of all of them.
const OF_CARDINALITIES: &[Column] = &[
    HOSTS,
    RMSE,
    BIAS.chart_of("bias", "mean relative error, %", Scale::Linear),
    COVERAGE,
    FALSE,
    MEMORY,
];
const OF_OTHERS: &[Column] = &[
    HOSTS,
    RMSE,
    BIAS,
    COVERAGE,
    FALSE.chart_of("tfr", "total false rate, %", Scale::Logarithmic),
    MEMORY,
];

pub(super) fn of(sweep: &Sweep, points: Vec<Point>, options: &Characterise) -> Results {
    let varies = sweep.steps.iter().flat_map(|step| &step.entrants).any(|it| it.x.is_some());
    Results {
        place: sweep.name.to_owned(),
        heading: sweep.heading.to_owned(),
        setting: sweep.setting.clone(),
        names: vec!["series", sweep.x],
        columns: if varies { OF_OTHERS } else { OF_CARDINALITIES },
        rows: points.into_iter().map(row).collect(),
        details: vec![
            ("sweep", sweep.name.into()),
            ("streams", options.streams.into()),
            ("seed", options.seed.into()),
            ("quick", options.quick.into()),
        ],
        ..Results::default()
    }
}

fn row(point: Point) -> Row {
    let Point { series, x, errors, total_false_rate, memory_bytes } = point;
    Row {
        x,
        cells: vec![
            errors.count.into(),
            with_interval(rmse(&errors)),
            with_interval(bias(&errors)),
            Cell::ratio(errors.mean(errors.covered)),
            Cell::ratio(total_false_rate),
            (memory_bytes as f64).into(),
        ],
        details: vec![
            ("series", series.clone().into()),
            ("x", x.into()),
            ("hosts", errors.count.into()),
            ("recorder_bytes", memory_bytes.into()),
        ],
        names: vec![series, format!("{x:.1}").trim_end_matches(".0").to_owned()],
        ..Row::default()
    }
}

/// A ratio, and half the length of its interval.
fn with_interval(ratio: Option<(f64, f64)>) -> Cell {
    Cell::ratio(ratio.map(|it| it.0)).within(ratio.map_or(0.0, |it| 100.0 * it.1))
}

/// Of normal errors, the RMSE of m has a standard error of its 1 / sqrt(2 m)-th part.
fn rmse(errors: &Errors) -> Option<(f64, f64)> {
    let rmse = libm::sqrt(errors.mean(errors.squares)?);
    Some((rmse, INTERVAL * rmse / libm::sqrt(2.0 * errors.count)))
}

/// The mean, whose standard error is the standard deviation's sqrt(m)-th part.
fn bias(errors: &Errors) -> Option<(f64, f64)> {
    let bias = errors.mean(errors.sum)?;
    let variance = (errors.mean(errors.squares)? - bias * bias).max(0.0);
    Some((bias, INTERVAL * libm::sqrt(variance / errors.count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_shrink_with_the_root_of_the_hosts() {
        // Relative errors of +10 % and -10 %, as many of both.
        let errors = |count: f64| Errors { count, sum: 0.0, squares: count / 100.0, covered: 0.0 };
        let (value, half) = rmse(&errors(50.0)).unwrap();
        assert!((value - 0.1).abs() < 1e-12 && (half - 0.0196).abs() < 1e-12);
        let (value, half) = bias(&errors(100.0)).unwrap();
        assert!(value.abs() < 1e-12 && (half - 0.0196).abs() < 1e-12);
        assert_eq!((rmse(&Errors::default()), bias(&Errors::default())), (None, None));
    }
}
