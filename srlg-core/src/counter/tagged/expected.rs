//! What to expect of the [visible](super::visible) count, before anything is counted.
//!
//! Method. Let contacts be even over the window, as many before it as in it, and never repeat, and λ
//! be the distinct pairs per recorder. Times u are relative to the window: 0 is now, 1 its far end. A
//! position is covered from u on, so that an own touch of that time is not visible, when
//!
//! - a foreign touch came since to the place of the touch: probability `1 - e^(-λu)`; and
//! - in the place of the echo, any touch of the window, be it foreign or own, or an echo since,
//!   or a touch that left the window and looks like an echo since:
//!   `1 - e^(-λ - t) e^(-λu) e^(-λu)` with t = n/η' of n opposite hosts.
//!
//! One touch may do both: that of a stranger to the place of the touch, if it has the host's twist, as one in
//! LINE - 1 does, since its echo is then in the place of the echo. All others are independent, so the own touch is visible
//! with probability `1 - G(u) = e^(-λu) + e^(-λ(1 + 2u) - t) (1 - e^(-λu(1 - 1/(LINE - 1))))`.
//!
//! Words tell K ages apart, and of one age the smaller tag stays: tags order the touches of an age as time
//! would, evenly, and those of echoes independently. So an own touch of age a is seen with probability g_a, which is 1 - G with
//! the mean over that age in place of each power of e^(-λu). Of one age both tags of a stranger of the same twist are smaller half
//! as often as one is, so half as many of its touches hide both.
//!
//! Of the η' positions e^(-ta/K) have no own touch of a smaller age, so `R_a = η' e^(-ta/K) g_a` are at risk at the
//! age a, of which a share `h = 1 - e^(-t/K)` shows an own touch. The variance of an estimate has two parts:
//!
//! - own touches (Greenwood 1926): `η'² Σ h/(R_a (1 - h)) - n`, n coming off as it is a fixed number. It is
//!   `η' (e^t - t - 1)` without load, the variance of linear counting (Whang et al. 1990);
//! - false matches: at the age a the foreign words of `η' e^(-t(a+1)/K) (G((a+1)/K) - G(a/K))` positions
//!   come into sight, one in T shows the host's tag, and counts as `η'/(R_a (1 - h))` hosts.
//!
//! An estimate ends where fewer than one position is left at risk. Of n opposite hosts
//! `η' e^(-t) g_(K-1)` are left in the mean.
//!
//! A region gets a share p of the n opposite hosts, a Poisson number if n is one. So what it tells of n has the
//! variance V/p², V being the sum of both parts with n p in place of n, of a number that is not fixed. Independent
//! regions add p²/V; in the end n comes off. Where few positions of the fine region are left the coarse ones count.

use super::params::{LINE, TaggedParams};
use super::pooled::COARSE_TELLS;
use crate::view::ArrayParams;

/// More ages are as good as endless ones: in one of them e^(-λu) changes by a thirteenth at λ = 5, and the mean of its
/// inverse differs from the inverse of its mean by 1/2000.
const MOST_AGES: u32 = 64;

/// Share of strangers that have the twist of a host.
const SAME_TWIST: f64 = 1.0 / (LINE - 1) as f64;

/// Returns the standard error, in hosts, to expect of an estimate in the array of `params` of a host with
/// `cardinality` opposite hosts, where a window holds `distinct_pairs` distinct pairs; infinite where the host
/// itself leaves nothing to estimate from.
#[must_use]
pub fn std_error(params: &TaggedParams, cardinality: u32, distinct_pairs: u64) -> f64 {
    let expected = |region| Expectation::new(params, region, cardinality, distinct_pairs);
    let (fine, coarse) = (expected(0), 1..params.regions.as_slice().len());
    let mut information = fine.information();
    if fine.left() <= COARSE_TELLS * (1.0 - fine.share) * fine.width {
        information += coarse.map(|region| expected(region).information()).sum::<f64>();
    }
    libm::sqrt((1.0 / information - f64::from(cardinality)).max(0.0))
}

/// Returns λ, how many of `distinct_pairs` distinct pairs there are per recorder of the array of `params`.
#[must_use]
pub fn load(params: &TaggedParams, distinct_pairs: u64) -> f64 {
    distinct_pairs as f64 / params.recorders() as f64
}

