//! The estimate of hosts that have used their fine region up, from all regions.

use std::net::IpAddr;

use super::TaggedModel;
use super::counting::{TaggedEstimate, TaggedTally, edge_variance, stated};

/// R, d and o of a region at an age, and its q.
#[derive(Clone, Copy)]
struct Part {
    risk: f64,
    touched: f64,
    own: f64,
    rate: f64,
}

impl Part {
    /// What a region can tell.
    fn weight(&self) -> f64 {
        let left = self.risk - self.touched;
        if left < 4.0 { 0.0 } else { left * self.rate }
    }
}

impl TaggedModel {
    /// The estimate for `host` over the last `window` slices.
    #[must_use]
    pub fn estimate(&self, host: IpAddr, window: u32) -> TaggedEstimate {
        let tallies = self.tallies(host, window);
        if let [fine] = &tallies[..] {
            let width = f64::from(self.regions[0].width);
            return self.estimate_of(fine, window, width, self.share(0) / width);
        }
        self.pooled(&tallies, window)
    }

    /// The estimate of all regions together, age by age.
    fn pooled(&self, tallies: &[TaggedTally], window: u32) -> TaggedEstimate {
        let (ages, oldest_share) = self.span(window, self.epoch);
        let mut at_risk: Vec<f64> = self.regions.iter().map(|region| region.width.into()).collect();
        let rates: Vec<f64> = (0..at_risk.len()).map(|it| self.share(it) / at_risk[it]).collect();
        let (mut cardinality, mut variance, mut is_beyond) = (0.0, 0.0, false);
        for m in 0..ages {
            let mut parts: Vec<Part> = Vec::new();
            for (number, tally) in tallies.iter().enumerate() {
                let (risk, touched) = self.risk_and_touched(tally, m, at_risk[number]);
                let own = f64::from(tally.own[m]);
                at_risk[number] -= f64::from(tally.all[m]);
                let part = Part { risk, touched: touched.min(risk), own, rate: rates[number] };
                // A finer region that tells more than 4 times as much keeps a coarser one out.
                if risk > 1.0 && parts.iter().all(|finer| finer.weight() <= 4.0 * part.weight()) {
                    parts.push(part);
                }
            }
            let Some(&coarsest) = parts.last() else {
                is_beyond = true;
                break;
            };
            if parts.iter().all(|part| part.risk - part.touched < 1.0) {
                // All are used up: the coarsest is taken to have one position left.
                is_beyond = true;
                let most = coarsest.risk - 1.0;
                let (touched, own) = (coarsest.touched.min(most), coarsest.own.min(most));
                parts = vec![Part { touched, own, ..coarsest }];
            }
            let share = if m + 1 == ages { oldest_share } else { 1.0 };
            let x = increment(&parts);
            cardinality += share * x;
            variance += share * share * variance_of(&parts, x) + edge_variance(share, x);
        }
        stated(cardinality, variance, is_beyond)
    }
}

/// The root x of `Σ q (d / (1 - e^(-xq)) - R) = 0`.
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

/// B/A² at `x`.
fn variance_of(parts: &[Part], x: f64) -> f64 {
    let (mut a, mut b) = (0.0, 0.0);
    for part in parts {
        let y = x * part.rate;
        let f = if y == 0.0 { 1.0 } else { y / -libm::expm1(-y) };
        a += part.rate * part.risk * f * libm::exp(-y);
        b += part.own * (1.0 - part.touched / part.risk) * f * f;
    }
    b / (a * a)
}
