//! The expected error of the [visible](super::visible) estimate.
//!
//! Contacts are assumed to be spread evenly over the window, to have been equally frequent before the window, and never
//! to repeat. The load λ is the number of touches by distinct pairs in a window, divided by the number of recorders. A
//! time u is relative to the window: 0 is now, and 1 is the start of the window. A touch of the host at time u is not visible if
//! both places of its position are covered:
//!
//! - The place of the touch is covered if another host touched it later. The probability is `1 - e^(-λu)`.
//! - The place of the echo is covered if any host touched it in the window, or if a later echo was written there. A
//!   touch that has left the window since the host's touch also covers the place, because it looks like an echo. The
//!   probability is `1 - e^(-λ - t) e^(-λu) e^(-λu)`, with t = n/η' for n peers.
//!
//! A later touch of another host covers both places if it is written to the place of the host's touch and both hosts
//! have the same twist. The echo of the covering touch is then written to the place of the host's echo. Two hosts have
//! the same twist with probability 1/(LINE - 1). Otherwise, the two places are covered independently. The host's touch
//! is therefore visible with probability `1 - G(u) = e^(-λu) + e^(-λ(1 + 2u) - t) (1 - e^(-λu(1 - 1/(LINE - 1))))`.
//!
//! Words distinguish K ages. Of two touches with the same age, the one with the smaller tag is kept. Tags therefore put
//! the touches of one age in a random order, as exact times would. The order of echoes is independent of the order of
//! touches. Let g_a be the probability that a touch of age a is visible. To obtain g_a from 1 - G, each power of
//! e^(-λu) is replaced by its mean over age a. At the same age, another host with the same twist covers both places
//! only if both of its tags are smaller. Two smaller tags are half as likely as one smaller tag in a given place.
//!
//! A share e^(-ta/K) of the η' positions has no touch of the host at a smaller age. Therefore, `R_a = η' e^(-ta/K) g_a`
//! positions are at risk at age a. A share `h = 1 - e^(-t/K)` of the positions at risk shows a touch of the host.
//! The variance of an estimate has two parts:
//!
//! - The touches of the host contribute `η'² Σ h/(R_a (1 - h)) - n` (Greenwood 1926). The term n is subtracted because
//!   the number of peers is fixed. Without load, this is `η' (e^t - t - 1)`, the variance of linear counting (Whang and
//!   others, 1990).
//! - False matches contribute the rest. At age a, words of other hosts become visible at `η' e^(-t(a+1)/K)
//!   (G((a+1)/K) - G(a/K))` positions. One in T of these words has the host's tag and counts as `η'/(R_a (1 - h))`
//!   peers.
//!
//! An estimate is a sum over ages. The sum stops at the first age at which at most one position is at risk. With n
//! peers, at least `η' e^(-t) g_(K-1)` positions are expected to be at risk at the oldest age.
//!
//! A region receives a share p of the n peers. Let V be the sum of both parts for n·p peers, without subtracting n. If
//! n is Poisson-distributed, an estimate of n from one region has the variance V/p². For all regions, the terms p²/V are
//! added, and the inverse of the sum is the variance. If the fine region with a share of 1/k contributes a part w of the
//! sum, 2 w (1 - w) k n is added to the variance, because the peers of coarse regions also touch the fine region. At
//! last, n is subtracted. The coarse regions are included only if few fine positions are at risk.

use super::params::TaggedParams;
use super::pooled::COARSE_TELLS;
use super::region::PARTS;
use super::sizes::LINE;
use crate::view::ArrayParams;

/// Maximum number of ages that are computed. More ages hardly change the result: even at λ = 5, e^(-λu) changes by only
/// a thirteenth within one age.
const MOST_AGES: u32 = 64;

const SAME_TWIST: f64 = 1.0 / (LINE - 1) as f64;

