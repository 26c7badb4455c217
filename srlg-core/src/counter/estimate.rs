//! Estimates: from integer tallies to cardinalities; with [`detection`](crate::finder::detection)
//! the only floating point of srlg, through `libm`, hence with equal bits everywhere.

/// Holds an estimated number of distinct opposite hosts.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// Distinct opposite hosts; see `range` for what the number means.
    pub cardinality: f64,
    /// Standard error of `cardinality` where `range` is [`EstimateRange::Within`]: the truth is
    /// within 1.96 of it with 95 %, up to a load of 3 distinct pairs per recorder ([`Params::errors_hold`](crate::Params::errors_hold)).
    /// It is of one host: hosts with the same opposite hosts err alike. The paper's scheme errs by more under load.
    pub std_error: f64,
    /// Whether the estimator could tell.
    pub range: EstimateRange,
}

/// Tells what an [`Estimate`] is worth.
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EstimateRange {
    /// An estimate.
    Within,
    /// Foreign touches explain more than was seen: the estimate is 0.
    ClampedToZero,
    /// The estimator is full. Tagged scheme: the cardinality is a lower bound, two standard errors below what
    /// the host is seen to have touched, and holds in 97.5 % of cases. Paper's scheme: it is the largest that can be told,
    /// `η' ln η'`, a lower bound only if it was not foreigners that filled the estimator.
    Beyond,
}

impl Estimate {
    /// Returns `sigmas` standard errors below the cardinality, 0 at least: 1.96 of them leave 2.5 % of truths below. Where
    /// `range` is [`EstimateRange::Beyond`] the cardinality itself, which is a lower bound.
    #[must_use]
    pub fn lower(&self, sigmas: f64) -> f64 {
        self.range.lower(self.cardinality, self.std_error, sigmas)
    }

    /// Returns `sigmas` standard errors above the cardinality: 1.96 of them leave 2.5 % of truths above. Infinite where
    /// `range` is [`EstimateRange::Beyond`].
    #[must_use]
    pub fn upper(&self, sigmas: f64) -> f64 {
        self.range.upper(self.cardinality, self.std_error, sigmas)
    }
}

impl EstimateRange {
    /// Returns [`Estimate::lower`] for `sigmas` of an estimate of this range with `cardinality` and `std_error`.
    #[must_use]
    pub fn lower(self, cardinality: f64, std_error: f64, sigmas: f64) -> f64 {
        match self {
            Self::Within | Self::ClampedToZero => libm::fmax(cardinality - sigmas * std_error, 0.0),
            Self::Beyond => cardinality,
        }
    }

    /// Returns [`Estimate::upper`] for `sigmas` of an estimate of this range with `cardinality` and `std_error`.
    #[must_use]
    pub fn upper(self, cardinality: f64, std_error: f64, sigmas: f64) -> f64 {
        match self {
            Self::Within | Self::ClampedToZero => cardinality + sigmas * std_error,
            Self::Beyond => f64::INFINITY,
        }
    }
}

/// Computes linear counting, Eq. 9 (`eq_SLE_cardinalityEst`): `-η' ln((η' - weight) / η')`, for a
/// `weight` of at least 0.
///
/// `None` when all `width` recorders are within the window: the cardinality is beyond range.
#[must_use]
pub fn linear_cardinality(weight: f64, width: u32) -> Option<f64> {
    let width = f64::from(width);
    (weight < width).then(|| width * libm::log(width / (width - weight)))
}

/// The answer of a full estimator of `width` recorders: one recorder unset.
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
            // 16384 e^(n/16384) units in the last place of a weight below 2^14.
            let rounding = 16_384.0 * libm::exp(n / 16_384.0) * f64::EPSILON * 4.0;
            assert!(abs_diff_eq!(estimate, n, epsilon = rounding), "{n}: {estimate}");
        }
        assert_eq!(linear_cardinality(0.0, 16_384), Some(0.0));
        assert_eq!(linear_cardinality(16_384.0, 16_384), None);
    }
}
