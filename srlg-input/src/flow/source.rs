//! The state of an exporter's observation domain, and the decoding of its sets.
//!
//! The state consists of the templates, the sets that wait for a template, and the tracked sequence numbers. NetFlow
//! v5, NetFlow v7 and sFlow use only the sequence numbers.

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};
use std::net::IpAddr;

use lru::LruCache;

use crate::contact::Contact;
use crate::flow::clock::Clock;
use crate::flow::counts::Reason;
use crate::flow::exporter::{Backlog, Exporter};
use crate::flow::netflow::{Message, Version};
use crate::flow::options::{DecoderOptions, ENTRY_BYTES, table};
use crate::flow::record::Record;
use crate::flow::sequence::{Count, Sequence};
use crate::flow::sink::{self, Sink};
use crate::flow::templates::{Definition, Fields, STEP_BYTES, Style, Template};

/// The identity of a source within its exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) version: Version,
    /// Address of the agent, in sFlow only. An agent may omit it.
    pub(crate) agent: Option<IpAddr>,
    /// Observation domain, source ID, engine or sub-agent.
    pub(crate) domain: u32,
}

/// The state of an observation domain.
#[derive(Debug)]
pub(crate) struct Source {
    templates: LruCache<u16, Template>,
    pub(crate) template_bytes: usize,
    held: WaitingSets,
    pub(crate) sequence: Sequence,
}

impl Source {
    pub(crate) fn new(options: &DecoderOptions) -> Self {
        Self {
            templates: table(options.templates),
            template_bytes: 0,
            held: WaitingSets::default(),
            sequence: Sequence::default(),
        }
    }

    /// Returns the maximum memory of one template, in bytes.
    pub(crate) fn most_template_bytes(options: &DecoderOptions) -> usize {
        // The definition of an enterprise field has 8 bytes. At most three words of 16 bits precede the fields.
        let definition = 6 + options.fields * 8;
        let compiled = options.fields * STEP_BYTES;
        definition + compiled + TEMPLATE_BYTES
    }

    /// Returns the templates with their IDs, least recently used first.
    pub(crate) fn templates(&self) -> impl Iterator<Item = (&u16, &Template)> {
        self.templates.iter().rev()
    }

    pub(crate) fn backlog(&self) -> Option<Backlog> {
        self.held.backlog()
    }

    /// Decodes the sets of `message`. Returns the number of records, if all of them could be decoded.
    pub(crate) fn read<F: FnMut(Contact)>(
        &mut self,
        message: &Message<'_>,
        clock: &Clock,
        exporter: &mut Exporter,
        sink: &mut Sink<'_, F>,
    ) -> Option<Count> {
        let mut reading = SetReader { domain: message.domain, exporter, sink, waiting: 0 };
        let mut all = Count::of(0);
        let mut sets = message.sets;
        for (id, content) in sets.by_ref() {
            match (message.version, id) {
                (_, 256..) => {
                    let records = self.data(id, content, clock, &mut reading);
                    all = all.zip(records).map(|(all, records)| all.and(records));
                }
                (_, 0 | 1) | (Version::Ipfix, 2 | 3) => {
                    self.define(Style::ALL[usize::from(id)], content, &mut reading);
                }
                // Other IDs are reserved.
                _ => {}
            }
        }
        sets.fault.into_iter().for_each(|fault| sink.count(fault));
        all.filter(|_| sets.fault.is_none())
    }

    /// Decodes a data set, or holds it if its template is missing. Returns the number of records, if it is known.
    fn data<F: FnMut(Contact)>(
        &mut self,
        id: u16,
        content: &[u8],
        clock: &Clock,
        reading: &mut SetReader<'_, '_, F>,
    ) -> Option<Count> {
        if let Some(template) = self.templates.get(&id) {
            let all = reading.records(id, template, content, clock)?;
            let flows = if template.style.is_options() { 0 } else { all };
            return Some(Count { all, flows });
        }
        if content.is_empty() {
            return Count::of(0);
        }
        if reading.waiting == MOST_WAITING {
            reading.sink.count(Reason::Dropped);
            return None;
        }
        reading.waiting += 1;
        reading.sink.count(Reason::Held);
        let gone = self.held.push(id, *clock, content, reading.sink.options);
        (0..gone).for_each(|_| reading.sink.count(Reason::Dropped));
        None
    }

    /// Learns the templates of a set, and decodes the data sets that waited for them. Withdrawn templates are dropped.
    fn define<F: FnMut(Contact)>(
        &mut self,
        style: Style,
        mut content: &[u8],
        reading: &mut SetReader<'_, '_, F>,
    ) {
        while let Some(definition) = style.next(&mut content) {
            match definition {
                Definition::Withdrawn { id } => self.forget(id),
                Definition::AllWithdrawn => self.forget_all(style),
                Definition::Template { id, bytes, fields } => {
                    let learned = self.learn(style, id, bytes, fields, reading.sink.options);
                    learned.into_iter().for_each(|reason| reading.sink.count(reason));
                    self.read_held(id, reading);
                }
            }
        }
        if content.iter().any(|byte| *byte != 0) {
            reading.sink.count(Reason::BadTemplate);
        }
    }

