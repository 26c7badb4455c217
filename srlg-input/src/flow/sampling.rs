//! Sampling rates of exporters.
//!
//! The rates come from options records. They are stored by observation domain and sampler.
//!
//! Invariant: a stated rate of zero is ignored.

use std::num::NonZeroU32;

use lru::LruCache;

use crate::flow::options::{ENTRY_BYTES, table};

/// The scope of a rate: an observation domain (`None`: all domains) and a sampler (`None`: the whole domain).
pub(crate) type Scope = (Option<u32>, Option<u64>);

#[derive(Debug)]
pub(crate) struct Samplers {
    rates: LruCache<Scope, NonZeroU32>,
}

/// The rates that apply to the records of one observation domain.
pub(crate) struct DomainRates<'a> {
    samplers: &'a Samplers,
    domain: u32,
    /// The rate of the whole domain.
    whole: Option<NonZeroU32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SamplingFields {
    /// Sampling interval N: one packet in N is sampled.
    pub(crate) interval: Option<u64>,
    /// Number of consecutive packets that are sampled before `left_out` packets are skipped.
    pub(crate) taken: Option<u64>,
    pub(crate) left_out: Option<u64>,
    /// Number of packets that are sampled out of `population` packets.
    pub(crate) size: Option<u64>,
    pub(crate) population: Option<u64>,
    pub(crate) sampler: Option<u64>,
}

impl SamplingFields {
    /// Returns the rate that the record itself states, capped at [`u32::MAX`].
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
        // Each rate may be stored twice: for its own domain and for all domains.
        Self { rates: table(2 * most) }
    }

    /// Returns an upper bound on the memory of the rates of `most` samplers, in bytes.
    pub(crate) const fn most_bytes(most: usize) -> usize {
        2 * most * (size_of::<(Scope, NonZeroU32)>() + ENTRY_BYTES)
    }

    /// Stores the rate that an options record of `domain` states.
    pub(crate) fn learn(&mut self, domain: u32, fields: &SamplingFields) {
        let Some(rate) = fields.rate() else { return };
        self.put((Some(domain), fields.sampler), rate);
        if fields.sampler.is_some() {
            self.put((None, fields.sampler), rate);
        }
    }

    pub(crate) fn put(&mut self, scope: Scope, rate: NonZeroU32) {
        self.rates.put(scope, rate);
    }

    /// Returns the rates of `domain`.
    pub(crate) fn of(&self, domain: u32) -> DomainRates<'_> {
        DomainRates { samplers: self, domain, whole: self.get((Some(domain), None)) }
    }

    fn get(&self, scope: Scope) -> Option<NonZeroU32> {
        self.rates.peek(&scope).copied()
    }

    /// Returns all rates, starting with the rate that was stored least recently.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Scope, &NonZeroU32)> {
        self.rates.iter().rev()
    }
}

impl DomainRates<'_> {
    /// Returns the first of these rates that is known:
    /// - the rate that the record itself states;
    /// - the rate of the record's sampler in this domain;
    /// - the rate of the record's sampler in any domain;
    /// - the rate of the domain.
    pub(crate) fn rate(&self, fields: &SamplingFields) -> Option<NonZeroU32> {
        let of_sampler = || {
            fields.sampler?;
            let of = |domain| self.samplers.get((domain, fields.sampler));
            of(Some(self.domain)).or_else(|| of(None))
        };
        fields.rate().or_else(of_sampler).or(self.whole)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::{Samplers, SamplingFields};

    fn fields(interval: Option<u64>, sampler: Option<u64>) -> SamplingFields {
        SamplingFields { interval, sampler, ..SamplingFields::default() }
    }

    #[test]
    fn an_interval_and_a_space_make_a_rate() {
        let of = |taken, left_out| {
            let fields = SamplingFields { taken, left_out, ..SamplingFields::default() };
            fields.rate().map(NonZeroU32::get)
        };
        assert_eq!(of(Some(1), Some(99)), Some(100));
        assert_eq!(of(Some(2), Some(98)), Some(50));
        assert_eq!(of(Some(1), Some(0)), Some(1));
        assert_eq!(of(Some(1_000), None), None);
        assert_eq!(of(Some(0), Some(99)), None);
        assert_eq!(of(None, Some(99)), None);
        assert_eq!(of(Some(1), Some(u64::MAX)), Some(u32::MAX));
        let of = |size, population| {
            let fields = SamplingFields { size, population, ..SamplingFields::default() };
            fields.rate().map(NonZeroU32::get)
        };
        assert_eq!(of(Some(2), Some(200)), Some(100));
        assert_eq!(of(Some(0), Some(200)), None);
        assert_eq!(of(Some(2), Some(1)), None);
    }

    #[test]
    fn the_least_recent_sampler_is_removed() {
        let mut samplers = Samplers::new(2);
        (0..100).for_each(|id| samplers.learn(1, &fields(Some(id + 1), Some(id))));
        assert_eq!(samplers.iter().count(), 4);
        assert_eq!(samplers.of(1).rate(&fields(None, Some(99))), NonZeroU32::new(100));
        assert_eq!(samplers.of(1).rate(&fields(None, Some(9))), None);
    }
}
