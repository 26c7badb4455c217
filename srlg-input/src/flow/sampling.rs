//! One packet in how many was looked at.
//!
//! Shape: rates that options records told of, by observation domain and sampler.
//! Invariant: a rate of zero is none.

use std::num::NonZeroU32;

use lru::LruCache;

use crate::flow::options::{ENTRY_BYTES, table};

/// Whose rate it is: that of an observation domain or of any, and of a sampler or of the domain.
pub(crate) type Scope = (Option<u32>, Option<u64>);

/// The rates of an exporter.
#[derive(Debug)]
pub(crate) struct Samplers {
    rates: LruCache<Scope, NonZeroU32>,
}

/// What a record says of its sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SamplingFields {
    /// One packet in so many.
    pub(crate) interval: Option<u64>,
    /// Packets looked at in a row, and packets left out then.
    pub(crate) taken: Option<u64>,
    pub(crate) left_out: Option<u64>,
    /// Packets looked at, and packets among which they were chosen.
    pub(crate) size: Option<u64>,
    pub(crate) population: Option<u64>,
    pub(crate) sampler: Option<u64>,
}

impl SamplingFields {
    /// The rate that the record itself has; the largest number there is, where it is larger.
    pub(crate) fn rate(&self) -> Option<NonZeroU32> {
        let interval = self.interval.filter(|interval| *interval > 0);
        let space = || Some((self.taken?, self.taken?.saturating_add(self.left_out?)));
        let choice = || Some((self.size?, self.population?));
        let quotient = |(part, whole): (u64, u64)| whole.checked_div(part);
        let rate = interval.or_else(|| space().or_else(choice).and_then(quotient))?;
        NonZeroU32::new(u32::try_from(rate).unwrap_or(u32::MAX))
    }
}

impl Samplers {
    pub(crate) fn new(most: usize) -> Self {
        // Each rate may also be that of any domain.
        Self { rates: table(2 * most) }
    }

    /// Bytes that the rates of `most` samplers take at most.
    pub(crate) const fn most_bytes(most: usize) -> usize {
        2 * most * (size_of::<(Scope, NonZeroU32)>() + ENTRY_BYTES)
    }

    /// Takes in what an options record of `domain` says.
    pub(crate) fn learn(&mut self, domain: u32, told: &SamplingFields) {
        let Some(rate) = told.rate() else { return };
        self.put((Some(domain), told.sampler), rate);
        if told.sampler.is_some() {
            self.put((None, told.sampler), rate);
        }
    }

    pub(crate) fn put(&mut self, scope: Scope, rate: NonZeroU32) {
        self.rates.put(scope, rate);
    }

    /// The rate of a record of `domain`: its own, that of its sampler in its domain, in any, that of
    /// its domain.
    pub(crate) fn rate(&self, domain: u32, told: &SamplingFields) -> Option<NonZeroU32> {
        let of = |scope| self.rates.peek(&scope).copied();
        let of_sampler = || {
            told.sampler?;
            of((Some(domain), told.sampler)).or_else(|| of((None, told.sampler)))
        };
        told.rate().or_else(of_sampler).or_else(|| of((Some(domain), None)))
    }

    /// All rates, the least recent first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Scope, &NonZeroU32)> {
        self.rates.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::{Samplers, SamplingFields};

    fn told(interval: Option<u64>, sampler: Option<u64>) -> SamplingFields {
        SamplingFields { interval, sampler, ..SamplingFields::default() }
    }

    #[test]
    fn an_interval_and_a_space_make_a_rate() {
        let of = |taken, left_out| {
            let told = SamplingFields { taken, left_out, ..SamplingFields::default() };
            told.rate().map(NonZeroU32::get)
        };
        assert_eq!(of(Some(1), Some(99)), Some(100));
        assert_eq!(of(Some(2), Some(98)), Some(50));
        assert_eq!(of(Some(1), Some(0)), Some(1));
        assert_eq!(of(Some(1_000), None), None);
        assert_eq!(of(Some(0), Some(99)), None);
        assert_eq!(of(None, Some(99)), None);
        assert_eq!(of(Some(1), Some(u64::MAX)), Some(u32::MAX));
        let of = |size, population| {
            let told = SamplingFields { size, population, ..SamplingFields::default() };
            told.rate().map(NonZeroU32::get)
        };
        assert_eq!(of(Some(2), Some(200)), Some(100));
        assert_eq!(of(Some(0), Some(200)), None);
        assert_eq!(of(Some(2), Some(1)), None);
    }

    #[test]
    fn the_least_recent_sampler_goes() {
        let mut samplers = Samplers::new(2);
        (0..100).for_each(|id| samplers.learn(1, &told(Some(id + 1), Some(id))));
        assert_eq!(samplers.iter().count(), 4);
        assert_eq!(samplers.rate(1, &told(None, Some(99))), NonZeroU32::new(100));
        assert_eq!(samplers.rate(1, &told(None, Some(9))), None);
    }
}
