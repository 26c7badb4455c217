//! Cells: which hosts are candidates, and which of these are super points.

use std::collections::BTreeMap;

use srlg_core::{Address, IpPair};

use super::{OWNER_KEY, PEER_KEY, PLACE_KEY, POSITION_KEY, TaggedEstimate, TaggedModel};

/// η: slots of a host.
const SLOTS: u32 = 64;

impl TaggedModel {
    /// Those of `candidates` whose estimate reaches θ, the largest first.
    ///
    /// There is no glimpse, which only spares time but for a host in some 100,000.
    #[must_use]
    pub fn super_points(&self, candidates: &[Address]) -> Vec<(Address, TaggedEstimate)> {
        let estimate = |&host| (host, self.estimate(host, self.config.window));
        let mut points: Vec<_> = candidates.iter().map(estimate).collect();
        points.retain(|(_, n)| n.cardinality >= f64::from(self.config.threshold));
        points.sort_by(|a, b| b.1.cardinality.total_cmp(&a.1.cardinality).then(a.0.cmp(&b.0)));
        points
    }

    /// Hosts that hold at least [`c_min`](Self::c_min) cells in the window, ascending.
    #[must_use]
    pub fn candidates(&self) -> Vec<Address> {
        let (ages, _) = self.span(self.config.window, self.cell_epoch);
        let mut cells: BTreeMap<Address, u32> = BTreeMap::new();
        for (place, &word) in (0..).zip(&self.cells) {
            if self.cell_age(word) < ages {
                *cells.entry(self.owner(place, word)).or_default() += 1;
            }
        }
        let c_min = self.c_min();
        cells.into_iter().filter(|&(_, count)| count >= c_min).map(|(host, _)| host).collect()
    }

    /// The largest number of cells that a host of θ has but for a probability of 1.3e-4, at least 2.
    #[must_use]
    pub fn c_min(&self) -> u32 {
        let p = self.visible();
        let chance = |cells: u32| {
            let ways =
                (0..cells).fold(1.0, |ways, i| ways * f64::from(SLOTS - i) / f64::from(i + 1));
            ways * p.powi(cells as i32) * (1.0 - p).powi((SLOTS - cells) as i32)
        };
        let below = |c_min: u32| (0..c_min).map(chance).sum::<f64>();
        (3..=SLOTS).take_while(|&c_min| below(c_min) <= 1.3e-4).last().unwrap_or(2)
    }

    /// p: the probability that a slot of a host of θ, in contact evenly over the slices of the window, is visible.
    fn visible(&self) -> f64 {
        let window = self.config.window;
        let samples = f64::from(self.config.threshold) / f64::from(SLOTS << self.tau());
        // Also of slices before slice 0, which nobody saw.
        let epoch =
            |late: u32| (self.slice as i64 - i64::from(late)).div_euclid(self.cell_epoch as i64);
        let (ages, _) = self.span(window, self.cell_epoch);
        // Share of the cells that nobody touched at a smaller age; where none is free half a cell is taken to be.
        let free = |age: usize| {
            let count = self.cells.iter().filter(|&&word| self.cell_age(word) >= age).count();
            (count as f64).max(0.5) / self.cells.len() as f64
        };
        let mut none_before = 1.0;
        let mut visible = 0.0;
        for number in 0..ages {
            let slices =
                (0..window).filter(|&late| epoch(0) - epoch(late) == number as i64).count();
            let none = libm::exp(-samples * slices as f64 / f64::from(window));
            // Of the strangers of the same age and the host each may win.
            let (before, after) = (free(number), free(number + 1));
            let won = (before - after) / libm::log(before / after);
            visible += none_before * (1.0 - none) * if before == after { before } else { won };
            none_before *= none;
        }
        visible
    }

    /// The slot of a pair; `None` where it is not sampled.
    pub(super) fn slot(&self, pair: IpPair) -> Option<u32> {
        let opposite = self.hash(pair.bip, POSITION_KEY);
        let mut hash = self.spread(pair.aip) ^ opposite;
        hash = (hash ^ (hash >> 15)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        (hash.leading_zeros() >= self.tau()).then_some(hash >> 12 & (SLOTS - 1))
    }

    /// τ: 32 samples of a host of θ, or up to twice as many.
    fn tau(&self) -> u32 {
        (self.config.threshold / 32).max(1).ilog2()
    }

    /// The cell of a pair in a slot, and its word.
    pub(super) fn cell_word(&self, pair: IpPair, slot: u32, age: u64) -> (usize, u64) {
        let image = self.config.hash.scramble(pair.aip, self.keys[OWNER_KEY]);
        let (high, low) =
            (image >> (32 - self.cell_bits), image & ((1 << (32 - self.cell_bits)) - 1));
        let name = low * SLOTS + slot;
        let place = high ^ self.shift(name);
        let peer = self.config.hash.scramble(pair.bip, self.keys[PEER_KEY]);
        let body = (u64::from(name) << 32 | u64::from(peer)) ^ self.veil(place);
        (place as usize, self.aged(age).saturating_add(body))
    }

    /// Who touched the cell number `place`, whose word is `word`.
    fn owner(&self, place: u32, word: u64) -> Address {
        let body = (word & (u64::MAX >> self.age_bits)) ^ self.veil(place);
        let name = (body >> 32) as u32;
        let image = ((place ^ self.shift(name)) << (32 - self.cell_bits)) | (name / SLOTS);
        self.config.hash.unscramble(image, self.keys[OWNER_KEY])
    }

    fn cell_age(&self, word: u64) -> usize {
        (word >> (64 - self.age_bits)) as usize
    }

    /// The word of an age, without the rest; saturated.
    pub(super) fn aged(&self, age: u64) -> u64 {
        age.saturating_mul(1 << (64 - self.age_bits))
    }

    fn shift(&self, name: u32) -> u32 {
        self.hash(name, PLACE_KEY) >> (32 - self.cell_bits)
    }

    fn veil(&self, place: u32) -> u64 {
        (u64::from(place) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.age_bits
    }
}

/// Bits of a name, of a host and a slot: at least 20.
pub(super) fn name_bits(cell_bits: u32) -> u32 {
    (32 - cell_bits + SLOTS.ilog2()).max(20)
}
