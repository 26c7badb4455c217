//! The conversion of integer tallies to cardinalities. This module and [`detection`](crate::finder::detection) contain
//! floating point, which uses `libm` and therefore gives equal bits on all machines.

/// An estimated number of distinct peers.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// Estimated number of distinct peers. The meaning depends on `range`.
    pub cardinality: f64,
    /// Standard error of `cardinality`, if `range` is [`EstimateRange::Within`].
    ///
    /// In 95 % of cases, the truth is within 1.96 standard errors, for loads of up to 3 distinct pairs per recorder
    /// ([`Params::errors_hold`](crate::Params::errors_hold)). The errors of hosts with the same peers are correlated.
    /// In the paper's scheme, errors under load are larger than stated.
    pub std_error: f64,
    /// Whether the cardinality is within the range of the estimator.
    pub range: EstimateRange,
}

/// The meaning of an [`Estimate`].
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EstimateRange {
    /// The cardinality is an estimate.
    Within,
    /// The touches of other hosts explain more than was seen, so the estimate is 0.
    ClampedToZero,
    /// The estimator is full.
    ///
    /// In the tagged scheme, the cardinality is a lower bound, which holds in 97.5 % of cases. It is two standard
    /// errors below the number of peers that were seen. In the paper's scheme, the cardinality is the largest possible
    /// one, `η' ln η'`. It is a lower bound only if other hosts did not fill the estimator.
    Beyond,
}

impl Estimate {
    /// Returns the cardinality minus `sigmas` standard errors, at least 0. With 1.96, 2.5 % of the truths are below it.
    /// If `range` is [`EstimateRange::Beyond`], this is the cardinality itself, which is a lower bound.
    #[must_use]
    pub fn lower(&self, sigmas: f64) -> f64 {
        self.range.lower(self.cardinality, self.std_error, sigmas)
    }

    /// Returns the cardinality plus `sigmas` standard errors. With 1.96, 2.5 % of the truths are above it. If `range`
    /// is [`EstimateRange::Beyond`], this is infinite.
    #[must_use]
    pub fn upper(&self, sigmas: f64) -> f64 {
        self.range.upper(self.cardinality, self.std_error, sigmas)
    }
}

impl EstimateRange {
    /// Returns [`Estimate::lower`] of an estimate with this range, `cardinality` and `std_error`.
    #[must_use]
    pub fn lower(self, cardinality: f64, std_error: f64, sigmas: f64) -> f64 {
        match self {
            Self::Within | Self::ClampedToZero => libm::fmax(cardinality - sigmas * std_error, 0.0),
            Self::Beyond => cardinality,
        }
    }

    /// Returns [`Estimate::upper`] of an estimate with this range, `cardinality` and `std_error`.
    #[must_use]
    pub fn upper(self, cardinality: f64, std_error: f64, sigmas: f64) -> f64 {
        match self {
            Self::Within | Self::ClampedToZero => cardinality + sigmas * std_error,
            Self::Beyond => f64::INFINITY,
        }
    }
}

/// Computes linear counting, equation 9 (`eq_SLE_cardinalityEst`): `-η' ln((η' - weight) / η')`. The weight must be at
/// least 0.
///
/// Returns `None` if all `width` recorders are within the window, because the cardinality is then beyond the range.
#[must_use]
pub fn linear_cardinality(weight: f64, width: u32) -> Option<f64> {
    let width = f64::from(width);
    (weight < width).then(|| width * libm::log(width / (width - weight)))
}

/// Returns the estimate of a full estimator of `width` recorders, as if one recorder were not set.
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
            // An error in the last place of a weight below 2^14 is multiplied by 16384 e^(n/16384).
            let rounding = 16_384.0 * libm::exp(n / 16_384.0) * f64::EPSILON * 4.0;
            assert!(abs_diff_eq!(estimate, n, epsilon = rounding), "{n}: {estimate}");
        }
        assert_eq!(linear_cardinality(0.0, 16_384), Some(0.0));
        assert_eq!(linear_cardinality(16_384.0, 16_384), None);
    }
}
