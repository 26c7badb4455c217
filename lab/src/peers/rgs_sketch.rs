//! RGS-Sketch, a sketch for windows that do not slide. With less than a megabyte of memory, it is the most accurate
//! published sketch.
//!
//! Zhang, Huang, Sun and Gao, "RGS-Sketch: An Accurate, Invertible, and Mergeable Sketch for Online Super Spreader
//! Detection in High-speed Data Streams", PVLDB 18(4), 2024.
//!
//! All hosts share groups of [`REGISTERS`] HyperLogLog registers, and each host uses [`GROUPS_OF_HOST`] of the groups.
//! A pair that increases a register of its group adds to the count of its host. The added amount is the reciprocal of
//! the probability that a new pair of the group increases a register. Hosts and counts are stored in buckets of
//! [`CELLS`] cells. In a full bucket, the host of the pair may replace the host with the smallest count c, as in the
//! Space-Saving algorithm. The probability of a replacement is 1 / (c + 1). If the host of the pair is not stored, the
//! register keeps its value.
//!
//! Counts cannot decrease, so the sketch restarts after every window.

use srlg_core::hash::reduce;
use srlg_core::{Address, Ipv4Pair};
use srlg_traffic::synthetic::mix;

use crate::system::System;

/// Number of registers in a group, as in the paper. A register has 5 bits.
const REGISTERS: u32 = 8;

/// Maximum value of a register, as in the authors' program.
const HIGHEST: u32 = 25;

/// Number of groups that a host uses, as in the paper.
const GROUPS_OF_HOST: u32 = 32;

/// Number of cells in a bucket, as in the paper.
const CELLS: usize = 8;

/// Share of the memory that buckets use, as in the paper: 7/20.
const BUCKET_SHARE: (usize, usize) = (7, 20);

/// Registers of a group. The first register is in the lowest bits.
type Group = [u8; 5];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    host: Address,
    /// Estimated number of peers. The value 0 marks a free cell.
    count: u32,
}

/// A sketch of all pairs since its last restart. It restarts after every window.
pub(crate) struct RgsSketch {
    window: u32,
    threshold: u32,
    seed: u64,
    /// Number of slices closed since the last restart.
    closed: u32,
    groups: Vec<Group>,
    buckets: Vec<[Cell; CELLS]>,
}

impl RgsSketch {
    /// Creates an empty sketch of at most `memory_bytes`.
    ///
    /// # Panics
    ///
    /// Panics if the memory is too small for a bucket and the groups of a host.
    pub(crate) fn new(window: u32, threshold: u32, memory_bytes: usize, seed: u64) -> Self {
        let (part, whole) = BUCKET_SHARE;
        let buckets = memory_bytes * part / whole / size_of::<[Cell; CELLS]>();
        let groups = (memory_bytes - buckets * size_of::<[Cell; CELLS]>()) / size_of::<Group>();
        assert!(
            buckets > 0 && groups >= GROUPS_OF_HOST as usize,
            "{memory_bytes} bytes are too few for a sketch"
        );
        let (groups, buckets) = (vec![Group::default(); groups], vec![Default::default(); buckets]);
        Self { window, threshold, seed, closed: 0, groups, buckets }
    }

    fn touch(&mut self, pair: Ipv4Pair) {
        let of_host = mix(self.seed ^ u64::from(pair.inside));
        let of_pair = mix(of_host ^ u64::from(pair.peer));
        let level = (1 + of_pair.leading_zeros()).min(HIGHEST);
        // The low bits are independent of the number of leading zeros.
        let register = of_pair as u32 % REGISTERS;
        let place = of_pair / u64::from(REGISTERS) % u64::from(GROUPS_OF_HOST);
        let group = reduce(mix(of_host ^ (1 << 32 | place)) as u32, self.groups.len() as u32);
        let registers = word(self.groups[group as usize]);
        if level <= value(registers, register) {
            return;
        }
        let bucket = reduce(of_host as u32, self.buckets.len() as u32);
        let chance = mix(of_pair);
        if count(&mut self.buckets[bucket as usize], pair.inside, gain(registers), chance) {
            let others = registers & !(0x1F << (5 * register));
            let [raised @ .., _, _, _] =
                (others | u64::from(level) << (5 * register)).to_le_bytes();
            self.groups[group as usize] = raised;
        }
    }
}

fn word(group: Group) -> u64 {
    let [a, b, c, d, e] = group;
    u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
}

const fn value(registers: u64, register: u32) -> u32 {
    (registers >> (5 * register)) as u32 & 0x1F
}

/// Returns how many pairs one register increase represents: the reciprocal of the probability that a new pair of the
/// group increases a register. A register with the maximum value cannot increase.
fn gain(registers: u64) -> f64 {
    let values = (0..REGISTERS).map(|register| value(registers, register));
    let chances = values.filter(|&value| value < HIGHEST).map(|value| 0.5_f64.powi(value as i32));
    f64::from(REGISTERS) / chances.sum::<f64>()
}

