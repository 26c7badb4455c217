//! Exact answers from a compact hash table. It uses about as few bytes per pair as a simple hash table can.
//!
//! A pair has 64 bits. A bijection maps it to a number whose high part selects a bucket, so the table stores only the
//! low part. This is quotienting (Knuth, The Art of Computer Programming, vol. 3, section 6.4, exercise 13). A slot has
//! 7 bytes:
//!
//! ```text
//! | low part of the number | 1 bit: which of two bijections | time of the last touch |
//! ```
//!
//! Each bijection assigns a pair to a bucket, which has [`PLACES`] slots. Pairs move to their other bucket to make
//! room, as in a cuckoo hash table (Dietzfelbinger and Weidling, 2007). Therefore, the table normally grows only when
//! 19 of 20 slots are in use. It then grows by a quarter.

use rustc_hash::FxHashMap;
use srlg_core::{Address, IpPair};
use srlg_traffic::synthetic::mix;

use super::exact::{PairTable, SlidingMap, table_bytes};

/// Number of slots per bucket.
const PLACES: usize = 4;

/// Number of bits per slot.
const BITS: u32 = 56;

/// Maximum number of pairs that are moved for one new pair. If this is not enough, the table grows.
const MOST_MOVES: u32 = 500;

type Place = [u8; BITS as usize / 8];

pub(crate) type CompactPairs = SlidingMap<CompactTable>;

