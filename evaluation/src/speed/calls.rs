//! Nanoseconds of a call of `ingest` with one pair: what batches save.

use anyhow::Result;

use super::report::{Metric, Report};
use super::setting::{Setting, begin_untouched};
use crate::sample::{Sample, seconds, timed};

/// Calls of a round: no more, as a call may take microseconds.
const MOST_CALLS: u32 = 200_000;

pub(super) fn measure(setting: &Setting<'_>, report: &mut Report<'_>) -> Result<()> {
    let calls = setting.pairs.min(MOST_CALLS);
    let pairs = setting.distinct(calls);
    let mut detector = setting.detector()?;
    let seconds = seconds(setting.options.repeat, || {
        begin_untouched(&mut detector)?;
        timed(|| {
            pairs.chunks(1).try_for_each(|pair| detector.ingest(pair))?;
            Ok(detector.flush()?)
        })
    })?;
    let sample = Sample::of(seconds.iter().map(|seconds| seconds * 1e9 / f64::from(calls)));
    let name = "ingest_call_of_one_pair".to_owned();
    report.add(&Metric::new(name, "ns", 1, sample).load(calls));
    Ok(())
}
