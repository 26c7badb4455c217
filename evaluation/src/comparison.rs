//! `peers`: srlg beside what users have today, on the same traffic.
//!
//! Shape: the truth of every slice once, then one system after the other: the traffic
//! is made again from its seed for each, so that no two systems share the caches.
//! Invariant: every system takes the same packets, closes every slice, and is scored
//! against the same truth.

mod measure;
mod results;

use crate::peers::{EstimatorMap, ExactPairs, ExactSets, HyperLogLogMap, SketchRing};
use crate::system::{Srlg, System};
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use srlg_core::{Address, Config, IpPair};
use srlg_traffic::oracle::ExactWindow;

use crate::preset::Preset;
use crate::study::{CommandLine, PageOptions, Results, StudyOutput};
use crate::synthetic::Synthetic;
use crate::{number, progress};

/// Longest window: a ring of more sketches would have no memory left for each.
const LONGEST_WINDOW: u32 = 10_000;

#[derive(Args)]
pub(crate) struct Peers {
    /// Distinct pairs per 300 slices, about
    #[arg(long, default_value = "500k", value_parser = number::count)]
    load: u32,
    #[command(flatten)]
    synthetic: Synthetic,
    /// Windows of traffic, one after the other
    #[arg(long, default_value = "2", value_parser = number::count)]
    windows: u32,
    #[command(flatten)]
    output: PageOptions,
}

/// The super points of every window that ends in the stream: the first one ends with
/// slice `window`, where slices count from 1.
type Truth = Vec<Vec<(Address, u32)>>;

pub(crate) fn run(options: &Peers, line: CommandLine) -> Result<()> {
    let window = options.synthetic.window;
    ensure!(window <= LONGEST_WINDOW, "--window must be at most {LONGEST_WINDOW}");
    ensure!(options.load <= crate::MOST_PAIRS, "--load must be at most {}", crate::MOST_PAIRS);
    let slices = options.windows.checked_mul(window);
    let slices = slices.filter(|&slices| slices < crate::MOST_SLICES);
    let slices = slices.context("--windows or --window is too large")?;
    let place = format!("load {}", number::short(options.load));
    let mut output = StudyOutput::in_page(&options.output, std::slice::from_ref(&place))?;
    let makers = makers();
    let bar = progress::bar(u64::from(slices) * (1 + makers.len() as u64), "truth");
    let truth = truth(options, &bar);
    let mut measured = Vec::new();
    for make in makers {
        let mut system = make(options.synthetic)?;
        bar.set_message(system.name());
        measured.push(measure::measure(&mut *system, &truth, options, &bar));
    }
    drop(bar);
    let above = format!("`{}`", line(&[]));
    output.tell(&[Results { above, ..results::of(place, &measured, &truth, options) }])
}

type Make = Box<dyn Fn(Synthetic) -> Result<Box<dyn System>>>;

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

fn srlg(preset: Preset, options: Synthetic) -> Result<Box<dyn System>> {
    let Synthetic { threshold, window, seed, .. } = options;
    let config = Config { threshold, window, seed, ..preset.config() };
    Ok(Box::new(Srlg::new(preset.name(), config)?))
}

/// A ring with `times` the memory of srlg.
fn ring(times: usize, options: Synthetic) -> Result<Box<dyn System>> {
    let Synthetic { threshold, window, seed, .. } = options;
    let config = Config { threshold, window, ..Config::default() };
    let bytes = times * config.validate()?.recorder_bytes();
    Ok(Box::new(SketchRing::new(window, threshold, bytes, seed)))
}

impl Peers {
    fn slices(&self) -> impl Iterator<Item = Vec<IpPair>> {
        let Synthetic { window, traffic, seed, .. } = self.synthetic;
        traffic.slices(seed, self.windows * window, self.load)
    }
}

fn truth(options: &Peers, bar: &ProgressBar) -> Truth {
    let Synthetic { window, threshold, .. } = options.synthetic;
    let mut exact = ExactWindow::new(window);
    let mut truth = Vec::new();
    for (slice, packets) in (1..).zip(options.slices()) {
        packets.iter().for_each(|&pair| exact.touch(pair));
        if slice >= window {
            truth.push(exact.super_points(threshold));
        }
        exact.skip(1);
        bar.inc(1);
    }
    truth
}
