//! The command `giants`, which measures the errors of estimates for hosts with θ to ten million peers and checks lower
//! bounds.
//!
//! A detector processes two windows of background traffic: pairs of random hosts, at a constant rate. The state of the
//! detector is then stored. Each trial restores this state and adds one host with distinct peers. The contacts of the
//! host are spread evenly over the window, or all are in the running slice, or all are in the oldest slice. A trial
//! therefore contains the background and a single measured host.

use anyhow::{Result, ensure};
use clap::Args;
use srlg_core::{Config, EstimateRange, Ipv4Pair, Scheme};
use srlg_host::report::Estimate;
use srlg_host::state::Snapshot;
use srlg_host::{Device, SlidingDetector};
use srlg_input::number;
use srlg_traffic::family::Family;
use srlg_traffic::synthetic::mix;

use crate::accuracy::Errors;
use crate::feed::Feeder;
use crate::options::planned;
use crate::output;
use crate::results::{Cell, Column, Results, Row, details};
use crate::study::{Form, Study, Sweep};
use crate::table::short;

/// Host number of the first measured host. Background hosts have smaller numbers.
const FIRST: u32 = 0xc000_0000;

const COLUMNS: &[Column] = &[
    Column::decimals(0, "trials").metric("trials", ""),
    Column::decimals(2, "RMSE, %").metric("rmse", "%"),
    Column::decimals(2, "bias, %").metric("bias", "%"),
    Column::decimals(2, "stated, %").metric("stated", "%"),
    Column::decimals(2, "in the 95 % interval, %").metric("coverage95", "%"),
    Column::decimals(0, "beyond range").metric("beyond", ""),
    Column::decimals(0, "bounds above the true value").metric("bounds_above", ""),
];

#[derive(Args)]
pub(crate) struct Giants {
    /// Number of distinct peers of a measured host, or a list of numbers
    #[arg(long, value_delimiter = ',', default_value = "1024,4096,100k,300k,1M,10M", value_parser = number::count)]
    cardinalities: Vec<u32>,
    /// Distinct background pairs per window
    #[arg(long, default_value = "2M", value_parser = number::integer)]
    load: u64,
    /// Number of trials for each number of peers and each distribution of contacts
    #[arg(long, default_value = "25", value_parser = number::count)]
    trials: u32,
    /// Slices per window
    #[arg(long, default_value = "300", value_parser = number::count)]
    window: u32,
    /// Plan the sizes for the load and this many bytes of recorders
    #[arg(long, value_parser = number::integer)]
    memory: Option<u64>,
    /// Number of lines of the counter, instead of the planned or default number
    #[arg(long, value_parser = number::count)]
    lines: Option<u32>,
    /// Number of recorders in a linear estimator, instead of the planned or default number
    #[arg(long, value_parser = number::count)]
    linear_width: Option<u32>,
    /// Address family of the traffic: IPv4, IPv6, or mixed (half of the inside hosts in each family)
    #[arg(long, value_name = "4|6|mixed", default_value_t)]
    family: Family,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Print one JSON object per row
    #[arg(long)]
    json: bool,
}

/// Distribution of a host's contacts over the window.
#[derive(Clone, Copy, Debug)]
enum Manner {
    Even,
    Now,
    Old,
}

#[derive(Clone, Copy)]
struct Giant {
    manner: Manner,
    cardinality: u32,
}

#[derive(Default)]
struct Outcome {
    /// Errors of the estimates that are within the range of the estimator.
    errors: Errors,
    /// Stated standard errors relative to the true values, summed over the estimates in `errors`.
    stated: f64,
    beyond: u32,
    /// Number of hosts beyond the range of the estimator whose lower bound is above the true value.
    above: u32,
}

pub(crate) fn run(options: &Giants) -> Result<()> {
    let mut detector = SlidingDetector::new(options.config()?, Device::Auto)?;
    let empty = background(options, &mut detector)?;
    let mut feeder = Feeder::new(options.family);
    let kind = |manner| move |&cardinality: &u32| Giant { manner, cardinality };
    let manners = [Manner::Even, Manner::Now, Manner::Old].into_iter();
    let steps = manners.flat_map(|manner| options.cardinalities.iter().map(kind(manner)));
    let sweep = Sweep { results: options.results(), steps: steps.collect() };
    let form = if options.json { Form::Objects } else { Form::Lines };
    Study::printed(form).run(options.trials, vec![sweep], |giant, results, bar| {
        let mut outcome = Outcome::default();
        for host in FIRST..FIRST + options.trials {
            detector.restore(&empty)?;
            giant.touch(&detector, host, &mut feeder)?;
            outcome.add(detector.cardinality(options.family.host(host))?, giant.cardinality);
            bar.inc(1);
        }
        results.rows.push(outcome.row(options, giant));
        Ok(())
    })?;
    Ok(())
}

