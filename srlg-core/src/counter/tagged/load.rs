//! The load of an array of lines, and how much of it stated errors bear.

/// λ, distinct pairs of a window per recorder, up to which the truth is within 1.96 of the stated standard error with
/// 88 to 96 %, by the number of opposite hosts. Beyond, an estimate rests on few visible touches, each of which counts
/// e^λ hosts: the estimate and its standard error are too low together, and intervals hold in 50 to 88 % at λ of 7 to 10.
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