/// A region of a host in a load.
struct Expectation {
    /// Its positions, η' of the fine one.
    width: f64,
    /// Its share of the opposite hosts.
    share: f64,
    /// T.
    tags: f64,
    /// K.
    ages: u32,
    /// λ.
    load: f64,
    /// Opposite hosts per position.
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
            // Beyond a load of 30 nothing is visible, and no number would say more.
            load: load(params, distinct_pairs).min(30.0),
            t: f64::from(cardinality) * share / width,
        }
    }

    /// 1 over the variance of the number of all opposite hosts, a Poisson number, as the region tells it.
    fn information(&self) -> f64 {
        // e^(t/K): by how much an age lowers the share of positions without an own touch.
        let step = libm::exp(self.t / f64::from(self.ages));
        let (mut own, mut false_matches, mut untouched, mut covered) = (0.0, 0.0, 1.0, 0.0);
        for age in 0..self.ages {
            let shown = self.shown(age);
            let until = self.covered(f64::from(age + 1) / f64::from(self.ages));
            own += libm::expm1(self.t / f64::from(self.ages)) / (untouched * shown);
            // Without foreigners there are none, however little the host leaves untouched.
            if until > covered {
                false_matches += (until - covered) * step / (untouched * shown * shown);
            }
            covered = until;
            untouched /= step;
        }
        self.share * self.share / (self.width * (own + false_matches / self.tags))
    }

    /// Positions that still tell something at the far end of the window, in the mean.
    fn left(&self) -> f64 {
        self.width * libm::exp(-self.t) * self.shown(self.ages - 1)
    }

    /// G: probability that an own touch of the time `u` is not visible.
    fn covered(&self, u: f64) -> f64 {
        1.0 - self.visible(|[rate, _]| libm::exp(-self.load * rate * u))
    }

    /// g: probability that an own touch of an age is visible.
    fn shown(&self, age: u32) -> f64 {
        let ages = f64::from(self.ages);
        self.visible(|rates| {
            let [before, within] = rates.map(|rate| self.load * rate / ages);
            // The mean of e^(-within v) over v from 0 to 1.
            let mean = if within > 0.0 { -libm::expm1(-within) / within } else { 1.0 };
            mean * libm::exp(-before * f64::from(age))
        })
    }

    /// 1 - G, where `none` is the probability that none of touches of some rates, in λ, has come since: at smaller
    /// ages, and at the same with smaller tags.
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
    fn without_load_it_is_the_error_of_linear_counting_and_of_the_peers_in_coarse_regions() {
        let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
        let share = 511.0 / 512.0;
        let t: f64 = 1024.0 * share / f64::from(params.width());
        // Taylor: η'(t²/2 + t³/6), the next term being t²/12 of it.
        let variance = f64::from(params.width()) * (t * t / 2.0 + t * t * t / 6.0);
        let variance = variance / (share * share) + 1024.0 / 511.0;
        let ratio = std_error(&params, 1024, 0) / libm::sqrt(variance);
        assert_abs_diff_eq!(ratio, 1.0, epsilon = t * t);
    }

    // n = 1 and small λ: G(u) = λu/31 + λ(1 - 1/31) u (λ(1 + 2u) + t), of which the variance has the integral over u, and
    // η'/T times G(1), the next terms being λ of it.
    #[test]
    fn small_loads_add_what_one_touch_hides_and_the_square_of_the_load() {
        let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
        let load = 0.001 * params.recorders() as f64;
        let square = |pairs: u64| {
            let error = std_error(&params, 1, pairs);
            error * error
        };
        let added = square(load as u64) - square(0);
        let false_matches = f64::from(params.width()) / f64::from(params.tags());
        let one_touch = 0.001 / 31.0 * (0.5 + false_matches);
        let both = 0.001 * (30.0 / 31.0);
        let foreign = 0.001 * (7.0 / 6.0 + 3.0 * false_matches);
        // One opposite host adds t = 1/32768 to λ(1 + 2u).
        let own = (0.5 + false_matches) / f64::from(params.width());
        let expected = (one_touch + both * (foreign + own)) * (512.0 / 511.0);
        assert_abs_diff_eq!(added / expected, 1.0, epsilon = 0.01);
    }

    // Of one age all is in one risk set: η'² h/(R(1 - h)) - n with R = η' g, g = (1 - e^-λ)/λ and what the echo adds.
    #[test]
    fn windows_of_one_slice_err_less_than_long_ones() {
        let error = |window, pairs| {
            let params = Config { window, ..Config::default() }.validate().unwrap();
            params.expected_error(1024, pairs).unwrap()
        };
        let params = Config { window: 1, ..Config::default() }.validate().unwrap();
        let width = 32_768.0;
        let load = 4.0;
        let pairs = (load * params.counter().tagged().unwrap().recorders() as f64) as u64;
        let mean = |rate: f64| (1.0 - libm::exp(-rate)) / rate;
        let share = 511.0 / 512.0;
        let t = 1024.0 * share / width;
        let echo = libm::exp(-load - t) * mean(2.0 * load) * (1.0 - mean(load * 61.0 / 62.0));
        let poisson = width * (libm::exp(t) - 1.0) / (mean(load) + echo);
        let variance = poisson / (share * share) - 1024.0;
        // The 32,767 tags of one age leave one false match, of 1/g² hosts, less than 1 % of the error.
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
    fn what_nothing_is_left_of_has_an_infinite_error() {
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
