//! Work for `cargo xtask instructions` to count the instructions of: `instructions WORK ROUNDS`.
//!
//! Prints how many pairs, recorders or candidates one round is. Invariant: all that is not the
//! rounds, such as traffic and empty detectors, is the same for one round and for two, so that
//! the difference between their counts is one round alone.

use anyhow::{Context, Result, bail, ensure};
use srlg::config::HashFamily;
use srlg::ingest::Pair;
use srlg::{Config, Device, IpPair, SlidingDetector};
use srlg_traffic::family::v6_pairs;
use srlg_traffic::synthetic::{Backbone, distinct_pairs};

/// Rounds of a run, at most.
const MOST_ROUNDS: usize = 2;

/// Pairs of a round of ingest: a whole cycle of the look-ups of recent pairs, which pause for 15
/// of 16 trials of 2^14 pairs where no pair comes twice.
const PAIRS: usize = 1 << 18;

/// Pairs of a call where calls do not matter.
const CALL: usize = 1 << 14;

/// Mean packets of a pair, where pairs repeat.
const PACKETS_PER_PAIR: u32 = 20;

/// Distinct pairs of a window that closes.
const LOAD: u32 = 500_000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [work, rounds] = arguments.as_slice() else { bail!("give WORK and ROUNDS") };
    let rounds: usize = rounds.parse().context("ROUNDS is a number")?;
    ensure!(rounds <= MOST_ROUNDS, "at most {MOST_ROUNDS} rounds");
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
        _ => bail!("no work is called {work}"),
    };
    println!("{units}");
    Ok(())
}

fn distinct() -> Vec<IpPair> {
    distinct_pairs(1, 200_000, (MOST_ROUNDS * PAIRS) as u64).collect()
}

/// Packets of the backbone model, in their order: those of five minutes, as if in one slice.
fn packets() -> Vec<IpPair> {
    let count = MOST_ROUNDS * PAIRS;
    // The mean is that of many: a fifth more, so that there are enough.
    let pairs = count as u32 / PACKETS_PER_PAIR * 6 / 5;
    let model = Backbone { pairs, packets_per_pair: PACKETS_PER_PAIR, ..Backbone::default() };
    model.slices().flatten().take(count).collect()
}

/// Ingests `rounds` of `pairs`, `call` at a time; the pairs of a round.
fn ingest<P: Pair>(config: Config, pairs: &[P], call: usize, rounds: usize) -> Result<usize> {
    ensure!(pairs.len() == MOST_ROUNDS * PAIRS, "there are {} pairs", pairs.len());
    let detector = SlidingDetector::new(config, Device::Cpu)?;
    for pairs in pairs[..rounds * PAIRS].chunks(call) {
        detector.ingest(pairs)?;
    }
    detector.flush()?;
    Ok(PAIRS)
}

/// Closes `rounds` slices of an empty window: what every close passes over; the recorders.
fn sweeps(rounds: usize) -> Result<usize> {
    let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
    for _ in 0..rounds {
        detector.close_slice()?;
    }
    Ok(detector.params().arrays().map(|shape| shape.recorders).iter().sum())
}

/// Closes `rounds` slices of a full window, and an empty one for each that is left: what
/// candidates cost beyond sweeps; how many there are.
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

/// A window of the backbone model in which hosts were seen at all ages.
fn full_window() -> Result<SlidingDetector> {
    let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
    let slices = detector.params().window();
    detector.skip_to(slices.into())?;
    let model = Backbone { slices, pairs: LOAD, packets_per_pair: 1, ..Backbone::default() };
    // Late pairs are as good as slices that passed, without a sweep for each.
    for (slices_late, packets) in (0..slices).rev().zip(model.slices()) {
        detector.ingest_late(&packets, slices_late)?;
    }
    Ok(detector)
}
