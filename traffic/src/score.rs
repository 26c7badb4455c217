//! Scores that compare the reports of a detector with the exact answer.
//!
//! A [`Score`] stores counts and sums, so the scores of several slices can be added up. Ratios are computed from the
//! totals. If there are no true super points, a ratio is `None`, not NaN. [`MeanRates`] are means in which every window
//! has the same weight.

use rustc_hash::FxHashMap;
use srlg_core::Address;
use std::ops::AddAssign;

/// Counts and errors of a detector's reports for one or more slices.
///
/// ```
/// use srlg_traffic::score::Score;
/// let truth = [(1, 2000), (2, 1000), (3, 1500)];
/// let score = Score::of(&truth, &[(1, 2100.0), (2, 1030.0)], 1024);
/// assert_eq!((score.false_positive_ratio(), score.false_negative_ratio()), (Some(0.5), Some(0.5)));
/// assert_eq!(score.max_error(), Some(0.05));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Number of true super points, N in the paper.
    pub true_super_points: u64,
    /// Number of reported hosts, N' in the paper.
    pub reported: u64,
    /// Number of reported hosts that are not true super points, N+ in the paper.
    pub false_positives: u64,
    /// Number of true super points that were not reported, N- in the paper.
    pub false_negatives: u64,
    /// Sum of the squared relative errors of all true super points that were reported.
    pub sum_of_squared_errors: f64,
    /// Largest absolute relative error of the true super points that were reported.
    pub largest_error: f64,
}

impl Score {
    /// Scores a report against the exact answer for the same window.
    ///
    /// A host is a super point if its true cardinality is at least `threshold`. `truth` contains the true cardinalities
    /// of all super points, and may also contain hosts below the threshold. `reported` contains the estimates. Both
    /// lists may be in any order, but must not contain a host twice.
    #[must_use]
    pub fn of(truth: &[(Address, u32)], reported: &[(Address, f64)], threshold: u32) -> Self {
        let mut missing: FxHashMap<Address, u32> =
            truth.iter().copied().filter(|&(_, cardinality)| cardinality >= threshold).collect();
        let mut score = Self {
            true_super_points: missing.len() as u64,
            reported: reported.len() as u64,
            ..Self::default()
        };
        for &(host, estimate) in reported {
            match missing.remove(&host) {
                Some(cardinality) => score.add_error(estimate, f64::from(cardinality)),
                None => score.false_positives += 1,
            }
        }
        score.false_negatives = missing.len() as u64;
        score
    }

    fn add_error(&mut self, estimate: f64, truth: f64) {
        // If the threshold is 0, a host may have cardinality 0, for which a relative error does not exist.
        let error = (estimate - truth) / truth.max(1.0);
        self.sum_of_squared_errors += error * error;
        self.largest_error = self.largest_error.max(error.abs());
    }

    /// Returns the false positive ratio (FPR), `N+ / N`, which can exceed 1. Returns `None` if there are no true super
    /// points.
    #[must_use]
    pub fn false_positive_ratio(&self) -> Option<f64> {
        self.per_super_point(self.false_positives)
    }

    /// Returns the false negative ratio (FNR), `N- / N`. Returns `None` if there are no true super points.
    #[must_use]
    pub fn false_negative_ratio(&self) -> Option<f64> {
        self.per_super_point(self.false_negatives)
    }

    /// Returns the total false rate (TFR), which is FPR + FNR. Returns `None` if there are no true super points.
    #[must_use]
    pub fn total_false_rate(&self) -> Option<f64> {
        self.per_super_point(self.false_positives + self.false_negatives)
    }

    /// Returns the root mean square of the relative errors, or `None` if no true super point was reported.
    #[must_use]
    pub fn rmse(&self) -> Option<f64> {
        self.per_hit(self.sum_of_squared_errors).map(f64::sqrt)
    }

    /// Returns the largest absolute relative error, or `None` if no true super point was reported.
    #[must_use]
    pub fn max_error(&self) -> Option<f64> {
        self.per_hit(0.0).map(|_| self.largest_error)
    }

    fn per_super_point(&self, count: u64) -> Option<f64> {
        (self.true_super_points > 0).then(|| count as f64 / self.true_super_points as f64)
    }

    fn per_hit(&self, sum: f64) -> Option<f64> {
        let hits = self.true_super_points - self.false_negatives;
        (hits > 0).then(|| sum / hits as f64)
    }
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Self) {
        self.true_super_points += other.true_super_points;
        self.reported += other.reported;
        self.false_positives += other.false_positives;
        self.false_negatives += other.false_negatives;
        self.sum_of_squared_errors += other.sum_of_squared_errors;
        self.largest_error = self.largest_error.max(other.largest_error);
    }
}