/// A hash table that stores each pair in a slot of 7 bytes, and a map with the number of pairs per host.
pub(crate) struct CompactTable {
    layout: Layout,
    places: Vec<Place>,
    used: usize,
    /// State of the random number generator that selects the pairs to move.
    random: u64,
    cardinalities: FxHashMap<Address, u32>,
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
    /// part of a number, the bit of the bijection and a time to fit into a slot.
    fn least(window: u32) -> Self {
        // There is a time for each slice in a window, one for a slice that has left it, and 0.
        let time_bits = (window + 2).next_power_of_two().trailing_zeros();
        let rest_bits = BITS - 1 - time_bits;
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

    fn pack(self, entry: Entry) -> Place {
        let low = u64::from(entry.is_second) << self.time_bits | u64::from(entry.time);
        let [place @ .., _] = (entry.rest << (self.time_bits + 1) | low).to_le_bytes();
        place
    }

    /// Returns the entry of a slot, or `None` if the slot is not in use.
    fn unpack(self, place: Place) -> Option<Entry> {
        let mut bytes = [0; 8];
        bytes[..place.len()].copy_from_slice(&place);
        let word = u64::from_le_bytes(bytes);
        let time = word as u32 & self.period();
        let is_second = word >> self.time_bits & 1 == 1;
        (time > 0).then_some(Entry { rest: word >> (self.time_bits + 1), is_second, time })
    }

    /// Returns the bucket and the low part of a pair's number under one of the two bijections.
    fn split(self, pair: IpPair, is_second: bool) -> (usize, u64) {
        let number = forward(u64::from(pair.inside) << 32 | u64::from(pair.peer), is_second);
        ((number / self.numbers) as usize, number % self.numbers)
    }

    fn pair(self, bucket: usize, entry: Entry) -> IpPair {
        let number = bucket as u64 * self.numbers + entry.rest;
        let name = backward(number, entry.is_second);
        IpPair { inside: (name >> 32) as u32, peer: name as u32 }
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

impl CompactTable {
    /// Inserts a pair that is not in the table. If a pair is still without a slot after the maximum number of moves,
    /// returns this pair and its time.
    fn insert(&mut self, pair: IpPair, time: u32) -> Option<(IpPair, u32)> {
        let (mut pair, mut time, mut is_second) = (pair, time, false);
        for step in 0..MOST_MOVES {
            let (bucket, rest) = self.layout.split(pair, is_second);
            let places = &mut self.places[bucket * PLACES..][..PLACES];
            let entry = self.layout.pack(Entry { rest, is_second, time });
            if let Some(place) = places.iter_mut().find(|it| self.layout.unpack(**it).is_none()) {
                *place = entry;
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
            (pair, time) = (self.layout.pair(bucket, moved), moved.time);
            is_second = !moved.is_second;
        }
        Some((pair, time))
    }

    /// Moves all pairs to a table that is larger by a quarter, or by more if a pair would have no slot.
    fn grow(&mut self) {
        let former = std::mem::take(&mut self.places);
        let pairs: Vec<_> = entries(self.layout, &former).collect();
        loop {
            self.layout = self.layout.larger();
            self.places = vec![Place::default(); self.layout.buckets as usize * PLACES];
            if pairs.iter().all(|&(pair, time)| self.insert(pair, time).is_none()) {
                return;
            }
        }
    }
}

/// Returns the pairs of a table, each with the time of its last touch.
fn entries(layout: Layout, places: &[Place]) -> impl Iterator<Item = (IpPair, u32)> {
    let numbered = places.iter().enumerate();
    numbered.filter_map(move |(place, &content)| {
        let entry = layout.unpack(content)?;
        Some((layout.pair(place / PLACES, entry), entry.time))
    })
}

impl PairTable for CompactTable {
    const NAME: &str = "compact table of pairs";

    fn new(window: u32) -> Self {
        let layout = Layout::least(window);
        let places = vec![Place::default(); layout.buckets as usize * PLACES];
        Self { layout, places, used: 0, random: 0, cardinalities: FxHashMap::default() }
    }

    fn touch(&mut self, pair: IpPair, now: u32) {
        let time = self.layout.time(now);
        for is_second in [false, true] {
            let (bucket, rest) = self.layout.split(pair, is_second);
            for place in &mut self.places[bucket * PLACES..][..PLACES] {
                let same = |it: &Entry| it.rest == rest && it.is_second == is_second;
                if self.layout.unpack(*place).is_some_and(|it| same(&it)) {
                    *place = self.layout.pack(Entry { rest, is_second, time });
                    return;
                }
            }
        }
        *self.cardinalities.entry(pair.inside).or_default() += 1;
        self.used += 1;
        if self.used > self.places.len() / 20 * 19 {
            self.grow();
        }
        let mut waiting = self.insert(pair, time);
        while let Some((pair, time)) = waiting {
            self.grow();
            waiting = self.insert(pair, time);
        }
    }

    fn cardinalities(&self) -> impl Iterator<Item = (Address, u32)> {
        self.cardinalities.iter().map(|(&host, &cardinality)| (host, cardinality))
    }

    fn forget(&mut self, left: u32) {
        let (layout, left) = (self.layout, self.layout.time(left));
        for (place, content) in self.places.iter_mut().enumerate() {
            let Some(entry) = layout.unpack(*content).filter(|it| it.time == left) else {
                continue;
            };
            *content = Place::default();
            self.used -= 1;
            let host = layout.pair(place / PLACES, entry).inside;
            let cardinality = self.cardinalities.get_mut(&host).expect("the host has this pair");
            *cardinality -= 1;
            if *cardinality == 0 {
                self.cardinalities.remove(&host);
            }
        }
    }

    fn bytes(&self) -> usize {
        self.places.capacity() * size_of::<Place>()
            + table_bytes::<(Address, u32)>(self.cardinalities.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let mut table = CompactPairs::new(window, threshold);
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
            let layout = Layout::least(window).larger();
            let pair = IpPair { inside, peer };
            let (bucket, rest) = layout.split(pair, is_second);
            prop_assert!(bucket < layout.buckets as usize);
            let entry = Entry { rest, is_second, time: layout.time(window) };
            let unpacked = layout.unpack(layout.pack(entry)).unwrap();
            prop_assert!(unpacked == entry);
            prop_assert_eq!(layout.pair(bucket, unpacked), pair);
        }
    }

    #[test]
    fn a_table_grows_and_keeps_its_pairs() {
        let mut table = CompactPairs::new(1, 1);
        let least = table.memory_bytes();
        // The smallest table for windows of one slice has 2^11 buckets of 4 places.
        let hosts: Vec<_> = (1..=20).flat_map(|host| testing::pairs_of(host, 1000)).collect();
        table.ingest(&hosts);
        table.ingest(&hosts);
        assert_eq!(least, (4 << 11) * 7);
        let mut report = table.close_slice();
        report.sort_unstable_by_key(|&(host, _)| host);
        assert_eq!(report, (1..=20).map(|host| (host, 1000.0)).collect::<Vec<_>>());
        // The table grew by a quarter, so at least 19/20 of 4/5 of its places are in use. The map of hosts has 32
        // places of 8 bytes and a control byte each.
        let hosts = 32 * 9 + 16;
        assert!(table.memory_bytes() <= 20_000 * 7 * 20 / 19 * 5 / 4 + 100 + hosts);
    }
}
