//! [`PairList`]: distinct pairs and their ages.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use srlg_core::{Ages, COUNTER, FINDER, IpPair, Ipv4Pair, Params};

use crate::backend::PairsOfAges;
use crate::ingest::pairs::PairSlice;

/// Weight of a pair with an IPv6 address, which takes four times as many bytes as a pair of two IPv4 addresses.
pub(super) const V6_WEIGHT: usize = size_of::<IpPair>() / size_of::<Ipv4Pair>();

type Groups = BTreeMap<[u32; 2], PairsOfAges>;

/// Distinct pairs, each with the age of its newest contact.
#[derive(Default)]
pub(super) struct PairList {
    v4: HashMap<Ipv4Pair, Ages>,
    v6: HashMap<IpPair, Ages>,
}

impl PairList {
    pub(super) fn add(&mut self, pairs: PairSlice<'_>, ages: Ages) {
        match pairs {
            PairSlice::V4(pairs) => add(&mut self.v4, pairs, ages),
            PairSlice::V6(pairs) => add(&mut self.v6, pairs, ages),
        }
    }

    /// Returns the number of pairs. A pair with an IPv6 address counts as four.
    pub(super) fn weight(&self) -> usize {
        self.v4.len() + V6_WEIGHT * self.v6.len()
    }

    /// Ages all pairs by `ages`, and removes those that recorders do not remember for so long.
    pub(super) fn age(&mut self, by: Ages, params: &Params) {
        self.v4.retain(|_, ages| age(ages, by, params));
        self.v6.retain(|_, ages| age(ages, by, params));
    }

    pub(super) fn by_ages(&self) -> Vec<PairsOfAges> {
        let mut groups = Groups::new();
        self.v4.iter().for_each(|(pair, ages)| group(&mut groups, *ages).v4.push(*pair));
        self.v6.iter().for_each(|(pair, ages)| group(&mut groups, *ages).v6.push(*pair));
        groups.into_values().collect()
    }

    /// Returns the memory of the list, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        bytes(&self.v4) + bytes(&self.v6)
    }

    /// Returns the maximum memory of a list with the given `weight`, in bytes.
    pub(super) const fn most_bytes(weight: usize) -> usize {
        let v6 = most_bytes::<IpPair>(weight / V6_WEIGHT);
        most_bytes::<Ipv4Pair>(weight).saturating_add(v6)
    }
}

/// Returns the maximum memory of a map of up to `count` pairs, in bytes. A map has a power of two of buckets, of which
/// at most 7 of 8 are used, and each has a control byte.
const fn most_bytes<P>(count: usize) -> usize {
    let buckets = match (count.saturating_mul(8) / 7 + 1).checked_next_power_of_two() {
        Some(..16) => 16,
        Some(buckets) => buckets,
        None => usize::MAX,
    };
    buckets.saturating_mul(size_of::<(P, Ages)>() + 1)
}

fn add<P: Copy + Eq + Hash>(list: &mut HashMap<P, Ages>, pairs: &[P], ages: Ages) {
    for pair in pairs {
        let newest = list.entry(*pair).or_insert(ages);
        newest.finder = newest.finder.min(ages.finder);
        newest.counter = newest.counter.min(ages.counter);
    }
}

fn group(groups: &mut Groups, ages: Ages) -> &mut PairsOfAges {
    let empty = PairsOfAges { ages, v4: Vec::new(), v6: Vec::new() };
    groups.entry([ages.finder, ages.counter]).or_insert(empty)
}

/// Ages `ages` by `by`. Returns false if no recorder remembers a contact of this age.
fn age(ages: &mut Ages, by: Ages, params: &Params) -> bool {
    ages.finder = ages.finder.saturating_add(by.finder);
    ages.counter = ages.counter.saturating_add(by.counter);
    let steps = params.age_steps(*ages);
    steps[FINDER] < u64::MAX || steps[COUNTER] < u16::MAX.into()
}

/// Returns the memory of `map`, in bytes.
fn bytes<P>(map: &HashMap<P, Ages>) -> usize {
    map.capacity() * 8 / 7 * (size_of::<(P, Ages)>() + 1)
}
