//! Estimates: from integer tallies to cardinalities; with [`detection`](crate::detection)
//! the only floating point of srlg, through `libm`, hence with equal bits everywhere.
//!
//! Method (section 4 of the paper). n distinct opposite hosts set one of η' recorders
//! each; the expected share of recorders still unset is `e^(-n/η')`, which linear
//! counting solves for n. A position of the union of r' rows is set by foreigners alone
//! with probability p = Π SF(i, k), SF being the share of row i within the window, so
//! the observed weight u is `w + (η' - w)·p` for an own weight w: solve for w first.

use crate::linear::Tally;
use crate::params::Params;

/// An estimated number of distinct opposite hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Distinct opposite hosts; see `range` for what the number means.
    pub cardinality: f64,
    /// Whether the estimator could tell.
    pub range: EstimateRange,
}

/// What an [`Estimate`] is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EstimateRange {
    /// An estimate.
    Within,
    /// Foreign touches explain more than was seen: the estimate is 0.
    ClampedToZero,
    /// The estimator is full: the cardinality is the largest that it can tell, `η' ln η'`.
    /// A lower bound, unless foreign touches filled it: where the background is small.
    Beyond,
}

/// Cardinality of the host with `tally`, where `row_weights[i]` recorders of row `i` of
/// the whole SLEA are within the same window: Alg. 8 (`alg_SLEA_CardinalityEST`).
///
/// The algorithm's last line prints the raw weight where the text corrects it; this is
/// the text's.
#[must_use]
pub fn estimate(params: &Params, tally: Tally, row_weights: &[u32]) -> Estimate {
    let width = params.linear_width;
    let background = background(params, row_weights);
    if tally.union_weight >= width || background >= 1.0 {
        return Estimate { cardinality: range_end(width), range: EstimateRange::Beyond };
    }
    let weight = corrected_weight(f64::from(tally.union_weight), width, background);
    if weight < 0.0 {
        return Estimate { cardinality: 0.0, range: EstimateRange::ClampedToZero };
    }
    match linear_cardinality(weight, width) {
        Some(cardinality) => Estimate { cardinality, range: EstimateRange::Within },
        None => Estimate { cardinality: range_end(width), range: EstimateRange::Beyond },
    }
}

/// `SF(i,k)`, the share of a row's recorders that is within the window
/// (Definition `def-SLEA_rsf`).
#[must_use]
pub fn setting_factor(params: &Params, row_weight: u32) -> f64 {
    f64::from(row_weight) / f64::from(params.linear_row_len)
}

/// Π SF(i,k): probability that foreigners alone set a position of the union.
#[must_use]
pub fn background(params: &Params, row_weights: &[u32]) -> f64 {
    row_weights.iter().map(|&weight| setting_factor(params, weight)).product()
}

/// Weight that a linear estimator of its own would have: Eq. 12
/// (`eq_SLE_modifiedWeight`). Negative when the background explains more than `union_weight`.
#[must_use]
pub fn corrected_weight(union_weight: f64, width: u32, background: f64) -> f64 {
    (union_weight - f64::from(width) * background) / (1.0 - background)
}

/// Linear counting, Eq. 9 (`eq_SLE_cardinalityEst`): `-η' ln((η' - weight) / η')`.
///
/// `None` when all `width` recorders are within the window: the cardinality is beyond range.
#[must_use]
pub fn linear_cardinality(weight: f64, width: u32) -> Option<f64> {
    let width = f64::from(width);
    (weight < width).then(|| -width * libm::log((width - weight) / width))
}

/// The largest cardinality that linear counting can tell: one recorder unset.
fn range_end(width: u32) -> f64 {
    f64::from(width) * libm::log(f64::from(width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn paper() -> Params {
        Config::paper().validate().unwrap()
    }

    #[test]
    fn linear_counting_inverts_its_own_expectation() {
        for n in [1.0, 100.0, 1024.0, 16_384.0, 100_000.0] {
            let weight = 16_384.0 * (1.0 - libm::exp(-n / 16_384.0));
            let estimate = linear_cardinality(weight, 16_384).unwrap();
            // 16384 e^(n/16384) units in the last place of a weight below 2^14.
            let rounding = 16_384.0 * libm::exp(n / 16_384.0) * f64::EPSILON * 4.0;
            assert!((estimate - n).abs() <= rounding, "{n}: {estimate}");
        }
        assert_eq!(linear_cardinality(0.0, 16_384), Some(0.0));
        assert_eq!(linear_cardinality(16_384.0, 16_384), None);
    }

    #[test]
    fn correction_removes_the_share_that_foreigners_set() {
        // 1000 own positions, and half of the other 15384 set by foreigners.
        let corrected = corrected_weight(1000.0 + 15_384.0 / 2.0, 16_384, 0.5);
        assert_eq!(corrected, 1000.0);
    }

    #[test]
    fn background_is_the_product_of_the_rows_setting_factors() {
        let params = paper();
        let half = params.linear_row_len() / 2;
        assert_eq!(background(&params, &[half; 5]), 1.0 / 32.0);
        assert_eq!(background(&params, &[half, half, half, half, 0]), 0.0);
    }

    #[test]
    fn estimate_says_when_it_clamps_and_when_it_is_beyond_range() {
        let params = paper();
        let half = [params.linear_row_len() / 2; 5];
        let of = |union_weight, rows: &[u32]| estimate(&params, Tally { union_weight }, rows);
        assert_eq!(
            of(511, &half),
            Estimate { cardinality: 0.0, range: EstimateRange::ClampedToZero }
        );
        assert_eq!(of(512, &half), Estimate { cardinality: 0.0, range: EstimateRange::Within });
        let full = of(16_384, &half);
        assert_eq!(full.range, EstimateRange::Beyond);
        assert!(full.cardinality.is_finite() && full.cardinality > 158_000.0);
        assert_eq!(of(5, &[params.linear_row_len(); 5]).range, EstimateRange::Beyond);
        assert!(of(16_383, &half).cardinality <= full.cardinality);
    }
}
