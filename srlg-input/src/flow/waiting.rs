//! The data sets of a source that wait for their template.

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

use crate::flow::bytes;
use crate::flow::clock::Clock;
use crate::flow::exporter::Backlog;
use crate::flow::options::DecoderOptions;

/// Maximum number of templates per message whose sets may wait. Holding the sets of a template takes hundreds of bytes
/// of memory, however short they are. A real exporter uses few templates.
const MOST_TEMPLATES: u64 = 64;

/// Minimum growth of the memory for the sets of a message, in bytes. A datagram of many short sets would otherwise be
/// copied once per set.
const GROWTH: usize = 512;

/// The sets of one template in one message. Some exporters send a set per record, so they share the memory of an entry.
#[derive(Debug)]
pub(crate) struct HeldSets {
    template: u16,
    pub(crate) clock: Clock,
    count: usize,
    /// The contents of the sets, each after its length in two bytes. Sets may end with padding, so that the records of
    /// two sets cannot be read as one sequence.
    contents: Vec<u8>,
}

/// Sets that arrived before their template, limited in total bytes.
#[derive(Debug, Default)]
pub(crate) struct WaitingSets {
    /// Sets by arrival number. The arrival number of an entry is the number of entries that arrived before it.
    sets: BTreeMap<u64, HeldSets>,
    templates: BTreeMap<u16, MissingTemplate>,
    next_age: u64,
    /// Arrival number of the first entry of the current message.
    message_age: u64,
    bytes: usize,
    /// Number of sets in all entries.
    count: usize,
}

#[derive(Debug)]
struct MissingTemplate {
    /// Time of receipt of the first set, which may already have been dropped.
    since_ns: u64,
    /// Arrival numbers of the waiting entries, oldest entry first.
    ages: VecDeque<u64>,
}

impl HeldSets {
    fn bytes(&self) -> usize {
        // Maps may be half empty, and a list of arrival numbers has capacity for at least four.
        let of_template = 2 * size_of::<(u16, MissingTemplate)>() + size_of::<[u64; 4]>();
        2 * size_of::<(u64, Self)>() + of_template + self.contents.capacity()
    }

    fn push(&mut self, content: &[u8]) {
        let needed = size_of::<u16>() + content.len();
        if self.contents.capacity() - self.contents.len() < needed {
            self.contents.reserve_exact(if self.count == 0 { needed } else { needed.max(GROWTH) });
        }
        // The length of a set has two bytes in its header, too.
        self.contents.extend((content.len() as u16).to_be_bytes());
        self.contents.extend(content);
        self.count += 1;
    }

    /// Returns the content of each set, in the order of arrival.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.contents[..];
        std::iter::from_fn(move || {
            let length = bytes::u16(&mut rest)?;
            bytes::split(&mut rest, length.into())
        })
    }
}

impl WaitingSets {
    /// Starts a message. Its sets are not joined with those of other messages, whose times differ.
    pub(crate) fn start_message(&mut self) {
        self.message_age = self.next_age;
    }

    /// Holds a set of `template`. Returns the number of dropped sets, which may include the new set, or `None` if the
    /// set is not held because sets of too many other templates of its message wait.
    pub(crate) fn push(
        &mut self,
        template: u16,
        clock: Clock,
        content: &[u8],
        options: &DecoderOptions,
    ) -> Option<usize> {
        let newest = self.templates.get(&template).and_then(|missing| missing.ages.back());
        let age = match newest {
            Some(age) if *age >= self.message_age => *age,
            _ if self.next_age - self.message_age == MOST_TEMPLATES => return None,
            _ => self.insert(template, clock),
        };
        let sets = self.sets.get_mut(&age)?;
        self.bytes -= sets.bytes();
        sets.push(content);
        self.bytes += sets.bytes();
        self.count += 1;
        let before = self.count;
        while self.bytes > options.held_bytes
            && let Some((&oldest, _)) = self.sets.first_key_value()
        {
            self.forget(oldest);
        }
        Some(before - self.count)
    }

    /// Inserts an entry without sets and returns its arrival number.
    fn insert(&mut self, template: u16, clock: Clock) -> u64 {
        let age = self.next_age;
        self.next_age += 1;
        let sets = HeldSets { template, clock, count: 0, contents: Vec::new() };
        self.bytes += sets.bytes();
        self.sets.insert(age, sets);
        let since_ns = clock.received_ns;
        let missing = || MissingTemplate { since_ns, ages: VecDeque::new() };
        self.templates.entry(template).or_insert_with(missing).ages.push_back(age);
        age
    }

    /// Drops the entry with the arrival number `age`, which must be the oldest waiting entry of its template.
    fn forget(&mut self, age: u64) {
        let Some(sets) = self.sets.remove(&age) else { return };
        self.subtract(&sets);
        if let Entry::Occupied(mut missing) = self.templates.entry(sets.template) {
            missing.get_mut().ages.pop_front();
            if missing.get().ages.is_empty() {
                missing.remove();
            }
        }
    }

