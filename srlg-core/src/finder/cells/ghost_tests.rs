//! Tests that hosts are missed as often as computed, measured with *ghosts*. A ghost is a host whose touches are only
//! compared with an array that other hosts filled, and never applied to it.

use super::chance::AgeHistogram;
use super::tests::{config, params, untouched, whole, words};
use super::*;
use crate::recorder::{ReadRecorder, Recorder};
use crate::{Config, Ipv4Pair, Params};

use approx::abs_diff_eq;
extern crate std;
use std::collections::BTreeMap;
use std::format;
use std::vec;
use std::vec::Vec;

fn histogram(params: &CellsParams, cells: &[Recorder64], ages: u32) -> Vec<u32> {
    let mut counts = vec![0; ages as usize];
    for word in words(cells) {
        if let Some(count) = counts.get_mut(params.age(word) as usize) {
            *count += 1;
        }
    }
    counts
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        crate::hash::mix64(self.0)
    }

    fn below(&mut self, count: u32) -> u32 {
        (((self.next() >> 32) * u64::from(count)) >> 32) as u32
    }
}

/// Returns the touch of a sampled pair in a random slot of `inside`. Pairs that are not sampled do not touch cells, so
/// the test chooses a random slot instead of hashing pairs until one is sampled.
fn sampled_touch(params: &CellsParams, inside: u32, age: u32, random: &mut Random) -> (u32, u64) {
    let peer = random.next() as u32;
    params.touch_of(&Ipv4Pair { inside, peer }, random.next() as u32, age)
}

/// Returns cells that `samples` sampled pairs touched, at ages spread evenly over a window. Each host has three of
/// these pairs.
fn loaded(params: &CellsParams, ages: u32, samples: u32, random: &mut Random) -> Vec<Recorder64> {
    let cells = untouched(params);
    for number in 0..samples {
        let age = random.below(ages);
        let (place, word) = sampled_touch(params, 0x0a00_0000 + number / 3, age, random);
        cells[place as usize].fetch_min(word);
    }
    cells
}

/// Returns the share of ghosts with `cardinality` peers that would hold fewer than `c_min` cells of the array.
fn missed_ghosts(
    params: &CellsParams,
    cells: &[Recorder64],
    cardinality: u32,
    c_min: u32,
    random: &mut Random,
    age_of: impl Fn(&mut Random) -> u32,
) -> f64 {
    let mut missed = 0;
    for _ in 0..GHOSTS {
        let inside = random.next() as u32;
        let mut own = BTreeMap::<u32, u64>::new();
        for _ in 0..cardinality {
            if random.below(1 << params.lsb_threshold()) == 0 {
                let age = age_of(random);
                let (place, word) = sampled_touch(params, inside, age, random);
                let kept = own.entry(place).or_insert(word);
                *kept = word.min(*kept);
            }
        }
        let visible = own.iter().filter(|&(&place, &word)| word < cells[place as usize].word());
        missed += u32::from((visible.count() as u32) < c_min);
    }
    f64::from(missed) / f64::from(GHOSTS)
}

const GHOSTS: u32 = 10_000;

// The loads range from nearly 0 to 8 samples per cell, which is far too high. With 10,000 ghosts, a share m has the
// standard deviation sqrt(m / 10000). The tolerance is 15 % of m, or four standard deviations if that is more.
#[test]
fn ghosts_are_missed_with_the_stated_probability() {
    let mut random = Random(7);
    // In windows with few ages, many contacts of a cell have the same age.
    for (ages, samples) in [
        (60, 500),
        (60, 5_000),
        (60, 10_000),
        (60, 20_000),
        (60, 60_000),
        (3, 20_000),
        (2, 20_000),
        (1, 20_000),
    ] {
        let params = params(Config { window: ages, ..config(13, 1024) });
        let cells = loaded(&params, ages, samples, &mut random);
        let counts = histogram(&params, &cells, ages);
        let histogram = AgeHistogram::new(&params, &counts, whole(&params, ages));
        let close = |stated: f64, found: f64, what: &str| {
            let tolerance = (0.15 * stated).max(4.0 * (stated / f64::from(GHOSTS)).sqrt());
            let is_close = abs_diff_eq!(stated, found, epsilon = tolerance);
            assert!(is_close, "{ages} {samples} {what}: {stated} {found}");
        };
        let even = |random: &mut Random| random.below(ages);
        for c_min in [2, 5, 10, 20] {
            let ghosts = missed_ghosts(&params, &cells, 1024, c_min, &mut random, even);
            close(histogram.miss(1024.0, c_min), ghosts, &format!("even, c_min {c_min}"));
            let ghosts = missed_ghosts(&params, &cells, 1024, c_min, &mut random, |_| ages - 1);
            close(histogram.burst_miss(1024.0, c_min), ghosts, &format!("burst, c_min {c_min}"));
        }
        let c_min = histogram.c_min();
        let from = histogram.found_from(c_min);
        if from < 4096.0 {
            let ghosts = missed_ghosts(&params, &cells, from as u32, c_min, &mut random, even);
            // The cardinality is exact to 1 %, and hosts with 5 % fewer contacts are missed twice as often.
            assert!((0.006..0.014).contains(&ghosts), "{samples} {from}: {ghosts}");
        }
    }
}

