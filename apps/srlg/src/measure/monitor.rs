//! Monitor of one input, which turns contacts and clock ticks into notifications and an overview.

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::Duration;

use anyhow::Result;
use srlg_host::state::Snapshot;
use srlg_input::contact::{Contact, Sampling};
use srlg_input::flow::{ExporterStatus, Reason};
use srlg_input::live::ContactSink;
use srlg_input::{Position, Status as InputStatus};

use crate::config::Config;
use crate::measure::counts::ContactCounts;
use crate::measure::pipeline::{PipelineCounts, Pipelines};
use crate::measure::positions::Positions;
use crate::measure::watch::Watch;
use srlg_alerts::NearMiss;
use srlg_alerts::manager::AlertManager;
use srlg_alerts::notification::Notification;
use srlg_alerts::status::overview::{
    BrokerOverview, DatagramCounts, ExporterOverview, InputOverview, Overview,
};
use srlg_alerts::status::problems::ProblemKind;
use srlg_alerts::witnesses::table::last_datagrams;
use srlg_alerts::witnesses::{TableState, WitnessTable};
use srlg_system::now_ms;

/// A monitor that has all views of one input.
pub struct Monitor {
    watches: Vec<Watch>,
    manager: AlertManager,
    slice_ms: u64,
    /// Pipelines of the reader threads of a live input.
    pipelines: Pipelines,
    counts: ContactCounts,
    positions: Positions,
    exporters: WitnessTable,
    /// Exporters of the input at the time of the last overview.
    remembered: HashSet<IpAddr>,
}

impl Monitor {
    /// Creates a monitor with the views in `config`. Its detectors use `seed`.
    pub fn new(config: &Config, seed: u64) -> Result<Self> {
        let watch = |view| Watch::new(view, &config.general, seed);
        let slice_ms = u64::try_from(config.general.slice.as_millis())?;
        let (permitted, silent_after) =
            (&config.source.sockets.exporters, config.general.silent_after);
        let mut exporters = WitnessTable::new(permitted, silent_after, slice_ms, now_ms());
        exporters.set_names(config.names.exporters.clone());
        Ok(Self {
            watches: config.views.iter().map(watch).collect::<Result<_>>()?,
            manager: config.manager(),
            slice_ms,
            pipelines: Pipelines::default(),
            counts: ContactCounts::default(),
            positions: Positions::default(),
            exporters,
            remembered: HashSet::new(),
        })
    }

    /// Adds a pipeline for a reader thread of a live input and returns its sink. The reader thread passes pairs
    /// directly to the detectors, and [`advance`](Self::advance) closes the slices.
    pub fn pipeline(&mut self) -> Result<Box<dyn ContactSink>> {
        let views = self.watches.iter().zip(&self.manager.by_view);
        let views =
            views.map(|(watch, view_alerts)| watch.pipeline(view_alerts)).collect::<Result<_>>()?;
        Ok(self.pipelines.add(self.slice_ms, 0, views))
    }

    fn collect(&mut self) {
        let PipelineCounts { contacts, newest_ns, sampling } = self.pipelines.collect();
        self.counts.merge(contacts);
        for watch in &mut self.watches {
            watch.record_input(newest_ns / 1_000_000, &sampling);
        }
    }

    /// Applies the rules, allow lists, labels, exporter names and databases of `config` from now on.
    pub fn reload(&mut self, config: &Config) {
        let views = self.watches.iter_mut().zip(&self.manager.by_view);
        for (at, (watch, view_alerts)) in views.enumerate() {
            if let Some(next) = config.views.iter().find(|next| next.name == view_alerts.name) {
                self.pipelines.set_rules(at, &next.rules, watch.counts());
                watch.reload(view_alerts.rules(), &next.rules);
            }
        }
        self.exporters.set_names(config.names.exporters.clone());
        self.manager.reload(&config.views, config.names.clone());
    }

    /// Returns the alerts of the views.
    #[must_use]
    pub const fn manager(&self) -> &AlertManager {
        &self.manager
    }

    pub(crate) const fn manager_mut(&mut self) -> &mut AlertManager {
        &mut self.manager
    }

    pub(crate) fn parts(&mut self) -> (&mut [Watch], &mut AlertManager) {
        (&mut self.watches, &mut self.manager)
    }

