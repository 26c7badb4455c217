//! Measured times, and statistics over several rounds of the same work.

use std::time::{Duration, Instant};

use anyhow::Result;
use cpu_time::ProcessTime;
use serde_json::{Map, Value};
use srlg_host::{SliceReport, SlidingDetector};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// Number of values.
    pub(crate) rounds: usize,
}

impl Sample {
    /// Computes the statistics of `values`, which must not be empty.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let middle = (values.len() - 1) / 2;
        let median = f64::midpoint(values[middle], values[values.len() / 2]);
        Self { median, min: values[0], max: values[values.len() - 1], rounds: values.len() }
    }

    /// Returns statistics of the work per second. Each round does the same `work`, and `seconds` contains the duration
    /// of each round.
    pub(crate) fn rate(work: f64, seconds: &[f64]) -> Self {
        Self::of(seconds.iter().map(|seconds| work / seconds))
    }

    pub(crate) fn scaled(self, factor: f64) -> Self {
        let Self { median, min, max, rounds } = self;
        Self { median: factor * median, min: factor * min, max: factor * max, rounds }
    }
}

/// Returns the median duration of each stage, in milliseconds. All closes must have the same stages.
pub(crate) fn stage_medians(closes: &[Vec<(&'static str, Duration)>]) -> Vec<(&'static str, f64)> {
    let names = closes.first().map_or(&[][..], Vec::as_slice).iter().enumerate();
    let median = |(number, &(name, _)): (usize, &(&'static str, Duration))| {
        let ms = closes.iter().map(|stages| stages[number].1.as_secs_f64() * 1e3);
        (name, Sample::of(ms).median)
    };
    names.map(median).collect()
}

pub(crate) fn stages_json(stages: &[(&'static str, f64)]) -> Value {
    let fields = stages.iter().map(|&(name, ms)| (name.to_owned(), ms.into()));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// Runs a warm-up round, which is not counted, and then `rounds` rounds. Returns the seconds that each round took.
pub(crate) fn seconds(rounds: u32, mut round: impl FnMut() -> Result<f64>) -> Result<Vec<f64>> {
    round()?;
    (0..rounds).map(|_| round()).collect()
}

/// Returns the result of `work` and its processor time, in seconds, summed over all threads. Apart from cache effects,
/// other programs on the machine hardly affect the processor time.
pub(crate) fn processor_time<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = ProcessTime::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

/// Closes the running slice. Returns the report and the duration of the close in seconds.
pub(crate) fn timed_close(detector: &mut SlidingDetector) -> Result<(SliceReport, f64)> {
    let start = Instant::now();
    let report = detector.close_slice()?;
    Ok((report, start.elapsed().as_secs_f64()))
}

/// Returns the seconds that `work` took.
pub(crate) fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    // The minimum prevents an infinite rate if the clock has not ticked.
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
