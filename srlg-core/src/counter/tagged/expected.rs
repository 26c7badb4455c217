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
//!
//! A region gets a share p of the n opposite hosts, a Poisson number if n is one. So what it tells of n has the
//! variance V/p², V being the sum of the three and of n p itself. Independent regions add 1 over their variances;
//! as n is fixed, n comes off. Where few positions of the fine region are left in the end, the coarse ones count.

use super::params::TaggedParams;
use crate::view::ArrayParams;

/// Steps of Simpson's rule; the integrand is smooth, and 1 % of it would do.
const STEPS: u32 = 64;

/// Standard error, in hosts, to expect of an estimate in the tagged scheme of a host with
/// `cardinality` opposite hosts, where a window holds `distinct_pairs` distinct pairs.
#[must_use]
pub fn std_error(params: &TaggedParams, cardinality: u32, distinct_pairs: u64) -> f64 {
    let n = f64::from(cardinality);
    // Beyond a load of 30 nothing is visible, and no number would say more.
    let load = (distinct_pairs as f64 / params.recorders() as f64).min(30.0);
    let fine = Expected::new(params, 0, n, load);
    let coarse = 1.0 - fine.share;
    let mut information = fine.information();
    if fine.at_risk() <= 4.0 * coarse {
        let regions = 1..params.regions.as_slice().len();
        let coarse = regions.map(|region| Expected::new(params, region, n, load).information());
        information += coarse.sum::<f64>();
    }
    libm::sqrt((1.0 / information - n).max(0.0))
}

/// What a region is expected to show of a host.
struct Expected {
    width: f64,
    tags: f64,
    /// Opposite hosts of the region, in the mean.
    n: f64,
    /// Their share of all.
    share: f64,
    /// λ
    load: f64,
}

impl Expected {
    fn new(params: &TaggedParams, region: usize, cardinality: f64, load: f64) -> Self {
        let width = f64::from(params.regions.as_slice()[region].width);
        let share = params.regions.share(region);
        Self { width, tags: params.tags.into(), n: cardinality * share, share, load }
    }

    /// Opposite hosts for each position.
    fn t(&self) -> f64 {
        self.n / self.width
    }

    /// 1/(1 - G(u)) - 1: what one visible touch of age u stands for beside itself.
    fn hidden(&self, u: f64) -> f64 {
        let shown = libm::exp(-self.load * u);
        let echoed = libm::exp(-self.load * (1.0 + 2.0 * u) - self.t());
        1.0 / (1.0 - (1.0 - shown) * (1.0 - echoed)) - 1.0
    }

    /// The share of positions that are neither touched nor covered at the end of the window.
    fn at_risk(&self) -> f64 {
        libm::exp(-self.t()) / (1.0 + self.hidden(1.0))
    }

    /// 1 over the variance of the number of all opposite hosts as the region alone tells it.
    fn information(&self) -> f64 {
        let simpson = (0..=STEPS).map(|step| {
            let weight = match step {
                0 | STEPS => 1.0,
                _ if step.is_multiple_of(2) => 2.0,
                _ => 4.0,
            };
            weight * self.hidden(f64::from(step) / f64::from(STEPS))
        });
        let not_visible = self.n * simpson.sum::<f64>() / f64::from(3 * STEPS);
        let counting = self.width * (libm::exp(self.t()) - self.t() - 1.0);
        let false_matches = self.width / self.tags * self.hidden(1.0);
        self.share * self.share / (self.n + not_visible + counting + false_matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn without_load_it_is_the_error_of_linear_counting_and_of_the_peers_in_coarse_regions() {
        let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
        let share = 511.0 / 512.0;
        let t: f64 = 1024.0 * share / f64::from(params.width());
        // Taylor: η'(t²/2 + t³/6), the next term being t²/12 of it.
        let variance = f64::from(params.width()) * (t * t / 2.0 + t * t * t / 6.0);
        let variance = variance / (share * share) + 1024.0 / 511.0;
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
        let expected = expected * (512.0 / 511.0);
        assert!((added / expected - 1.0).abs() < 0.01, "{added} {expected}");
    }

    #[test]
    fn any_load_has_a_finite_error() {
        let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
        let error = std_error(&params, 1024, u64::MAX);
        assert!(error.is_finite() && error > 1e6, "{error}");
    }
}