    /// Returns the memory of the recorders of all views, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.watches.iter().map(|watch| watch.detector().memory_bytes()).sum()
    }

    /// Returns the maximum additional memory needed while a checkpoint is written, in bytes. It consists of a copy of
    /// the largest view's recorders, and of the serialised copy before and after compression.
    #[must_use]
    pub fn checkpoint_bytes(&self) -> usize {
        let largest = self.watches.iter().map(|watch| watch.detector().memory_bytes()).max();
        3 * largest.unwrap_or(0)
    }

    /// Returns the end of the last closed slice, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.manager.now_ms()
    }

    /// Counts a contact in all views.
    #[inline]
    pub fn ingest(&mut self, contact: &Contact) -> Result<()> {
        self.counts.contacts += 1;
        self.counts.samplings.record(contact);
        let mut unused = None;
        for (watch, view_alerts) in self.watches.iter_mut().zip(&mut self.manager.by_view) {
            unused = unused.or(watch.ingest(contact, view_alerts, &self.exporters)?);
        }
        if let Some(kind) = unused {
            self.counts.unused.add(contact.exporter.map(IpAddr::from), kind);
        }
        Ok(())
    }

    /// Returns the sampling of the contacts that exporters have reported.
    pub(crate) fn sampling(&self) -> Sampling {
        self.counts.samplings.all()
    }

    /// Notes that all contacts before `position` have been processed.
    pub fn record_position(&mut self, position: &Position) {
        self.collect();
        // The next checkpoint of each view includes the contacts of its running slice, so positions up to the oldest
        // running slice need not wait.
        let running = self.watches.iter().map(|watch| watch.detector().slice()).min();
        self.positions.reach(running.unwrap_or(0));
        let newest_ms = self.watches.iter().map(Watch::newest_input_ms).max();
        self.positions.record(newest_ms.unwrap_or(0) / self.slice_ms, position);
    }

    /// Notes when each exporter in `input` last sent a datagram. Logs which exporters have fallen silent by `now_ns` or
    /// are sending again.
    pub fn observe_input(&mut self, input: &InputStatus, now_ns: u64) {
        self.exporters.update(now_ns / 1_000_000, last_datagrams(input));
    }

    pub(crate) fn restore_exporters(&mut self, exporters: &TableState) {
        self.exporters.restore(exporters);
    }

    /// Notes that the system clock was set forward by `step` to `now_ns`. The skipped slices change no alert, and a
    /// window that includes them cannot end an alert.
    pub fn set_forward(&mut self, step: Duration, now_ns: u64) {
        let step_ms = step.as_millis() as u64;
        self.exporters.set_forward(step_ms, now_ns / 1_000_000);
        for (watch, view_alerts) in self.watches.iter_mut().zip(&mut self.manager.by_view) {
            watch.set_forward(step_ms, now_ns, view_alerts);
        }
    }

    /// Advances time to `now_ns`, which may close slices.
    pub fn advance(&mut self, now_ns: u64) -> Result<()> {
        self.collect();
        let Self { watches, manager, exporters, pipelines, .. } = self;
        let views = watches.iter_mut().zip(&mut manager.by_view).enumerate();
        for (at, (watch, view_alerts)) in views {
            watch.advance(now_ns, view_alerts, exporters, pipelines.of(at))?;
        }
        Ok(())
    }

    /// For each view, returns the hosts that reached their threshold in too few slices for an alert. Only the hosts
    /// with the most peers are returned.
    pub fn near_misses(&self) -> impl Iterator<Item = (&str, NearMiss)> {
        let by_view = self.manager.by_view.iter();
        by_view.flat_map(|view_alerts| {
            view_alerts
                .near_misses()
                .into_iter()
                .map(|near_miss| (view_alerts.name.as_str(), near_miss))
        })
    }

    /// Closes the last slice at the end of an input, then advances the clock by one window, but at most by 32 slices.
    /// During this time, the last contacts may still start an alert. No alert ends, because the traffic after the input
    /// is unknown.
    pub fn finish(&mut self) -> Result<()> {
        let mut views = self.watches.iter_mut().zip(&mut self.manager.by_view);
        views.try_for_each(|(watch, view_alerts)| watch.finish(view_alerts, &self.exporters))
    }

    /// Returns the notifications since the last call.
    pub fn notifications(&mut self) -> Result<Vec<Notification>> {
        let Self { watches, manager, .. } = self;
        manager.notifications(|view, hosts, slices| watches[view].peers_within(hosts, slices))
    }

    pub(crate) fn snapshot(&mut self, at: usize) -> Result<Snapshot> {
        self.collect();
        let Self { watches, manager, exporters, positions, pipelines, .. } = self;
        watches[at].snapshot(&mut manager.by_view[at], exporters, positions, pipelines.of(at))
    }

    /// Returns the current overview, with the status of `input`. Counts of exporters that `input` no longer lists are
    /// removed, so that they start at 0 if the exporters send again.
    #[must_use]
    pub fn overview(&mut self, input: &InputStatus) -> Overview {
        self.collect();
        for (at, watch) in self.watches.iter_mut().enumerate() {
            self.pipelines.collect_view(at, watch.counts());
        }
        let exporters: HashSet<_> = input.exporters.iter().map(|it| it.address.ip()).collect();
        // An exporter that `input` does not know yet may already have counts.
        for gone in self.remembered.difference(&exporters) {
            self.counts.forget(*gone);
        }
        self.remembered = exporters;
        let views = self.watches.iter().zip(&self.manager.by_view);
        let mut views: Vec<_> =
            views.map(|(watch, view_alerts)| watch.overview(view_alerts)).collect();
        self.manager.label(&mut views);
        let datagrams = DatagramCounts::of(input);
        let mut problems = self.counts.unused.of(None);
        let outside =
            self.watches.iter().zip(&views).map(|(watch, view)| watch.outside(view.slices));
        problems.add(ProblemKind::NoInside, outside.min().unwrap_or(0));
        problems.add(ProblemKind::Kernel, datagrams.dropped);
        if let Some(broker) = &input.broker {
            // A message that cannot be decoded does not name its exporter.
            let malformed = input.flows.as_ref().map_or(0, |flows| flows.of(Reason::Malformed));
            problems.add(ProblemKind::Message, malformed + broker.without_hosts);
            problems.add(ProblemKind::Expired, broker.expired);
            problems.add(ProblemKind::Unread, broker.dropped);
        }
        Overview {
            now_ms: self.now_ms(),
            slice_ms: self.slice_ms,
            is_input_lost: self.manager.by_view.iter().any(|view_alerts| view_alerts.is_input_lost),
            memory_bytes: self.memory_bytes() as u64,
            views,
            alerts: self.manager.open_alerts(),
            silences: self.manager.silences.all(),
            input: InputOverview { contacts: self.counts.contacts, datagrams, problems },
            exporters: self.exporter_overviews(input),
            broker: BrokerOverview::of(input),
            ..Overview::default()
        }
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
            overview.name = self.manager.exporters().name(overview.address).map(str::to_owned);
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
            lost: exporter.losses.lost,
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

#[cfg(test)]
mod tests {
    use srlg_input::flow::{FlowCounts, Losses};
    use srlg_input::live::Drops;

    use super::*;

    fn monitor() -> Monitor {
        let text = "[[view]]\nname = 'a'\npairs = 10_000\nmemory = 1_000_000\n";
        Monitor::new(&Config::parse(text).unwrap(), 1).unwrap()
    }

    #[test]
    fn a_returning_exporter_starts_without_history() {
        let mut monitor = monitor();
        let address = IpAddr::from([192, 0, 2, 1]);
        let take = |time_ns, monitor: &mut Monitor| {
            let mut contact = Contact::new(time_ns, address.into(), [10, 0, 0, 1].into());
            (contact.exporter, contact.sampling) =
                (Some(address.into()), std::num::NonZeroU32::new(10));
            monitor.ingest(&contact).unwrap();
        };
        let day_ns = 86_400_000_000_000;
        take(day_ns, &mut monitor);
        (0..3).for_each(|_| take(0, &mut monitor));
        let exporter = ExporterStatus {
            address: (address, 0).into(),
            last_read_ns: 0,
            last_record_ns: 0,
            last_seen_ns: 0,
            counts: FlowCounts::default(),
            losses: Losses::default(),
            skew_ns: 0,
            templates: 0,
            backlog: None,
            undecodable: Vec::new(),
        };
        let with = InputStatus { exporters: vec![exporter], ..InputStatus::default() };
        let too_late = |monitor: &mut Monitor| {
            let exporter = monitor.overview(&with).exporters[0].clone();
            (exporter.problems.of(ProblemKind::TooLate), exporter.sampling.to_string())
        };
        assert_eq!(too_late(&mut monitor), (3, "1:10".to_owned()));
        assert_eq!(monitor.sampling().to_string(), "1:10");
        take(0, &mut monitor);
        assert_eq!(monitor.overview(&InputStatus::default()).exporters.len(), 0);
        assert_eq!(too_late(&mut monitor), (0, "none".to_owned()));
        take(0, &mut monitor);
        assert_eq!(too_late(&mut monitor), (1, "1:10".to_owned()));
    }

    #[test]
    fn drops_of_the_kernel_are_a_problem() {
        let mut drops = Drops::default();
        drops.buffer_full = 3;
        let input = InputStatus { drops: Some(drops), ..InputStatus::default() };
        let InputOverview { datagrams, problems, .. } = monitor().overview(&input).input;
        assert_eq!((datagrams.dropped, problems.of(ProblemKind::Kernel)), (3, 3));
    }
}