/// Adds `gain` to the count of `host`. If the bucket is full of other hosts, `host` may replace the host with the
/// smallest count. Returns whether the bucket changed. `chance` is a uniform random number. Its low half decides how
/// `gain` is rounded, and its high half decides whether a host is replaced.
fn count(bucket: &mut [Cell; CELLS], host: Address, gain: f64, chance: u64) -> bool {
    let (high, low) = (chance >> 32, chance as u32);
    let fraction = f64::from(low) / 2_f64.powi(32);
    let gain = gain.floor() as u32 + u32::from(fraction < gain.fract());
    if let Some(cell) = bucket.iter_mut().find(|it| it.count > 0 && it.host == host) {
        cell.count = cell.count.saturating_add(gain);
        return true;
    }
    let least = bucket.iter_mut().min_by_key(|it| it.count).expect("a bucket has cells");
    if least.count == 0 {
        *least = Cell { host, count: gain };
        return true;
    }
    let is_replaced = high * (u64::from(least.count) + 1) < 1 << 32;
    if is_replaced {
        *least = Cell { host, count: least.count.saturating_add(1) };
    }
    is_replaced
}

impl System for RgsSketch {
    fn name(&self) -> String {
        format!("RGS-Sketch, {:.1} MB", self.memory_bytes() as f64 / 1e6)
    }

    fn ingest(&mut self, pairs: &[Ipv4Pair]) {
        pairs.iter().for_each(|&pair| self.touch(pair));
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        let cells = self.buckets.iter().flatten();
        let points = cells.filter(|it| it.count >= self.threshold);
        let points = points.map(|it| (it.host, it.count.into())).collect();
        self.skip_slice();
        points
    }

    fn skip_slice(&mut self) {
        self.closed += 1;
        if self.closed >= self.window {
            self.closed = 0;
            self.groups.fill(Group::default());
            self.buckets.fill(Default::default());
        }
    }

    fn memory_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Group>()
            + self.buckets.capacity() * size_of::<[Cell; CELLS]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::testing;

    #[test]
    fn a_raised_age_stands_for_the_average_number_of_pairs_since_the_last_one() {
        // Every pair increases a register of an empty group. If all registers are 1, every second pair does.
        assert_eq!(gain(0).to_bits(), 1_f64.to_bits());
        let ones = (0..REGISTERS).fold(0, |word, register| word | 1 << (5 * register));
        assert_eq!(gain(ones).to_bits(), 2_f64.to_bits());
        // Half of the registers have the maximum value, so they cannot increase.
        let half = (0..4).fold(ones, |word, register| {
            word & !(0x1F << (5 * register)) | u64::from(HIGHEST) << (5 * register)
        });
        assert_eq!(gain(half).to_bits(), 4_f64.to_bits());
    }

    #[test]
    fn errors_of_hosts_that_share_little_are_those_of_martingales() {
        // 40 hosts use 1,280 of 260,000 groups. Counting the changes of 256 HyperLogLog registers has an error of 0.833
        // / sqrt(256) = 5.2 % (Ting, KDD 2014). The standard deviation of the root mean square of 40 errors is 1/9 of
        // this error. The bound is four standard deviations.
        let rmse = testing::rmse(RgsSketch::new(1, 512, 2_000_000, 1), 40);
        assert!(rmse < 0.833 / 16.0 * (1.0 + 4.0 / 9.0), "{rmse}");
    }

    #[test]
    fn a_repeated_pair_changes_nothing() {
        let mut sketch = RgsSketch::new(1, 1, 100_000, 1);
        let pairs = testing::pairs_of(1, 500);
        sketch.ingest(&pairs);
        let (groups, buckets) = (sketch.groups.clone(), sketch.buckets.clone());
        sketch.ingest(&pairs);
        assert_eq!((sketch.groups, sketch.buckets), (groups, buckets));
    }

    #[test]
    fn a_full_bucket_keeps_its_counts_unless_the_least_is_replaced() {
        let mut bucket = [Cell::default(); CELLS];
        for host in 0..CELLS as Address {
            assert!(count(&mut bucket, host, 9.0 + f64::from(host), 0));
        }
        // The ninth host replaces a host with a probability of one in ten.
        assert!(!count(&mut bucket, 77, 1.0, u64::MAX / 10 * 9));
        assert!(count(&mut bucket, 77, 1.0, u64::MAX / 11));
        assert_eq!(bucket[0], Cell { host: 77, count: 10 });
    }

    #[test]
    fn a_window_restarts_after_its_slices() {
        let mut sketch = RgsSketch::new(3, 1, 100_000, 1);
        let counts = (1..=7).map(|slice| {
            sketch.ingest(&[Ipv4Pair { inside: 1, peer: slice }]);
            sketch.close_slice()[0].1.round()
        });
        assert!(counts.eq([1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0]));
    }

    #[test]
    fn memory_is_at_most_the_given_one_and_at_most_a_group_less() {
        for given in [100_000, 500_000, 31_600_000] {
            let held = RgsSketch::new(1, 1024, given, 1).memory_bytes();
            assert!((given - size_of::<Group>()..=given).contains(&held), "{held}");
        }
    }

    #[test]
    #[should_panic(expected = "100 bytes")]
    fn memory_for_less_than_a_host_is_refused() {
        let _ = RgsSketch::new(300, 1024, 100, 1);
    }
}
