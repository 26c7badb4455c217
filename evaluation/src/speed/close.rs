//! Milliseconds to close a slice, whole and by stage, of full windows of the backbone model.
//!
//! Windows slide on while they are measured: every close has a new slice of traffic, which the
//! device has finished ingesting.

use anyhow::Result;
use srlg_evaluation::traffic::Model;
use srlg_host::{SliceReport, SlidingDetector, StageTimes};

use super::report::{Metric, Report};
use super::sample::{Sample, timed};
use super::setting::Setting;

/// What a close took and found.
struct Close {
    whole: f64,
    stages: StageTimes,
    candidates: f64,
    super_points: f64,
}

type Value = fn(&Close) -> f64;

const METRICS: [(&str, &str, Value); 6] = [
    ("close_whole", "ms", |close| close.whole * 1e3),
    ("close_survey", "ms", |close| close.stages.survey.as_secs_f64() * 1e3),
    ("close_search", "ms", |close| close.stages.search.as_secs_f64() * 1e3),
    ("close_estimate", "ms", |close| close.stages.estimate.as_secs_f64() * 1e3),
    ("close_candidates", "hosts", |close| close.candidates),
    ("close_super_points", "hosts", |close| close.super_points),
];

pub(super) fn measure(setting: &Setting<'_>, report: &mut Report<'_>) -> Result<()> {
    for &load in &setting.options.loads {
        let closes = closes(setting, load)?;
        for (name, unit, value) in METRICS {
            let (name, sample) = (name.to_owned(), Sample::of(closes.iter().map(value)));
            report.add(&Metric { name, unit, threads: 1, load: Some(load), sample });
        }
    }
    Ok(())
}

/// The closes of consecutive full windows, without the first, for which a device grows its lists.
fn closes(setting: &Setting<'_>, load: u32) -> Result<Vec<Close>> {
    let (window, repeat, seed) =
        (setting.config.window, setting.options.repeat, setting.options.seed);
    let mut detector = setting.detector()?;
    let mut closes = Vec::new();
    let slices = Model::Backbone.slices(seed, window + repeat, load);
    for (slice, packets) in (1..).zip(slices) {
        detector.ingest(&packets)?;
        if slice < window {
            detector.skip_to(slice.into())?;
        } else {
            closes.push(close(&mut detector)?);
        }
    }
    closes.remove(0);
    Ok(closes)
}

fn close(detector: &mut SlidingDetector) -> Result<Close> {
    detector.flush()?;
    let mut report: Option<SliceReport> = None;
    let whole = timed(|| {
        report = Some(detector.close_slice()?);
        Ok(())
    })?;
    let count = |of: fn(&SliceReport) -> usize| report.as_ref().map_or(0, of) as f64;
    Ok(Close {
        whole,
        stages: detector.stage_times(),
        candidates: count(|report| report.candidates),
        super_points: count(|report| report.super_points.len()),
    })
}
