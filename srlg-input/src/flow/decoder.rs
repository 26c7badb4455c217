//! The decoder, which determines the exporter and the protocol of each datagram and looks up the state of the exporter.
//!
//! The state is stored in [`Exporters`], whose tables are bounded. The code of the protocols does not depend on these
//! tables.
//!
//! Invariant: memory stays within [`Decoder::memory_bound`] for any input.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU64;

use lru::LruCache;

use crate::contact::Contact;
use crate::flow::clock::{SECOND, Skew};
use crate::flow::counts::{FlowCounts, Reason};
use crate::flow::exporter::{self, Exporter};
use crate::flow::exporters::{Entry, Exporters};
use crate::flow::netflow::{CUT_NS, Export, Message, Version};
use crate::flow::options::{BadOptions, DecoderOptions};
use crate::flow::sequence::{Count, Datagram};
use crate::flow::sflow;
use crate::flow::sink::Sink;
use crate::flow::source::{self, Session, Source};
use crate::flow::templates;

/// A decoder of exports from any number of exporters.
#[derive(Debug)]
pub struct Decoder {
    pub(crate) options: DecoderOptions,
    pub(crate) exporters: Exporters,
    next_session: NonZeroU64,
}

impl Decoder {
    /// Creates a decoder without templates, configured by `options`.
    ///
    /// # Errors
    /// Returns [`BadOptions`] if an option is out of range.
    pub fn new(options: DecoderOptions) -> Result<Self, BadOptions> {
        options.check()?;
        Ok(Self { options, exporters: Exporters::new(&options), next_session: NonZeroU64::MIN })
    }

    /// Decodes the `payload` of one UDP datagram that `exporter` sent, and passes its contacts to `receive`.
    /// `received_ns` is the time of receipt, in nanoseconds since the Unix epoch.
    ///
    /// Data sets with an unknown template are held, within the limits of the options. Their contacts are passed on once
    /// the template arrives.
    pub fn decode(
        &mut self,
        exporter: SocketAddr,
        received_ns: u64,
        payload: &[u8],
        receive: impl FnMut(Contact),
    ) {
        self.decode_in(None, exporter, received_ns, payload, receive);
    }

    /// Starts a transport session, such as a TCP connection. It must be ended with [`end_session`](Self::end_session),
    /// because its templates use memory, within the limits of the options.
    #[must_use]
    pub fn start_session(&mut self) -> Session {
        let session = Session(self.next_session);
        self.next_session = session.0.saturating_add(1);
        session
    }

    /// Decodes one IPFIX `message` that `exporter` sent in `session`, as [`decode`](Self::decode) does for a datagram.
    ///
    /// The templates of the session apply only to its messages. Counters, the clock skew and sampling rates belong to
    /// the exporter.
    pub fn decode_message(
        &mut self,
        session: Session,
        exporter: SocketAddr,
        received_ns: u64,
        message: &[u8],
        receive: impl FnMut(Contact),
    ) {
        self.decode_in(Some(session), exporter, received_ns, message, receive);
    }

    /// Forgets the templates and sequence numbers of `session`, in which `exporter` sent messages.
    pub fn end_session(&mut self, session: Session, exporter: SocketAddr) {
        self.exporters.end(session, exporter::Key::new(exporter, &self.options));
    }

    fn decode_in(
        &mut self,
        session: Option<Session>,
        exporter: SocketAddr,
        received_ns: u64,
        payload: &[u8],
        receive: impl FnMut(Contact),
    ) {
        let options = self.options;
        let key = exporter::Key::new(exporter, &options);
        let (entry, is_newcomer) = self.exporters.hear(key, &options);
        let before = entry.usage();
        let mut counts = FlowCounts::default();
        counts.datagrams = 1;
        let mut sink = Sink { options: &options, exporter: key.address.into(), counts, receive };
        let is_permitted = |version: &Version| session.is_none() || *version == Version::Ipfix;
        let outcome =
            match Version::of(payload).filter(is_permitted) {
                Some(version @ (Version::V5 | Version::V7)) => Export::new(version, payload)
                    .map(|it| entry.legacy(received_ns, &it, &mut sink)),
                Some(Version::V9) => Message::v9(payload)
                    .map(|it| entry.netflow(session, received_ns, &it, &mut sink)),
                Some(Version::Ipfix) => Message::ipfix(payload)
                    .map(|it| entry.netflow(session, received_ns, &it, &mut sink)),
                Some(Version::Sflow) => {
                    sflow::Datagram::new(payload).map(|it| entry.sflow(received_ns, &it, &mut sink))
                }
                None => Err(Reason::Version),
            };
        if let Err(reason) = outcome {
            sink.count(reason);
        }
        let counts = sink.counts;
        entry.exporter.counts += &counts;
        entry.exporter.last_seen_ns = received_ns;
        let unread = [Reason::Version, Reason::Cut, Reason::Malformed];
        if unread.iter().all(|reason| counts.of(*reason) == 0) {
            entry.exporter.last_read_ns = received_ns;
        }
        if counts.records > 0 {
            entry.exporter.last_record_ns = received_ns;
        }
        let after = entry.usage();
        self.exporters.counts += &counts;
        if is_newcomer && counts.records > 0 {
            self.exporters.promote(key, &options);
        }
        self.exporters.follow(key, before, after);
    }

    /// Returns the counters of all datagrams.
    pub fn counts(&self) -> &FlowCounts {
        &self.exporters.counts
    }