/// Returns the expected standard error, in peers, of the estimate for a host with `cardinality` peers, if a window
/// contains `distinct_pairs` distinct pairs. The result is very large or infinite if the host is expected to use up all
/// its positions.
#[must_use]
pub fn std_error(params: &TaggedParams, cardinality: u32, distinct_pairs: u64) -> f64 {
    let expected = |region| Expectation::new(params, region, cardinality, distinct_pairs);
    let (fine, regions, n) = (expected(0), &params.regions, f64::from(cardinality));
    let of_fine = fine.information();
    let mut information = of_fine;
    let coarse = f64::from(regions.coarse_parts()) / f64::from(PARTS);
    if coarse > 0.0 && fine.left() <= COARSE_TELLS * coarse * fine.width {
        let coarse = 1..regions.as_slice().len();
        information += coarse.map(|region| expected(region).information()).sum::<f64>();
    }
    let weight = of_fine / information;
    // If both are 0, the variance is infinite without this term.
    let common = if weight < 1.0 { 2.0 * weight * (1.0 - weight) * n / fine.share } else { 0.0 };
    libm::sqrt((1.0 / information + common - n).max(0.0))
}

/// Returns λ, the number of touches by `distinct_pairs` pairs, divided by the number of recorders.
#[must_use]
pub fn load(params: &TaggedParams, distinct_pairs: u64) -> f64 {
    distinct_pairs as f64 * params.regions.touches() / params.recorders() as f64
}

/// A region of a host's linear estimator, under a load from other hosts.
struct Expectation {
    /// Number of positions, which is η' in the fine region.
    width: f64,
    /// Share of the peers that touch the region.
    share: f64,
    /// T: number of tags.
    tags: f64,
    /// K: number of ages.
    ages: u32,
    /// λ: number of touches per recorder.
    load: f64,
    /// t: number of peers per position.
    t: f64,
}

impl Expectation {
    fn new(params: &TaggedParams, region: usize, cardinality: u32, distinct_pairs: u64) -> Self {
        let width = f64::from(params.regions.as_slice()[region].width);
        let share = params.regions.share(region);
        Self {
            width,
            share,
            tags: params.tags.into(),
            ages: params.echo_delay.min(MOST_AGES),
            // Above a load of 30, no touch is visible, and a larger load would not change the result.
            load: load(params, distinct_pairs).min(30.0),
            t: f64::from(cardinality) * share / width,
        }
    }

    /// Returns the inverse of the variance of an estimate from this region, for a Poisson-distributed number of peers.
    fn information(&self) -> f64 {
        if self.width == 0.0 {
            return 0.0; // The share leaves no whole line in use.
        }
        // Within one age, the share of positions without a touch of the host decreases by a factor of e^(t/K).
        let step = libm::exp(self.t / f64::from(self.ages));
        let (mut own, mut false_matches, mut untouched, mut covered) = (0.0, 0.0, 1.0, 0.0);
        for age in 0..self.ages {
            let shown = self.shown(age);
            let until = self.covered(f64::from(age + 1) / f64::from(self.ages));
            own += libm::expm1(self.t / f64::from(self.ages)) / (untouched * shown);
            // Without other hosts, there are no false matches, however few positions the host leaves untouched.
            if until > covered {
                false_matches += (until - covered) * step / (untouched * shown * shown);
            }
            covered = until;
            untouched /= step;
        }
        self.share * self.share / (self.width * (own + false_matches / self.tags))
    }

    /// Returns a lower bound on the expected number of positions that are at risk at the oldest age of the window.
    fn left(&self) -> f64 {
        self.width * libm::exp(-self.t) * self.shown(self.ages - 1)
    }

    /// Returns G, the probability that a touch of the host at time `u` is not visible.
    fn covered(&self, u: f64) -> f64 {
        1.0 - self.visible(|[rate, _]| libm::exp(-self.load * rate * u))
    }

    /// Returns g, the probability that a touch of the host at this `age` is visible.
    fn shown(&self, age: u32) -> f64 {
        let ages = f64::from(self.ages);
        self.visible(|rates| {
            let [before, within] = rates.map(|rate| self.load * rate / ages);
            // This is the mean of e^(-within v) for v from 0 to 1.
            let mean = if within > 0.0 { -libm::expm1(-within) / within } else { 1.0 };
            mean * libm::exp(-before * f64::from(age))
        })
    }

