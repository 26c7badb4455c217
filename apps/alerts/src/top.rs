//! Most frequent keys of a stream, counted in fixed memory.
//!
//! The method is Space-Saving (Metwally, Agrawal, El Abbadi 2005): if the table is full, a new key replaces the least
//! frequent key and takes over its count. The count of a key can be too high, but by no more than the count that the
//! key took over.

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

    /// Returns up to `most` keys and their shares of all occurrences, the most frequent key first.
    pub(crate) fn shares(&self, most: usize) -> Vec<(K, f64)> {
        let mut counts = self.counts.clone();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let share = |count: u64| (count as f64 / self.all as f64).min(1.0);
        counts.into_iter().take(most).map(|(key, count)| (key, share(count))).collect()
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

    #[test]
    fn frequent_keys_are_kept_and_rare_ones_pass() {
        let mut top = Top::<u32, 4>::new();
        for at in 0..1_000 {
            top.add(if at % 2 == 0 { 7 } else { 1_000 + at });
        }
        let shares = top.shares(1);
        assert_eq!(shares, [(7, 0.5)]);
        assert_eq!(top.counts.len(), 4);
        let mut other = Top::<u32, 4>::new();
        (0..1_000).for_each(|_| other.add(9));
        top.merge(&other);
        assert_eq!(top.shares(2), [(9, 0.5), (7, 0.25)]);
        assert_eq!(top.counts.len(), 4);
    }
}
