//! `giants`: how large the errors are from θ to ten million opposite hosts, and whether bounds hold.
//!
//! Shape: a detector sees two windows of background, pairs of random hosts, evenly; its state is kept. For each
//! trial the state is taken again and one host more comes, all of whose opposite hosts are distinct: evenly over
//! the window, all in the running slice, or all in the oldest one. Invariant: a trial sees the background alone,
//! no other host of the study.

use std::io::{self, Write};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::json;
use srlg_core::{Config, EstimateRange, IpPair, Scheme};
use srlg_host::state::Snapshot;
use srlg_host::{Device, SlidingDetector};
use srlg_traffic::family::Family;
use srlg_traffic::synthetic::mix;

use crate::accuracy::Errors;
use crate::family::Feeder;
use crate::table::Lines;
use crate::{number, progress};

/// Hosts that are counted are numbered from here on, those of the background below.
const FIRST: u32 = 0xc000_0000;

#[derive(Args)]
pub(crate) struct Giants {
    /// Distinct opposite hosts of a host
    #[arg(long, value_delimiter = ',', default_value = "1024,4096,100k,300k,1M,10M", value_parser = number::count)]
    cardinalities: Vec<u32>,
    /// Distinct pairs of the background in a window
    #[arg(long, default_value = "2M", value_parser = number::integer)]
    load: u64,
    /// Hosts of each number of opposite hosts and each manner
    #[arg(long, default_value = "25", value_parser = number::count)]
    trials: u32,
    /// Slices in a window
    #[arg(long, default_value = "300", value_parser = number::count)]
    window: u32,
    /// Plan the sizes for the load and this many bytes of recorders
    #[arg(long, value_parser = number::integer)]
    memory: Option<u64>,
    /// Lines of the counter, whatever a plan would say
    #[arg(long, value_parser = number::count)]
    lines: Option<u32>,
    /// Fine positions of a linear estimator, whatever a plan would say
    #[arg(long, value_parser = number::count)]
    linear_width: Option<u32>,
    /// Hosts of the traffic: of IPv4, of IPv6, or half of the inside hosts of either
    #[arg(long, value_name = "4|6|mixed", default_value_t)]
    family: Family,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Print one JSON object per row
    #[arg(long)]
    json: bool,
}

/// When the contacts of a host are.
#[derive(Clone, Copy, Debug)]
enum Manner {
    Even,
    Now,
    Old,
}

/// What came of the trials of one kind.
#[derive(Default)]
struct Outcome {
    /// Of those within range.
    errors: Errors,
    /// Sum of their stated errors, relative.
    stated: f64,
    beyond: u32,
    /// Bounds of those beyond range that are above the truth.
    above: u32,
}

pub(crate) fn run(options: &Giants) -> Result<()> {
    let config = options.config()?;
    let mut detector = SlidingDetector::new(config, Device::Auto)?;
    let empty = background(options, &mut detector)?;
    let mut feeder = Feeder::new(options.family);
    let manners = [Manner::Even, Manner::Now, Manner::Old];
    let rows = manners.len() * options.cardinalities.len();
    let bar = progress::bar(rows as u64 * u64::from(options.trials), "trials");
    let mut out = io::stdout().lock();
    if !options.json {
        writeln!(out, "{}", TABLE.head())?;
    }
    for manner in manners {
        for &cardinality in &options.cardinalities {
            let mut outcome = Outcome::default();
            for trial in 0..options.trials {
                detector.restore(&empty)?;
                let host = FIRST + trial;
                touch(&detector, host, (cardinality, manner), &mut feeder)?;
                outcome.add((&detector, options.family), host, cardinality)?;
                bar.inc(1);
            }
            let row = match options.json {
                true => outcome.json(options, (cardinality, manner)).to_string(),
                false => outcome.row(options, (cardinality, manner)),
            };
            writeln!(out, "{row}").context("cannot write to the standard output")?;
        }
    }
    Ok(())
}

impl Giants {
    /// What makes the sizes of the detector.
    fn sizes(&self) -> String {
        let memory = self.memory.map(|bytes| format!("{} MB", bytes as f64 / 1e6));
        let lines = self.lines.map(|lines| format!("{lines} lines"));
        let sizes: Vec<String> = memory.into_iter().chain(lines).collect();
        if sizes.is_empty() { "default".to_owned() } else { sizes.join(", ") }
    }

    fn config(&self) -> Result<Config> {
        let mut config = Config::default();
        if let Some(memory) = self.memory {
            let memory = usize::try_from(memory).context("--memory is too large")?;
            config = Config::for_load(config.threshold, self.window, self.load, memory)?.config;
        }
        let Scheme::Tagged { cell_bits, lines, tags } = config.scheme else {
            unreachable!("default and plans are of the tagged scheme")
        };
        let lines = self.lines.unwrap_or(lines);
        config.scheme = Scheme::Tagged { cell_bits, lines, tags };
        config.linear_width = self.linear_width.unwrap_or(config.linear_width);
        ensure!(self.trials <= 1 << 20, "--trials must be at most 1048576");
        Ok(Config { window: self.window, seed: self.seed, ..config })
    }
}

