//! The load of an array of lines, and its effect on the stated errors.

/// Maximum λ at which the stated errors are valid. λ is the number of touches by distinct pairs in a window, divided by
/// the number of recorders. Up to this load, intervals of ±1.96 standard errors cover the true value in 88 to 97 % of cases. This
/// coverage applies to hosts with at least 100 peers.
///
/// The oldest touches are visible with probability e^-λ, and each visible one counts as e^λ peers. Above this maximum,
/// estimates depend on very few old touches, so estimates and their standard errors are often too low.
pub(crate) const HOLDING_LOAD: f64 = 3.0;

/// λ above which the counter is crowded. A host is then reported only if the excess of its estimate over θ is at least
/// three standard errors. Otherwise, hosts with few peers would be reported.
pub(crate) const CROWDED_LOAD: f64 = 4.0;

/// Maximum λ of a plan. The measured load varies by chance and must stay below [`HOLDING_LOAD`].
pub(crate) const MOST_LOAD: f64 = 2.75;

/// Returns λ of an array in which a `share` of the recorders was touched in a window. The expected share is 1 - e^-λ.
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
