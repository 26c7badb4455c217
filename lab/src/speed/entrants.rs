//! The entrants in an ingest race: the detector, common alternatives, and the limits of the machine.
//!
//! **The detector** ingests the slices with one or more threads.
//!
//! **An alternative** cannot be shared by threads. It therefore has one instance per thread, and each instance counts
//! different inside hosts. Pairs are split by inside host before the measurement, although a user has to split them at
//! run time. With the traffic `distinct` or `flood`, a round starts with empty maps. The maps keep their capacity from
//! the previous round, so the time does not include growth of the maps. With the traffic `packets`, the maps contain
//! one window of link traffic before the first round, which adds its own pairs. In later rounds, the maps already
//! contain all pairs, whereas in continuous operation they would contain 97 % of them. Alternatives ingest the pairs of
//! all slices as one slice. The number of slices does not affect the ingest rate, because closes are not measured here.
//!
//! **The machine** accesses as much memory as the recorders use, on pages of the same size. A pair requires at least
//! one touch of a random recorder. As a limit for ingest, the CPU therefore accesses 16-bit words at random indices. It
//! stores a new value, or the minimum of the new and the old value, with plain loads and stores. Closing a slice reads
//! all recorders once. As a limit for closes, [`reads`] measures how fast the CPU reads words in sequence and adds them
//! up.

use std::hint::black_box;
use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context, Result, anyhow};
use memmap2::MmapMut;
use srlg_core::{Config, Ipv4Pair};
use srlg_host::ingest::{Pair, PairBatch};
use srlg_host::{Device, SlidingDetector};
use zerocopy::FromBytes;

use super::traffic::Traffic;
use super::{Metric, PAIRS_PER_CALL, Setting, begin_untouched};
use crate::feed::{in_parallel, split_by_host};
use crate::peers::Peer;
use crate::sample::{Sample, seconds, timed};

/// Number of rounds for approximate alternatives, on which the ratio to the best exact map does not depend.
const FEW_ROUNDS: u32 = 2;

const SWEEPS: usize = 8;

/// Kind of touch that stores the minimum of the old and the new value. Ingesting a pair requires at least this work.
pub(super) const MINIMUM: &str = "minimum";

/// A function that ingests one thread's part of a slice.
type Take<T> = fn(&SlidingDetector, &[T]) -> Result<()>;

/// Creates an entrant for a detector that ingests `slices` from ordinary memory.
pub(super) fn own<'a, T: Sync>(
    setting: &Setting<'_>,
    slices: &'a [Vec<T>],
    threads: u32,
    take: Take<T>,
) -> Result<Place<'a>> {
    let mut detector = setting.detector()?;
    Ok(Place::new("srlg", threads, move || {
        let seconds = round(&mut detector, slices, |detector, slice| {
            let share = slice.len().div_ceil(threads as usize).max(1);
            in_parallel(slice.chunks(share), |share| take(detector, share))
        })?;
        Ok(Round { seconds, memory_bytes: detector.memory_bytes() })
    }))
}

/// Ingests pairs into `detector` in batches, as an application would.
pub(super) fn pairs<P: Pair>(detector: &SlidingDetector, pairs: &[P]) -> Result<()> {
    pairs.chunks(PAIRS_PER_CALL).try_for_each(|batch| Ok(detector.ingest(batch)?))
}

pub(super) fn batches(detector: &SlidingDetector, batches: &[PairBatch]) -> Result<()> {
    batches.iter().try_for_each(|batch| Ok(batch.ingest(detector)?))
}

/// Measures the rate at which `ingest` processes the pairs in `slices`, which may be in any kind of memory.
pub(super) fn rate<Slice>(
    setting: &Setting<'_>,
    name: &str,
    slices: &[Slice],
    ingest: impl Fn(&SlidingDetector, &Slice) -> Result<()>,
) -> Result<Metric> {
    let mut detector = setting.detector()?;
    let seconds = seconds(setting.options.repeat, || round(&mut detector, slices, &ingest))?;
    let sample = Sample::rate(f64::from(setting.pairs) / 1e6, &seconds);
    Ok(setting.metric(name, "M pairs/s", 1, sample))
}

/// Returns the seconds that `ingest` takes for all slices, without the work between slices. Before the first slice, no
/// recorder has been touched.
fn round<Slice>(
    detector: &mut SlidingDetector,
    slices: &[Slice],
    ingest: impl Fn(&SlidingDetector, &Slice) -> Result<()>,
) -> Result<f64> {
    let mut seconds = 0.0;
    for (number, slice) in slices.iter().enumerate() {
        if number == 0 {
            begin_untouched(detector)?;
        } else {
            detector.skip_to(detector.slice() + 1)?;
            detector.flush()?;
        }
        seconds += timed(|| {
            ingest(detector, slice)?;
            Ok(detector.flush()?)
        })?;
    }
    Ok(seconds)
}

