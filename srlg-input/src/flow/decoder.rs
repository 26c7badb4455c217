//! The decoder: whom a datagram is from, which protocol it is of, what is remembered for both.
//!
//! Shape: two bounded tables, of exporters and of their sources; protocols know nothing of either.
//! Invariant: [`Decoder::memory_bound`], whatever comes.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use flowparser_sflow::SflowParser;
use lru::LruCache;

use crate::contact::Contact;
use crate::flow::clock::SECOND;
use crate::flow::counts::{FlowCounts, Reason};
use crate::flow::exporter::{self, Exporter};
use crate::flow::netflow::{CUT_NS, Export, Message, Version};
use crate::flow::options::{BadOptions, DecoderOptions, ENTRY_BYTES, table};
use crate::flow::sequence::Count;
use crate::flow::sflow;
use crate::flow::sink::Sink;
use crate::flow::source::{self, Source};
use crate::flow::templates;

/// Bytes that the samples of a datagram of 64 kB may take while they are read.
const DATAGRAM_BYTES: usize = 8 << 20;

/// Decodes the exports of any number of exporters.
#[derive(Debug)]
pub struct Decoder {
    pub(crate) options: DecoderOptions,
    pub(crate) exporters: LruCache<exporter::Key, Exporter>,
    pub(crate) sources: LruCache<source::Key, Source>,
    /// Of all sources.
    template_bytes: usize,
    counts: FlowCounts,
    sflow: SflowParser,
}

impl Decoder {
    /// Makes a decoder that knows no templates yet, as `options` say.
    ///
    /// # Errors
    /// [`BadOptions`] when a number is out of range.
    pub fn new(options: DecoderOptions) -> Result<Self, BadOptions> {
        options.check()?;
        Ok(Self {
            options,
            exporters: table(options.sources),
            sources: table(options.sources),
            template_bytes: 0,
            counts: FlowCounts::default(),
            sflow: SflowParser::default(),
        })
    }

    /// Decodes `payload`, one UDP datagram that came from `exporter` at `received_ns`, nanoseconds
    /// since the Unix epoch, and gives `take` its contacts.
    ///
    /// Data whose template is not known is held back; its contacts come with the template.
    pub fn decode(
        &mut self,
        exporter: SocketAddr,
        received_ns: u64,
        payload: &[u8],
        take: impl FnMut(Contact),
    ) {
        let key = exporter::Key::new(exporter, &self.options);
        self.add_exporter(key);
        let options = self.options;
        let (address, mut counts) = (key.address, FlowCounts::default());
        counts.datagrams = 1;
        let mut sink = Sink { options: &options, exporter: address, counts, take };
        let is_read = match Version::of(payload) {
            Some(version @ (Version::V5 | Version::V7)) => {
                self.legacy(key, received_ns, version, payload, &mut sink)
            }
            Some(Version::V9) => {
                Message::v9(payload).map(|it| self.netflow(key, received_ns, &it, &mut sink))
            }
            Some(Version::Ipfix) => {
                Message::ipfix(payload).map(|it| self.netflow(key, received_ns, &it, &mut sink))
            }
            Some(Version::Sflow) => self.sflow(key, received_ns, payload, &mut sink),
            None => {
                sink.count(Reason::Version);
                Some(())
            }
        };
        if is_read.is_none() {
            sink.count(Reason::Malformed);
        }
        let counts = sink.counts;
        self.counts += &counts;
        if let Some(exporter) = self.exporters.get_mut(&key) {
            exporter.counts += &counts;
        }
    }

    fn legacy<F: FnMut(Contact)>(
        &mut self,
        key: exporter::Key,
        received_ns: u64,
        version: Version,
        payload: &[u8],
        sink: &mut Sink<'_, F>,
    ) -> Option<()> {
        let export = Export::new(version, payload)?;
        let source =
            source::Key { exporter: key, version, agent: None, domain: export.engine.into() };
        self.add_source(source);
        let exporter = self.exporters.get_mut(&key)?;
        let export_ns = u64::from(export.export_s) * SECOND + u64::from(export.export_rest_ns);
        let (clock, skew) =
            exporter.clock(export_ns, 0, Some(export.uptime_ms), received_ns, sink.options);
        let source = self.sources.get_mut(&source)?;
        export.read(&clock, sink);
        exporter.learn_clock(&clock, skew, &mut sink.counts);
        let count = Count::of(export.count.into());
        exporter.follow(&mut source.sequence, export.number, count, Some(export.uptime_ms));
        Some(())
    }

