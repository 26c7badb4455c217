//! What a CPU itself can do with as much memory as the recorders have, on pages as large.
//!
//! A pair is a touch of a random recorder, at least: the CPU stores 16-bit words, or keeps the
//! smaller one, at random places, by plain loads and stores. These run by turns with the
//! ingest of distinct pairs, of which `ingest_distinct_share` is what it reaches of the minima
//! in the same round. Closing a slice reads all recorders once: `read_bandwidth` adds up words,
//! one after the other.

use std::hint::black_box;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use anyhow::{Context, Result, anyhow};
use memmap2::MmapMut;
use srlg_host::Device;
use zerocopy::FromBytes;

use super::race::{Entrant, Place, ratio};
use super::report::{Metric, Report};
use super::setting::Setting;
use crate::sample::{Sample, seconds, timed};
use crate::threads::in_parallel;

/// Sweeps of a round.
const SWEEPS: usize = 8;
/// The kind of touch that an ingest cannot do without.
const MINIMUM: &str = "minimum";

/// Random touches from several threads.
struct Touches<T> {
    touch: T,
    touches: u32,
    threads: u32,
    memory: MmapMut,
    /// Smaller every round: each minimum is a new one.
    value: u16,
}

impl<T: Fn(&AtomicU16, u16) + Sync> Entrant for Touches<T> {
    fn round(&mut self) -> Result<f64> {
        self.value -= 1;
        let (touches, threads, touch, value) =
            (u64::from(self.touches), u64::from(self.threads), &self.touch, self.value);
        let words = <[AtomicU16]>::mut_from_bytes(&mut self.memory);
        let words: &[AtomicU16] = words.map_err(|_| anyhow!("the mapping holds half a word"))?;
        timed(|| {
            let share = |thread| touches * thread / threads..touches * (thread + 1) / threads;
            in_parallel((0..threads).map(share), |numbers| {
                numbers.for_each(|number| touch(&words[place(number as u32, words.len())], value));
                Ok(())
            })
        })
    }

    fn memory_bytes(&self) -> usize {
        self.memory.len()
    }
}

/// Places of both kinds.
pub(super) fn places(setting: &Setting<'_>, threads: u32) -> Result<Vec<Place<'static>>> {
    let minimum = |word: &AtomicU16, value| word.store(word.load(Relaxed).min(value), Relaxed);
    Ok(vec![
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
    let (touches, memory, value) = (setting.pairs, memory(setting)?, u16::MAX);
    Ok(Place::new(kind, threads, Touches { touch, touches, threads, memory, value }))
}

/// Touches per second, and the share of them that ingest reached.
pub(super) fn tell(
    setting: &Setting<'_>,
    srlg: &Place<'_>,
    limits: &[Place<'_>],
    report: &mut Report<'_>,
) {
    for limit in limits {
        let sample = limit.rate(f64::from(setting.pairs) / 1e6);
        let metric = Metric::new("random_store_limit".to_owned(), "M/s", limit.threads, sample);
        let metric = metric.load(setting.pairs).system("machine");
        report.add(&metric.detail("kind", limit.system.as_str()));
        if limit.system == MINIMUM {
            let share = ratio(srlg, &[limit]).scaled(100.0);
            let name = "ingest_distinct_share".to_owned();
            let metric = Metric::new(name, "%", limit.threads, share).load(setting.pairs);
            report.add(&metric.detail("of", "random_store_limit, minimum"));
        }
    }
}

pub(super) fn measure(setting: &Setting<'_>, report: &mut Report<'_>) -> Result<()> {
    if setting.device == Device::Cpu {
        let name = "read_bandwidth".to_owned();
        report.add(&Metric::new(name, "GB/s", 1, sweep(setting)?).system("machine"));
    }
    Ok(())
}

/// Bytes per second, in billions.
fn sweep(setting: &Setting<'_>) -> Result<Sample> {
    let memory = memory(setting)?;
    let words = <[u64]>::ref_from_bytes(&memory).map_err(|_| anyhow!("no whole words"))?;
    let seconds = seconds(setting.options.repeat, || {
        timed(|| {
            for _ in 0..SWEEPS {
                black_box(black_box(words).iter().fold(0_u64, |sum, &word| sum.wrapping_add(word)));
            }
            Ok(())
        })
    })?;
    Ok(Sample::rate((SWEEPS * memory.len()) as f64 / 1e9, &seconds))
}

/// As much memory as the recorders have, all bits set; huge pages where the system has them, as
/// the recorders are on such.
fn memory(setting: &Setting<'_>) -> Result<MmapMut> {
    let bytes = setting.recorder_bytes.next_multiple_of(8);
    let mut memory = MmapMut::map_anon(bytes).context("no memory for the limits")?;
    #[cfg(target_os = "linux")]
    // A kernel without huge pages refuses, and the detector does without them too.
    let _refused = memory.advise(memmap2::Advice::HugePage);
    memory.fill(u8::MAX);
    Ok(memory)
}

/// A place of `places` that nothing can foresee, by the finaliser of murmur3: as much work as
/// finding a recorder takes.
const fn place(number: u32, places: usize) -> usize {
    let mut x = number;
    x = (x ^ (x >> 16)).wrapping_mul(0x85EB_CA6B);
    x = (x ^ (x >> 13)).wrapping_mul(0xC2B2_AE35);
    x ^= x >> 16;
    ((x as u64 * places as u64) >> 32) as usize
}