/// The part of the pairs that one instance of an alternative ingests. Pairs are split by inside host.
pub(super) struct Share {
    before: Vec<Ipv4Pair>,
    pairs: Vec<Ipv4Pair>,
}

pub(super) fn split(traffic: &Traffic, threads: u32) -> Vec<Share> {
    let before = split_by_host(&traffic.before, threads);
    let pairs = split_by_host(traffic.slices.iter().flatten(), threads);
    before.into_iter().zip(pairs).map(|(before, pairs)| Share { before, pairs }).collect()
}

/// Creates an entrant for an alternative that ingests each of the `shares` in a separate thread. Except in a ring,
/// windows have one slice, so that closing the slice empties the tables. A ring has sketches for a full window, which
/// together use at most as much memory as the recorders of srlg.
pub(super) fn peer<'a>(setting: &Setting<'_>, peer: Peer, shares: &'a [Share]) -> Place<'a> {
    let window = if peer == Peer::Ring { setting.config.window } else { 1 };
    let config = Config { window, ..setting.config };
    let make = |of: usize| peer.make(&config, setting.recorder_bytes / of);
    let mut systems: Vec<_> = shares.iter().map(|_| make(shares.len())).collect();
    let mut is_prepared = false;
    let mut place = Place::new(&make(1).name(), shares.len() as u32, move || {
        let is_first = !std::mem::replace(&mut is_prepared, true);
        in_parallel(systems.iter_mut().zip(shares), |(system, share)| {
            if share.before.is_empty() {
                system.skip_slice();
            } else if is_first {
                system.ingest(&share.before);
            }
            Ok(())
        })?;
        let seconds = timed(|| {
            in_parallel(systems.iter_mut().zip(shares), |(system, share)| {
                share.pairs.chunks(PAIRS_PER_CALL).for_each(|batch| system.ingest(batch));
                Ok(())
            })
        })?;
        Ok(Round { seconds, memory_bytes: systems.iter().map(|it| it.memory_bytes()).sum() })
    });
    if !peer.is_exact() {
        place.most_rounds = FEW_ROUNDS;
    }
    place
}

/// Creates two entrants: one stores values, and one stores minima.
pub(super) fn touches(setting: &Setting<'_>, threads: u32) -> Result<[Place<'static>; 2]> {
    let minimum = |word: &AtomicU16, value| word.store(word.load(Relaxed).min(value), Relaxed);
    Ok([
        touching(setting, threads, "store", |word, value| word.store(value, Relaxed))?,
        touching(setting, threads, MINIMUM, minimum)?,
    ])
}

fn touching(
    setting: &Setting<'_>,
    threads: u32,
    kind: &str,
    touch: impl Fn(&AtomicU16, u16) + Sync + 'static,
) -> Result<Place<'static>> {
    let (touches, mut memory, threads_u64) =
        (u64::from(setting.pairs), memory(setting)?, u64::from(threads));
    // The value decreases in every round, so that each touch finds a new minimum.
    let mut value = u16::MAX;
    Ok(Place::new(kind, threads, move || {
        value -= 1;
        let memory_bytes = memory.len();
        let words = <[AtomicU16]>::mut_from_bytes(&mut memory);
        let words: &[AtomicU16] = words
            .map_err(|_| anyhow!("cannot measure touches: the memory size in bytes is odd"))?;
        let share = |thread| touches * thread / threads_u64..touches * (thread + 1) / threads_u64;
        let seconds = timed(|| {
            in_parallel((0..threads_u64).map(share), |numbers| {
                numbers.for_each(|number| touch(&words[place(number as u32, words.len())], value));
                Ok(())
            })
        })?;
        Ok(Round { seconds, memory_bytes })
    }))
}

/// Measures the rate at which the CPU reads memory, in billions of bytes per second. Measures nothing on a GPU.
pub(super) fn reads(setting: &Setting<'_>, metrics: &mut Vec<Metric>) -> Result<()> {
    if setting.device != Device::Cpu {
        return Ok(());
    }
    let memory = memory(setting)?;
    let words = <[u64]>::ref_from_bytes(&memory)
        .map_err(|_| anyhow!("cannot measure reads: memory size is not a multiple of 8 bytes"))?;
    let seconds = seconds(setting.options.repeat, || {
        timed(|| {
            for _ in 0..SWEEPS {
                black_box(black_box(words).iter().fold(0_u64, |sum, &word| sum.wrapping_add(word)));
            }
            Ok(())
        })
    })?;
    let sample = Sample::rate((SWEEPS * memory.len()) as f64 / 1e9, &seconds);
    metrics.push(Metric::new("read_bandwidth", "GB/s", 1, sample).system("machine"));
    Ok(())
}

