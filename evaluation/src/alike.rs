//! `alike`: what a finder misses and what a close takes where the load is spread evenly over hosts.
//!
//! A backbone has few large hosts and very many small ones. Here all hosts have as many opposite hosts: a busy /16,
//! a provider's million, or a flood of single contacts. Hosts of exactly θ opposite hosts are planted among them.
//! Shape: for each number of hosts and each load a window is filled, contacts evenly over its slices, and
//! closed; then some slices more. Invariant: the first close counts what is missed, when no report before
//! has kept a host.

use std::io::{self, Write};
use std::net::IpAddr;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::json;
use srlg_core::{Config, IpPair};
use srlg_host::report::FinderFill;
use srlg_host::{Device, SliceReport, SlidingDetector};
use srlg_traffic::family::Family;
use srlg_traffic::synthetic::mix;

use crate::family::Feeder;
use crate::preset::Preset;
use crate::sample::{Sample, timed};
use crate::table::{Lines, percent};
use crate::{number, progress};

/// Inside hosts are numbered from here on.
const FIRST_HOST: u32 = 0x0a00_0000;
/// Planted hosts are numbered from here on.
const FIRST_PLANTED: u32 = 0xc000_0000;

#[derive(Args)]
pub(crate) struct Alike {
    /// Numbers of hosts that share the load
    #[arg(long, value_delimiter = ',', default_value = "64k,1M,16M", value_parser = number::count)]
    hosts: Vec<u32>,
    /// Distinct pairs per window
    #[arg(long, value_delimiter = ',', default_value = "2M,5M,10M,20M", value_parser = number::count)]
    loads: Vec<u32>,
    /// Hosts of exactly θ opposite hosts, beside the load
    #[arg(long, default_value = "500", value_parser = number::count)]
    planted: u32,
    /// Closes whose median time is told
    #[arg(long, default_value = "5", value_parser = number::count)]
    repeat: u32,
    /// Sizes of the detector
    #[arg(long, value_enum, default_value = "default")]
    preset: Preset,
    /// Plan the sizes for each load and this many bytes of recorders
    #[arg(long, value_parser = number::integer, conflicts_with = "preset")]
    memory: Option<u64>,
    /// Hosts of the traffic: of IPv4, of IPv6, or half of the inside hosts of either
    #[arg(long, value_name = "4|6|mixed", default_value_t)]
    family: Family,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Print one JSON object per load
    #[arg(long)]
    json: bool,
}

/// What one load came to.
struct Outcome {
    first: SliceReport,
    /// Planted hosts whose estimate reaches θ, and those of them that were not reported.
    high: u32,
    missed: u32,
    close_ms: Sample,
}

pub(crate) fn run(options: &Alike) -> Result<()> {
    ensure!(options.planted <= 1 << 20, "--planted must be at most 1048576");
    let mut out = io::stdout().lock();
    if !options.json {
        writeln!(out, "{}", TABLE.head())?;
    }
    for &hosts in &options.hosts {
        for &load in &options.loads {
            let outcome = outcome(options, hosts, load)?;
            writeln!(
                out,
                "{}",
                if options.json {
                    outcome.json(options, (hosts, load)).to_string()
                } else {
                    outcome.row((hosts, load))
                }
            )?;
        }
    }
    Ok(())
}

fn outcome(options: &Alike, hosts: u32, load: u32) -> Result<Outcome> {
    let config = Config { seed: options.seed, ..options.sizes(load)? };
    let mut detector = SlidingDetector::new(config, Device::Auto)?;
    let mut feeder = Feeder::new(options.family);
    let (window, threshold) = (config.window, config.threshold);
    let mut closes = Vec::new();
    let mut first = None;
    let slices = progress::bar((window + options.repeat).into(), "slices");
    for slice in slices.wrap_iter(0..window + options.repeat) {
        let background = background(options.seed, (hosts, load), (slice, window));
        feeder.ingest(&detector, &background)?;
        feeder.ingest(&detector, &planted(options.planted, threshold, (slice, window)))?;
        detector.flush()?;
        if slice + 1 < window {
            detector.skip_to(u64::from(slice) + 1)?;
            continue;
        }
        let high = match first {
            None => high(&detector, options)?,
            Some(_) => Vec::new(),
        };
        let mut report = None;
        closes.push(
            1e3 * timed(|| {
                report = Some(detector.close_slice()?);
                Ok(())
            })?,
        );
        if let (None, Some(report)) = (&first, report) {
            first = Some((report, high));
        }
    }
    let (first, high) = first.expect("a window has slices");
    let is_reported = |host: IpAddr| first.super_points.iter().any(|point| point.host == host);
    let missed = high.iter().filter(|&&host| !is_reported(host)).count() as u32;
    Ok(Outcome { first, high: high.len() as u32, missed, close_ms: Sample::of(closes) })
}

