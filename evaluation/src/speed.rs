//! `speed`: how fast a detector takes pairs and closes slices, beside what its machine can do.
//!
//! Shape: a [`Setting`] goes through one file per kind of metric; each hands its metrics to a
//! [`Report`]. Invariant: traffic is made before a clock runs; every round of a metric does the
//! same work again, and what the device still has to do when a call returns belongs to the round.

mod calls;
mod capture;
mod close;
#[cfg(feature = "cuda")]
mod gpu;
mod ingest;
mod limits;
mod own;
mod peers;
mod race;
mod report;
mod setting;
mod traffic;

use anyhow::{Result, ensure};
use clap::Args;
use srlg_host::Device;
use srlg_traffic::family::Family;

use crate::number;
use crate::preset::Preset;
use report::Report;
use setting::Setting;

/// More rounds would be more slices than there are.
const MOST_ROUNDS: u32 = 10_000;

#[derive(Args)]
pub(crate) struct Speed {
    /// Where the detector runs: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: Device,
    /// Sizes and sampling of the detector
    #[arg(long, value_enum, default_value = "default")]
    preset: Preset,
    /// Hosts of windows that close: of IPv4, of IPv6, or half of the inside hosts of either
    #[arg(long, value_name = "4|6|mixed", default_value_t)]
    family: Family,
    /// Pairs of a round of ingest [default: 4M on a CPU, 64M on a GPU]
    #[arg(long, value_parser = number::count)]
    pairs: Option<u32>,
    /// Distinct pairs per window, about, for which slices are closed
    #[arg(long, default_value = "1M,2M,5M,10M", value_delimiter = ',', value_parser = number::count)]
    loads: Vec<u32>,
    /// Bytes of the capture file that is read, about
    #[arg(long, default_value = "128M", value_parser = number::count)]
    capture: u32,
    /// Rounds of which the median, the least and the most are told; of slow systems two
    #[arg(long, default_value = "5", value_parser = number::count)]
    repeat: u32,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Print one JSON object per metric
    #[arg(long)]
    json: bool,
}

impl Speed {
    fn check(&self) -> Result<()> {
        let most = crate::MOST_PAIRS;
        let largest = self.loads.iter().max();
        ensure!(largest <= Some(&most), "--loads must be at most {most}");
        ensure!(self.pairs.is_none_or(|pairs| pairs >= 100), "--pairs must be at least 100");
        ensure!(self.pairs <= Some(1 << 30), "--pairs must be at most {}", 1 << 30);
        ensure!(self.repeat <= MOST_ROUNDS, "--repeat must be at most {MOST_ROUNDS}");
        Ok(())
    }
}

/// Measures one kind of metric.
type Measure = fn(&Setting<'_>, &mut Report<'_>) -> Result<()>;

const KINDS: &[(&str, Measure)] = &[
    ("reads of the CPU", limits::measure),
    ("ingest", ingest::measure),
    #[cfg(feature = "cuda")]
    ("limits of the GPU", gpu::measure),
    ("calls", calls::measure),
    ("capture", capture::measure),
    ("close", close::measure),
];

pub(crate) fn run(options: &Speed) -> Result<()> {
    options.check()?;
    let setting = Setting::new(options)?;
    let mut report = Report::new(&setting, KINDS.len());
    for &(kind, measure) in KINDS {
        report.begin(kind);
        measure(&setting, &mut report)?;
    }
    report.finish()
}
