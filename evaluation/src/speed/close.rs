//! Milliseconds to close a slice, whole and by stage, of full windows of the backbone model.
//!
//! Windows slide on while they are measured: every close has a new slice of traffic, which the
//! device has finished ingesting.

use std::time::Duration;

use crate::family::Feeder;
use crate::system::stages;
use anyhow::{Context, Result};
use srlg_host::SlidingDetector;
use srlg_traffic::synthetic::Model;

use super::report::{Metric, Report};
use super::setting::Setting;
use crate::sample::{Sample, stage_medians, stages_json, timed};

/// Threads of a close.
const THREADS: u32 = 1;

/// What a close took and found.
struct Close {
    seconds: f64,
    stages: Vec<(&'static str, Duration)>,
    candidates: usize,
    super_points: usize,
}

pub(super) fn measure(setting: &Setting<'_>, report: &mut Report<'_>) -> Result<()> {
    for &load in &setting.options.loads {
        let closes = closes(setting, load)?;
        let whole = Sample::of(closes.iter().map(|close| close.seconds * 1e3));
        let median = |value: fn(&Close) -> usize| {
            Sample::of(closes.iter().map(|close| value(close) as f64)).median
        };
        let metric = Metric::new("close_slice_ms".to_owned(), "ms", THREADS, whole).load(load);
        let stages: Vec<_> = closes.iter().map(|close| close.stages.clone()).collect();
        let metric = metric.detail("stages", stages_json(&stage_medians(&stages)));
        let metric = metric.detail("candidates", median(|close| close.candidates));
        report.add(&metric.detail("super_points", median(|close| close.super_points)));
    }
    Ok(())
}

/// The closes of consecutive full windows, without the first, for which a device grows its lists.
fn closes(setting: &Setting<'_>, load: u32) -> Result<Vec<Close>> {
    let (window, repeat, seed) =
        (setting.config.window, setting.options.repeat, setting.options.seed);
    let mut detector = setting.detector()?;
    let mut feeder = Feeder::new(setting.options.family);
    let mut closes = Vec::new();
    let slices = Model::Backbone.slices(seed, window + repeat, load);
    for (slice, packets) in (1..).zip(slices) {
        feeder.ingest(&detector, &packets)?;
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
    let mut report = None;
    let seconds = timed(|| {
        report = Some(detector.close_slice()?);
        Ok(())
    })?;
    let report = report.context("the slice closed")?;
    Ok(Close {
        seconds,
        stages: stages(report.stages).to_vec(),
        candidates: report.candidates,
        super_points: report.super_points.len(),
    })
}
