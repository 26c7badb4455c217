//! The overview of a site: the counters of its views, its input and its exporters.

use std::collections::HashSet;

use srlg_input::Status as InputStatus;
use srlg_input::flow::{ExporterStatus, Reason};

use crate::measure::filter::FilterCounts;
use crate::measure::site::{Site, SiteView, SliceConsumer};
use srlg_alerts::status::overview::{
    BrokerOverview, DatagramCounts, ExporterOverview, InputOverview, Overview, ViewOverview,
};
use srlg_alerts::status::problems::ProblemKind;

/// Number of contacts after which a view without any inside host is reported. Fewer contacts may be outside by chance.
const MANY_OUTSIDE: u64 = 1_000;

/// Time that must be closed before a view without any inside host is reported.
const SURE_MS: u64 = 10_000;

impl<C: SliceConsumer> Site<C> {
    /// Returns an overview with the status of `input`, in which the counters of the views are added to `views`. Counts
    /// of exporters that `input` no longer lists are removed, so that they start at 0 if the exporters send again.
    pub(crate) fn overview(&mut self, input: &InputStatus, views: Vec<ViewOverview>) -> Overview {
        let exporters: HashSet<_> = input.exporters.iter().map(|it| it.address.ip()).collect();
        // An exporter that `input` does not know yet may already have counts.
        for gone in self.remembered.difference(&exporters) {
            self.counts.forget(*gone);
        }
        self.remembered = exporters;
        let datagrams = DatagramCounts::of(input);
        let mut problems = self.counts.unused.of(None);
        let outside = self.views.iter().zip(&views).map(|(view, of)| self.outside(view, of.slices));
        problems.add(ProblemKind::NoInside, outside.min().unwrap_or(0));
        problems.add(ProblemKind::Kernel, datagrams.dropped);
        let connections = input.sockets.and_then(|sockets| sockets.connections);
        let closed = connections.map_or(0, |connections| connections.all_closed());
        problems.add(ProblemKind::Connection, closed);
        if let Some(broker) = &input.broker {
            // A message that cannot be decoded does not name its exporter.
            let malformed = input.flows.as_ref().map_or(0, |flows| flows.of(Reason::Malformed));
            problems.add(ProblemKind::Message, malformed + broker.without_hosts);
            problems.add(ProblemKind::Expired, broker.expired);
            problems.add(ProblemKind::Unread, broker.dropped);
        }
        let views = self.views.iter().zip(views).map(|(SiteView { track, detector, .. }, view)| {
            let counts = &track.filter.counts;
            ViewOverview {
                late: counts.late,
                allowed: counts.allowed,
                without_port: counts.without_port,
                too_late: track.clock().too_late() + counts.too_late,
                future: track.clock().future(),
                ..view.with_detector(detector)
            }
        });
        let views: Vec<ViewOverview> = views.collect();
        Overview {
            slice_ms: self.slice_ms(),
            memory_bytes: views.iter().map(|view| view.memory_bytes).sum(),
            views,
            input: InputOverview {
                contacts: self.counts.contacts,
                datagrams,
                connections,
                problems,
            },
            exporters: self.exporter_overviews(input),
            broker: BrokerOverview::of(input),
            ..Overview::default()
        }
    }

    /// Returns the number of contacts in `closed` slices if none has an inside host and there are enough to be sure,
    /// otherwise 0.
    fn outside(&self, view: &SiteView, closed: u64) -> u64 {
        let FilterCounts { has_inside, outside, .. } = view.track.filter.counts;
        let is_long = closed.saturating_mul(self.slice_ms()) >= SURE_MS;
        if !has_inside && outside >= MANY_OUTSIDE && is_long { outside } else { 0 }
    }

    /// Returns the overviews of the exporters of `input`. Adds silent exporters that `input` does not list, such as
    /// those from before a restart, and permitted exporters that have never sent data.
    fn exporter_overviews(&self, input: &InputStatus) -> Vec<ExporterOverview> {
        let silent = self.exporters.silent().map(|times| ExporterOverview {
            is_silent: true,
            last_seen_ms: Some(times.last_ms),
            ..ExporterOverview::new(times.exporter)
        });
        let unheard = self.exporters.unheard().map(|exporter| ExporterOverview {
            is_silent: self.exporters.silent_since(exporter).is_some(),
            ..ExporterOverview::new(exporter)
        });
        let others = silent.chain(unheard).filter(|it| !self.remembered.contains(&it.address));
        let known = input.exporters.iter().map(|exporter| self.exporter(exporter));
        let mut overviews: Vec<_> = known.chain(others).collect();
        for overview in &mut overviews {
            overview.name = self.exporters.names().name(overview.address).map(str::to_owned);
        }
        overviews.sort_by_key(|overview| overview.address);
        overviews
    }

    fn exporter(&self, exporter: &ExporterStatus) -> ExporterOverview {
        let address = exporter.address.ip();
        let mut problems = self.counts.unused.of(Some(address));
        for kind in ProblemKind::ALL {
            problems.add(kind, kind.reason().map_or(0, |reason| exporter.counts.of(reason)));
        }
        ExporterOverview {
            address,
            name: None,
            datagrams: exporter.counts.datagrams,
            records: exporter.counts.records,
            contacts: exporter.counts.contacts,
            lost: exporter.losses.map(|losses| losses.lost),
            templates: exporter.templates,
            problems,
            waiting_since_ms: exporter.backlog.map(|backlog| backlog.since_ns / 1_000_000),
            last_seen_ms: Some(exporter.last_seen_ns / 1_000_000),
            is_silent: self.exporters.silent_since(address).is_some(),
            skew_ms: -exporter.skew_ns / 1_000_000,
            sampling: self.counts.samplings.of(address),
        }
    }
}