/// Mean false positive and false negative ratios over several windows.
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
    /// Number of windows that have a true super point.
    windows: u32,
    positive: f64,
    negative: f64,
    worst: f64,
}

impl MeanRates {
    /// Adds the score of one window. A window without a true super point is ignored.
    pub fn add(&mut self, window: &Score) {
        let rates = (window.false_positive_ratio(), window.false_negative_ratio());
        let (Some(positive), Some(negative)) = rates else { return };
        self.windows += 1;
        self.positive += positive;
        self.negative += negative;
        self.worst = self.worst.max(positive + negative);
    }

    /// Returns the mean FPR, or `None` if no window had a true super point.
    #[must_use]
    pub fn positive(&self) -> Option<f64> {
        self.per_window(self.positive)
    }

    /// Returns the mean FNR, or `None` if no window had a true super point.
    #[must_use]
    pub fn negative(&self) -> Option<f64> {
        self.per_window(self.negative)
    }

    /// Returns the mean TFR, which is FPR + FNR, or `None` if no window had a true super point.
    #[must_use]
    pub fn total(&self) -> Option<f64> {
        self.per_window(self.positive + self.negative)
    }

    /// Returns the largest TFR of any window, or `None` if no window had a true super point.
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
    use approx::assert_abs_diff_eq;

    const TRUTH: [(Address, u32); 5] = [(1, 100), (2, 200), (3, 400), (4, 99), (5, 1)];

    #[test]
    fn ratios_relate_to_the_true_super_points() {
        // Hosts 2 and 3 are found, and host 1 is missed. Host 4 is below the threshold, and host 9 does not exist.
        let reported = [(2, 220.0), (3, 380.0), (4, 101.0), (9, 500.0)];
        let score = Score::of(&TRUTH, &reported, 100);
        assert_eq!((score.true_super_points, score.reported), (3, 4));
        assert_eq!(score.false_positive_ratio(), Some(2.0 / 3.0));
        assert_eq!(score.false_negative_ratio(), Some(1.0 / 3.0));
        assert_eq!(score.total_false_rate(), Some(1.0));
    }

    #[test]
    fn errors_are_of_the_reported_true_super_points_alone() {
        // The relative errors are +0.1 and -0.05. The false positive is not counted.
        let score = Score::of(&TRUTH, &[(2, 220.0), (3, 380.0), (4, 9900.0)], 100);
        // A relative error needs a subtraction and a division. The other steps round three more times.
        let epsilon = 5.0 * f64::EPSILON;
        assert_abs_diff_eq!(score.max_error().unwrap(), 0.1, epsilon = epsilon);
        assert_abs_diff_eq!(score.rmse().unwrap(), 0.00625_f64.sqrt(), epsilon = epsilon);
    }

    #[test]
    fn a_host_exactly_at_the_threshold_is_a_super_point() {
        assert_eq!(Score::of(&[(1, 100)], &[], 100).false_negatives, 1);
        assert_eq!(Score::of(&[(1, 99)], &[], 100).false_negatives, 0);
    }

    #[test]
    fn a_slice_without_super_points_prints_nothing() {
        let score = Score::of(&TRUTH, &[(4, 99.0)], 1000);
        assert_eq!(score.false_positives, 1);
        assert_eq!(score.false_positive_ratio().or(score.false_negative_ratio()), None);
        assert_eq!(score.total_false_rate(), None);
        assert_eq!(score.rmse().or(score.max_error()), None);
        // If all super points are missed, the rates are known but the errors are not.
        let all_missed = Score::of(&TRUTH, &[], 100);
        assert_eq!((all_missed.false_negative_ratio(), all_missed.rmse()), (Some(1.0), None));
    }

    #[test]
    fn scores_of_slices_add_up_to_the_score_of_their_union() {
        let mut one = Score::of(&[(1, 100)], &[(1, 150.0), (8, 1.0)], 100);
        let two = Score::of(&[(2, 200), (3, 100)], &[(2, 150.0)], 100);
        let both = [(1, 150.0), (8, 1.0), (2, 150.0)];
        let union = Score::of(&[(1, 100), (2, 200), (3, 100)], &both, 100);
        one += two;
        assert_eq!(one, union);
    }

    #[test]
    fn every_window_with_a_super_point_counts_the_same() {
        let mut rates = MeanRates::default();
        assert_eq!((rates.total(), rates.worst()), (None, None));
        // The first window misses its only super point. The second window finds all four, with one false report. The
        // third window has no super points and five false reports.
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