    /// Returns the state of `exporter`, or `None` if the decoder does not know the exporter.
    pub fn exporter(&self, exporter: SocketAddr) -> Option<&Exporter> {
        let entry = self.exporters.get(&exporter::Key::new(exporter, &self.options));
        entry.map(|entry| &entry.exporter)
    }

    /// Returns all exporters: first those that have not sent a record yet, then those that have. Each group starts with
    /// the least recently seen exporter. The port is 0, unless [`DecoderOptions::by_port`] is set.
    pub fn exporters(&self) -> impl Iterator<Item = (SocketAddr, &Exporter)> {
        let entries = self.exporters.iter();
        entries.map(|(key, entry)| (SocketAddr::new(key.address, key.port), &entry.exporter))
    }

    /// Resets the estimated clock skew of all exporters. Call this function after the system clock has been set.
    pub fn forget_skews(&mut self) {
        self.exporters.iter_mut().for_each(|exporter| exporter.skew = Skew::default());
    }

    /// Returns the number of templates, including options templates, for each exporter that has any.
    pub fn templates(&self) -> BTreeMap<SocketAddr, usize> {
        let entries = self.exporters.iter();
        let counts =
            entries.map(|(key, entry)| (SocketAddr::new(key.address, key.port), entry.templates()));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Returns the maximum memory that the decoder can use with its options, in bytes. The result includes the memory
    /// for decoding one datagram.
    pub fn memory_bound(&self) -> usize {
        let exporters = self.exporters.most_bytes(&self.options);
        exporters + templates::MOST_BYTES_OF_DATAGRAM
    }
}

impl Entry {
    fn legacy<F: FnMut(Contact)>(
        &mut self,
        received_ns: u64,
        export: &Export<'_>,
        sink: &mut Sink<'_, F>,
    ) {
        let Self { exporter, sources, .. } = self;
        let key = source::Key {
            session: None,
            version: export.version,
            agent: None,
            domain: export.engine.into(),
        };
        let has_content = || export.count > 0;
        let Some(source) = source(sources, key, sink.options, has_content) else { return };
        let export_ns = u64::from(export.export_s) * SECOND + u64::from(export.export_rest_ns);
        let uptime_ms = Some(export.uptime_ms);
        let (clock, skew) = exporter.clock(export_ns, 0, uptime_ms, received_ns, sink.options);
        export.read(&clock, sink);
        exporter.learn_clock(&clock, skew, &mut sink.counts);
        let count = Count::of(export.count.into());
        let datagram =
            Datagram { number: export.number, count, uptime_ms, received_ns, sent_ns: export_ns };
        exporter.follow(&mut source.sequence, datagram, &mut sink.counts);
    }

    fn netflow<F: FnMut(Contact)>(
        &mut self,
        session: Option<Session>,
        received_ns: u64,
        message: &Message<'_>,
        sink: &mut Sink<'_, F>,
    ) {
        let Message { version, domain, uptime_ms, .. } = *message;
        let Self { exporter, sources, template_bytes } = self;
        let key = source::Key { session, version, agent: None, domain };
        let has_content = || message.has_content();
        let Some(source) = source(sources, key, sink.options, has_content) else {
            message.fault().into_iter().for_each(|fault| sink.count(fault));
            return;
        };
        let export_ns = u64::from(message.export_s) * SECOND;
        let (clock, skew) = exporter.clock(export_ns, CUT_NS, uptime_ms, received_ns, sink.options);
        *template_bytes -= source.template_bytes;
        let records = source.read(message, &clock, exporter, sink);
        *template_bytes += source.template_bytes;
        exporter.learn_clock(&clock, skew, &mut sink.counts);
        // Sequence numbers count datagrams in NetFlow v9, and records in IPFIX.
        let count = if version == Version::V9 { Count::of(1) } else { records };
        let datagram =
            Datagram { number: message.number, count, uptime_ms, received_ns, sent_ns: export_ns };
        exporter.follow(&mut source.sequence, datagram, &mut sink.counts);
    }

    fn sflow<F: FnMut(Contact)>(
        &mut self,
        received_ns: u64,
        datagram: &sflow::Datagram<'_>,
        sink: &mut Sink<'_, F>,
    ) {
        let Self { exporter, sources, .. } = self;
        datagram.read(received_ns, sink);
        let sflow::Datagram { agent, sub_agent: domain, number, uptime_ms, .. } = *datagram;
        let key = source::Key { session: None, version: Version::Sflow, agent, domain };
        let has_content = || datagram.has_content();
        let Some(source) = source(sources, key, sink.options, has_content) else { return };
        let datagram = Datagram {
            number,
            count: Count::of(1),
            uptime_ms: Some(uptime_ms),
            received_ns,
            sent_ns: 0,
        };
        exporter.follow(&mut source.sequence, datagram, &mut sink.counts);
    }
}

/// Returns the source of a datagram. An unknown source is added only if the datagram has content, so that datagrams
/// without content do not use memory.
fn source<'a>(
    sources: &'a mut LruCache<source::Key, Source>,
    key: source::Key,
    options: &DecoderOptions,
    has_content: impl FnOnce() -> bool,
) -> Option<&'a mut Source> {
    let new = || if has_content() { Ok(Source::new(options)) } else { Err(()) };
    sources.try_get_or_insert_mut(key, new).ok()
}