    /// Learns a template. Returns the reason to count if the template is rejected, or if another template is dropped to
    /// make room for it.
    pub(crate) fn learn(
        &mut self,
        style: Style,
        id: u16,
        bytes: &[u8],
        fields: Fields<'_>,
        options: &DecoderOptions,
    ) -> Option<Reason> {
        if self.templates.get(&id).is_some_and(|known| known.is(style, bytes)) {
            return None;
        }
        let Some(template) = Template::new(bytes, fields, options) else {
            self.forget(id);
            return Some(Reason::BadTemplate);
        };
        self.template_bytes += template_bytes(&template);
        let (gone_id, gone) = self.templates.push(id, template)?;
        self.template_bytes -= template_bytes(&gone);
        (gone_id != id).then_some(Reason::TemplateGone)
    }

    fn read_held<F: FnMut(Contact)>(&mut self, id: u16, reading: &mut SetReader<'_, '_, F>) {
        let Some(template) = self.templates.get(&id) else { return };
        for set in self.held.take(id) {
            reading.records(id, template, &set.records, &set.clock);
        }
    }

    fn forget(&mut self, id: u16) {
        let gone = self.templates.pop(&id);
        self.template_bytes -= gone.iter().map(template_bytes).sum::<usize>();
    }

    /// Drops the least recently used template and returns its size in bytes.
    pub(crate) fn shed(&mut self) -> usize {
        let bytes = self.templates.pop_lru().map_or(0, |(_, template)| template_bytes(&template));
        self.template_bytes -= bytes;
        bytes
    }

    fn forget_all(&mut self, style: Style) {
        let is_of_kind = |template: &Template| template.style.is_options() == style.is_options();
        let gone = self.templates.iter().filter(|(_, template)| is_of_kind(template));
        let gone: Vec<u16> = gone.map(|(id, _)| *id).collect();
        gone.into_iter().for_each(|id| self.forget(id));
    }
}

struct SetReader<'a, 'b, F> {
    domain: u32,
    exporter: &'a mut Exporter,
    sink: &'a mut Sink<'b, F>,
    /// Number of data sets of this message that were held because their templates were missing.
    waiting: usize,
}

impl<F: FnMut(Contact)> SetReader<'_, '_, F> {
    /// Decodes the records of a set. Returns the number of records, or `None` if some could not be decoded.
    fn records(
        &mut self,
        id: u16,
        template: &Template,
        mut set: &[u8],
        clock: &Clock,
    ) -> Option<u32> {
        let is_more_than_padding = set.len() > 3;
        let mut records = 0;
        let mut record = Record::default();
        while template.compiled.read(&mut set, &mut record).is_some() {
            records += 1;
            if template.style.is_options() {
                self.exporter.samplers.learn(self.domain, &record.sampling());
                self.sink.count(Reason::Options);
            } else {
                let samplers = &self.exporter.samplers;
                sink::contacts(&record, self.domain, clock, samplers, self.sink);
            }
        }
        self.sink.counts.records += u64::from(records);
        if records == 0 && is_more_than_padding {
            self.sink.count(Reason::Undecodable);
            self.exporter.add_undecodable(self.domain, id);
            return None;
        }
        // If enough bytes for a record are left, they are not padding: a field claims to be longer than the remaining
        // bytes.
        if template.compiled.fits(set) {
            self.sink.count(Reason::Malformed);
            return None;
        }
        Some(records)
    }
}

/// Maximum number of sets of a message that may wait for their templates. A held set needs hundreds of bytes of
/// memory, however short it is. A real exporter uses few templates and sends one set for each of them.
const MOST_WAITING: usize = 64;

/// Memory of a template in the table, in bytes. The definition and the layout steps are not included.
const TEMPLATE_BYTES: usize = size_of::<(u16, Template)>() + ENTRY_BYTES;

fn template_bytes(template: &Template) -> usize {
    template.bytes() + TEMPLATE_BYTES
}

#[derive(Debug)]
struct Set {
    template: u16,
    clock: Clock,
    records: Box<[u8]>,
}

/// Sets that arrived before their template, limited in number per template and in total bytes.
#[derive(Debug, Default)]
struct WaitingSets {
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
    fn push(
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

    fn backlog(&self) -> Option<Backlog> {
        let since_ns = self.templates.values().map(|missing| missing.since_ns).min()?;
        Some(Backlog { sets: self.sets.len(), since_ns })
    }

    /// Removes and returns the sets that waited for `template`, oldest first.
    fn take(&mut self, template: u16) -> Vec<Set> {
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
