//! GPU workloads whose cost `cargo xtask gpu-model` counts. The command line is `gpu_model WORK ROUNDS`.
//!
//! The program prints the number of pairs or closes in a round. For closes, it also prints the results. Outside the
//! rounds, a run with one round and a run with two rounds do the same work. The difference between the costs of the two
//! runs is therefore the cost of one round.

use anyhow::{Context, Result, bail, ensure};
use srlg::config::HashFamily;
use srlg::ingest::Pair;
use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
use srlg_traffic::family::v6_pairs;
use srlg_traffic::synthetic::{Model, distinct_pairs};

const MOST_ROUNDS: usize = 2;

const PAIRS: usize = 1 << 18;

/// Number of distinct pairs in a full window.
const LOAD: u32 = 5_000_000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [work, rounds] = arguments.as_slice() else { bail!("give the arguments WORK and ROUNDS") };
    let rounds: usize = rounds.parse().context("ROUNDS must be a number")?;
    ensure!(rounds <= MOST_ROUNDS, "ROUNDS must be at most {MOST_ROUNDS}");
    let half_sip = Config { hash: HashFamily::HalfSip13, ..Config::default() };
    match work.as_str() {
        "distinct" => {
            let detector = full()?;
            // The seed differs from the seed of the window, so that no pair of the window is scanned again.
            ingest(&detector, &distinct(), rounds)
        }
        "half-sip" => scans(half_sip, &distinct(), rounds),
        "ip6" => scans(Config::default(), &v6_pairs(&distinct()), rounds),
        "paper" => scans(Config::paper(), &distinct(), rounds),
        "repeated" => {
            let round = &distinct()[..PAIRS];
            scans(Config::default(), &round.repeat(1 + MOST_ROUNDS)[..], rounds + 1)
        }
        "close" => closes(rounds),
        _ => bail!("unknown workload {work}"),
    }
}

fn distinct() -> Vec<Ipv4Pair> {
    distinct_pairs(2, 200_000, (MOST_ROUNDS * PAIRS) as u64).collect()
}

fn scans<P: Pair>(config: Config, pairs: &[P], rounds: usize) -> Result<()> {
    ingest(&SlidingDetector::new(config, Device::Cuda(0))?, pairs, rounds)
}

fn ingest<P: Pair>(detector: &SlidingDetector, pairs: &[P], rounds: usize) -> Result<()> {
    detector.ingest(&pairs[..rounds * PAIRS])?;
    detector.flush()?;
    println!("{PAIRS}");
    Ok(())
}

/// Closes one slice of a full window as a warm-up, then `rounds` more slices.
fn closes(rounds: usize) -> Result<()> {
    let mut detector = full()?;
    for _ in 0..=rounds {
        let report = detector.close_slice()?;
        println!("{} candidates, {} super points", report.candidates, report.super_points.len());
    }
    println!("1");
    Ok(())
}

fn full() -> Result<SlidingDetector> {
    let config = Config::default();
    // The window is created on the CPU, because the interpreter would otherwise have to age all recorders 300 times.
    let mut made = SlidingDetector::new(config, Device::Cpu)?;
    for (slice, packets) in (1..).zip(Model::Backbone.slices(1, config.window, LOAD)) {
        made.ingest(&packets)?;
        if slice < config.window {
            made.skip_to(slice.into())?;
        }
    }
    let mut detector = SlidingDetector::new(config, Device::Cuda(0))?;
    detector.skip_to(made.slice())?;
    detector.merge_snapshot(&made.snapshot()?)?;
    Ok(detector)
}
