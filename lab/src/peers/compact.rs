//! Exact answers from a compact hash table. It uses about as few bytes per pair as a simple hash table can.
//!
//! A pair has 64 bits. A bijection maps it to a number whose high part selects a bucket, so the table stores only the
//! low part. This is quotienting (Knuth, The Art of Computer Programming, vol. 3, section 6.4, exercise 13). A slot has
//! [`SLOT_BYTES`] bytes:
//!
//! ```text
//! | low part of the number | 1 bit: which of two bijections | time of the last touch |
//! ```
//!
//! Each bijection assigns a pair to a bucket, which has [`PLACES`] slots. Pairs move to their other bucket to make
//! room, as in a cuckoo hash table (Dietzfelbinger and Weidling, 2007). Therefore, the table normally grows only when
//! 19 of 20 slots are in use. It then grows by a quarter. No number of peers is stored: a close counts the pairs of
//! each host in a temporary map.

use rustc_hash::FxHashMap;
use srlg_core::{Address, Ipv4Pair};
use srlg_traffic::synthetic::mix;

use super::exact::PairTable;

/// Number of slots per bucket.
const PLACES: usize = 4;

/// Number of bytes per slot of a table that is large enough for short slots.
pub(crate) const SLOT_BYTES: usize = 7;

/// Maximum number of pairs that are moved for one new pair. If this is not enough, the table grows.
const MOST_MOVES: u32 = 500;

/// A hash table that stores each pair in a slot of `BYTES` bytes. A table of short slots needs more buckets.
pub(crate) struct CompactTable<const BYTES: usize> {
    layout: Layout,
    places: Vec<[u8; BYTES]>,
    used: usize,
    /// State of the random number generator that selects the pairs to move.
    random: u64,
}

/// A pair without a slot, and the time of its last touch.
#[derive(Clone, Copy)]
pub(super) struct Homeless {
    pub(super) pair: Ipv4Pair,
    time: u32,
}

/// The split of a pair's number into the index of a bucket and a low part, which is stored in a slot.
#[derive(Clone, Copy)]
struct Layout {
    buckets: u64,
    /// Number of 64-bit values per bucket, rounded up so that the buckets cover all values.
    numbers: u64,
    time_bits: u32,
}

/// The content of a slot that is in use.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    rest: u64,
    is_second: bool,
    /// Time of the last touch, from 1 to [`Layout::period`]. The value 0 marks a slot that is not in use.
    time: u32,
}

impl Layout {
    /// Creates the layout of the smallest table for windows of `window` slices. It has just enough buckets for the low
    /// part of a number, the bit of the bijection and a time to fit into a slot of `bytes` bytes.
    fn least(window: u32, bytes: usize) -> Self {
        // There is a time for each slice in a window, one for a slice that has left it, and 0.
        let time_bits = (window + 2).next_power_of_two().trailing_zeros();
        let rest_bits = 8 * bytes as u32 - 1 - time_bits;
        Self::new(1 << (64 - rest_bits), time_bits)
    }

    fn new(buckets: u64, time_bits: u32) -> Self {
        Self { buckets, numbers: u64::MAX / buckets + 1, time_bits }
    }

    fn larger(self) -> Self {
        Self::new(self.buckets + self.buckets / 4, self.time_bits)
    }

    const fn period(self) -> u32 {
        (1 << self.time_bits) - 1
    }

    const fn time(self, slice: u32) -> u32 {
        slice % self.period() + 1
    }

    fn pack<const BYTES: usize>(self, entry: Entry) -> [u8; BYTES] {
        let low = u64::from(entry.is_second) << self.time_bits | u64::from(entry.time);
        let word = (entry.rest << (self.time_bits + 1) | low).to_le_bytes();
        std::array::from_fn(|byte| word[byte])
    }

    /// Returns the entry of a slot, or `None` if the slot is not in use.
    fn unpack<const BYTES: usize>(self, place: [u8; BYTES]) -> Option<Entry> {
        let mut bytes = [0; 8];
        bytes[..place.len()].copy_from_slice(&place);
        let word = u64::from_le_bytes(bytes);
        let time = word as u32 & self.period();
        let is_second = word >> self.time_bits & 1 == 1;
        (time > 0).then_some(Entry { rest: word >> (self.time_bits + 1), is_second, time })
    }

    /// Returns the bucket and the low part of a pair's number under one of the two bijections.
    fn split(self, pair: Ipv4Pair, is_second: bool) -> (usize, u64) {
        let number = forward(u64::from(pair.inside) << 32 | u64::from(pair.peer), is_second);
        ((number / self.numbers) as usize, number % self.numbers)
    }

