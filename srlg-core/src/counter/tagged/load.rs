//! The load of an array of lines, and how much of it stated errors bear.

/// λ, distinct pairs of a window per recorder, up to which the truth is within 1.96 of the stated standard error in 88 to
/// 97 % of cases, for hosts with 100 peers and more. An old touch is visible with e^-λ and counts e^λ hosts. Where λ is
/// larger, an estimate rests on so few of them that it is often too low, together with its standard error.
pub(crate) const HOLDING_LOAD: f64 = 3.0;

/// The largest λ of a plan. Estimates are right in the mean, and at most 3 % of the truths are below intervals of 95 %, but
/// many are above.
pub(crate) const MOST_LOAD: f64 = 5.0;

/// λ of an array of which this `share` was touched in a window: 1 - e^-λ is.
pub(crate) fn load_of(share: f64) -> f64 {
    -libm::log1p(-share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    #[test]
    fn load_is_that_of_random_touches() {
        for load in [0.0, 0.1, 1.0, MOST_LOAD] {
            assert_abs_diff_eq!(load_of(-libm::expm1(-load)), load, epsilon = 1e-12);
        }
        assert_eq!(load_of(1.0), f64::INFINITY);
    }
}
