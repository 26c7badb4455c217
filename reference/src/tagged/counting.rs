//! The tally of a host's positions, and the estimates of its number of peers from one region or from all regions.

use std::net::IpAddr;
use std::ops::Range;

use srlg_core::EstimateRange;

use super::{Id, LINE, Region, TaggedModel};

/// Counts of the positions in one region of a host's linear estimator. Element m of each list counts positions of age
/// m.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaggedTally {
    /// Number of positions at each age.
    pub all: Vec<u32>,
    /// Number of positions at each age that show the host's own touch.
    pub own: Vec<u32>,
    /// Number of positions at each age that do not show the host's own touch but may hide one.
    pub hidden: Vec<u32>,
    /// Number of hidden positions at each age whose two recorders both have this age. The delay of an echo, W, is first
    /// subtracted from its age.
    pub hidden_twice: Vec<u32>,
    /// Number of positions at each age whose two recorders both have this age, as in `hidden_twice`, and both exclude a
    /// touch of the host.
    pub excluded_twice: Vec<u32>,
}

/// An estimate of a host's number of peers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaggedEstimate {
    /// n: estimated number of peers.
    pub cardinality: f64,
    /// Standard error of `cardinality`.
    pub std_error: f64,
    /// Whether `cardinality` is an estimate, was raised to 0, or is a lower bound.
    pub range: EstimateRange,
}

impl TaggedModel {
    /// Returns the tallies of `host` over the last `window` slices. Usually, the only tally is that of the fine region.
    /// If the fine region is nearly used up, every region has a tally.
    #[must_use]
    pub fn tallies(&self, host: IpAddr, window: u32) -> Vec<TaggedTally> {
        let host = self.id(host.to_canonical());
        let tally =
            |region: &Region| self.tally(host, window, region.first..region.first + region.width);
        let fine = tally(&self.regions[0]);
        let width = f64::from(self.regions[0].width);
        let coarse = self.regions.get(1).map_or(0.0, |region| f64::from(region.parts) / 65_536.0);
        let sum = |counts: &[u32]| f64::from(counts.iter().sum::<u32>());
        let unclear = 2.0 * sum(&fine.hidden) / f64::from(self.tags - 1);
        let mut tallies = vec![fine];
        if coarse > 0.0 && width - sum(&tallies[0].all) - unclear <= 4.0 * coarse * width {
            tallies.extend(self.regions[1..].iter().map(tally));
        }
        tallies
    }

    fn tally(&self, host: Id, window: u32, positions: Range<u32>) -> TaggedTally {
        let (ages, _) = self.span(window, self.epoch);
        let none = vec![0; ages];
        let [all, own, hidden, hidden_twice, excluded_twice] =
            std::array::from_fn(|_| none.clone());
        let mut tally = TaggedTally { all, own, hidden, hidden_twice, excluded_twice };
        positions.for_each(|position| self.count(host, position, &mut tally));
        tally
    }

    /// Counts one position in `tally`. The age of a position is the age of the older of its two words. Both words
    /// together show whether the host touched the position at that age. A position whose age is not in the window is
    /// not counted.
    fn count(&self, host: Id, position: u32, tally: &mut TaggedTally) {
        let [touch, echo] = self.places(host, position).map(|place| u32::from(self.slea[place]));
        let [tag, echo_tag] = self.tags_of(host, position);
        let delay = self.window_ages * self.tags;
        let age = touch.max(echo.saturating_sub(delay)) / self.tags;
        let (own, own_echo) = (age * self.tags + tag, age * self.tags + delay + echo_tag);
        let m = age as usize;
        if m >= tally.all.len() {
            return;
        }
        let both_of_this_age =
            touch / self.tags == age && echo / self.tags == age + self.window_ages;
        tally.all[m] += 1;
        if touch > own || echo > own_echo {
            let by_both = touch > own && echo > own_echo;
            tally.excluded_twice[m] += u32::from(both_of_this_age && by_both);
        } else if touch == own || echo == own_echo {
            tally.own[m] += 1;
        } else {
            tally.hidden[m] += 1;
            tally.hidden_twice[m] += u32::from(both_of_this_age);
        }
    }