    /// Returns 1 - G or g, depending on `none`. `none` returns the probability that no touch covers a place. The
    /// argument of `none` contains two rates of touches, in units of λ: at smaller ages, and at the same age with
    /// smaller tags.
    fn visible(&self, none: impl Fn([f64; 2]) -> f64) -> f64 {
        let echo = libm::exp(-self.load - self.t) * none([2.0; 2]);
        none([1.0; 2]) + echo * (1.0 - none([1.0 - SAME_TWIST, 1.0 - SAME_TWIST / 2.0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use approx::assert_abs_diff_eq;

    #[test]
    fn without_load_it_is_the_error_of_linear_counting() {
        let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
        let t: f64 = 1024.0 / f64::from(params.width());
        // The Taylor series of the variance starts with η'(t²/2 + t³/6). The next term is a share t²/12 of this sum.
        let variance = f64::from(params.width()) * (t * t / 2.0 + t * t * t / 6.0);
        let ratio = std_error(&params, 1024, 0) / libm::sqrt(variance);
        assert_abs_diff_eq!(ratio, 1.0, epsilon = t * t);
    }

    // For n = 1 and small λ, G(u) = λu/31 + λ(1 - 1/31) u (λ(1 + 2u) + t). The variance contains the integral of G over
    // u, and η'/T times G(1). The next terms are smaller by a factor of λ.
    #[test]
    fn small_loads_add_what_one_touch_hides_and_the_square_of_the_load() {
        let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
        let load = 0.001 * params.recorders() as f64 / params.regions.touches();
        let square = |pairs: u64| {
            let error = std_error(&params, 1, pairs);
            error * error
        };
        let added = square(load as u64) - square(0);
        let false_matches = f64::from(params.width()) / f64::from(params.tags());
        let one_touch = 0.001 / 31.0 * (0.5 + false_matches);
        let both = 0.001 * (30.0 / 31.0);
        let foreign = 0.001 * (7.0 / 6.0 + 3.0 * false_matches);
        // One peer adds t = 1/32768 to λ(1 + 2u).
        let own = (0.5 + false_matches) / f64::from(params.width());
        let expected = one_touch + both * (foreign + own);
        assert_abs_diff_eq!(added / expected, 1.0, epsilon = 0.01);
    }

    // In a window of one slice, all positions are at risk at one age. The variance is η'² h/(R(1 - h)) - n with R = η'
    // g, where g is (1 - e^-λ)/λ plus the contribution of the echo.
    #[test]
    fn windows_of_one_slice_err_less_than_long_ones() {
        let error = |window, pairs| {
            let params = Config { window, ..Config::default() }.validate().unwrap();
            params.expected_error(1024, pairs).unwrap()
        };
        let params = Config { window: 1, ..Config::default() }.validate().unwrap();
        let width = 32_768.0;
        let (load, tagged) = (4.0, params.counter().tagged().unwrap());
        let pairs = (load * tagged.recorders() as f64 / tagged.regions.touches()) as u64;
        let mean = |rate: f64| (1.0 - libm::exp(-rate)) / rate;
        let t = 1024.0 / width;
        let echo = libm::exp(-load - t) * mean(2.0 * load) * (1.0 - mean(load * 61.0 / 62.0));
        let poisson = width * (libm::exp(t) - 1.0) / (mean(load) + echo);
        let variance = poisson - 1024.0;
        // A single age leaves room for 32,767 tags. About one false match of 1/g² peers remains, which is less than 1 %
        // of the error.
        let ratio = error(1, pairs) / libm::sqrt(variance);
        assert!((1.0..1.01).contains(&ratio), "{ratio}");
        assert!(error(1, pairs) < error(2, pairs) && error(2, pairs) < error(300, pairs));
    }

    #[test]
    fn any_load_has_a_finite_error() {
        let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
        let error = std_error(&params, 1024, u64::MAX);
        assert!(error.is_finite() && error > 1e6, "{error}");
    }

    #[test]
    fn a_fully_hidden_host_has_an_infinite_error() {
        for width in [96, 4096, 32_768] {
            let config = Config { linear_width: width, threshold: 64, ..Config::default() };
            let params = *config.validate().unwrap().counter().tagged().unwrap();
            for load in [0, 2_000_000, u64::MAX] {
                let mut before = 0.0;
                for cardinality in [1 << 12, 1 << 20, 1 << 25, 1 << 28, u32::MAX] {
                    let share = std_error(&params, cardinality, load) / f64::from(cardinality);
                    assert!(share > 0.0, "{width} {load} {cardinality}: {share}");
                    before = share.max(before);
                }
                assert_eq!(before, f64::INFINITY, "{width} {load}");
            }
        }
    }
}