    fn pair(self, bucket: usize, entry: Entry) -> Ipv4Pair {
        let number = bucket as u64 * self.numbers + entry.rest;
        let name = backward(number, entry.is_second);
        Ipv4Pair { inside: (name >> 32) as u32, peer: name as u32 }
    }
}

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
const INVERSE: u64 = inverse(ODD);

/// Returns the multiplicative inverse of the odd `number` modulo 2^64.
const fn inverse(number: u64) -> u64 {
    // Newton's iteration doubles the number of correct bits. An odd number is its own inverse modulo 8.
    let (mut inverse, mut bits) = (number, 3);
    while bits < 64 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(number.wrapping_mul(inverse)));
        bits *= 2;
    }
    inverse
}

const fn difference(is_second: bool) -> u64 {
    if is_second { 0xD1B5_4A32_D192_ED03 } else { 0x8CB9_2BA7_2F3D_8DD7 }
}

/// Applies a bijection on 64 bits, which consists of multiplications and xor-shifts.
const fn forward(name: u64, is_second: bool) -> u64 {
    let mut it = (name ^ difference(is_second)).wrapping_mul(ODD);
    it = (it ^ it >> 32).wrapping_mul(ODD);
    it = (it ^ it >> 32).wrapping_mul(ODD);
    it ^ it >> 32
}

/// Applies the inverse of [`forward`].
const fn backward(number: u64, is_second: bool) -> u64 {
    let mut it = (number ^ number >> 32).wrapping_mul(INVERSE);
    it = (it ^ it >> 32).wrapping_mul(INVERSE);
    it = (it ^ it >> 32).wrapping_mul(INVERSE);
    it ^ difference(is_second)
}

impl<const BYTES: usize> CompactTable<BYTES> {
    /// Creates the smallest table for windows of `window` slices.
    pub(crate) fn least(window: u32) -> Self {
        Self::of(Layout::least(window, BYTES))
    }

    /// Creates a table of at most `bytes` bytes, or returns `None` if the smallest table is larger.
    pub(super) fn with_memory(window: u32, bytes: usize) -> Option<Self> {
        let Layout { buckets: least, time_bits, .. } = Layout::least(window, BYTES);
        let buckets = (bytes / (PLACES * BYTES)) as u64;
        (buckets >= least).then(|| Self::of(Layout::new(buckets, time_bits)))
    }

    fn of(layout: Layout) -> Self {
        let places = vec![[0; BYTES]; layout.buckets as usize * PLACES];
        Self { layout, places, used: 0, random: 0 }
    }

    /// Returns whether the table is nearly full, so that further pairs would have to move many others.
    pub(super) fn is_full(&self) -> bool {
        self.used >= self.places.len() / 20 * 19
    }

    /// Records a touch of `pair` in the slice `now`. If the table does not have the pair, returns the pair.
    pub(super) fn refresh(&mut self, pair: Ipv4Pair, now: u32) -> Option<Homeless> {
        let time = self.layout.time(now);
        for is_second in [false, true] {
            let (bucket, rest) = self.layout.split(pair, is_second);
            for place in &mut self.places[bucket * PLACES..][..PLACES] {
                let same = |it: &Entry| it.rest == rest && it.is_second == is_second;
                if self.layout.unpack(*place).is_some_and(|it| same(&it)) {
                    *place = self.layout.pack(Entry { rest, is_second, time });
                    return None;
                }
            }
        }
        Some(Homeless { pair, time })
    }

    /// Inserts a pair that is not in the table. If a pair is still without a slot after the maximum number of moves,
    /// returns this pair.
    pub(super) fn insert(&mut self, new: Homeless) -> Option<Homeless> {
        let (mut homeless, mut is_second) = (new, false);
        for step in 0..MOST_MOVES {
            let (bucket, rest) = self.layout.split(homeless.pair, is_second);
            let places = &mut self.places[bucket * PLACES..][..PLACES];
            let entry = self.layout.pack(Entry { rest, is_second, time: homeless.time });
            if let Some(place) = places.iter_mut().find(|it| self.layout.unpack(**it).is_none()) {
                *place = entry;
                self.used += 1;
                return None;
            }
            if step == 0 {
                // The other bucket may have a free slot, so it is tried before any pair is moved.
                is_second = true;
                continue;
            }
            self.random = mix(self.random);
            let moved = std::mem::replace(&mut places[self.random as usize % PLACES], entry);
            let moved = self.layout.unpack(moved).expect("all slots of the bucket are in use");
            homeless = Homeless { pair: self.layout.pair(bucket, moved), time: moved.time };
            is_second = !moved.is_second;
        }
        Some(homeless)
    }

    /// Moves all pairs to a table that is larger by a quarter, or by more if a pair would have no slot.
    fn grow(&mut self) {
        let pairs: Vec<_> = self.entries().collect();
        loop {
            *self = Self { random: self.random, ..Self::of(self.layout.larger()) };
            if pairs.iter().all(|&pair| self.insert(pair).is_none()) {
                return;
            }
        }
    }