impl Giants {
    fn config(&self) -> Result<Config> {
        ensure!(self.trials <= 1 << 20, "--trials must be at most 1048576");
        let mut config = Config { window: self.window, seed: self.seed, ..Config::default() };
        if let Some(memory) = self.memory {
            config = planned(config, self.load, memory)?;
        }
        if let (Some(own), Scheme::Tagged { lines, .. }) = (self.lines, &mut config.scheme) {
            *lines = own;
        }
        config.linear_width = self.linear_width.unwrap_or(config.linear_width);
        Ok(config)
    }

    fn results(&self) -> Results {
        let family = self.family.to_string();
        let details = details!(self => load, window, memory, seed; "family": family);
        Results {
            place: "trials".to_owned(),
            names: vec!["contacts", "distinct pairs of other hosts", "sizes", "peers"],
            columns: COLUMNS,
            details,
            ..Results::default()
        }
    }

    /// Returns a text that names the values of `--memory` and `--lines`, or `default` if both are missing.
    fn sizes(&self) -> String {
        let memory = self.memory.map(|bytes| format!("{} MB", bytes as f64 / 1e6));
        let lines = self.lines.map(|lines| format!("{lines} lines"));
        let sizes: Vec<String> = memory.into_iter().chain(lines).collect();
        if sizes.is_empty() { "default".to_owned() } else { sizes.join(", ") }
    }
}

/// Ingests two windows of background traffic and returns the state of the detector.
fn background(options: &Giants, detector: &mut SlidingDetector) -> Result<Snapshot> {
    let Giants { load, window, seed, family, .. } = *options;
    let mut feeder = Feeder::new(family);
    let until = |slice: u32| (u128::from(load) * u128::from(slice) / u128::from(window)) as u64;
    let pair = |number: u64| {
        let random = mix(seed ^ mix(number));
        Ipv4Pair { inside: random as u32 % FIRST, peer: (random >> 32) as u32 }
    };
    let slices = output::bar(2 * u64::from(window), "slices of background");
    for slice in slices.wrap_iter(0..2 * window) {
        detector.skip_to(slice.into())?;
        let pairs: Vec<Ipv4Pair> = (until(slice)..until(slice + 1)).map(pair).collect();
        feeder.ingest(detector, &pairs)?;
    }
    Ok(detector.snapshot()?)
}

impl Giant {
    fn touch(&self, detector: &SlidingDetector, host: u32, feeder: &mut Feeder) -> Result<()> {
        let Self { manner, cardinality } = *self;
        let window = u64::from(detector.params().window());
        let until = |slice: u64| (slice * u64::from(cardinality) / window) as u32;
        for late in 0..window {
            let contacts = match (manner, late) {
                (Manner::Even, late) => until(late)..until(late + 1),
                (Manner::Now, 0) => 0..cardinality,
                (Manner::Old, late) if late + 1 == window => 0..cardinality,
                _ => continue,
            };
            let pair = |contact: u32| Ipv4Pair { inside: host, peer: peer(host, contact) };
            let pairs: Vec<Ipv4Pair> = contacts.map(pair).collect();
            feeder.ingest_late(detector, &pairs, late as u32)?;
        }
        Ok(())
    }
}

/// Returns the peer of `host` that has the index `contact`. A bijection on 32 bits makes the peers of a host distinct.
pub(crate) fn peer(host: u32, contact: u32) -> u32 {
    let mut x = contact.wrapping_add(mix(host.into()) as u32);
    x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

impl Outcome {
    fn add(&mut self, estimate: Estimate, truth: u32) {
        if estimate.range == EstimateRange::Beyond {
            self.beyond += 1;
            self.above += u32::from(estimate.cardinality > truth.into());
        } else {
            self.errors.add(estimate, truth);
            self.stated += estimate.std_error / f64::from(truth);
        }
    }

    fn row(&self, options: &Giants, giant: &Giant) -> Row {
        let Self { errors, stated, beyond, above } = self;
        let mean = |sum| errors.mean(sum);
        let manner = format!("{:?}", giant.manner).to_lowercase();
        let ratio = |ratio| Cell::ratio(ratio).or("none");
        let details = details!(giant => cardinality; "manner": manner);
        Row::new(
            vec![
                manner,
                format!("{} M", options.load as f64 / 1e6),
                options.sizes(),
                short(giant.cardinality),
            ],
            vec![
                (errors.count as u32 + beyond).into(),
                ratio(mean(errors.squares).map(f64::sqrt)),
                ratio(mean(errors.sum)),
                ratio(mean(*stated)),
                ratio(mean(errors.covered)),
                (*beyond).into(),
                (*above).into(),
            ],
            details,
        )
    }
}