    /// Returns whether a glimpse keeps `host` as a candidate.
    ///
    /// A glimpse has two stages, which examine the first sixteenth and the first eighth of the fine region, rounded up
    /// to whole lines. Each position that shows the host's own touch has a score, which depends on its age. The host is
    /// dismissed if, at the end of a stage, the sum of the scores is so low that a host with θ peers would have it with
    /// a probability of at most e^-8. The test is valid for any distribution of contacts over the window. As in the
    /// fast code, the scores are computed with integers. Fractions are in units of 2^-16.
    #[must_use]
    pub fn may_reach(&self, host: IpAddr) -> bool {
        let unit = 1u128 << 16;
        let Region { full, width, .. } = self.regions[0];
        let stages = [16, 8].map(|part| u128::from((width / part).next_multiple_of(LINE)));
        let theta = u128::from(self.config.threshold) * unit;
        let [early, late] = stages.map(|positions| theta * positions / u128::from(full));
        if late <= 16 * unit {
            return true;
        }
        let host = self.id(host.to_canonical());
        [(stages[0], early), (stages[1], late)]
            .into_iter()
            .all(|(positions, mean)| self.may_reach_at(host, positions, mean, late))
    }

    /// Returns whether a stage of a glimpse keeps `host`. Of θ peers, `mean` are expected to touch the first
    /// `positions` positions, and `most` are expected to touch the positions of all stages.
    fn may_reach_at(&self, host: Id, positions: u128, mean: u128, most: u128) -> bool {
        let unit = 1u128 << 16;
        let tally = self.tally(host, self.config.window, 0..positions as u32);
        let (ages, _) = self.span(self.config.window, self.epoch);
        let group = ages.div_ceil(64).next_power_of_two();
        let other_tags = u128::from(self.tags - 1);
        let sum = |counts: &[u32]| counts.iter().map(|&count| u128::from(count)).sum::<u128>();
        let all = positions * other_tags;
        let at_risk =
            ((positions - sum(&tally.all)) * other_tags).saturating_sub(2 * sum(&tally.hidden));
        let visible = at_risk * unit / all;
        if visible < unit / 256 {
            return true;
        }
        let kappa = (4 * (visible * unit * unit / most).isqrt()).min(visible * 3 / 4);
        let (mut left, mut score, mut false_matches) = (positions, 0, 0);
        for first in (0..ages).step_by(group) {
            let within = first..ages.min(first + group);
            let sum = |counts: &[u32]| sum(&counts[within.clone()]);
            let (own, twice) = (sum(&tally.own), sum(&tally.hidden_twice));
            let chances = sum(&tally.all) - own + twice - sum(&tally.excluded_twice);
            left -= sum(&tally.all);
            let share = kappa * all / (left * other_tags - sum(&tally.hidden) - twice);
            false_matches += chances * share;
            // -ln(1 - y) is at most y(6 - 5y) / ((1 - y)(6 - 2y)).
            let y = share + 1;
            score +=
                own * (y * (6 * unit - 5 * y) * unit).div_ceil((unit - y) * (6 * unit - 2 * y));
        }
        score + 8 * unit > kappa * mean / unit + false_matches / other_tags
    }

    /// Returns λ, computed from the share of recorders that were touched in the window.
    pub(super) fn load(&self) -> f64 {
        let (ages, _) = self.span(self.config.window, self.epoch);
        let touched = |&&word: &&u16| u32::from(word) < ages as u32 * self.tags;
        let touched = self.slea.iter().filter(touched).count();
        -libm::log1p(-(touched as f64 / self.slea.len() as f64))
    }

    /// Returns whether less than e^-4 of the fine positions that `host` does not show to have touched are at risk at
    /// every age.
    pub(super) fn seems_crowded(&self, host: IpAddr) -> bool {
        let fine = &self.tallies(host, self.config.window)[0];
        let width = self.regions[0].width;
        let sum = |counts: &[u32]| counts.iter().sum::<u32>();
        f64::from(width - sum(&fine.all)) < libm::exp(-4.0) * f64::from(width - sum(&fine.own))
    }

    /// Returns whether `estimate` exceeds θ by at least three standard errors. If it is beyond the range, returns whether
    /// the visible touches in a region alone make a super point of `host`.
    pub(super) fn is_clear(&self, host: IpAddr, estimate: TaggedEstimate) -> bool {
        let threshold = f64::from(self.config.threshold);
        if estimate.range != EstimateRange::Beyond {
            return estimate.cardinality - threshold >= 3.0 * estimate.std_error;
        }
        let tallies = self.tallies(host, self.config.window);
        tallies.iter().enumerate().any(|(number, tally)| {
            let sum = |counts: &[u32]| counts.iter().map(|&count| f64::from(count)).sum::<f64>();
            let (own, twice) = (sum(&tally.own), sum(&tally.hidden_twice));
            let chances = sum(&tally.all) - own + twice - sum(&tally.excluded_twice);
            let false_matches = chances / f64::from(self.tags - 1);
            let touched = own - false_matches - 6.0 * false_matches.sqrt();
            let share = self.rate(number) * f64::from(self.regions[number].width);
            touched > 0.0 && touched - 3.0 * touched.sqrt() >= threshold * share
        })
    }

