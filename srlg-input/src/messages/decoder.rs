//! The conversion of messages to contacts, and counters of the messages.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;

use lru::LruCache;

use crate::contact::{Contact, Host};
use crate::flow::{ExporterStatus, FlowCounts, Losses, Reason, table};
use crate::messages::flow::{Flow, Malformed};
use crate::messages::format::Format;
use crate::options::{ExportOptions, Timestamps};

/// Maximum number of exporters. Above the limit, the least recently seen exporter is removed.
const EXPORTERS: usize = 16_384;

/// A decoder of the flows in messages of one [`Format`], with counters.
#[derive(Debug)]
pub struct FlowReader {
    format: Format,
    timestamps: Timestamps,
    /// Sampling rate of flows that do not state one.
    sampling: Option<NonZeroU32>,
    counts: FlowCounts,
    exporters: LruCache<Host, Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    last_ns: u64,
    counts: FlowCounts,
}

impl FlowReader {
    /// Creates a decoder of messages in `format`. The option `nat` has no effect.
    #[must_use]
    pub fn new(format: Format, options: &ExportOptions) -> Self {
        let ExportOptions { timestamps, sampling, .. } = *options;
        let (counts, exporters) = (FlowCounts::default(), table(EXPORTERS));
        Self { format, timestamps, sampling, counts, exporters }
    }

    /// Decodes `message` and passes its contacts to `receive`. The broker stored the message at `stored_ns`, and the
    /// current time is `now_ns`, both in nanoseconds since the Unix epoch.
    #[inline]
    pub fn read(
        &mut self,
        message: &[u8],
        stored_ns: u64,
        now_ns: u64,
        mut receive: impl FnMut(Contact),
    ) {
        self.counts.datagrams += 1;
        match &self.format {
            Format::Protobuf(layout) => {
                let flow = Flow::of_protobuf(message, layout);
                self.record(flow, stored_ns, now_ns).into_iter().for_each(receive);
            }
            Format::Json => {
                let lines = message.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
                let mut is_empty = true;
                for line in lines.filter(|line| !line.is_empty()) {
                    is_empty = false;
                    let contact = self.record(Flow::of_json(line), stored_ns, now_ns);
                    contact.into_iter().for_each(&mut receive);
                }
                if is_empty {
                    self.counts.add(Reason::Malformed);
                }
            }
        }
    }

    /// Counts a flow and returns its contact, if it has one.
    #[inline(always)]
    fn record(
        &mut self,
        flow: Result<Flow, Malformed>,
        stored_ns: u64,
        now_ns: u64,
    ) -> Option<Contact> {
        let Ok(flow) = flow else {
            self.counts.add(Reason::Malformed);
            return None;
        };
        let received_ns = flow.received_ns().unwrap_or(stored_ns).min(now_ns);
        let exporter = flow.exporter.unwrap_or(Host::v4(0));
        let heard = self.exporters.get_or_insert_mut(exporter, Heard::default);
        heard.last_ns = heard.last_ns.max(received_ns);
        heard.counts.datagrams += 1;
        self.counts.records += 1;
        heard.counts.records += 1;
        let hosts = match flow.hosts() {
            Ok(hosts) => hosts,
            Err(reason) => {
                self.counts.add(reason);
                heard.counts.add(reason);
                return None;
            }
        };
        self.counts.contacts += 1;
        heard.counts.contacts += 1;
        let time_ns = match self.timestamps {
            Timestamps::Trusted if flow.end_ns > 0 => flow.end_ns.min(now_ns),
            // Messages contain no export time by which an exporter's clock could be corrected.
            Timestamps::Trusted | Timestamps::Corrected | Timestamps::Received => received_ns,
        };
        Some(flow.details().contact(time_ns, hosts, exporter, self.sampling))
    }

    /// Sets the format of all further messages. The counters are kept.
    pub fn set_format(&mut self, format: Format) {
        self.format = format;
    }

    /// Returns the counters of all messages.
    #[must_use]
    pub const fn counts(&self) -> &FlowCounts {
        &self.counts
    }

    /// Returns the status of all known exporters, sorted by address.
    #[must_use]
    pub fn exporters(&self) -> Vec<ExporterStatus> {
        let status = |(host, heard): (&Host, &Heard)| ExporterStatus {
            address: SocketAddr::new(IpAddr::from(*host), 0),
            last_seen_ns: heard.last_ns,
            last_read_ns: heard.last_ns,
            last_record_ns: heard.last_ns,
            counts: heard.counts.clone(),
            losses: Some(Losses::default()),
            skew_ns: 0,
            templates: 0,
            backlog: None,
            undecodable: Vec::new(),
        };
        let mut exporters: Vec<_> = self.exporters.iter().map(status).collect();
        exporters.sort_by_key(|exporter| exporter.address);
        exporters
    }
}

#[cfg(test)]
mod tests;
