//! RGS-Sketch, the most accurate published sketch in less than a megabyte, for windows that do not slide.
//!
//! Zhang, Huang, Sun and Gao, "RGS-Sketch: An Accurate, Invertible, and Mergeable Sketch for Online Super Spreader Detection
//! in High-speed Data Streams", PVLDB 18(4), 2024.
//!
//! All hosts share groups of [`REGISTERS`] registers of HyperLogLog; a host has [`GROUPS_OF_HOST`] of them. A pair that raises
//! a register of its group adds the reciprocal of the chance that a new pair does so to the count of its host. Hosts and
//! counts are in buckets of [`CELLS`] cells. Where a bucket is full, a pair may replace the host of the least count, as in
//! the Space-Saving algorithm, with the reciprocal of that count as chance; if it does not, its register stays as it is.
//!
//! Counts cannot go down, so the sketch starts anew every window.

use srlg_core::hash::reduce;
use srlg_core::{Address, IpPair};
use srlg_traffic::synthetic::mix;

use crate::system::System;

/// Registers of a group, of 5 bits each, as in the paper.
const REGISTERS: u32 = 8;

/// Highest value of a register, as in the authors' program.
const HIGHEST: u32 = 25;

/// Groups of a host, as in the paper.
const GROUPS_OF_HOST: u32 = 32;

/// Cells of a bucket, as in the paper.
const CELLS: usize = 8;

/// Share of the memory for buckets, as in the paper: 7 of 20.
const BUCKET_SHARE: (usize, usize) = (7, 20);

/// Registers of a group, the first one in the lowest bits.
type Group = [u8; 5];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    host: Address,
    /// Estimated peers; 0 marks a free cell.
    count: u32,
}

/// A sketch of the pairs since the last start, which is the start of a window.
pub(crate) struct RgsSketch {
    window: u32,
    threshold: u32,
    seed: u64,
    /// Slices closed since the last start.
    closed: u32,
    groups: Vec<Group>,
    buckets: Vec<[Cell; CELLS]>,
}

impl RgsSketch {
    /// An empty sketch of at most `memory_bytes`, for windows of `window` slices and super points of at least `threshold`
    /// peers.
    ///
    /// # Panics
    /// If the memory is too small for a bucket and for the groups of a host.
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

    fn touch(&mut self, pair: IpPair) {
        let of_host = mix(self.seed ^ u64::from(pair.inside));
        let of_pair = mix(of_host ^ u64::from(pair.opposite));
        let level = (1 + of_pair.leading_zeros()).min(HIGHEST);
        // Far from the leading zeros.
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

/// The pairs that one raise of a register of this group stands for: the reciprocal of the chance that a new pair of the
/// group raises one. A register of the highest value is never raised.
fn gain(registers: u64) -> f64 {
    let values = (0..REGISTERS).map(|register| value(registers, register));
    let chances = values.filter(|&value| value < HIGHEST).map(|value| 0.5_f64.powi(value as i32));
    f64::from(REGISTERS) / chances.sum::<f64>()
}

/// Adds `gain` to the count of `host`, or lets it replace the host of the least count. Returns whether either was done.
/// `chance` is uniform, and a part of it is used for each of two choices.
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

    fn ingest(&mut self, pairs: &[IpPair]) {
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
    fn a_raise_stands_for_as_many_pairs_as_came_on_average_since_the_last_one() {
        // An empty group is raised by every pair, one of registers of 1 by every second.
        assert_eq!(gain(0).to_bits(), 1_f64.to_bits());
        let ones = (0..REGISTERS).fold(0, |word, register| word | 1 << (5 * register));
        assert_eq!(gain(ones).to_bits(), 2_f64.to_bits());
        // Half of the registers at their highest: they are raised by none.
        let half = (0..4).fold(ones, |word, register| {
            word & !(0x1F << (5 * register)) | u64::from(HIGHEST) << (5 * register)
        });
        assert_eq!(gain(half).to_bits(), 4_f64.to_bits());
    }

    #[test]
    fn errors_of_hosts_that_share_little_are_those_of_martingales() {
        // 40 hosts have 1,280 of 260,000 groups. A count of changes of 256 registers of HyperLogLog has an error of
        // 0.833 / sqrt(256) = 5.2 % (Ting, KDD 2014). The deviation of the root mean square of 40 errors is 1/9 of it; four
        // of them.
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
        // The chance of the ninth host is one in ten.
        assert!(!count(&mut bucket, 77, 1.0, u64::MAX / 10 * 9));
        assert!(count(&mut bucket, 77, 1.0, u64::MAX / 11));
        assert_eq!(bucket[0], Cell { host: 77, count: 10 });
    }

    #[test]
    fn a_window_starts_anew_after_its_slices() {
        let mut sketch = RgsSketch::new(3, 1, 100_000, 1);
        let counts = (1..=7).map(|slice| {
            sketch.ingest(&[IpPair { inside: 1, opposite: slice }]);
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
