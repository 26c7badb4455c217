//! Which hosts are candidates, and which of these are super points.

use srlg_core::Address;
use srlg_core::hash::reduce;

use super::{HIGH_KEY, LOW_KEY, OPPOSITE_KEY, TaggedEstimate, TaggedModel};

impl TaggedModel {
    /// Those of `candidates` whose estimate reaches θ, the largest first.
    ///
    /// There is no glimpse, which only spares time.
    #[must_use]
    pub fn super_points(&self, candidates: &[Address]) -> Vec<(Address, TaggedEstimate)> {
        let estimate = |&host| (host, self.estimate(host, self.config.window));
        let mut points: Vec<_> = candidates.iter().map(estimate).collect();
        points.retain(|(_, n)| n.cardinality >= f64::from(self.config.threshold));
        points.sort_by(|a, b| b.1.cardinality.total_cmp(&a.1.cardinality).then(a.0.cmp(&b.0)));
        points
    }

    /// Hosts whose union estimator USRE is hot in the window, ascending.
    ///
    /// Tries every address whose columns in rows 0 and 1 are hot. These two columns spell its low
    /// q bits; all values of the others are tried.
    #[must_use]
    pub fn candidates(&self) -> Vec<Address> {
        let q = self.config.rough_column_bits;
        let high_entries: Vec<u32> =
            (0..1 << (Address::BITS - q)).map(|high| self.high_entry(high)).collect();
        let [bases, columns] = [0, 1].map(|row| self.hot_columns(row));
        let mut hosts = Vec::new();
        for &base in &bases {
            for &column in &columns {
                let low = base ^ column;
                let low_entry = self.low_entry(low);
                for (high, high_entry) in (0u32..).zip(&high_entries) {
                    let host = high << q | low;
                    if low_entry ^ high_entry == base && self.is_hot(self.union_mask(host)) {
                        hosts.push(host);
                    }
                }
            }
        }
        hosts.sort_unstable();
        hosts
    }

    /// USRE: bit i says that slot i is in the window in every row of `host`.
    fn union_mask(&self, host: Address) -> u32 {
        let rows = 0..self.config.rough_rows;
        rows.fold(u32::MAX, |mask, row| mask & self.mask(row, self.column(row, host)))
    }

    fn hot_columns(&self, row: u32) -> Vec<u32> {
        let columns = 0..1 << self.config.rough_column_bits;
        columns.filter(|&column| self.is_hot(self.mask(row, column))).collect()
    }

    /// Bit i says that slot i of a rough estimator is in the window.
    fn mask(&self, row: u32, column: u32) -> u32 {
        let (ages, _) = self.span(self.config.window, self.rough_epoch);
        let width = self.config.rough_width;
        let age = |slot: u32| self.rsra[row as usize][(column * width + slot) as usize];
        (0..width).fold(0, |mask, slot| mask | u32::from(usize::from(age(slot)) < ages) << slot)
    }

    /// Whether `ceil(ρη)` slots are in the window, ρ being 0.99(1 - e^(-1/3)).
    fn is_hot(&self, mask: u32) -> bool {
        let rho = 0.99 * (1.0 - libm::exp(-1.0 / 3.0));
        f64::from(mask.count_ones()) >= libm::ceil(rho * f64::from(self.config.rough_width))
    }

    /// The recorder of a rough estimator that `bip` touches, if it is sampled: one opposite host
    /// in `2^τ` is, and `η · 2^τ` reaches θ without oversampling.
    pub(super) fn slot(&self, bip: Address) -> Option<u32> {
        let (hash, width) = (self.hash(bip, OPPOSITE_KEY), self.config.rough_width);
        let mut tau = 0u32;
        while u64::from(width) << tau < self.config.threshold.into() {
            tau += 1;
        }
        let is_sampled = hash.trailing_zeros() >= tau.saturating_sub(self.config.oversampling_bits);
        is_sampled.then(|| reduce(hash, width))
    }

    /// `RHFG[row](aip)`: two tables for row 0; in the others q bits of the address on top.
    pub(super) fn column(&self, row: u32, aip: Address) -> u32 {
        let q = self.config.rough_column_bits;
        let base = self.low_entry(aip % (1 << q)) ^ self.high_entry(aip >> q);
        if row == 0 {
            return base;
        }
        let bits = aip.checked_shr((row - 1) * self.config.bit_stride).unwrap_or(0);
        base ^ (bits % (1 << q))
    }

    /// T0, a table of q bits.
    fn low_entry(&self, low: u32) -> u32 {
        self.hash(low, LOW_KEY) >> (u32::BITS - self.config.rough_column_bits)
    }

    /// T1, a table of q bits.
    fn high_entry(&self, high: u32) -> u32 {
        self.hash(high, HIGH_KEY) >> (u32::BITS - self.config.rough_column_bits)
    }
}
