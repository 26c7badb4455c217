//! False rates as means over windows.
//!
//! Shape: [`MeanRates`]; add the [`Score`] of every window. Invariant: a window without
//! a true super point, which has no rates, changes nothing.

use super::Score;

/// Means of the false rates of windows.
///
/// ```
/// use srlg_traffic::score::{MeanRates, Score};
/// let mut rates = MeanRates::default();
/// rates.add(&Score::of(&[(1, 10)], &[], 10)); // one of one is missed
/// rates.add(&Score::of(&[(1, 10), (2, 10), (3, 10)], &[(1, 10.0), (2, 10.0), (3, 10.0)], 10));
/// assert_eq!((rates.total(), rates.worst()), (Some(0.5), Some(1.0)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct MeanRates {
    /// Windows with a true super point.
    windows: u32,
    positive: f64,
    negative: f64,
    worst: f64,
}

impl MeanRates {
    /// Takes the score of one window.
    pub fn add(&mut self, window: &Score) {
        let rates = (window.false_positive_ratio(), window.false_negative_ratio());
        let (Some(positive), Some(negative)) = rates else { return };
        self.windows += 1;
        self.positive += positive;
        self.negative += negative;
        self.worst = self.worst.max(positive + negative);
    }

    /// Mean FPR; `None` when no window had a true super point, as all of these.
    #[must_use]
    pub fn positive(&self) -> Option<f64> {
        self.per_window(self.positive)
    }

    /// Mean FNR.
    #[must_use]
    pub fn negative(&self) -> Option<f64> {
        self.per_window(self.negative)
    }

    /// Mean TFR: FPR + FNR.
    #[must_use]
    pub fn total(&self) -> Option<f64> {
        self.per_window(self.positive + self.negative)
    }

    /// Largest TFR of a window.
    #[must_use]
    pub fn worst(&self) -> Option<f64> {
        (self.windows > 0).then_some(self.worst)
    }

    fn per_window(&self, sum: f64) -> Option<f64> {
        (self.windows > 0).then(|| sum / f64::from(self.windows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_with_a_super_point_counts_the_same() {
        let mut rates = MeanRates::default();
        assert_eq!((rates.total(), rates.worst()), (None, None));
        // Missed 1 of 1; of 4 none missed, 1 false besides; no super point, 1 false.
        rates.add(&Score::of(&[(1, 10)], &[], 10));
        let four = [(1, 10), (2, 10), (3, 10), (4, 10)];
        let five = [1, 2, 3, 4, 5].map(|host| (host, 10.0));
        rates.add(&Score::of(&four, &five, 10));
        rates.add(&Score::of(&[], &five, 10));
        assert_eq!(rates.positive(), Some(0.25 / 2.0));
        assert_eq!(rates.negative(), Some(1.0 / 2.0));
        assert_eq!((rates.total(), rates.worst()), (Some(1.25 / 2.0), Some(1.0)));
    }
}
