//! Estimates: from integer tallies to cardinalities; with [`detection`](crate::finder::detection)
//! the only floating point of srlg, through `libm`, hence with equal bits everywhere.

/// An estimated number of distinct opposite hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// Distinct opposite hosts; see `range` for what the number means.
    pub cardinality: f64,
    /// Standard error of `cardinality` where `range` is [`EstimateRange::Within`]: the truth is
    /// within 1.96 of it with 95 %, up to a load of 5 distinct pairs per recorder ([`Params::errors_hold`](crate::Params::errors_hold)).
    /// It is of one host: hosts with the same opposite hosts err alike. The paper's scheme errs by more under load.
    pub std_error: f64,
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
    /// The estimator is full. Tagged scheme: the cardinality is a lower bound, two standard errors below what
    /// the host is seen to have touched, and holds in 97.5 % of cases. Paper's scheme: it is the largest that can be told,
    /// `η' ln η'`, a lower bound only if it was not foreigners that filled the estimator.
    Beyond,
}

/// Linear counting, Eq. 9 (`eq_SLE_cardinalityEst`): `-η' ln((η' - weight) / η')`, for a
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
}
