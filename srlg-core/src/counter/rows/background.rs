//! The paper's estimate, which corrects for positions that only other hosts set.
//!
//! Method (section 4 of the paper): each of n distinct peers sets one of η' recorders. The expected share of unset
//! recorders is `e^(-n/η')`. Linear counting equates the expected share with the observed share and solves for n.
//! Other hosts set a position of the union of r' rows with probability p = Π SF(i, k). Here, SF(i, k) is the share of
//! row i's recorders that are in the window. If a host itself sets w of the η' positions of its union, u = `w + (η' -
//! w)·p` positions are expected to be set. Solving this equation gives w, and linear counting then gives n.
//!
//! Standard error: linear counting has the variance `η'(e^t - t - 1)`, where t = n/η'. The number of positions that
//! only other hosts set is binomial, so w has the variance `(η' - w)·p/(1 - p)`. If w changes by 1, n changes by about
//! e^t. The variance of w assumes that the touches of other hosts are spread evenly over a row. Their actual
//! distribution is uneven, so under load the actual errors are larger than stated.

use super::params::RowsParams;
use crate::counter::estimate::{Estimate, EstimateRange, beyond, linear_cardinality};

/// Estimates the cardinality of a host with algorithm 8 of the paper (`alg_SLEA_CardinalityEST`). `union_weight` is the
/// number of positions in the host's union estimator that are in the window. `row_weights[i]` is the number of
/// recorders of row `i` that are in the window.
///
/// The last line of the printed algorithm uses the uncorrected weight, but the text of the paper uses the corrected
/// weight. This function follows the text.
#[must_use]
pub fn estimate(params: &RowsParams, union_weight: u32, row_weights: &[u32]) -> Estimate {
    let width = params.width;
    let background = share(params.row_len, row_weights);
    if union_weight >= width || background >= 1.0 {
        return beyond(width);
    }
    let weight = corrected_weight(f64::from(union_weight), width, background);
    let own = if weight < 0.0 { 0.0 } else { weight };
    let Some(cardinality) = linear_cardinality(own, width) else { return beyond(width) };
    let load = cardinality / f64::from(width);
    let counting = f64::from(width) * (libm::exp(load) - load - 1.0);
    let foreign = (f64::from(width) - own) * background / (1.0 - background);
    let std_error = libm::sqrt(counting.max(0.0) + libm::exp(2.0 * load) * foreign);
    let range = if weight < 0.0 { EstimateRange::ClampedToZero } else { EstimateRange::Within };
    Estimate { cardinality, std_error, range }
}

/// Returns `SF(i,k)`, the share of a row's recorders that are in the window: `row_weight / row_len` (definition
/// `def-SLEA_rsf`).
#[must_use]
pub fn setting_factor(row_len: u32, row_weight: u32) -> f64 {
    f64::from(row_weight) / f64::from(row_len)
}

/// Returns Π SF(i,k), the probability that other hosts set a position of the union. `row_weights[i]` of the `row_len`
/// recorders of row `i` are in the window.
#[must_use]
pub fn share(row_len: u32, row_weights: &[u32]) -> f64 {
    row_weights.iter().map(|&weight| setting_factor(row_len, weight)).product()
}

/// Returns the weight that a host would have in an unshared linear estimator of `width` recorders (equation 12,
/// `eq_SLE_modifiedWeight`). The union of the host has `union_weight` positions in the window. Other hosts set a
/// position with probability `background`. If other hosts are expected to set more than `union_weight` positions, the
/// result is negative.
#[must_use]
pub fn corrected_weight(union_weight: f64, width: u32, background: f64) -> f64 {
    (union_weight - f64::from(width) * background) / (1.0 - background)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use approx::assert_abs_diff_eq;

    fn paper() -> RowsParams {
        *Config::paper().validate().unwrap().counter().rows().unwrap()
    }

    #[test]
    fn correction_removes_the_share_that_foreigners_set() {
        // The host sets 1000 positions. Other hosts set half of the remaining 15384.
        let corrected = corrected_weight(1000.0 + 15_384.0 / 2.0, 16_384, 0.5);
        assert_eq!(corrected, 1000.0);
    }

    #[test]
    fn background_is_the_product_of_the_rows_setting_factors() {
        let params = paper();
        let half = params.row_len() / 2;
        assert_eq!(share(params.row_len(), &[half; 5]), 1.0 / 32.0);
        assert_eq!(share(params.row_len(), &[half, half, half, half, 0]), 0.0);
    }

    #[test]
    fn an_estimate_reports_clamping_and_values_beyond_its_range() {
        let params = paper();
        let half = [params.row_len() / 2; 5];
        let of = |union_weight, rows: &[u32]| estimate(&params, union_weight, rows);
        let answer = |estimate: Estimate| (estimate.cardinality, estimate.range);
        assert_eq!(answer(of(511, &half)), (0.0, EstimateRange::ClampedToZero));
        assert_eq!(answer(of(512, &half)), (0.0, EstimateRange::Within));
        let full = of(16_384, &half);
        assert_eq!(full.range, EstimateRange::Beyond);
        assert!(full.cardinality.is_finite() && full.cardinality > 158_000.0);
        assert_eq!(of(5, &[params.row_len(); 5]).range, EstimateRange::Beyond);
        assert!(of(16_383, &half).cardinality <= full.cardinality);
    }

    #[test]
    fn standard_error_without_background_is_that_of_linear_counting() {
        let estimate = estimate(&paper(), 1000, &[0; 5]);
        // The Taylor series of the variance is η'(t²/2 + t³/6), here with t = 0.063 and n = 1032.
        let load: f64 = 1031.9 / 16_384.0;
        let expected = libm::sqrt(16_384.0 * (load * load / 2.0 + load * load * load / 6.0));
        assert_abs_diff_eq!(estimate.std_error / expected, 1.0, epsilon = 0.001);
    }
}