    fn entries(&self) -> impl Iterator<Item = Homeless> {
        let Self { layout, ref places, .. } = *self;
        let numbered = places.iter().enumerate();
        numbered.filter_map(move |(place, &content)| {
            let entry = layout.unpack(content)?;
            Some(Homeless { pair: layout.pair(place / PLACES, entry), time: entry.time })
        })
    }

    /// Removes all pairs for which `keeps` is false.
    pub(super) fn retain(&mut self, keeps: impl Fn(Ipv4Pair) -> bool) {
        let layout = self.layout;
        self.retain_entries(|bucket, entry| keeps(layout.pair(bucket, entry)));
    }

    fn retain_entries(&mut self, keeps: impl Fn(usize, Entry) -> bool) {
        for (place, content) in self.places.iter_mut().enumerate() {
            if self.layout.unpack(*content).is_some_and(|entry| !keeps(place / PLACES, entry)) {
                *content = [0; BYTES];
                self.used -= 1;
            }
        }
    }

    /// Returns the number of pairs of each host.
    pub(super) fn counts(&self) -> FxHashMap<Address, u32> {
        let mut counts = FxHashMap::default();
        for Homeless { pair, .. } in self.entries() {
            *counts.entry(pair.inside).or_default() += 1;
        }
        counts
    }
}

impl<const BYTES: usize> PairTable for CompactTable<BYTES> {
    fn name(&self) -> String {
        "compact table of pairs".to_owned()
    }

    fn touch(&mut self, pair: Ipv4Pair, now: u32) {
        let Some(mut homeless) = self.refresh(pair, now) else { return };
        if self.is_full() {
            self.grow();
        }
        while let Some(other) = self.insert(homeless) {
            self.grow();
            homeless = other;
        }
    }

    fn cardinalities(&self) -> impl Iterator<Item = (Address, f64)> {
        self.counts().into_iter().map(|(host, count)| (host, count.into()))
    }

    fn forget(&mut self, left: u32) {
        let left = self.layout.time(left);
        self.retain_entries(|_, entry| entry.time != left);
    }

    fn bytes(&self) -> usize {
        size_of_val(self.places.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::exact::SlidingMap;
    use crate::peers::testing;
    use crate::system::System;
    use proptest::prelude::*;

    proptest! {
        // A sweep of the smallest table takes a millisecond, so the number of cases is small.
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn a_compact_table_matches_the_oracle(
            window in 1..6_u32,
            threshold in 1..4_u32,
            slices in testing::slices(),
        ) {
            let truth = testing::true_reports(window, threshold, &slices);
            let table = CompactTable::<SLOT_BYTES>::least(window);
            let mut table = SlidingMap::new(window, threshold, table);
            prop_assert_eq!(testing::reports(&mut table, &slices), truth);
        }
    }

    proptest! {
        #[test]
        fn numbers_turn_back_into_names(name: u64, is_second: bool) {
            prop_assert_eq!(backward(forward(name, is_second), is_second), name);
        }

        #[test]
        fn places_hold_pairs(inside: u32, peer: u32, is_second: bool, window in 1..2000_u32) {
            let layout = Layout::least(window, SLOT_BYTES).larger();
            let pair = Ipv4Pair { inside, peer };
            let (bucket, rest) = layout.split(pair, is_second);
            prop_assert!(bucket < layout.buckets as usize);
            let entry = Entry { rest, is_second, time: layout.time(window) };
            let unpacked = layout.unpack(layout.pack::<SLOT_BYTES>(entry)).unwrap();
            prop_assert!(unpacked == entry);
            prop_assert_eq!(layout.pair(bucket, unpacked), pair);
        }
    }

    #[test]
    fn a_table_grows_and_keeps_its_pairs() {
        let mut table = SlidingMap::new(1, 1, CompactTable::<SLOT_BYTES>::least(1));
        let least = table.memory_bytes();
        // The smallest table for windows of one slice has 2^11 buckets of 4 places.
        let hosts: Vec<_> = (1..=20).flat_map(|host| testing::pairs_of(host, 1000)).collect();
        table.ingest(&hosts);
        table.ingest(&hosts);
        assert_eq!(least, (4 << 11) * 7);
        let mut report = table.close_slice();
        report.sort_unstable_by_key(|&(host, _)| host);
        assert_eq!(report, (1..=20).map(|host| (host, 1000.0)).collect::<Vec<_>>());
        // The table grew by a quarter, so at least 19/20 of 4/5 of its places are in use.
        assert!(table.memory_bytes() <= 20_000 * 7 * 20 / 19 * 5 / 4 + 100);
    }
}