    /// Returns the estimate from `width` positions, each of which a peer touches with probability `rate`. The
    /// Kaplan-Meier estimate of the share of positions without a touch of the host is a product with one factor per
    /// age. Linear counting converts this share to a cardinality. The variance is Greenwood's, plus the variance from a
    /// partly covered oldest epoch.
    fn estimate_of(
        &self,
        tally: &TaggedTally,
        window: u32,
        width: f64,
        rate: f64,
    ) -> TaggedEstimate {
        let (ages, oldest_share) = self.span(window, self.epoch);
        // `inverse` is 1/S, where S is the share of positions without a touch of the host.
        let (mut at_risk, mut inverse, mut greenwood, mut edge) = (width, 1.0, 0.0, 0.0);
        let mut is_beyond = false;
        for m in 0..ages {
            let (risk, touched) = self.risk_and_touched(tally, m, at_risk);
            if risk <= 1.0 {
                is_beyond = true;
                break;
            }
            is_beyond |= risk - touched < 1.0;
            let untouched = (risk - touched).max(1.0);
            let share = if m + 1 == ages { oldest_share } else { 1.0 };
            inverse *= libm::pow(risk / untouched, share);
            greenwood += share * share * f64::from(tally.own[m]) / (risk * untouched);
            edge += edge_variance(share, libm::log(risk / untouched) / rate);
            at_risk -= f64::from(tally.all[m]);
        }
        stated(libm::log(inverse) / rate, greenwood / (rate * rate) + edge, is_beyond)
    }

    /// Returns R and d. R is the number of positions at which a touch of age m by the host would be visible. d is the
    /// number of positions that show a touch of age m, minus the expected number of false matches.
    fn risk_and_touched(&self, tally: &TaggedTally, m: usize, at_risk: f64) -> (f64, f64) {
        let count = |counts: &[u32]| f64::from(counts[m]);
        let (all, own, hidden) = (count(&tally.all), count(&tally.own), count(&tally.hidden));
        let hidden_twice = count(&tally.hidden_twice);
        let chances = all - own + hidden_twice - count(&tally.excluded_twice);
        let other_tags = f64::from(self.tags - 1);
        (at_risk - hidden - (hidden + hidden_twice) / other_tags, own - chances / other_tags)
    }

    /// Returns the number of epochs that overlap the last `window` slices, and the share of the oldest epoch that is in
    /// the window. Each epoch has `epoch` slices. In the running epoch, only the slices so far count.
    pub(super) fn span(&self, window: u32, epoch: u64) -> (usize, f64) {
        let (running, window) = (self.slice % epoch + 1, u64::from(window));
        if window <= running {
            return (1, window as f64 / running as f64);
        }
        let before = window - running;
        let ages = 1 + before.div_ceil(epoch);
        (ages as usize, (before - (ages - 2) * epoch) as f64 / epoch as f64)
    }
}

/// Returns the variance of the number of touches of the oldest epoch that are in the window. The epoch has `touches`
/// touches, and a `share` of it is in the window. The formula allows for the case that all touches are in one slice.
fn edge_variance(share: f64, touches: f64) -> f64 {
    let touches = touches.max(0.0);
    share * (1.0 - share) * touches.max(touches * touches)
}

/// Returns `cardinality` as an estimate. If the host is beyond the range, returns a lower bound that is two standard
/// errors below `cardinality`. Negative results are raised to 0. `variance` includes the variance of a
/// Poisson-distributed number of peers, which equals `cardinality` and is subtracted.
fn stated(cardinality: f64, variance: f64, is_beyond: bool) -> TaggedEstimate {
    let std_error = libm::sqrt((variance - cardinality.max(0.0)).max(0.0));
    let bound = if is_beyond { cardinality - 2.0 * std_error } else { cardinality };
    let range = match (is_beyond, cardinality < 0.0) {
        (true, _) => EstimateRange::Beyond,
        (false, true) => EstimateRange::ClampedToZero,
        (false, false) => EstimateRange::Within,
    };
    TaggedEstimate { cardinality: bound.max(0.0), std_error, range }
}

/// The numbers of a region at one age: R, d, o and the rate q.
#[derive(Clone, Copy)]
struct Part {
    risk: f64,
    touched: f64,
    own: f64,
    rate: f64,
}

impl Part {
    /// Returns the amount of information in the region, which is (R - d) q, or 0 if R - d is below 4.
    fn weight(&self) -> f64 {
        let left = self.risk - self.touched;
        if left < 4.0 { 0.0 } else { left * self.rate }
    }
}

impl TaggedModel {
    /// Returns the estimated number of peers of `host` in the last `window` slices.
    #[must_use]
    pub fn estimate(&self, host: IpAddr, window: u32) -> TaggedEstimate {
        let tallies = self.tallies(host, window);
        if let [fine] = &tallies[..] {
            let width = f64::from(self.regions[0].width);
            return self.estimate_of(fine, window, width, self.rate(0));
        }
        self.pooled(&tallies, window)
    }

