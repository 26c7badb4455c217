//! The state of an exporter's observation domain, and the decoding of its sets.
//!
//! The state consists of the templates, the sets that wait for a template, and the tracked sequence numbers. NetFlow
//! v5, NetFlow v7 and sFlow use only the sequence numbers.

use std::net::IpAddr;
use std::num::NonZeroU64;

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
use crate::flow::waiting::WaitingSets;

/// A transport session of an exporter, such as a TCP connection. Its templates and sequence numbers end with it
/// (RFC 7011, section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Session(pub(crate) NonZeroU64);

/// The identity of a source within its exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Session of the source, or `None` if it sends datagrams.
    pub(crate) session: Option<Session>,
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
        let mut reading = SetReader { domain: message.domain, exporter, sink };
        self.held.start_message();
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
        let gone = self.held.push(id, *clock, content, reading.sink.options);
        if gone.is_some() {
            reading.sink.count(Reason::Held);
        }
        (0..gone.unwrap_or(1)).for_each(|_| reading.sink.count(Reason::Dropped));
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
        for sets in self.held.take(id) {
            for content in sets.contents() {
                reading.records(id, template, content, &sets.clock);
            }
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
        if template.style.is_options() {
            while template.compiled.read(&mut set, &mut record).is_some() {
                records += 1;
                self.exporter.samplers.learn(self.domain, &record.sampling());
                self.sink.count(Reason::Options);
            }
        } else {
            let rates = self.exporter.samplers.of(self.domain);
            while template.compiled.read(&mut set, &mut record).is_some() {
                records += 1;
                sink::contacts(&record, clock, &rates, self.sink);
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

/// Memory of a template in the table, in bytes. The definition and the layout steps are not included.
const TEMPLATE_BYTES: usize = size_of::<(u16, Template)>() + ENTRY_BYTES;

fn template_bytes(template: &Template) -> usize {
    template.bytes() + TEMPLATE_BYTES
}
