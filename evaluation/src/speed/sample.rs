//! [`Sample`]: what several rounds of the same work amount to.

use std::time::Instant;

use anyhow::Result;

/// The middle, the least and the most of several values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    /// How many values.
    pub(super) rounds: usize,
}

impl Sample {
    /// Of at least one value.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let middle = (values.len() - 1) / 2;
        let median = f64::midpoint(values[middle], values[values.len() / 2]);
        Self { median, min: values[0], max: values[values.len() - 1], rounds: values.len() }
    }

    /// `work` per second, where it takes each of `seconds`.
    pub(super) fn rate(work: f64, seconds: &[f64]) -> Self {
        Self::of(seconds.iter().map(|seconds| work / seconds))
    }

    /// The same in another unit.
    pub(super) fn scaled(self, factor: f64) -> Self {
        let Self { median, min, max, rounds } = self;
        Self { median: factor * median, min: factor * min, max: factor * max, rounds }
    }
}

/// Seconds that `rounds` of work took, each in its own time; one before them warms up.
pub(super) fn seconds(rounds: u32, mut round: impl FnMut() -> Result<f64>) -> Result<Vec<f64>> {
    round()?;
    (0..rounds).map(|_| round()).collect()
}

/// Seconds of `work`.
pub(super) fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    // A clock that has not ticked must not make a rate infinite.
    Ok(start.elapsed().as_secs_f64().max(1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_one_or_between_the_two_in_the_middle() {
        let sample = |median, min, max, rounds| Sample { median, min, max, rounds };
        assert_eq!(Sample::of([3.0, 9.0, 1.0]), sample(3.0, 1.0, 9.0, 3));
        assert_eq!(Sample::of([3.0, 9.0, 1.0, 4.0]).median, 3.5);
        assert_eq!(Sample::of([7.0]), sample(7.0, 7.0, 7.0, 1));
    }

    #[test]
    fn slowest_round_has_the_least_rate() {
        let rate = Sample::rate(8.0, &[2.0, 4.0, 1.0]);
        assert_eq!(rate, Sample { median: 4.0, min: 2.0, max: 8.0, rounds: 3 });
    }

    #[test]
    fn first_round_does_not_count() {
        let mut durations = [9.0, 1.0, 2.0].into_iter();
        assert_eq!(seconds(2, || Ok(durations.next().unwrap())).unwrap(), [1.0, 2.0]);
    }
}
