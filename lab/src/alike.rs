//! The command `alike`, which measures how many hosts the finder misses, and how long a close takes, if the load is
//! spread evenly over all hosts.
//!
//! A backbone has few large hosts and very many small ones. In this experiment, all background hosts have about the
//! same number of peers. Examples of evenly spread load are a busy /16, a provider with a million customers, and a
//! flood in which each host has a single contact. Hosts with exactly θ peers are planted in addition. For each number
//! of hosts and each load, contacts are spread evenly over the slices of a window. Misses are counted when the last
//! slice of the first window closes, because no earlier report can have kept a host as a candidate. The duration of a
//! close is measured for this slice and for the next `--repeat` slices.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use indicatif::ProgressBar;
use srlg_core::{Config, Ipv4Pair};
use srlg_host::report::FinderFill;
use srlg_host::{Device, SliceReport, SlidingDetector};
use srlg_input::number;
use srlg_traffic::family::Family;
use srlg_traffic::synthetic::mix;

use crate::feed::Feeder;
use crate::missed;
use crate::options::Sizes;
use crate::results::{Cell, Column, Results, Row, details};
use crate::sample::{Sample, timed_close};
use crate::study::{Form, Study, Sweep};
use crate::table::short;

const FIRST_HOST: u32 = 0x0a00_0000;
const FIRST_PLANTED: u32 = 0xc000_0000;

const COLUMNS: &[Column] = &[
    Column::decimals(0, "cells asked").metric("asked", ""),
    Column::percent("cells in use"),
    Column::decimals(0, "stated miss probability at θ"),
    Column::decimals(0, "high").metric("high", ""),
    Column::decimals(0, "missed").metric("missed", ""),
    Column::decimals(0, "found from"),
    Column::decimals(0, "candidates").metric("candidates", ""),
    Column::decimals(1, "close, ms").metric("close_ms", "ms"),
    Column::decimals(1, "search").metric("search_ms", "ms"),
    Column::decimals(1, "estimate").metric("estimate_ms", "ms"),
    Column::decimals(0, "overload"),
];

#[derive(Args)]
pub(crate) struct Alike {
    /// Number of hosts that share the load, or a list of numbers
    #[arg(long, value_delimiter = ',', default_value = "64k,1M,16M", value_parser = number::count)]
    hosts: Vec<u32>,
    /// Distinct pairs per window
    #[arg(long, value_delimiter = ',', default_value = "2M,5M,10M,20M", value_parser = number::count)]
    loads: Vec<u32>,
    /// Number of hosts with exactly θ peers, in addition to the load
    #[arg(long, default_value = "500", value_parser = number::count)]
    planted: u32,
    /// Number of slices after the first full window; the median time of all closes is printed
    #[arg(long, default_value = "5", value_parser = number::count)]
    repeat: u32,
    #[command(flatten)]
    sizes: Sizes,
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

/// Traffic from background hosts of about equal size and from planted hosts.
struct Traffic<'a> {
    options: &'a Alike,
    hosts: u32,
    load: u32,
    threshold: u32,
    window: u32,
}

struct Outcome {
    first: SliceReport,
    /// Number of planted hosts with an estimate of at least θ.
    high: usize,
    /// Number of planted hosts with an estimate of at least θ that were not reported.
    missed: usize,
    close_ms: Sample,
}

pub(crate) fn run(options: &Alike) -> Result<()> {
    ensure!(options.planted <= 1 << 20, "--planted must be at most 1048576");
    let base = Config { seed: options.seed, ..options.sizes.preset.config() };
    let details = details!(
        options => planted, seed; options.sizes => memory;
        "family": options.family.to_string(), "preset": options.sizes.name()
    );
    let results = Results {
        place: "slices".to_owned(),
        names: vec!["hosts", "distinct pairs"],
        columns: COLUMNS,
        details,
        ..Results::default()
    };
    let Config { threshold, window, .. } = base;
    let traffic = |&hosts: &u32| {
        let of_load = move |&load: &u32| Traffic { options, hosts, load, threshold, window };
        options.loads.iter().map(of_load)
    };
    let steps: Vec<Traffic<'_>> = options.hosts.iter().flat_map(traffic).collect();
    let slices = window + options.repeat;
    let form = if options.json { Form::Objects } else { Form::Lines };
    let sweep = Sweep { results, steps };
    Study::printed(form).run(slices, vec![sweep], |traffic, results, bar| {
        let config = options.sizes.config(base, traffic.load)?;
        let mut detector = SlidingDetector::new(config, Device::Auto)?;
        let outcome = traffic.outcome(&mut detector, bar)?;
        results.rows.push(outcome.row(traffic));
        Ok(())
    })?;
    Ok(())
}