/// The planted hosts whose estimate reaches θ.
fn high(detector: &SlidingDetector, options: &Alike) -> Result<Vec<IpAddr>> {
    let threshold = f64::from(detector.params().threshold());
    let mut high = Vec::new();
    for number in 0..options.planted {
        let host = options.family.host(FIRST_PLANTED + number);
        if detector.cardinality(host)?.cardinality >= threshold {
            high.push(host);
        }
    }
    Ok(high)
}

/// The pairs of a slice: its share of the load, of random hosts.
fn background(seed: u64, (hosts, load): (u32, u32), (slice, window): (u32, u32)) -> Vec<IpPair> {
    let until = |slice: u32| u64::from(load) * u64::from(slice) / u64::from(window);
    let pairs = until(slice)..until(slice + 1);
    let pair = |number: u64| {
        let random = mix(seed ^ mix(number));
        let host = (u64::from(random as u32) * u64::from(hosts)) >> 32;
        IpPair { inside: FIRST_HOST.wrapping_add(host as u32), opposite: (random >> 32) as u32 }
    };
    pairs.map(pair).collect()
}

/// The contacts of the planted hosts in a slice: each has θ in any window, evenly over its slices.
fn planted(count: u32, threshold: u32, (slice, window): (u32, u32)) -> Vec<IpPair> {
    let mut pairs = Vec::new();
    for number in 0..count {
        // Each host begins at another slice, and has the same contacts in every window.
        let place = u64::from((slice + number) % window);
        let until = |place: u64| place * u64::from(threshold) / u64::from(window);
        let peer = |contact: u64| mix(u64::from(number) << 32 | contact) as u32;
        let contacts = until(place)..until(place + 1);
        pairs.extend(
            contacts
                .map(|contact| IpPair { inside: FIRST_PLANTED + number, opposite: peer(contact) }),
        );
    }
    pairs
}

impl Alike {
    fn sizes(&self, load: u32) -> Result<Config> {
        let preset = self.preset.config();
        let Some(memory) = self.memory else { return Ok(preset) };
        let memory = usize::try_from(memory).context("--memory is too large")?;
        Ok(Config::for_load(preset.threshold, preset.window, load.into(), memory)?.config)
    }
}

const TABLE: Lines<13> = Lines::new([
    "hosts",
    "distinct pairs",
    "cells asked",
    "cells in use",
    "missed at θ, as reports say",
    "high",
    "missed",
    "found from",
    "candidates",
    "close, ms",
    "search",
    "estimate",
    "overload",
]);

impl Outcome {
    /// The least that was asked of a candidate, and the share of the finder that was in use.
    fn finder(&self) -> (u32, f64) {
        match &self.first.health.finder.fill {
            FinderFill::Cells { c_min, in_use, .. } => (*c_min, *in_use),
            FinderFill::Rsra { hot_weight, hot_shares } => (*hot_weight, hot_shares[0]),
            _ => (0, 0.0),
        }
    }

    fn row(&self, (hosts, load): (u32, u32)) -> String {
        let (asked, in_use) = self.finder();
        let Self { first, high, missed, close_ms } = self;
        let health = &first.health;
        let ms = |duration: std::time::Duration| duration.as_secs_f64() * 1e3;
        TABLE.row(&[
            number::short(hosts),
            number::short(load),
            asked.to_string(),
            percent(100.0 * in_use),
            format!("{:.5} %", 100.0 * health.finder.miss_probability),
            high.to_string(),
            missed.to_string(),
            format!("{:.0}", health.finder.found_from),
            first.candidates.to_string(),
            format!("{:.1}", close_ms.median),
            format!("{:.1}", ms(first.stages.search)),
            format!("{:.1}", ms(first.stages.estimate)),
            health.finder.overload.map_or_else(String::new, |overload| format!("`{overload:?}`")),
        ])
    }

    fn json(&self, options: &Alike, (hosts, load): (u32, u32)) -> serde_json::Value {
        let (asked, in_use) = self.finder();
        let Self { first, high, missed, close_ms } = self;
        let health = &first.health;
        json!({
            "hosts": hosts,
            "load": load,
            "planted": options.planted,
            "seed": options.seed,
            "family": options.family.to_string(),
            "preset": options.memory.map_or(options.preset.name(), |_| "planned".to_owned()),
            "memory": options.memory,
            "asked": asked,
            "in_use": in_use,
            "miss_probability": health.finder.miss_probability,
            "burst_miss_probability": health.finder.burst_miss_probability,
            "found_from": health.finder.found_from,
            "high": high,
            "missed": missed,
            "candidates": first.candidates,
            "close_ms": close_ms.median,
            "search_ms": first.stages.search.as_secs_f64() * 1e3,
            "estimate_ms": first.stages.estimate.as_secs_f64() * 1e3,
            "overload": health.finder.overload.map(|overload| format!("{overload:?}")),
        })
    }
}
