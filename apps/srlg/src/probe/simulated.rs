//! A probe without threads and connection, for tests that simulate a network. Tests determine the time of its input.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use srlg_host::Device;
use srlg_input::contact::IpNet;
use srlg_input::live::ContactSink;
use srlg_input::{Contact, Status};
use tokio::sync::watch;

use super::outbox::Outbox;
use super::publish::{self, PartMessage};
use super::site::{ProbeSite, SiteOptions};
use super::spool::{Spool, SpoolLock};
use crate::network::NetworkVersion;
use crate::network::report::{SiteReport, Watchlist};
use srlg_alerts::exporters::ExporterNames;

/// Maximum number of slices in the spool, so that counting never waits for the broker.
const KEEP: usize = 1000;

/// A live input.
#[derive(Clone, Debug)]
pub(crate) struct LiveInput {
    /// Networks of the permitted exporters.
    pub(crate) exporters: Vec<IpNet>,
    /// Time without a datagram after which an exporter is silent.
    pub(crate) silent_after: Duration,
}

pub(crate) struct SimulatedProbe {
    name: String,
    version: NetworkVersion,
    site: Option<ProbeSite>,
    /// Sink of the only reader thread of a live input.
    sink: Option<Box<dyn ContactSink>>,
    outbox: Arc<Outbox>,
    reports: watch::Receiver<Vec<SiteReport>>,
    /// Slice from which on slices have not been sent.
    next: u64,
}

impl SimulatedProbe {
    /// Starts a probe whose spool is in `spools`. The probe continues after a former one. If there is no `live` input,
    /// the probe reads a file.
    pub(crate) fn start(
        name: &str,
        spools: &Path,
        version: &NetworkVersion,
        live: Option<LiveInput>,
    ) -> Self {
        let lock = SpoolLock::acquire(&spools.join(name)).unwrap();
        let (spool, damaged) = Spool::open(lock, version.id).unwrap();
        assert!(damaged.is_empty(), "{damaged:?}");
        let is_live = live.is_some();
        let outbox = Arc::new(Outbox::new(spool, version, Some(KEEP), is_live));
        let (silent_after, exporters) =
            live.map(|live| (live.silent_after, live.exporters)).unzip();
        let exporters = exporters.unwrap_or_default();
        let (pace, device, names) = (None, Device::Cpu, ExporterNames::default());
        let options = SiteOptions { is_live, pace, device, exporters, silent_after };
        let versions = watch::channel(version.clone()).1;
        let mut site = ProbeSite::new(options, versions, &names, Arc::clone(&outbox)).unwrap();
        let sink = is_live.then(|| site.pipeline().unwrap());
        let reports = outbox.reports.subscribe();
        let (name, version) = (name.to_owned(), version.clone());
        Self { name, version, site: Some(site), sink, outbox, reports, next: 0 }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn ingest(&mut self, contacts: &[Contact]) {
        match &mut self.sink {
            Some(sink) => sink.accept(contacts).unwrap(),
            None => self.site().ingest(contacts).unwrap(),
        }
    }

    /// Passes the state of the input, and advances time to `now_ns`.
    pub(crate) fn advance(&mut self, input: &Status, now_ns: u64) {
        self.site().observe_input(input, now_ns);
        self.site().advance(now_ns).unwrap();
    }

    /// Closes the last slice, as at the end of an input.
    pub(crate) fn end(&mut self) {
        self.site.take().expect("an input ends once").finish().unwrap();
        self.outbox.end();
    }

    /// Returns the messages of all slices that have not been sent, or of all slices in the spool if they must be sent
    /// again. The broker acknowledges these messages.
    pub(crate) fn send(&mut self) -> Vec<PartMessage> {
        if self.outbox.is_to_be_sent_again().now_or_never().is_some() {
            self.next = 0;
        }
        let mut messages = Vec::new();
        for slice in self.outbox.from(self.next, KEEP) {
            let entry = self.outbox.read(slice).unwrap();
            messages.extend(publish::messages(&self.name, slice, entry).unwrap());
            self.outbox.ack(self.version.id, slice);
            self.next = slice + 1;
        }
        messages
    }

    /// Returns the payloads of the reports that have not been sent.
    pub(crate) fn reports(&mut self) -> Vec<Vec<u8>> {
        if !self.reports.has_changed().unwrap() {
            return Vec::new();
        }
        let reports = self.reports.borrow_and_update();
        reports.iter().map(|report| serde_json::to_vec(report).unwrap()).collect()
    }

    pub(crate) fn receive_watchlist(&self, watchlist: Option<Watchlist>) {
        self.outbox.watchlist.send_replace(watchlist.map(Arc::new));
    }

    pub(crate) fn receive_durability(&self, message: &str) {
        publish::handle_durability(&self.outbox, message.as_bytes());
    }

    /// Returns whether the input has ended and the collector has stored all slices.
    pub(crate) fn is_done(&self) -> bool {
        self.outbox.is_done(self.next, true)
    }

    fn site(&mut self) -> &mut ProbeSite {
        self.site.as_mut().expect("the input has not ended")
    }
}
