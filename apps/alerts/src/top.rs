//! Most frequent keys of a stream, counted in fixed memory.
//!
//! The method is Space-Saving (Metwally, Agrawal, El Abbadi 2005): if the table is full, a new key replaces the least
//! frequent key and takes over its count. The count of a key can be too high, but by no more than the count that the
//! key took over. Keys whose counts may consist mostly of such errors are noise, which is never returned.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "K: Deserialize<'de>"))]
pub(crate) struct Top<K, const N: usize> {
    #[serde(deserialize_with = "at_most::<N, _, _>")]
    counts: Vec<(K, u64)>,
    all: u64,
}

impl<K: PartialEq + Copy, const N: usize> Top<K, N> {
    pub(crate) const fn new() -> Self {
        Self { counts: Vec::new(), all: 0 }
    }

    pub(crate) fn add(&mut self, key: K) {
        self.all += 1;
        if let Some((_, count)) = self.counts.iter_mut().find(|(of, _)| *of == key) {
            *count += 1;
        } else if self.counts.len() < N {
            self.counts.push((key, 1));
        } else if let Some(least) = self.counts.iter_mut().min_by_key(|(_, count)| *count) {
            *least = (key, least.1 + 1);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.all = self.all.saturating_add(other.all);
        for (key, count) in &other.counts {
            match self.counts.iter_mut().find(|(of, _)| of == key) {
                Some((_, sum)) => *sum = sum.saturating_add(*count),
                None => self.counts.push((*key, *count)),
            }
        }
        self.counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        self.counts.truncate(N);
    }

    /// Halves all counts. Keys stay in the table, because their errors do.
    pub(crate) fn halve(&mut self) {
        self.all /= 2;
        self.counts.iter_mut().for_each(|(_, count)| *count /= 2);
    }

    /// Returns up to `most` keys and their shares of all occurrences, the most frequent key first. A key is left out
    /// if its count may be too high by half of it or more.
    pub(crate) fn shares(&self, most: usize) -> Vec<(K, f64)> {
        let mut counts = self.counts.clone();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let error = self.largest_error(&counts);
        let share = |count: u64| (count as f64 / self.all as f64).min(1.0);
        let certain = counts.into_iter().filter(|(_, count)| *count as f64 > 2.0 * error);
        certain.take(most).map(|(key, count)| (key, share(count))).collect()
    }

    /// Returns a bound of the errors of `counts`, which are sorted in descending order. If the table has never been
    /// full, all counts are exact.
    ///
    /// In a stream of n occurrences, the least of N counts is at most (n - f) / (N - k), where f is the number of
    /// occurrences of any k keys (Berinde, Cormode, Indyk, Strauss 2009). The sum of these errors over merged streams
    /// has the same bound. The counts of the k keys exceed f by at most k errors e, so f is at least their sum s minus
    /// k e. Solved for e, this gives e <= (n - s) / (N - 2 k).
    fn largest_error(&self, counts: &[(K, u64)]) -> f64 {
        if counts.len() < N {
            return 0.0;
        }
        let bound = |(k, rest): (usize, u64)| rest as f64 / (N - 2 * k) as f64;
        let rests = counts.iter().scan(self.all, |rest, (_, count)| {
            let before = *rest;
            *rest = rest.saturating_sub(*count);
            Some(before)
        });
        rests.enumerate().take(N.div_ceil(2)).map(bound).fold(f64::INFINITY, f64::min)
    }
}

/// Deserialises a list, which is rejected if it has more than `MOST` items.
pub fn at_most<'de, const MOST: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let list = Vec::deserialize(deserializer)?;
    if list.len() > MOST {
        return Err(D::Error::invalid_length(list.len(), &format!("at most {MOST}").as_str()));
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::Top;

    /// Returns the counts of `occurrences` keys: every key in `common` has the share 1 / `one_in`, and all other keys
    /// occur once.
    fn counted(common: &[u32], one_in: u32, occurrences: u32) -> Top<u32, 16> {
        let mut top = Top::new();
        for at in 0..occurrences {
            top.add(common.get((at % one_in) as usize).copied().unwrap_or(1_000 + at));
        }
        top
    }

    #[test]
    fn frequent_keys_are_kept_and_rare_ones_pass() {
        let mut top = counted(&[7], 2, 1_000);
        assert_eq!(top.shares(8), [(7, 0.5)]);
        assert_eq!(top.counts.len(), 16);
        let mut other = Top::<u32, 16>::new();
        (0..1_000).for_each(|_| other.add(9));
        top.merge(&other);
        assert_eq!(top.shares(8), [(9, 0.5), (7, 0.25)]);
        assert_eq!(top.counts.len(), 16);
    }

    #[test]
    fn rare_keys_are_never_returned() {
        for occurrences in [16, 17, 1_000, 100_000] {
            assert_eq!(counted(&[], 1, occurrences).shares(8), [], "{occurrences}");
            // Threads count parts of a stream, whose counts are merged after each slice.
            let mut merged = Top::<u32, 16>::new();
            (0..50).for_each(|part| merged.merge(&counted(&[part], 1_000, occurrences)));
            assert_eq!(merged.shares(8), [], "{occurrences}");
        }
        assert_eq!(counted(&[7], 20, 100_000).shares(8), [], "one in 20 is below the errors");
    }

    #[test]
    fn small_shares_are_returned_if_few_keys_are_rare() {
        let mut top = Top::<u32, 16>::new();
        // The shares are 90 %, 5 % and 5 % of rare keys, whose counts have errors of up to 0.4 %.
        for at in 0..10_000 {
            top.add(match at % 20 {
                0..18 => 1,
                18 => 2,
                _ => 1_000 + at,
            });
        }
        assert_eq!(top.shares(8), [(1, 0.9), (2, 0.05)]);
        // Without an eviction, all counts are exact.
        let mut few = Top::<u32, 16>::new();
        (0..15).for_each(|key| few.add(key));
        assert_eq!(few.shares(8).len(), 8);
    }

    #[test]
    fn errors_are_within_their_bound() {
        // The keys have shares of about 1/2, 1/4, 1/8 and so on, in an order that differs between the parts.
        let key = |at: u32| at.wrapping_mul(0x9e37_79b9).leading_zeros();
        let rare = |at: u32| if at.is_multiple_of(3) { 1_000 + at } else { key(at) };
        let mut merged = Top::<u32, 16>::new();
        let mut exact = std::collections::HashMap::<u32, u64>::new();
        for part in 0..20 {
            let mut top = Top::<u32, 16>::new();
            for key in (part * 500..(part + 1) * 500).map(rare) {
                top.add(key);
                *exact.entry(key).or_default() += 1;
            }
            merged.merge(&top);
        }
        let error = merged.largest_error(&merged.counts);
        assert!(error > 0.0 && error < 10_000.0 / 16.0, "{error}");
        for (key, count) in &merged.counts {
            assert!(count.saturating_sub(exact[key]) as f64 <= error, "{key}: {count}");
        }
    }
}
