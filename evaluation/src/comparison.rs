//! `peers`: srlg beside what users have today, on the same traffic.
//!
//! Shape: the truth of every slice once, then one system after the other: the traffic
//! is made again from its seed for each, so that no two systems share the caches.
//! Invariant: every system takes the same packets, closes every slice, and is scored
//! against the same truth.

mod measure;
mod report;

use std::io::{self, Write};
use std::path::PathBuf;

use crate::peers::{EstimatorMap, ExactPairs, ExactSets, HyperLogLogMap, SketchRing};
use crate::system::{Srlg, System};
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use srlg_core::{Address, Config, IpPair};
use srlg_traffic::oracle::ExactWindow;
use srlg_traffic::synthetic::Model;

use crate::page::Page;
use crate::preset::Preset;
use crate::{number, progress};

/// Longest window: a ring of more sketches would have no memory left for each.
const LONGEST_WINDOW: u32 = 10_000;

#[derive(Args)]
pub(crate) struct Peers {
    /// Distinct pairs per 300 slices, about
    #[arg(long, default_value = "500k", value_parser = number::count)]
    load: u32,
    /// Slices of one second in a window
    #[arg(long, default_value = "300", value_parser = number::count)]
    window: u32,
    /// Distinct opposite hosts that make a super point
    #[arg(long, default_value = "1024", value_parser = number::count)]
    threshold: u32,
    /// Model of the traffic: backbone, metro, flood, slow-scan, flash-crowd or persistent
    #[arg(long, default_value = "backbone")]
    traffic: Model,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Windows of traffic, one after the other
    #[arg(long, default_value = "2", value_parser = number::count)]
    windows: u32,
    /// Print one JSON object per metric and system
    #[arg(long)]
    json: bool,
    /// Put the table between the lines `<!-- table: load LOAD -->` and `<!-- end -->` of this page
    #[arg(long)]
    write: Option<PathBuf>,
}

/// The super points of every window that ends in the stream: the first one ends with
/// slice `window`, where slices count from 1.
type Truth = Vec<Vec<(Address, u32)>>;

pub(crate) fn run(options: &Peers) -> Result<()> {
    ensure!(options.window <= LONGEST_WINDOW, "--window must be at most {LONGEST_WINDOW}");
    ensure!(options.load <= crate::MOST_PAIRS, "--load must be at most {}", crate::MOST_PAIRS);
    let slices = options.windows.checked_mul(options.window);
    let slices = slices.filter(|&slices| slices < crate::MOST_SLICES);
    let slices = slices.context("--windows or --window is too large")?;
    let place = format!("load {}", number::short(options.load));
    let page = options.write.as_ref().map(|page| Page::open(page, &[&place])).transpose()?;
    let makers = makers();
    let bar = progress::bar(u64::from(slices) * (1 + makers.len() as u64), "truth");
    let truth = truth(options, &bar);
    let mut measured = Vec::new();
    for make in makers {
        let mut system = make(options)?;
        bar.set_message(system.name());
        measured.push(measure::measure(&mut *system, &truth, options, &bar));
    }
    drop(bar);
    let text = report::page(&measured, &truth, options);
    if let Some(mut page) = page {
        page.fill(&place, &text)?;
        page.write()?;
    }
    let lines = if options.json { report::json(&measured, &truth, options) } else { text };
    io::stdout().write_all(lines.as_bytes()).context("cannot write to the standard output")
}

type Make = Box<dyn Fn(&Peers) -> Result<Box<dyn System>>>;

/// All systems. Made one at a time: together they would not fit into memory.
fn makers() -> Vec<Make> {
    let srlg = |preset: Preset| -> Make { Box::new(move |options| srlg(preset, options)) };
    let mut makers: Vec<_> = Preset::value_variants().iter().copied().map(srlg).collect();
    let peers: [Make; 6] = [
        Box::new(|options| Ok(Box::new(ExactSets::new(options.window, options.threshold)))),
        Box::new(|options| Ok(Box::new(ExactPairs::new(options.window, options.threshold)))),
        Box::new(|options| Ok(Box::new(EstimatorMap::new(options.window, options.threshold)))),
        Box::new(|options| Ok(Box::new(HyperLogLogMap::new(options.window, options.threshold)))),
        Box::new(|options| ring(1, options)),
        Box::new(|options| ring(10, options)),
    ];
    makers.extend(peers);
    makers
}

fn srlg(preset: Preset, options: &Peers) -> Result<Box<dyn System>> {
    let &Peers { threshold, window, seed, .. } = options;
    let config = Config { threshold, window, seed, ..preset.config() };
    Ok(Box::new(Srlg::new(preset.name(), config)?))
}

/// A ring with `times` the memory of srlg.
fn ring(times: usize, options: &Peers) -> Result<Box<dyn System>> {
    let &Peers { threshold, window, seed, .. } = options;
    let config = Config { threshold, window, ..Config::default() };
    let bytes = times * config.validate()?.recorder_bytes();
    Ok(Box::new(SketchRing::new(window, threshold, bytes, seed)))
}

impl Peers {
    fn slices(&self) -> impl Iterator<Item = Vec<IpPair>> {
        self.traffic.slices(self.seed, self.windows * self.window, self.load)
    }
}

fn truth(options: &Peers, bar: &ProgressBar) -> Truth {
    let mut exact = ExactWindow::new(options.window);
    let mut truth = Vec::new();
    for (slice, packets) in (1..).zip(options.slices()) {
        packets.iter().for_each(|&pair| exact.touch(pair));
        if slice >= options.window {
            truth.push(exact.super_points(options.threshold));
        }
        exact.skip(1);
        bar.inc(1);
    }
    truth
}
