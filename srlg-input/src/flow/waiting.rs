//! The data sets of a source that wait for their template.

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

use crate::flow::clock::Clock;
use crate::flow::exporter::Backlog;
use crate::flow::options::DecoderOptions;

#[derive(Debug)]
pub(crate) struct Set {
    template: u16,
    pub(crate) clock: Clock,
    pub(crate) records: Box<[u8]>,
}

/// Sets that arrived before their template, limited in number per template and in total bytes.
#[derive(Debug, Default)]
pub(crate) struct WaitingSets {
    /// Sets by arrival number. The arrival number of a set is the number of sets that arrived before it.
    sets: BTreeMap<u64, Set>,
    templates: BTreeMap<u16, MissingTemplate>,
    next_age: u64,
    bytes: usize,
}

#[derive(Debug)]
struct MissingTemplate {
    /// Time of receipt of the first set, which may already have been dropped.
    since_ns: u64,
    /// Arrival numbers of the waiting sets, oldest set first.
    ages: VecDeque<u64>,
}

impl Set {
    fn bytes(&self) -> usize {
        // Maps may be half empty, and a list of arrival numbers has capacity for at least four.
        let of_template = 2 * size_of::<(u16, MissingTemplate)>() + size_of::<[u64; 4]>();
        2 * size_of::<(u64, Self)>() + of_template + self.records.len()
    }
}

impl WaitingSets {
    /// Holds `records` of `template`. Returns the number of dropped sets, which may include the new set.
    pub(crate) fn push(
        &mut self,
        template: u16,
        clock: Clock,
        records: &[u8],
        options: &DecoderOptions,
    ) -> usize {
        let since_ns = clock.received_ns;
        let set = Set { template, clock, records: records.into() };
        self.bytes += set.bytes();
        self.sets.insert(self.next_age, set);
        let missing = || MissingTemplate { since_ns, ages: VecDeque::new() };
        let ages = &mut self.templates.entry(template).or_insert_with(missing).ages;
        ages.push_back(self.next_age);
        self.next_age += 1;
        let before = self.sets.len();
        if ages.len() > options.held_sets {
            let oldest = ages[0];
            self.forget(oldest);
        }
        while self.bytes > options.held_bytes
            && let Some((&oldest, _)) = self.sets.first_key_value()
        {
            self.forget(oldest);
        }
        before - self.sets.len()
    }

    /// Drops the set with the arrival number `age`, which must be the oldest waiting set of its template.
    fn forget(&mut self, age: u64) {
        let Some(set) = self.sets.remove(&age) else { return };
        self.bytes -= set.bytes();
        if let Entry::Occupied(mut missing) = self.templates.entry(set.template) {
            missing.get_mut().ages.pop_front();
            if missing.get().ages.is_empty() {
                missing.remove();
            }
        }
    }

    pub(crate) fn backlog(&self) -> Option<Backlog> {
        let since_ns = self.templates.values().map(|missing| missing.since_ns).min()?;
        Some(Backlog { sets: self.sets.len(), since_ns })
    }

    /// Removes and returns the sets that waited for `template`, oldest first.
    pub(crate) fn take(&mut self, template: u16) -> Vec<Set> {
        let missing = self.templates.remove(&template);
        let ages = missing.into_iter().flat_map(|missing| missing.ages);
        let taken: Vec<Set> = ages.filter_map(|age| self.sets.remove(&age)).collect();
        self.bytes -= taken.iter().map(Set::bytes).sum::<usize>();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::WaitingSets;
    use crate::flow::clock::Clock;
    use crate::flow::exporter::Backlog;
    use crate::flow::options::DecoderOptions;
    use crate::options::Timestamps;

    const CLOCK: Clock = Clock {
        export_ns: 0,
        cut_ns: 0,
        uptime_ms: None,
        received_ns: 0,
        skew_ns: 0,
        timestamps: Timestamps::Trusted,
    };

    fn first_bytes(held: &mut WaitingSets, template: u16) -> Vec<u8> {
        held.take(template).iter().map(|set| set.records[0]).collect()
    }

    #[test]
    fn sets_come_out_in_order_once() {
        let (mut held, options) = (WaitingSets::default(), DecoderOptions::default());
        for (template, byte) in [(256, 1), (257, 2), (256, 3)] {
            assert_eq!(held.push(template, CLOCK, &[byte; 9], &options), 0);
        }
        assert_eq!(first_bytes(&mut held, 256), [1, 3]);
        assert!(first_bytes(&mut held, 256).is_empty());
        assert_eq!(first_bytes(&mut held, 257), [2]);
        assert_eq!(held.bytes, 0);
    }

    #[test]
    fn a_backlog_lasts_since_its_first_set_until_the_template_comes() {
        let options = DecoderOptions { held_sets: 2, ..DecoderOptions::default() };
        let mut held = WaitingSets::default();
        assert_eq!(held.backlog(), None);
        for (template, received_ns) in [(256, 5), (257, 6), (256, 7), (256, 8), (256, 9)] {
            held.push(template, Clock { received_ns, ..CLOCK }, &[1; 9], &options);
        }
        assert_eq!(held.backlog(), Some(Backlog { sets: 3, since_ns: 5 }));
        held.take(256);
        assert_eq!(held.backlog(), Some(Backlog { sets: 1, since_ns: 6 }));
        held.take(257);
        assert_eq!(held.backlog(), None);
    }

    #[test]
    fn the_oldest_set_is_removed_per_template_and_overall() {
        let options =
            DecoderOptions { held_sets: 2, held_bytes: 1_000, ..DecoderOptions::default() };
        let mut held = WaitingSets::default();
        for byte in 1..=4 {
            assert_eq!(held.push(256, CLOCK, &[byte; 9], &options), usize::from(byte > 2));
        }
        assert_eq!(first_bytes(&mut held, 256), [3, 4]);
        for template in 256..1_000 {
            held.push(template, CLOCK, &[1; 100], &options);
            assert!(held.bytes <= 1_000);
        }
        assert_eq!(first_bytes(&mut held, 999), [1]);
        assert!(first_bytes(&mut held, 256).is_empty());
        assert_eq!(
            WaitingSets::default().push(256, CLOCK, &[1; 1_000], &options),
            1,
            "larger than all room"
        );
    }
}