    fn netflow<F: FnMut(Contact)>(
        &mut self,
        key: exporter::Key,
        received_ns: u64,
        message: &Message<'_>,
        sink: &mut Sink<'_, F>,
    ) {
        let Message { version, domain, uptime_ms, .. } = *message;
        let source = source::Key { exporter: key, version, agent: None, domain };
        self.add_source(source);
        let (Some(exporter), Some(source)) =
            (self.exporters.get_mut(&key), self.sources.get_mut(&source))
        else {
            return;
        };
        let export_ns = u64::from(message.export_s) * SECOND;
        let (clock, skew) = exporter.clock(export_ns, CUT_NS, uptime_ms, received_ns, sink.options);
        let before = source.template_bytes;
        let records = source.read(message, &clock, exporter, sink);
        exporter.learn_clock(&clock, skew, &mut sink.counts);
        // NetFlow v9 counts datagrams, IPFIX records.
        let count = if version == Version::V9 { Count::of(1) } else { records };
        exporter.follow(&mut source.sequence, message.number, count, uptime_ms);
        let after = source.template_bytes;
        self.change_template_bytes(before, after);
    }

    fn sflow<F: FnMut(Contact)>(
        &mut self,
        key: exporter::Key,
        received_ns: u64,
        payload: &[u8],
        sink: &mut Sink<'_, F>,
    ) -> Option<()> {
        let parsed = self.sflow.parse_bytes(payload);
        // Bytes behind it are an error of the parser, but no loss.
        let datagram = parsed.datagrams.first()?;
        let (version, agent) = (Version::Sflow, Some(sflow::agent(datagram)));
        let source = source::Key { exporter: key, version, agent, domain: datagram.sub_agent_id };
        self.add_source(source);
        let (exporter, source) = (self.exporters.get_mut(&key)?, self.sources.get_mut(&source)?);
        sflow::read(datagram, received_ns, sink);
        let uptime_ms = Some(datagram.uptime);
        exporter.follow(&mut source.sequence, datagram.sequence_number, Count::of(1), uptime_ms);
        Some(())
    }

    /// Returns what became of all datagrams.
    pub fn counts(&self) -> &FlowCounts {
        &self.counts
    }

    /// Returns what is known of `exporter`, if it was heard of and not forgotten.
    pub fn exporter(&self, exporter: SocketAddr) -> Option<&Exporter> {
        self.exporters.peek(&exporter::Key::new(exporter, &self.options))
    }

    /// Returns all exporters that are remembered, the least recent first. Their port is 0, unless
    /// [`DecoderOptions::by_port`] is set.
    pub fn exporters(&self) -> impl Iterator<Item = (SocketAddr, &Exporter)> {
        let entries = self.exporters.iter().rev();
        entries.map(|(key, exporter)| (SocketAddr::new(key.address, key.port), exporter))
    }

    /// Counts the templates of each exporter that has any; those of options among them.
    pub fn templates(&self) -> BTreeMap<SocketAddr, usize> {
        let mut templates = BTreeMap::new();
        for (key, source) in &self.sources {
            let count = source.templates().count();
            if count > 0 {
                let exporter = SocketAddr::new(key.exporter.address, key.exporter.port);
                *templates.entry(exporter).or_default() += count;
            }
        }
        templates
    }

    /// Returns how many bytes the decoder takes at most, as its options bound them, with what it
    /// takes for the time of a datagram.
    pub fn memory_bound(&self) -> usize {
        let options = &self.options;
        let exporter = size_of::<(exporter::Key, Exporter)>() + Exporter::most_bytes(options);
        let source = size_of::<(source::Key, Source)>() + 2 * options.held_bytes;
        // One source alone is never shed.
        let templates = options.template_bytes.max(Source::most_template_bytes(options));
        let entries = options.sources * (exporter + source + 2 * ENTRY_BYTES);
        entries + templates + templates::MOST_BYTES_OF_DATAGRAM + DATAGRAM_BYTES
    }

    pub(crate) fn add_exporter(&mut self, key: exporter::Key) {
        if self.exporters.peek(&key).is_none() {
            let gone = self.exporters.push(key, Exporter::new(&self.options));
            self.count_gone(gone.is_some());
        }
    }

    pub(crate) fn add_source(&mut self, key: source::Key) {
        if self.sources.peek(&key).is_none() {
            let gone = self.sources.push(key, Source::new(&self.options));
            self.count_gone(gone.is_some());
            self.template_bytes -= gone.map_or(0, |(_, source)| source.template_bytes);
        }
    }

    /// Follows the templates of a source from `before` to `after` bytes, and forgets sources, the
    /// least recent first, until there is room.
    pub(crate) fn change_template_bytes(&mut self, before: usize, after: usize) {
        self.template_bytes = self.template_bytes + after - before;
        while self.template_bytes > self.options.template_bytes && self.sources.len() > 1 {
            let gone = self.sources.pop_lru();
            self.count_gone(true);
            self.template_bytes -= gone.map_or(0, |(_, source)| source.template_bytes);
        }
    }

    fn count_gone(&mut self, is_gone: bool) {
        if is_gone {
            self.counts.add(Reason::SourceGone);
        }
    }
}