impl Traffic<'_> {
    fn outcome(&self, detector: &mut SlidingDetector, bar: &ProgressBar) -> Result<Outcome> {
        let mut feeder = Feeder::new(self.options.family);
        let (mut closes, mut high, mut first) = (Vec::new(), Vec::new(), None);
        for slice in 0..self.window + self.options.repeat {
            feeder.ingest(detector, &self.background(slice))?;
            feeder.ingest(detector, &self.planted(slice))?;
            detector.flush()?;
            bar.inc(1);
            if slice + 1 < self.window {
                detector.skip_to(u64::from(slice) + 1)?;
                continue;
            }
            if first.is_none() {
                high = self.high(detector)?;
            }
            let (report, seconds) = timed_close(detector)?;
            closes.push(1e3 * seconds);
            first = first.or(Some(report));
        }
        let first = first.context("no slice was closed")?;
        let is_reported = |host: IpAddr| first.super_points.iter().any(|point| point.host == host);
        let missed = high.iter().filter(|&&host| !is_reported(host)).count();
        Ok(Outcome { first, high: high.len(), missed, close_ms: Sample::of(closes) })
    }

    fn high(&self, detector: &SlidingDetector) -> Result<Vec<IpAddr>> {
        let mut high = Vec::new();
        for number in 0..self.options.planted {
            let host = self.options.family.host(FIRST_PLANTED + number);
            if detector.cardinality(host)?.cardinality >= f64::from(self.threshold) {
                high.push(host);
            }
        }
        Ok(high)
    }

    fn background(&self, slice: u32) -> Vec<Ipv4Pair> {
        let until = |slice: u32| u64::from(self.load) * u64::from(slice) / u64::from(self.window);
        let pair = |number: u64| {
            let random = mix(self.options.seed ^ mix(number));
            let host = (u64::from(random as u32) * u64::from(self.hosts)) >> 32;
            Ipv4Pair { inside: FIRST_HOST.wrapping_add(host as u32), peer: (random >> 32) as u32 }
        };
        (until(slice)..until(slice + 1)).map(pair).collect()
    }

    /// Returns the contacts of the planted hosts in a slice. In any window, each of these hosts has θ contacts, which
    /// are spread evenly over the slices.
    fn planted(&self, slice: u32) -> Vec<Ipv4Pair> {
        let until = |place: u64| place * u64::from(self.threshold) / u64::from(self.window);
        let contacts = |number: u32| {
            // Each host starts at a different slice and has the same contacts in every window.
            let place = u64::from((slice + number) % self.window);
            let peer = move |contact: u64| mix(u64::from(number) << 32 | contact) as u32;
            (until(place)..until(place + 1)).map(move |contact| Ipv4Pair {
                inside: FIRST_PLANTED + number,
                peer: peer(contact),
            })
        };
        (0..self.options.planted).flat_map(contacts).collect()
    }
}

impl Outcome {
    fn row(&self, traffic: &Traffic<'_>) -> Row {
        let Self { first, high, missed, close_ms } = self;
        let (health, family) = (&first.health.finder, traffic.options.family);
        let miss_probability = missed::at_threshold(health, family);
        let found_from = missed::found_from(health, family);
        // `asked` is the minimum number of cells of a candidate, and `in_use` is the share of cells in use.
        let (asked, in_use) = match &health.fill {
            FinderFill::Cells { c_min, in_use, .. } => (*c_min, *in_use),
            FinderFill::Rsra { hot_weight, hot_shares } => (*hot_weight, hot_shares[0]),
            _ => (0, 0.0),
        };
        let overload = health.overload.map(|overload| format!("{overload:?}"));
        let ms = |duration: Duration| Cell::from(duration.as_secs_f64() * 1e3);
        let details = details!(
            traffic => hosts, load; health => burst_miss_probability;
            "miss_probability": miss_probability, "found_from": found_from, "in_use": in_use, "overload": overload
        );
        Row::new(
            vec![short(traffic.hosts), short(traffic.load)],
            vec![
                asked.into(),
                Cell::ratio(Some(in_use)),
                format!("{:.5} %", 100.0 * miss_probability).into(),
                (*high).into(),
                (*missed).into(),
                found_from.into(),
                first.candidates.into(),
                close_ms.median.into(),
                ms(first.stages.search),
                ms(first.stages.estimate),
                overload.map_or_else(String::new, |overload| format!("`{overload}`")).into(),
            ],
            details,
        )
    }
}
