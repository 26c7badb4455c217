//! What a CPU itself can do with as much memory as the recorders have.
//!
//! A pair is a touch of a random recorder, at least: the CPU stores 16-bit words, or keeps the
//! smaller one, at random places; one thread. Closing a slice reads all recorders once: it adds
//! up words, one after the other.

use std::hint::black_box;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use anyhow::Result;
use srlg_host::Device;

use super::report::{Metric, Report};
use super::sample::{Sample, seconds, timed};
use super::setting::Setting;

/// Sweeps of a round.
const SWEEPS: usize = 8;

pub(super) fn measure(setting: &Setting<'_>, report: &mut Report<'_>) -> Result<()> {
    if setting.device != Device::Cpu {
        return Ok(());
    }
    let bytes = setting.config.validate()?.recorder_bytes();
    let touches = setting.pairs;
    let stores = random(setting, bytes, |word, value| word.store(value, Relaxed))?;
    let minimum = |word: &AtomicU16, value| word.store(word.load(Relaxed).min(value), Relaxed);
    let minima = random(setting, bytes, minimum)?;
    for (name, unit, load, sample) in [
        ("random_stores", "M/s", Some(touches), stores),
        ("random_minima", "M/s", Some(touches), minima),
        ("streaming_read", "GB/s", None, sweep(setting, bytes)?),
    ] {
        report.add(&Metric { name: name.to_owned(), unit, threads: 1, load, sample });
    }
    Ok(())
}

/// Touches per second, in millions.
fn random(setting: &Setting<'_>, bytes: usize, touch: impl Fn(&AtomicU16, u16)) -> Result<Sample> {
    let words: Vec<AtomicU16> = (0..bytes / 2).map(|_| AtomicU16::new(u16::MAX)).collect();
    let mut value = u16::MAX;
    let seconds = seconds(setting.options.repeat, || {
        // Smaller every round: each minimum is a new one.
        value -= 1;
        timed(|| {
            touch_all(&words, setting.pairs, value, &touch);
            Ok(())
        })
    })?;
    Ok(Sample::rate(f64::from(setting.pairs) / 1e6, &seconds))
}

fn touch_all(words: &[AtomicU16], touches: u32, value: u16, touch: impl Fn(&AtomicU16, u16)) {
    for number in 0..touches {
        let place = (u64::from(scatter(number)) * words.len() as u64) >> 32;
        touch(&words[place as usize], value);
    }
}

/// The finaliser of murmur3: as much work as a place takes that nothing can foresee.
const fn scatter(value: u32) -> u32 {
    let mut x = value;
    x = (x ^ (x >> 16)).wrapping_mul(0x85EB_CA6B);
    x = (x ^ (x >> 13)).wrapping_mul(0xC2B2_AE35);
    x ^ (x >> 16)
}

/// Bytes per second, in billions.
fn sweep(setting: &Setting<'_>, bytes: usize) -> Result<Sample> {
    let words: Vec<u64> = (0..bytes as u64 / 8).collect();
    let seconds = seconds(setting.options.repeat, || {
        timed(|| {
            for _ in 0..SWEEPS {
                black_box(
                    black_box(&words).iter().fold(0_u64, |sum, &word| sum.wrapping_add(word)),
                );
            }
            Ok(())
        })
    })?;
    Ok(Sample::rate((SWEEPS * words.len() * 8) as f64 / 1e9, &seconds))
}
