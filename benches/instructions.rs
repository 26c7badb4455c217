//! Workloads whose instructions `cargo xtask instructions` counts. The command line is `instructions WORK ROUNDS`.
//!
//! The program prints the number of pairs, recorders or candidates in a round. Outside the rounds, a run with one round
//! and a run with two rounds do the same work, for example the creation of traffic and detectors. The difference
//! between the instruction counts of the two runs is therefore the cost of one round.

use anyhow::{Context, Result, bail, ensure};
use srlg::config::HashFamily;
use srlg::ingest::Pair;
use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
use srlg_traffic::family::v6_pairs;
use srlg_traffic::synthetic::{Backbone, distinct_pairs};

const MOST_ROUNDS: usize = 2;

/// Number of pairs in a round of ingest. Recent pairs are looked up in trials of 2^14 pairs. After a trial with few
/// repeated pairs, the look-ups pause for 15 times as many pairs. A round is therefore one whole cycle.
const PAIRS: usize = 1 << 18;

/// Number of pairs per call in workloads that do not measure calls.
const CALL: usize = 1 << 14;

const PACKETS_PER_PAIR: u32 = 20;

/// Number of distinct pairs in a full window.
const LOAD: u32 = 500_000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [work, rounds] = arguments.as_slice() else { bail!("give the arguments WORK and ROUNDS") };
    let rounds: usize = rounds.parse().context("ROUNDS must be a number")?;
    ensure!(rounds <= MOST_ROUNDS, "ROUNDS must be at most {MOST_ROUNDS}");
    let half_sip = Config { hash: HashFamily::HalfSip13, ..Config::default() };
    let units = match work.as_str() {
        "distinct" => ingest(Config::default(), &distinct(), CALL, rounds)?,
        "packets" => ingest(Config::default(), &packets(), CALL, rounds)?,
        "calls" => ingest(Config::default(), &distinct(), 1, rounds)?,
        "half-sip" => ingest(half_sip, &distinct(), CALL, rounds)?,
        "ip6" => ingest(Config::default(), &v6_pairs(&distinct()), CALL, rounds)?,
        "ip6-packets" => ingest(Config::default(), &v6_pairs(&packets()), CALL, rounds)?,
        "paper" => ingest(Config::paper(), &distinct(), CALL, rounds)?,
        "sweeps" => sweeps(rounds)?,
        "candidates" => candidates(rounds)?,
        _ => bail!("unknown workload {work}"),
    };
    println!("{units}");
    Ok(())
}

fn distinct() -> Vec<Ipv4Pair> {
    distinct_pairs(1, 200_000, (MOST_ROUNDS * PAIRS) as u64).collect()
}

/// Returns packets from five minutes of backbone traffic, in order. All packets are ingested in a single slice.
fn packets() -> Vec<Ipv4Pair> {
    let count = MOST_ROUNDS * PAIRS;
    // The mean holds only over many pairs, so a fifth more pairs ensure that there are enough packets.
    let pairs = count as u32 / PACKETS_PER_PAIR * 6 / 5;
    let model = Backbone { pairs, packets_per_pair: PACKETS_PER_PAIR, ..Backbone::default() };
    model.slices().flatten().take(count).collect()
}

/// Ingests `rounds` rounds of `pairs`, with `call` pairs per call. Returns the number of pairs in a round.
fn ingest<P: Pair>(config: Config, pairs: &[P], call: usize, rounds: usize) -> Result<usize> {
    ensure!(pairs.len() == MOST_ROUNDS * PAIRS, "expected all pairs, got {}", pairs.len());
    let detector = SlidingDetector::new(config, Device::Cpu)?;
    for pairs in pairs[..rounds * PAIRS].chunks(call) {
        detector.ingest(pairs)?;
    }
    detector.flush()?;
    Ok(PAIRS)
}

/// Closes `rounds` slices of an empty window, to measure the part of a close that does not depend on the traffic.
/// Returns the number of recorders.
fn sweeps(rounds: usize) -> Result<usize> {
    let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
    for _ in 0..rounds {
        detector.close_slice()?;
    }
    Ok(detector.params().arrays().map(|shape| shape.recorders).iter().sum())
}

/// Closes `rounds` slices of a full window, and slices of an empty window for the remaining rounds. Only the work for
/// candidates therefore depends on the number of rounds. Returns the number of candidates in the last close of the full
/// window.
fn candidates(rounds: usize) -> Result<usize> {
    let mut full = full_window()?;
    let mut empty = SlidingDetector::new(Config::default(), Device::Cpu)?;
    let mut candidates = 0;
    for _ in 0..rounds {
        candidates = full.close_slice()?.candidates;
    }
    for _ in rounds..MOST_ROUNDS {
        empty.close_slice()?;
    }
    Ok(candidates)
}

fn full_window() -> Result<SlidingDetector> {
    let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
    let slices = detector.params().window();
    detector.skip_to(slices.into())?;
    let model = Backbone { slices, pairs: LOAD, packets_per_pair: 1, ..Backbone::default() };
    // Late pairs have the same effect as slices that have passed, but do not need a sweep per slice.
    for (slices_late, packets) in (0..slices).rev().zip(model.slices()) {
        detector.ingest_late(&packets, slices_late)?;
    }
    Ok(detector)
}