// In this test, epochs have ten slices, and the youngest and the oldest epoch are only partly in the window. Contacts
// are even over slices, not over ages.
#[test]
fn ghosts_are_missed_with_the_stated_probability_where_epochs_are_cut() {
    let all: Params = Config { window: 300, ..config(12, 1024) }.validate().unwrap();
    let params = *all.finder().cells().unwrap();
    assert_eq!(params.epoch_slices(), 10);
    let mut random = Random(11);
    for (slice, samples) in [(3000, 8_000), (3000, 16_000), (3004, 12_000), (3009, 12_000)] {
        let span = all.span(slice, 300);
        let age_of = |random: &mut Random| all.ages(slice, random.below(300)).finder;
        let cells = untouched(&params);
        for number in 0..samples {
            let age = age_of(&mut random);
            let (place, word) = sampled_touch(&params, 0x0a00_0000 + number / 3, age, &mut random);
            cells[place as usize].fetch_min(word);
        }
        let counts = histogram(&params, &cells, span.finder_ages);
        let histogram = AgeHistogram::new(&params, &counts, span);
        for c_min in [2, 4, 8] {
            let stated = histogram.miss(1024.0, c_min);
            let ghosts = missed_ghosts(&params, &cells, 1024, c_min, &mut random, age_of);
            let tolerance = (0.15 * stated).max(4.0 * (stated / f64::from(GHOSTS)).sqrt());
            let is_close = abs_diff_eq!(stated, ghosts, epsilon = tolerance);
            assert!(is_close, "{slice} {samples} {c_min}: {stated} {ghosts}");
        }
    }
}

// For θ below 64, `miss` is far above the measured share. Plans use closer bounds for misses of hosts with 2θ peers and
// for the number of hosts that compete with them. These bounds must be on the safe side.
#[test]
fn ghosts_of_small_thresholds_stay_within_the_stated_bounds() {
    let mut random = Random(13);
    for (threshold, samples) in [(8, 500), (8, 2_000), (16, 3_000), (32, 5_000), (32, 12_000)] {
        let params = params(Config { window: 30, ..config(13, threshold) });
        let cells = loaded(&params, 30, samples, &mut random);
        let counts = histogram(&params, &cells, 30);
        let histogram = AgeHistogram::new(&params, &counts, whole(&params, 30));
        let even = |random: &mut Random| random.below(30);
        for (cardinality, c_min) in [(threshold, 2), (threshold, 4), (2 * threshold, 4)] {
            let ghosts = missed_ghosts(&params, &cells, cardinality, c_min, &mut random, even);
            let bound = histogram.bound(cardinality.into(), c_min);
            let noise = 4.0 * (bound / f64::from(GHOSTS)).sqrt();
            assert!(ghosts <= bound + noise, "{threshold} {samples} {c_min}: {ghosts} {bound}");
            assert!(bound <= histogram.miss(cardinality.into(), c_min), "{threshold} {samples}");
        }
        for (cardinality, cells_asked) in [(5, 4), (7, 7), (9, 7), (12, 10), (30, 20)] {
            let missed =
                missed_ghosts(&params, &cells, cardinality, cells_asked, &mut random, even);
            let most = histogram.most_holding(cardinality.into(), cells_asked);
            let noise = 4.0 * (most * (1.0 - most) / f64::from(GHOSTS)).sqrt();
            assert!(
                1.0 - missed <= most + noise,
                "{threshold} {samples} {cardinality}: {missed} {most}"
            );
        }
    }
}
