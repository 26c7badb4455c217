//! The command `characterise`, which measures how the error depends on cardinality, load, memory, window, threshold and
//! tags.
//!
//! Each step of a [sweep](sweeps) has one setting of the traffic. All configurations of a step process the same
//! streams. Before the last slice closes, all configurations estimate the cardinalities of the same hosts, which are
//! selected by their true cardinality. The errors therefore do not include misses of the finder. False rates are
//! computed from the reports.

mod sweeps;

use std::ops::Range;

use anyhow::{Result, ensure};
use clap::Args;
use srlg_core::{Address, Config};
use srlg_host::{Device, SlidingDetector};
use srlg_input::number;
use srlg_traffic::family::ip;
use srlg_traffic::oracle::ExactWindow;
use srlg_traffic::score::{MeanRates, Score};
use srlg_traffic::synthetic::Backbone;

use crate::accuracy::Errors;
use crate::plot::Scale;
use crate::results::{Cell, Column, Row, details};
use crate::study::{CommandLine, FolderOptions, Study};
use crate::system;
use sweeps::{Entrant, Setting, Step};

/// Half the length of a 95 % interval, in standard errors.
const INTERVAL: f64 = 1.96;

const RMSE: Column = Column::percent("RMSE").metric("rmse", "%");
const BIAS: Column = Column::signed("bias").metric("bias", "%");
const FALSE: Column = Column::percent("TFR").metric("tfr_mean", "%");

/// Columns of the sweep over cardinalities. Each preset has a single false rate in this sweep, so there is no chart of
/// false rates.
const OF_CARDINALITIES: &[Column] =
    &columns(BIAS.chart_of("bias", "mean relative error, %", Scale::Linear), FALSE);
const OF_OTHERS: &[Column] =
    &columns(BIAS, FALSE.chart_of("tfr", "total false rate, %", Scale::Logarithmic));

const fn columns(bias: Column, false_rate: Column) -> [Column; 6] {
    [
        Column::decimals(0, "hosts"),
        RMSE.chart_of("rmse", "relative error (RMSE), %", Scale::Logarithmic),
        bias,
        Column::percent("in the 95 % interval").metric("coverage95", "%"),
        false_rate,
        Column::megabytes("memory, MB"),
    ]
}

#[derive(Args)]
pub(crate) struct Characterise {
    /// Number of streams per setting; more streams make the error bars of the plots shorter
    #[arg(long, default_value = "3", value_parser = number::count)]
    streams: u32,
    /// Seed of the first stream and its hashes; the seed increases by one with each stream
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Use tiny sizes to test the command; the resulting figures are meaningless
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    output: FolderOptions,
}

pub(crate) fn run(options: &Characterise, line: CommandLine) -> Result<()> {
    let Characterise { seed, streams, .. } = *options;
    ensure!(seed.checked_add(streams.into()).is_some(), "--seed is too large");
    let sweeps = sweeps::all(options.quick, &details!(options => streams, seed, quick;))?;
    let last = seed + u64::from(streams) - 1;
    let text =
        format!("Every setting has {streams} streams of traffic, with the seeds {seed} to {last}.");
    Study::in_folder(&options.output, "docs/characterise", "Accuracy by parameter", &sweeps)?
        .set_up(line, &text)?
        .run(streams, sweeps, |step, results, bar| {
            let mut outcomes: Vec<_> = step.entrants.iter().map(|_| Outcome::new(step)).collect();
            for seed in seed..=last {
                add_stream(step, seed, &mut outcomes)?;
                bar.inc(1);
            }
            for (entrant, outcome) in step.entrants.iter().zip(&outcomes) {
                results.rows.extend(outcome.rows(entrant, &step.setting.bands));
            }
            Ok(())
        })?;
    Ok(())
}

struct Outcome {
    /// Errors of the hosts in each band of true cardinality.
    errors: Vec<Errors>,
    rates: MeanRates,
    memory_bytes: usize,
}

fn add_stream(step: &Step, seed: u64, outcomes: &mut [Outcome]) -> Result<()> {
    let Setting { load, window, threshold, .. } = step.setting;
    let detector = |entrant: &Entrant| {
        let config = Config { threshold, window, seed, ..entrant.config };
        SlidingDetector::new(config, Device::Auto)
    };
    let mut detectors = step.entrants.iter().map(detector).collect::<Result<Vec<_>, _>>()?;
    let mut exact = ExactWindow::new(window);
    let traffic = Backbone {
        seed,
        slices: window,
        period: window,
        pairs: load,
        packets_per_pair: 2,
        planted: Vec::new(),
    };
    for (slice, pairs) in (0..).zip(traffic.slices()) {
        exact.skip(u64::from(slice > 0));
        pairs.iter().for_each(|&pair| exact.touch(pair));
        for detector in &mut detectors {
            detector.skip_to(slice)?;
            detector.ingest(&pairs)?;
        }
    }
    let asked = asked(&step.setting, &exact);
    let truth = exact.super_points(threshold);
    for (detector, outcome) in detectors.iter_mut().zip(outcomes) {
        for (errors, hosts) in outcome.errors.iter_mut().zip(&asked) {
            for &(host, truth) in hosts {
                errors.add(detector.cardinality(ip(host))?, truth);
            }
        }
        let report = system::points(&detector.close_slice()?);
        outcome.rates.add(&Score::of(&truth, &report, threshold));
        outcome.memory_bytes = detector.memory_bytes();
    }
    Ok(())
}