/// The state after two windows of background.
fn background(options: &Giants, detector: &mut SlidingDetector) -> Result<Snapshot> {
    let Giants { load, window, seed, family, .. } = *options;
    let mut feeder = Feeder::new(family);
    let until = |slice: u32| (u128::from(load) * u128::from(slice) / u128::from(window)) as u64;
    let pair = |number: u64| {
        let random = mix(seed ^ mix(number));
        IpPair { inside: random as u32 % FIRST, opposite: (random >> 32) as u32 }
    };
    let slices = progress::bar(2 * u64::from(window), "slices of background");
    for slice in slices.wrap_iter(0..2 * window) {
        detector.skip_to(slice.into())?;
        let pairs: Vec<IpPair> = (until(slice)..until(slice + 1)).map(pair).collect();
        feeder.ingest(detector, &pairs)?;
    }
    Ok(detector.snapshot()?)
}

/// Contacts of `host` with as many distinct opposite hosts.
fn touch(
    detector: &SlidingDetector,
    host: u32,
    (cardinality, manner): (u32, Manner),
    feeder: &mut Feeder,
) -> Result<()> {
    let window = u64::from(detector.params().window());
    let until = |slice: u64| (slice * u64::from(cardinality) / window) as u32;
    for late in 0..window {
        let contacts = match (manner, late) {
            (Manner::Even, late) => until(late)..until(late + 1),
            (Manner::Now, 0) => 0..cardinality,
            (Manner::Old, late) if late + 1 == window => 0..cardinality,
            _ => continue,
        };
        let pair = |contact: u32| IpPair { inside: host, opposite: opposite(host, contact) };
        let pairs: Vec<IpPair> = contacts.map(pair).collect();
        feeder.ingest_late(detector, &pairs, late as u32)?;
    }
    Ok(())
}

/// Opposite host number `contact` of `host`: a bijection of 32 bits.
fn opposite(host: u32, contact: u32) -> u32 {
    let mut x = contact.wrapping_add(mix(host.into()) as u32);
    x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

const TABLE: Lines<11> = Lines::new([
    "contacts",
    "distinct pairs of others",
    "sizes",
    "opposite hosts",
    "trials",
    "RMSE, %",
    "bias, %",
    "stated, %",
    "interval of 95 % held, %",
    "beyond range",
    "bounds above the truth",
]);

impl Outcome {
    fn add(
        &mut self,
        (detector, family): (&SlidingDetector, Family),
        host: u32,
        truth: u32,
    ) -> Result<()> {
        let estimate = detector.cardinality(family.host(host))?;
        if estimate.range == EstimateRange::Beyond {
            self.beyond += 1;
            self.above += u32::from(estimate.cardinality > truth.into());
        } else {
            self.errors.add(estimate, truth);
            self.stated += estimate.std_error / f64::from(truth);
        }
        Ok(())
    }

    /// RMSE, bias, stated error and coverage, in percent.
    fn percents(&self) -> [Option<f64>; 4] {
        let Self { errors, stated, .. } = self;
        let mean = |sum| errors.mean(sum);
        [mean(errors.squares).map(f64::sqrt), mean(errors.sum), mean(*stated), mean(errors.covered)]
            .map(|share| share.map(|share| 100.0 * share))
    }

    fn row(&self, options: &Giants, (cardinality, manner): (u32, Manner)) -> String {
        let cells = self.percents().map(|it| it.map_or("none".to_owned(), |it| format!("{it:.2}")));
        let [rmse, bias, stated, covered] = cells;
        TABLE.row(&[
            format!("{manner:?}").to_lowercase(),
            format!("{} M", options.load as f64 / 1e6),
            options.sizes(),
            number::short(cardinality),
            (self.errors.count as u32 + self.beyond).to_string(),
            rmse,
            bias,
            stated,
            covered,
            self.beyond.to_string(),
            self.above.to_string(),
        ])
    }

    fn json(&self, options: &Giants, (cardinality, manner): (u32, Manner)) -> serde_json::Value {
        let [rmse, bias, stated, covered] = self.percents();
        json!({
            "manner": format!("{manner:?}").to_lowercase(),
            "cardinality": cardinality,
            "load": options.load,
            "window": options.window,
            "memory": options.memory,
            "seed": options.seed,
            "family": options.family.to_string(),
            "trials": self.errors.count as u32 + self.beyond,
            "rmse": rmse,
            "bias": bias,
            "stated": stated,
            "coverage95": covered,
            "beyond": self.beyond,
            "bounds_above": self.above,
        })
    }
}
