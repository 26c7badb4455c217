//! The closed-form probability that a rough estimator detects a host (equations 2 to 5 of the paper,
//! `eqt_prb_alphaNoneEmpytBox` to `eqt_prb_1BitsNPlusAfterScanningHostStrm`).
//!
//! Each of n peers is sampled with probability `s = 2^-τ`, and a sampled peer touches one of η recorders. A peer avoids
//! a given set of η - j recorders with probability `1 - s + s·j/η`, independently of all other peers. All touches
//! therefore fall into a given set of j recorders with probability `(1 - s + s·j/η)^n`. By inclusion and exclusion over
//! all subsets of w given recorders, the probability that the weight is exactly w is `C(η,w) Σ_j (-1)^(w-j) C(w,j) (1 -
//! s + s·j/η)^n`. The binomial theorem replaces the paper's sum over the number of sampled peers, so the paper's
//! recursion FN is not needed.

use super::NOT_FOUND;

/// Returns the probability that `cardinality` peers give a rough estimator a weight of exactly `weight`. The estimator
/// has `width` recorders and samples with τ = `lsb_threshold`.
#[must_use]
pub fn weight_probability(cardinality: u32, width: u32, lsb_threshold: u32, weight: u32) -> f64 {
    if weight > width {
        return 0.0;
    }
    let sampled = libm::ldexp(1.0, -(lsb_threshold as i32));
    let within = |recorders: u32| {
        let missed = sampled * (1.0 - f64::from(recorders) / f64::from(width));
        libm::pow(1.0 - missed, f64::from(cardinality))
    };
    let terms = (0..=weight).map(|j| {
        let sign = if (weight - j).is_multiple_of(2) { 1.0 } else { -1.0 };
        sign * binomial(weight, j) * within(j)
    });
    // A rounding error may make a tiny probability negative.
    (binomial(width, weight) * terms.sum::<f64>()).max(0.0)
}

/// Returns the probability that `cardinality` peers give a rough estimator a weight below `hot_weight`. The rounding
/// error of the result is about 1e-13. The estimator has `width` recorders and samples with τ = `lsb_threshold`. The
/// result is the complement of equation 5 (`eqt_prb_1BitsNPlusAfterScanningHostStrm`). It applies if no other host
/// touches the recorders.
#[must_use]
pub fn miss_probability(cardinality: u32, width: u32, lsb_threshold: u32, hot_weight: u32) -> f64 {
    let lighter = 0..hot_weight.min(width + 1);
    lighter.map(|weight| weight_probability(cardinality, width, lsb_threshold, weight)).sum()
}

/// Returns the minimum cardinality at which a rough estimator misses a host with a probability of at most 1 %. The
/// estimator has `width` recorders, samples with τ = `lsb_threshold`, and is hot if its weight is at least
/// `hot_weight`. The result is infinite if the probability is higher at every cardinality.
#[must_use]
pub fn found_from(width: u32, lsb_threshold: u32, hot_weight: u32) -> f64 {
    let is_found = |n: u32| miss_probability(n, width, lsb_threshold, hot_weight) <= NOT_FOUND;
    if !is_found(u32::MAX) {
        return f64::INFINITY;
    }
    let (mut least, mut most) = (0, u32::MAX);
    while least < most {
        let middle = least + (most - least) / 2;
        if is_found(middle) { most = middle } else { least = middle + 1 }
    }
    most.into()
}

fn binomial(n: u32, k: u32) -> f64 {
    (0..k).fold(1.0, |product, i| product * f64::from(n - i) / f64::from(i + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;
    use crate::{Config, Ipv4Pair};
    use approx::{abs_diff_eq, assert_abs_diff_eq};

    /// Returns the probability FN(α, n) / n^α that α balls fill all n boxes. The recursion is that of Lemma
    /// `la-RE_fullN`, in which the paper writes C_r for C_η.
    fn all_filled(balls: u32, boxes: u32) -> f64 {
        let partly = (1..boxes).map(|i| {
            let share = libm::pow(f64::from(i) / f64::from(boxes), f64::from(balls));
            binomial(boxes, i) * share * all_filled(balls, i)
        });
        if balls == 0 { 0.0 } else { 1.0 - partly.sum::<f64>() }
    }

    /// Returns the probability of equations 2 to 4 as the paper prints it: a sum over the number α of sampled peers.
    fn printed(n: u32, width: u32, tau: u32, weight: u32) -> f64 {
        let s = libm::ldexp(1.0, -(tau as i32));
        let given = |balls: u32| {
            let share = libm::pow(f64::from(weight) / f64::from(width), f64::from(balls));
            binomial(width, weight) * share * all_filled(balls, weight)
        };
        let sampled = |a: u32| {
            binomial(n, a) * libm::pow(s, f64::from(a)) * libm::pow(1.0 - s, f64::from(n - a))
        };
        (weight..=n).map(|a| sampled(a) * given(a)).sum()
    }

    // The tolerance covers C(8,4)·2^4 terms of at most 1, each with a relative rounding error of at most 2^-53.
    const ROUNDING: f64 = 70.0 * 16.0 * 4.0 * f64::EPSILON;

    #[test]
    fn closed_form_equals_the_printed_sum() {
        for n in [1, 5, 40] {
            for tau in [0, 1, 3] {
                for weight in 1..=8 {
                    let closed = weight_probability(n, 8, tau, weight);
                    let is_equal =
                        abs_diff_eq!(closed, printed(n, 8, tau, weight), epsilon = ROUNDING);
                    assert!(is_equal, "n {n} tau {tau} weight {weight}: {closed}");
                }
            }
        }
    }

    #[test]
    fn probabilities_of_all_weights_sum_to_one() {
        for n in [0, 1, 100, 1024, 1_000_000] {
            let sum: f64 = (0..=8).map(|weight| weight_probability(n, 8, 7, weight)).sum();
            assert_abs_diff_eq!(sum, 1.0, epsilon = ROUNDING);
        }
        assert_eq!(weight_probability(5, 8, 0, 9), 0.0);
    }

    #[test]
    fn misses_at_theta_are_what_the_presets_promise() {
        let miss = |tau| miss_probability(1024, 8, tau, 3);
        assert!((0.032..0.035).contains(&miss(7)), "{}", miss(7));
        assert!((0.000_12..0.000_14).contains(&miss(6)), "{}", miss(6));
    }

    // The test sends 400 random peers of each of 20,000 hosts through the real H1 and H2. A share of `trials`
    // independent outcomes has the standard deviation sqrt(p(1-p)/trials). The tolerance is five deviations.
    #[test]
    fn closed_form_equals_simulation() {
        let params = *Config::paper().validate().unwrap().finder().rsra().unwrap();
        let (trials, cardinality) = (20_000u32, 400u32);
        let mut reached = [0u32; 9];
        for host in 0..trials {
            let slots = (0..cardinality).filter_map(|peer| {
                let pair = Ipv4Pair {
                    inside: host,
                    peer: mix64(u64::from(host) << 32 | u64::from(peer)) as u32,
                };
                params.slot(pair.peer)
            });
            let mask = slots.fold(0u8, |mask, slot| mask | 1 << slot);
            reached[..=mask.count_ones() as usize].iter_mut().for_each(|n| *n += 1);
        }
        for weight in 1..=8 {
            let expected = 1.0 - miss_probability(cardinality, 8, 7, weight);
            let measured = f64::from(reached[weight as usize]) / f64::from(trials);
            let deviation = libm::sqrt(expected * (1.0 - expected) / f64::from(trials));
            assert_abs_diff_eq!(measured, expected, epsilon = 5.0 * deviation);
        }
    }
}