/// Allocates as much memory as the recorders use, with all bits set. Huge pages are used if the system supports them,
/// as for the recorders.
fn memory(setting: &Setting<'_>) -> Result<MmapMut> {
    let bytes = setting.recorder_bytes.next_multiple_of(8);
    let mut memory =
        MmapMut::map_anon(bytes).context("cannot allocate memory to measure the limits")?;
    #[cfg(target_os = "linux")]
    // A kernel without huge pages returns an error. The detector also works without them.
    let _refused = memory.advise(memmap2::Advice::HugePage);
    memory.fill(u8::MAX);
    Ok(memory)
}

/// Returns a pseudorandom index below `places`, computed with the finaliser of MurmurHash3. This takes about as much
/// work as computing the index of a recorder.
const fn place(number: u32, places: usize) -> usize {
    let mut x = number;
    x = (x ^ (x >> 16)).wrapping_mul(0x85EB_CA6B);
    x = (x ^ (x >> 13)).wrapping_mul(0xC2B2_AE35);
    x ^= x >> 16;
    ((x as u64 * places as u64) >> 32) as usize
}

pub(super) struct Round {
    /// Time spent on the measured work, in seconds. Preparation is excluded.
    seconds: f64,
    memory_bytes: usize,
}

/// An entrant and the times of its rounds.
pub(super) struct Place<'a> {
    pub(super) system: String,
    pub(super) threads: u32,
    /// Maximum number of rounds after the warm-up round, which is small for approximate alternatives.
    most_rounds: u32,
    seconds: Vec<f64>,
    pub(super) memory_bytes: usize,
    /// A function that runs one round: it resets the state that the previous round left, then does the work once.
    round: Box<dyn FnMut() -> Result<Round> + 'a>,
}

impl<'a> Place<'a> {
    fn new(system: &str, threads: u32, round: impl FnMut() -> Result<Round> + 'a) -> Self {
        Self {
            system: system.to_owned(),
            threads,
            most_rounds: u32::MAX,
            seconds: Vec::new(),
            memory_bytes: 0,
            round: Box::new(round),
        }
    }

    /// Returns statistics of the work per second. Each round does the same `work`.
    pub(super) fn rate(&self, work: f64) -> Sample {
        Sample::rate(work, &self.seconds)
    }
}

/// Runs `rounds` rounds after a warm-up round, which is not counted. In every round, the entrants run one after the
/// other, in reverse order in every other round. Ratios are therefore reliable even if other programs slow the machine
/// down at times.
pub(super) fn race(places: &mut [Place<'_>], rounds: u32) -> Result<()> {
    for round in 0..=rounds {
        let mut order: Vec<_> = places.iter_mut().collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for place in order.into_iter().filter(|place| round <= place.most_rounds) {
            let Round { seconds, memory_bytes } = (place.round)()?;
            place.memory_bytes = memory_bytes;
            if round > 0 {
                place.seconds.push(seconds);
            }
        }
    }
    Ok(())
}

/// Returns the speed of an entrant relative to the fastest of `others` in the same round. Only rounds that all `others`
/// have run are compared.
pub(super) fn ratio(place: &Place<'_>, others: &[&Place<'_>]) -> Sample {
    let rounds = others.iter().map(|other| other.seconds.len()).min().unwrap_or(0);
    let ratio = |(round, own): (usize, &f64)| {
        let fastest = others.iter().map(|other| other.seconds[round]).fold(f64::INFINITY, f64::min);
        fastest / own
    };
    Sample::of(place.seconds.iter().take(rounds).enumerate().map(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiring(name: &str, mut seconds: f64) -> Place<'_> {
        Place::new(name, 1, move || {
            seconds += 1.0;
            Ok(Round { seconds, memory_bytes: 0 })
        })
    }

    #[test]
    fn all_take_turns_and_slow_ones_leave_early() {
        let mut places = [tiring("a", 0.0), tiring("b", 10.0)];
        places[1].most_rounds = 2;
        race(&mut places, 3).unwrap();
        assert_eq!(places[0].seconds, [2.0, 3.0, 4.0]);
        assert_eq!(places[1].seconds, [12.0, 13.0]);
    }

    #[test]
    fn ratios_are_of_the_same_round_and_to_the_fastest_in_it() {
        let mut places = ["own", "one", "other"].map(|name| tiring(name, 0.0));
        places[0].seconds = vec![1.0, 2.0, 1.0];
        places[1].seconds = vec![5.0, 6.0, 9.0];
        places[2].seconds = vec![4.0, 8.0];
        let [own, one, other] = &places;
        assert_eq!(ratio(own, &[one]), Sample::of([5.0, 3.0, 9.0]));
        assert_eq!(ratio(own, &[one, other]), Sample::of([4.0, 3.0]));
    }
}
