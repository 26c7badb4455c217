//! Multiresolution bitmap: distinct counts from few to many in a hundred bytes.
//!
//! Estan, Varghese and Fisk, "Bitmap algorithms for counting active flows on high-speed
//! links", IEEE/ACM Transactions on Networking 14(5), 2006.
//!
//! Shape: [`Bitmap`], [`COMPONENTS`] bitmaps of 64 bits; component i takes the part
//! 2^-(i+1) of the hashes, and the last one, of 128 bits, the rest. Invariant: a set of
//! hashes has one bitmap, whatever their order and number; that of a union is the bitwise
//! or. The standard error is 10 %, up to about 350,000.

/// Bitmaps of halving shares. The paper's figure for a count C and bits b is
/// `2 + ceil(log2(C / (2.6744 b)))`: 350,000 for 13 of 64 bits.
const COMPONENTS: usize = 13;

/// Bits of a component: the paper's 0.6367 / 0.1^2 for errors of 10 %.
const BITS: f64 = 64.0;

/// Most bits of a component that is used for counting: the paper's part 0.9311 of all.
const MOST_SET: u32 = 59;

/// The words of all components; the last component has two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bitmap([u64; COMPONENTS + 1]);

impl Bitmap {
    /// Counts the element of which this is a uniform `hash`.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64) {
        let component = (hash.leading_zeros() as usize).min(COMPONENTS - 1);
        // The bit comes from the low end, far from the leading zeros.
        let second = usize::from(component == COMPONENTS - 1) & (hash >> 6) as usize;
        self.0[component + second] |= 1 << (hash & 63);
    }

    /// Makes this the bitmap of what either has counted.
    #[inline]
    pub(crate) fn merge(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    /// The number of elements counted, about.
    pub(crate) fn estimate(&self) -> f64 {
        let (singles, last) = self.0.split_at(COMPONENTS - 1);
        // The components from the base on are not too full; they have 2^-base of the elements.
        let too_full = singles.iter().rposition(|word| word.count_ones() > MOST_SET);
        let base = too_full.map_or(0, |component| component + 1);
        let sum: f64 = singles[base..].iter().map(|word| linear(word.count_zeros(), BITS)).sum();
        let zeros_of_last = last.iter().map(|word| word.count_zeros()).sum();
        (sum + linear(zeros_of_last, 2.0 * BITS)) * (1_u64 << base) as f64
    }
}

/// Linear counting: elements that leave so many of `bits` bits unset.
fn linear(zeros: u32, bits: f64) -> f64 {
    // A full bitmap is beyond its range: as if one bit were left.
    bits * (bits / f64::from(zeros.max(1))).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use srlg_traffic::synthetic::mix;

    fn of(hashes: impl IntoIterator<Item = u64>) -> Bitmap {
        let mut bitmap = Bitmap::default();
        hashes.into_iter().for_each(|hash| bitmap.insert(hash));
        bitmap
    }

    #[test]
    fn errors_are_the_published_10_percent_over_the_whole_range() {
        for count in [10, 100, 1000, 10_000, 100_000_u64] {
            let error = |run: u64| {
                let hashes = (0..count).map(|index| mix(run << 40 | index));
                of(hashes).estimate() / count as f64 - 1.0
            };
            let squares: f64 = (0..200).map(error).map(|error| error * error).sum();
            // The deviation of the root mean square of 200 errors is 1/20 of it; four of them.
            let rmse = (squares / 200.0).sqrt();
            assert!(rmse < 0.1 * 1.2, "{rmse} at {count}");
        }
    }

    proptest! {
        #[test]
        fn a_merged_bitmap_is_that_of_the_union(
            left in prop::collection::vec(any::<u64>(), 0..300),
            right in prop::collection::vec(any::<u64>(), 0..300),
        ) {
            let mut merged = of(left.iter().copied());
            merged.merge(&of(right.iter().copied()));
            prop_assert_eq!(merged, of(right.into_iter().chain(left)));
        }
    }
}
