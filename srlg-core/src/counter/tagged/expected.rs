//! The error to expect of the [visible](super::visible) count, before anything is counted.
//!
//! Method. Let contacts be even over the window and never repeat, and λ be the distinct pairs
//! per recorder. Ages u are relative to the window: 0 is now, 1 its far end. A position is
//! covered from age u on, so that an own touch of that age is not visible, when
//!
//! - a foreign touch came since to the place of the touch: probability `1 - e^(-λu)`; and
//! - in the place of the echo, any touch of the window, be it foreign or own, or an echo since,
//!   or a touch that left the window and looks like an echo since:
//!   `1 - e^(-λ - t) e^(-λu) e^(-λu)` with t = n/η' of n opposite hosts.
//!
//! The places are independent, so `G(u) = (1 - e^(-λu))(1 - e^(-λ(1 + 2u) - t))`. The variance
//! of an estimate has three parts:
//!
//! - what is not visible: each of the n counts `1/(1 - G)` times with probability `1 - G`, so
//!   `n ∫ 1/(1 - G(u)) - 1 du`;
//! - linear counting: `η'(e^t - t - 1)` (Whang et al. 1990);
//! - false matches: `η' dG(u)` foreign words show the host's tag with probability 1/T, each of which
//!   counts `1/(1 - G)` times: `η'/T ∫ dG/(1 - G)² = η'/T (1/(1 - G(1)) - 1)`.

use super::params::TaggedParams;
use crate::view::ArrayParams;

/// Steps of Simpson's rule; the integrand is smooth, and 1 % of it would do.
const STEPS: u32 = 64;

/// Standard error, in hosts, to expect of an estimate in the tagged scheme of a host with
/// `cardinality` opposite hosts, where a window holds `distinct_pairs` distinct pairs.
#[must_use]
pub fn std_error(params: &TaggedParams, cardinality: u32, distinct_pairs: u64) -> f64 {
    let (n, width) = (f64::from(cardinality), f64::from(params.width));
    let t = n / width;
    // Beyond a load of 30 nothing is visible, and no number would say more.
    let load = (distinct_pairs as f64 / params.recorders() as f64).min(30.0);
    // 1/(1 - G(u)) - 1: what one visible touch of age u stands for beside itself.
    let hidden = |u: f64| {
        let shown = libm::exp(-load * u);
        let echoed = libm::exp(-load * (1.0 + 2.0 * u) - t);
        1.0 / (1.0 - (1.0 - shown) * (1.0 - echoed)) - 1.0
    };
    let simpson = (0..=STEPS).map(|step| {
        let weight = match step {
            0 | STEPS => 1.0,
            _ if step.is_multiple_of(2) => 2.0,
            _ => 4.0,
        };
        weight * hidden(f64::from(step) / f64::from(STEPS))
    });
    let not_visible = n * simpson.sum::<f64>() / f64::from(3 * STEPS);
    let counting = width * (libm::exp(t) - t - 1.0);
    let false_matches = width / f64::from(params.tags) * hidden(1.0);
    libm::sqrt(not_visible + counting + false_matches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn without_load_it_is_the_error_of_linear_counting() {
        let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
        let t: f64 = 1024.0 / f64::from(params.width());
        // Taylor: η'(t²/2 + t³/6), the next term being t²/12 of it.
        let variance = f64::from(params.width()) * (t * t / 2.0 + t * t * t / 6.0);
        let ratio = std_error(&params, 1024, 0) / libm::sqrt(variance);
        assert!((ratio - 1.0).abs() < t * t, "{ratio}");
    }

    // n small: 1 - e^(-λu) ≈ λu and 1 - e^(-λ(1+2u)) ≈ λ(1+2u): ∫ λ²(u + 2u²) = 7/6 λ² and
    // G(1) = 3λ², the next terms being λ of it.
    #[test]
    fn small_loads_add_the_square_of_the_load() {
        let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
        let load = 0.001 * params.recorders() as f64;
        let square = |pairs: u64| {
            let error = std_error(&params, 1, pairs);
            error * error
        };
        let added = square(load as u64) - square(0);
        let false_matches = f64::from(params.width()) / f64::from(params.tags());
        // One opposite host adds t = 1/32768 to λ(1 + 2u).
        let t = 1.0 / f64::from(params.width());
        let expected = 1e-6 * (7.0 / 6.0 + false_matches * 3.0) + 0.001 * t * (0.5 + false_matches);
        assert!((added / expected - 1.0).abs() < 0.01, "{added} {expected}");
    }

    #[test]
    fn any_load_has_a_finite_error() {
        let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
        let error = std_error(&params, 1024, u64::MAX);
        assert!(error.is_finite() && error > 1e6, "{error}");
    }
}
