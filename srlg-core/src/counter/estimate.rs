//! The conversion of integer tallies to cardinalities, in floating point. Functions such as logarithms come from
//! `libm`, so every machine computes the same bits.

use core::fmt;

/// An estimated number of distinct peers.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// Estimated number of distinct peers. The meaning depends on `range`.
    pub cardinality: f64,
    /// Standard error of `cardinality`. It has no meaning if `range` is [`EstimateRange::Beyond`].
    ///
    /// In the tagged scheme, the interval of ±1.96 standard errors covers the true value in 88 to 97 % of cases. This
    /// coverage applies to hosts with at least 100 peers and to loads of up to 3 touches per recorder.
    /// [`Params::errors_hold`](crate::Params::errors_hold) checks the load. If two hosts have the same peers, their
    /// errors are correlated. In the paper's scheme, errors under load are larger than stated.
    pub std_error: f64,
    /// Whether `cardinality` is an estimate, was raised to 0, or is beyond the range of the estimator.
    pub range: EstimateRange,
}

/// The meaning of an [`Estimate`].
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EstimateRange {
    /// The cardinality is an estimate.
    Within,
    /// The expected touches of other hosts exceed the observed touches, so the estimate is 0.
    ClampedToZero,
    /// The estimator is full, possibly because of the touches of other hosts.
    ///
    /// In the tagged scheme, the cardinality is two standard errors below the estimate from the visible touches. This
    /// lower bound holds in 97.5 % of cases. In the paper's scheme, the cardinality is the maximum that can be
    /// estimated, `η' ln η'`. This maximum is a lower bound only if other hosts did not fill the
    /// estimator.
    Beyond,
}

impl Estimate {
    /// Returns the cardinality minus `sigmas` standard errors, or 0 if the difference is negative. If `sigmas` is 1.96,
    /// the result is the lower end of the 95 % interval. If `range` is [`EstimateRange::Beyond`], the result is the
    /// cardinality itself.
    #[must_use]
    pub fn lower(&self, sigmas: f64) -> f64 {
        self.range.lower(self.cardinality, self.std_error, sigmas)
    }

    /// Returns the cardinality plus `sigmas` standard errors. If `sigmas` is 1.96, the result is the upper end of the
    /// 95 % interval. If `range` is [`EstimateRange::Beyond`], the result is infinite.
    #[must_use]
    pub fn upper(&self, sigmas: f64) -> f64 {
        self.range.upper(self.cardinality, self.std_error, sigmas)
    }
}

impl fmt::Display for EstimateRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Within => "within",
            Self::ClampedToZero => "clamped-to-zero",
            Self::Beyond => "beyond",
        })
    }
}

impl EstimateRange {
    /// Returns [`Estimate::lower`] for an estimate that has this range, `cardinality` and `std_error`.
    #[must_use]
    pub fn lower(self, cardinality: f64, std_error: f64, sigmas: f64) -> f64 {
        match self {
            Self::Within | Self::ClampedToZero => libm::fmax(cardinality - sigmas * std_error, 0.0),
            Self::Beyond => cardinality,
        }
    }

    /// Returns [`Estimate::upper`] for an estimate that has this range, `cardinality` and `std_error`.
    #[must_use]
    pub fn upper(self, cardinality: f64, std_error: f64, sigmas: f64) -> f64 {
        match self {
            Self::Within | Self::ClampedToZero => cardinality + sigmas * std_error,
            Self::Beyond => f64::INFINITY,
        }
    }
}

/// Returns the cardinality that linear counting computes if `weight` of the η' = `width` recorders are in the window:
/// `-η' ln((η' - weight) / η')` (equation 9, `eq_SLE_cardinalityEst`). The weight must be at least 0.
///
/// Returns `None` if all `width` recorders are in the window, because the cardinality is then beyond the range.
#[must_use]
pub fn linear_cardinality(weight: f64, width: u32) -> Option<f64> {
    let width = f64::from(width);
    (weight < width).then(|| width * libm::log(width / (width - weight)))
}

/// Returns the estimate for a full estimator of `width` recorders, computed as if one recorder were untouched.
pub(super) fn beyond(width: u32) -> Estimate {
    let width = f64::from(width);
    let cardinality = width * libm::log(width);
    Estimate { cardinality, std_error: 0.0, range: EstimateRange::Beyond }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::abs_diff_eq;

    #[test]
    fn linear_counting_inverts_its_own_expectation() {
        for n in [1.0, 100.0, 1024.0, 16_384.0, 100_000.0] {
            let weight = 16_384.0 * (1.0 - libm::exp(-n / 16_384.0));
            let estimate = linear_cardinality(weight, 16_384).unwrap();
            // A rounding error in the last place of a weight below 2^14 is multiplied by 16384 e^(n/16384).
            let rounding = 16_384.0 * libm::exp(n / 16_384.0) * f64::EPSILON * 4.0;
            assert!(abs_diff_eq!(estimate, n, epsilon = rounding), "{n}: {estimate}");
        }
        assert_eq!(linear_cardinality(0.0, 16_384), Some(0.0));
        assert_eq!(linear_cardinality(16_384.0, 16_384), None);
    }
}