/// Selects the first hosts of each band in the order of their addresses, which is independent of their traffic.
fn asked(setting: &Setting, exact: &ExactWindow) -> Vec<Vec<(Address, u32)>> {
    let hosts = |band: &Range<u32>| {
        let hosts = exact.super_points(band.start).into_iter();
        hosts.filter(|(_, truth)| band.contains(truth)).take(setting.most_hosts).collect()
    };
    setting.bands.iter().map(hosts).collect()
}

impl Outcome {
    fn new(step: &Step) -> Self {
        let errors = step.setting.bands.iter().map(|_| Errors::default()).collect();
        Self { errors, rates: MeanRates::default(), memory_bytes: 0 }
    }

    fn rows(&self, entrant: &Entrant, bands: &[Range<u32>]) -> impl Iterator<Item = Row> {
        self.errors.iter().zip(bands).map(|(errors, band)| {
            let x = entrant.x.unwrap_or_else(|| middle(band));
            Row::new(
                vec![entrant.series.clone(), format!("{x:.1}").trim_end_matches(".0").to_owned()],
                vec![
                    errors.count.into(),
                    with_interval(rmse(errors)),
                    with_interval(bias(errors)),
                    Cell::ratio(errors.mean(errors.covered)),
                    Cell::ratio(self.rates.total()),
                    self.memory_bytes.into(),
                ],
                details!(
                    entrant => series;
                    "x": x, "hosts": errors.count, "recorder_bytes": self.memory_bytes
                ),
            )
            .at(x)
        })
    }
}

/// Returns the geometric mean of the ends of a band.
fn middle(band: &Range<u32>) -> f64 {
    libm::sqrt(f64::from(band.start) * f64::from(band.end))
}

/// A mean, and half the length of its 95 % interval.
#[derive(Debug, PartialEq)]
struct Mean {
    value: f64,
    half: f64,
}

fn with_interval(mean: Option<Mean>) -> Cell {
    let half = mean.as_ref().map_or(0.0, |mean| 100.0 * mean.half);
    Cell::ratio(mean.map(|mean| mean.value)).within(half)
}

/// Returns the RMSE. For m normally distributed errors, its standard error is the RMSE divided by sqrt(2 m).
fn rmse(errors: &Errors) -> Option<Mean> {
    let value = libm::sqrt(errors.mean(errors.squares)?);
    Some(Mean { value, half: INTERVAL * value / libm::sqrt(2.0 * errors.count) })
}

/// Returns the mean error. Its standard error is the standard deviation of the errors divided by the square root of
/// their number.
fn bias(errors: &Errors) -> Option<Mean> {
    let value = errors.mean(errors.sum)?;
    let variance = (errors.mean(errors.squares)? - value * value).max(0.0);
    Some(Mean { value, half: INTERVAL * libm::sqrt(variance / errors.count) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    #[test]
    fn hosts_are_asked_by_their_true_cardinality() {
        let mut exact = ExactWindow::new(1);
        for (host, peers) in [(7, 5), (3, 9), (5, 10), (1, 19), (2, 20), (9, 12)] {
            (0..peers).for_each(|peer| exact.touch(srlg_core::Ipv4Pair { inside: host, peer }));
        }
        let setting = Setting {
            load: 0,
            window: 1,
            threshold: 10,
            bands: vec![10..20, 20..40],
            most_hosts: 2,
        };
        assert_eq!(asked(&setting, &exact), [vec![(1, 19), (5, 10)], vec![(2, 20)]]);
    }

    #[test]
    fn a_step_has_a_row_for_every_band_of_every_series() {
        let sweep = sweeps::all(true, &vec![]).unwrap().swap_remove(0);
        let step = &sweep.steps[0];
        let mut outcomes = [Outcome::new(step), Outcome::new(step)];
        (1..3).for_each(|seed| add_stream(step, seed, &mut outcomes).unwrap());
        let [rows, others] = [0, 1].map(|number| {
            outcomes[number].rows(&step.entrants[number], &step.setting.bands).collect::<Vec<_>>()
        });
        let bands = sweep.steps[0].setting.bands.len();
        assert_eq!((rows.len(), others.len()), (bands, bands));
        let places: Vec<_> = rows.iter().map(|row| row.x).collect();
        assert!(places.is_sorted() && places[0] > 4.0 && places[0] < 8.0, "{places:?}");
        // Both presets estimate the same hosts, at most ten per stream and band.
        for (one, other) in rows.iter().zip(&others) {
            assert_eq!((one.x, one.cells[0].value), (other.x, other.cells[0].value));
            assert_ne!(one.names[0], other.names[0]);
        }
        assert!(rows[0].cells[0].value > Some(0.0));
    }

    #[test]
    fn intervals_shrink_with_the_root_of_the_hosts() {
        // The relative errors are +10 % and -10 %, in equal numbers.
        let errors = |count: f64| Errors { count, sum: 0.0, squares: count / 100.0, covered: 0.0 };
        // The bound allows four rounding errors of numbers below 1.
        let Mean { value, half } = rmse(&errors(50.0)).unwrap();
        assert_abs_diff_eq!(value, 0.1, epsilon = 4.0 * f64::EPSILON);
        assert_abs_diff_eq!(half, 0.0196, epsilon = 4.0 * f64::EPSILON);
        let Mean { value, half } = bias(&errors(100.0)).unwrap();
        assert_abs_diff_eq!(value, 0.0);
        assert_abs_diff_eq!(half, 0.0196, epsilon = 4.0 * f64::EPSILON);
        assert_eq!((rmse(&Errors::default()), bias(&Errors::default())), (None, None));
    }
}