    /// Returns the estimate from all regions, which is computed age by age.
    fn pooled(&self, tallies: &[TaggedTally], window: u32) -> TaggedEstimate {
        let (ages, oldest_share) = self.span(window, self.epoch);
        let mut at_risk: Vec<f64> = self.regions.iter().map(|region| region.width.into()).collect();
        let rates: Vec<f64> = (0..at_risk.len()).map(|it| self.rate(it)).collect();
        let share = rates[0] * at_risk[0];
        let (mut cardinality, mut variance, mut is_beyond) = (0.0, 0.0, false);
        for m in 0..ages {
            let mut parts: Vec<Part> = Vec::new();
            for (number, tally) in tallies.iter().enumerate() {
                let (risk, touched) = self.risk_and_touched(tally, m, at_risk[number]);
                let own = f64::from(tally.own[m]);
                at_risk[number] -= f64::from(tally.all[m]);
                let part = Part { risk, touched: touched.min(risk), own, rate: rates[number] };
                // If a finer region contains more than 4 times as much information, the coarser region is ignored.
                if risk > 1.0 && parts.iter().all(|finer| finer.weight() <= 4.0 * part.weight()) {
                    parts.push(part);
                }
            }
            let Some(&coarsest) = parts.last() else {
                is_beyond = true;
                break;
            };
            if parts.iter().all(|part| part.risk - part.touched < 1.0) {
                // If all regions are used up, the coarsest region is treated as if it had one position left.
                is_beyond = true;
                let most = coarsest.risk - 1.0;
                let (touched, own) = (coarsest.touched.min(most), coarsest.own.min(most));
                parts = vec![Part { touched, own, ..coarsest }];
            }
            let within = if m + 1 == ages { oldest_share } else { 1.0 };
            let x = increment(&parts);
            cardinality += within * x;
            // The peers of coarse regions also touch the fine region, so that the estimates from both are correlated.
            let weight = weight_of_fine(&parts, rates[0], x);
            let common = 2.0 * weight * (1.0 - weight) * x / share;
            variance +=
                within * within * (variance_of(&parts, x) + common) + edge_variance(within, x);
        }
        stated(cardinality, variance, is_beyond)
    }
}

/// Returns the estimated number of peers at one age, which is the root x of `Σ q (d / (1 - e^(-xq)) - R) = 0`, found
/// with Newton's method.
fn increment(parts: &[Part]) -> f64 {
    let touched: f64 = parts.iter().map(|part| part.touched).sum();
    let mut x = touched
        / parts.iter().map(|part| part.rate * (part.risk - 0.5 * part.touched)).sum::<f64>();
    let fastest = parts.iter().map(|part| part.rate).fold(0.0, f64::max);
    if x * fastest <= 0.02 {
        return x;
    }
    for _ in 0..40 {
        let (mut value, mut slope) = (0.0, 0.0);
        for part in parts {
            let (left, gone) = (libm::exp(-x * part.rate), -libm::expm1(-x * part.rate));
            let term = part.touched / gone;
            value += part.rate * (term - part.risk);
            slope += -part.rate * part.rate * term * left / gone;
        }
        let step = value / slope;
        if slope >= 0.0 || !(x - step).is_finite() || x - step <= 0.0 {
            break;
        }
        x -= step;
        if step.abs() <= 1e-13 * x {
            break;
        }
    }
    x
}

/// Returns the variance of the estimated number of peers at one age, which is B/A² at `x`.
fn variance_of(parts: &[Part], x: f64) -> f64 {
    let (mut a, mut b) = (0.0, 0.0);
    for part in parts {
        let f = factor(part, x);
        a += information_of(part, x);
        b += part.own * (1.0 - part.touched / part.risk) * f * f;
    }
    b / (a * a)
}

/// Returns f, which is y/(1 - e^-y) with y = x q.
fn factor(part: &Part, x: f64) -> f64 {
    let y = x * part.rate;
    if y == 0.0 { 1.0 } else { y / -libm::expm1(-y) }
}

/// Returns the term of a region in A at `x`.
fn information_of(part: &Part, x: f64) -> f64 {
    part.rate * part.risk * factor(part, x) * libm::exp(-x * part.rate)
}

/// Returns the term of the fine region, whose rate is `rate`, as a share of A at `x`.
fn weight_of_fine(parts: &[Part], rate: f64, x: f64) -> f64 {
    let all: f64 = parts.iter().map(|part| information_of(part, x)).sum();
    let fine = parts.iter().find(|part| part.rate == rate);
    fine.map_or(0.0, |part| information_of(part, x) / all)
}