    fn subtract(&mut self, sets: &HeldSets) {
        self.bytes -= sets.bytes();
        self.count -= sets.count;
    }

    pub(crate) fn backlog(&self) -> Option<Backlog> {
        let since_ns = self.templates.values().map(|missing| missing.since_ns).min()?;
        Some(Backlog { sets: self.count, since_ns })
    }

    /// Removes and returns the sets that waited for `template`, oldest first.
    pub(crate) fn take(&mut self, template: u16) -> Vec<HeldSets> {
        let missing = self.templates.remove(&template);
        let ages = missing.into_iter().flat_map(|missing| missing.ages);
        let taken: Vec<HeldSets> = ages.filter_map(|age| self.sets.remove(&age)).collect();
        taken.iter().for_each(|sets| self.subtract(sets));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::{HeldSets, WaitingSets};
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

    /// Holds a set in a message of its own.
    fn push(held: &mut WaitingSets, template: u16, content: &[u8], held_bytes: usize) -> usize {
        held.start_message();
        let options = DecoderOptions { held_bytes, ..DecoderOptions::default() };
        held.push(template, CLOCK, content, &options).unwrap()
    }

    fn first_bytes(held: &mut WaitingSets, template: u16) -> Vec<u8> {
        let taken = held.take(template);
        taken.iter().flat_map(HeldSets::contents).map(|content| content[0]).collect()
    }

    #[test]
    fn sets_come_out_in_order_once() {
        let mut held = WaitingSets::default();
        for (template, byte) in [(256, 1), (257, 2), (256, 3)] {
            assert_eq!(push(&mut held, template, &[byte; 9], 10_000), 0);
        }
        assert_eq!(first_bytes(&mut held, 256), [1, 3]);
        assert!(first_bytes(&mut held, 256).is_empty());
        assert_eq!(first_bytes(&mut held, 257), [2]);
        assert_eq!((held.bytes, held.count), (0, 0));
    }

    #[test]
    fn sets_of_a_message_share_an_entry_and_keep_their_ends() {
        let (mut held, options) = (WaitingSets::default(), DecoderOptions::default());
        for received_ns in [1, 2] {
            held.start_message();
            for (template, length) in [(256, 1), (257, 3), (256, 300), (256, 2), (256, 600)] {
                let clock = Clock { received_ns, ..CLOCK };
                assert_eq!(held.push(template, clock, &vec![7; length], &options), Some(0));
            }
        }
        assert_eq!(held.sets.len(), 4);
        let taken = held.take(256);
        let lengths = |sets: &HeldSets| sets.contents().map(<[u8]>::len).collect::<Vec<_>>();
        assert_eq!(taken.iter().map(lengths).collect::<Vec<_>>(), [[1, 300, 2, 600]; 2]);
        assert_eq!(taken.iter().map(|sets| sets.clock.received_ns).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(held.take(257).len(), 2);
        assert_eq!((held.bytes, held.count), (0, 0));
    }

    #[test]
    fn a_backlog_lasts_since_its_first_set_until_the_template_comes() {
        let mut one = WaitingSets::default();
        push(&mut one, 256, &[1; 9], 10_000);
        let options = DecoderOptions { held_bytes: 2 * one.bytes, ..DecoderOptions::default() };
        let mut held = WaitingSets::default();
        assert_eq!(held.backlog(), None);
        for (template, received_ns) in [(256, 5), (257, 6), (257, 7), (256, 8)] {
            held.start_message();
            held.push(template, Clock { received_ns, ..CLOCK }, &[1; 9], &options);
        }
        assert_eq!(held.backlog(), Some(Backlog { sets: 2, since_ns: 6 }), "two fit");
        held.take(257);
        assert_eq!(held.backlog(), Some(Backlog { sets: 1, since_ns: 8 }));
        held.take(256);
        assert_eq!(held.backlog(), None);
    }

    #[test]
    fn the_oldest_sets_are_removed_and_bytes_are_the_only_limit() {
        let mut held = WaitingSets::default();
        for template in 256..1_000 {
            push(&mut held, template, &[1; 100], 1_000);
            assert!(held.bytes <= 1_000);
        }
        assert_eq!(first_bytes(&mut held, 999), [1]);
        assert!(first_bytes(&mut held, 256).is_empty());
        let (mut held, mut dropped) = (WaitingSets::default(), 0);
        for _ in 0..1_000 {
            dropped += push(&mut held, 256, &[1; 9], 10 << 20);
        }
        assert_eq!((dropped, held.count), (0, 1_000));
        let room = &mut WaitingSets::default();
        assert_eq!(push(room, 256, &[1; 1_000], 1_000), 1, "larger than all room");
    }
}
