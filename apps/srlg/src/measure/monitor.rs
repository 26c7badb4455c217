//! Monitor of one input, which turns contacts and clock ticks into notifications and an overview.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use srlg_host::Config as Sizes;
use srlg_host::config::Params;
use srlg_host::state::Snapshot;
use srlg_input::contact::{Contact, PeerKey, Sampling};
use srlg_input::live::ContactSink;
use srlg_input::{Position, Status as InputStatus};

use crate::config::Config;
use crate::measure::alerting::{Alerting, peers_within};
use crate::measure::close_budget::CloseBudget;
use crate::measure::site::{Site, SiteView, SliceTimes};
use srlg_alerts::NearMiss;
use srlg_alerts::details::HostExporters;
use srlg_alerts::manager::AlertManager;
use srlg_alerts::manager::view::ViewConfig;
use srlg_alerts::manager::view_alerts::ViewAlerts;
use srlg_alerts::notification::Notification;
use srlg_alerts::status::overview::Overview;
use srlg_alerts::witnesses::{TableState, WitnessTable};
use srlg_system::now_ms;

/// Maximum of the key `of`, the number of recent slices that decide whether an alert starts.
const MOST_HITS: u32 = 32;

/// A site whose slices raise alerts.
pub struct Monitor {
    site: Site<Alerting>,
}

/// Attachment of a checkpoint: state of the view and of its input that the detector does not contain.
#[derive(Debug, Serialize, Deserialize)]
struct Attachment {
    /// Sampling of the contacts in each slice of the window.
    sampling: Vec<(u64, Sampling)>,
    /// Exporters that saw the hosts with alerts.
    hosts: Vec<HostExporters>,
    exporters: TableState,
    /// Parts of a contact that form the hosts and the peers of the view.
    #[serde(default)]
    keys: [PeerKey; 2],
    /// Position in the input. The detector contains all contacts before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<Position>,
}

impl Monitor {
    /// Creates a monitor with the views in `config`. Its detectors use `seed`.
    pub fn new(config: &Config, seed: u64) -> Result<Self> {
        let general = &config.general;
        let times = SliceTimes { slice: general.slice, grace: general.grace };
        let view = |view: &ViewConfig| {
            let ViewConfig { name, view, sizes, rules, .. } = view;
            let sizes = Sizes { seed, ..*sizes };
            let mut view = SiteView::new(name, view, sizes, general.device, times, rules)?;
            // More pairs than planned must not make the counts of an attack useless.
            view.detector.set_most_share(u32::MAX);
            anyhow::Ok(view)
        };
        let views = config.views.iter().map(view).collect::<Result<_>>()?;
        let slice_ms = u64::try_from(general.slice.as_millis())?;
        let permitted = &config.source.sockets.exporters;
        let mut exporters = WitnessTable::new(permitted, general.silent_after, slice_ms, now_ms());
        exporters.set_names(config.names.exporters.clone());
        let windows = config.views.iter().map(|view| view.sizes.window);
        let is_live = config.source.is_live();
        let budget = is_live.then(|| CloseBudget::new(general.slice, config.views.len()));
        let manager = if is_live { config.manager() } else { config.manager().of_replay() };
        let alerting = Alerting::new(manager, slice_ms, windows, budget);
        let mut site = Site::new(views, times, exporters, alerting);
        if !is_live {
            site.defer_pairs();
        }
        Ok(Self { site })
    }

    /// Adds a pipeline for a reader thread of a live input and returns its sink. The reader thread passes pairs
    /// directly to the detectors, and [`advance`](Self::advance) closes the slices.
    pub fn pipeline(&mut self) -> Result<Box<dyn ContactSink>> {
        self.site.pipeline()
    }

    /// Applies the rules, allow lists, labels, exporter names and databases of `config` from now on.
    pub fn reload(&mut self, config: &Config) {
        for at in 0..self.site.views.len() {
            let former = &self.site.consumer.manager.by_view[at];
            if let Some(next) = config.views.iter().find(|next| next.name == former.name) {
                let former = former.rules().clone();
                self.site.set_rules(at, &next.rules);
                let hits = &mut self.site.views[at].track.filter.counts.hits;
                *hits = next.rules.hits_after(&former, hits);
            }
        }
        self.site.exporters.set_names(config.names.exporters.clone());
        self.manager_mut().reload(&config.views, config.names.clone());
    }

    /// Returns the alerts of the views.
    #[must_use]
    pub const fn manager(&self) -> &AlertManager {
        &self.site.consumer.manager
    }

    pub(crate) const fn manager_mut(&mut self) -> &mut AlertManager {
        &mut self.site.consumer.manager
    }

    /// Returns the number of views.
    pub(crate) const fn views(&self) -> usize {
        self.site.views.len()
    }

    pub(crate) fn params(&self, at: usize) -> &Params {
        self.site.views[at].detector.params()
    }

    /// Returns the memory of the recorders of all views, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.site.views.iter().map(|view| view.detector.memory_bytes()).sum()
    }

    /// Returns the maximum additional memory needed while a checkpoint is written, in bytes. It consists of a copy of
    /// the largest view's recorders, and of the serialised copy before and after compression.
    #[must_use]
    pub fn checkpoint_bytes(&self) -> usize {
        let largest = self.site.views.iter().map(|view| view.detector.memory_bytes()).max();
        3 * largest.unwrap_or(0)
    }

    /// Returns the end of the last closed slice, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.manager().now_ms()
    }

    /// Counts a contact in all views.
    #[inline]
    pub fn ingest(&mut self, contact: &Contact) -> Result<()> {
        self.site.ingest(contact)
    }

    /// Returns the sampling of the contacts that exporters have reported.
    pub(crate) fn sampling(&self) -> Sampling {
        self.site.counts.samplings.all()
    }

    /// Notes that all contacts before `position` have been processed.
    pub fn record_position(&mut self, position: &Position) {
        // The next checkpoint of each view includes the contacts of its running slice, so positions up to the oldest
        // running slice need not wait.
        let running = self.site.views.iter().map(|view| view.detector.slice()).min();
        self.site.positions.reach(running.unwrap_or(0));
        self.site.record_position(position);
    }

    /// Notes when each exporter in `input` last sent a datagram. Logs which exporters have fallen silent by `now_ns` or
    /// are sending again.
    pub fn observe_input(&mut self, input: &InputStatus, now_ns: u64) {
        self.site.observe_input(input, now_ns);
    }

    /// Notes that the system clock was set forward by `step` to `now_ns`. The skipped slices change no alert, and a
    /// window that includes them cannot end an alert.
    pub fn set_forward(&mut self, step: Duration, now_ns: u64) {
        let step_ms = step.as_millis() as u64;
        self.site.exporters.set_forward(step_ms, now_ns / 1_000_000);
        self.site.consumer.set_forward(step_ms, now_ns);
    }

    /// Advances time to `now_ns`, which may close slices.
    pub fn advance(&mut self, now_ns: u64) -> Result<()> {
        self.site.advance(now_ns)
    }

    /// For each view, returns the hosts that reached their threshold in too few slices for an alert. Only the hosts
    /// with the most peers are returned.
    pub fn near_misses(&self) -> impl Iterator<Item = (&str, NearMiss)> {
        let by_view = self.manager().by_view.iter();
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
        self.site.finish()?;
        self.site.each_view(|track, sink| {
            if !track.clock().is_running() {
                return Ok(());
            }
            let at = sink.view.at;
            sink.consumer.miss_contacts(at);
            let window = sink.view.detector.params().window();
            (0..window.min(MOST_HITS)).try_for_each(|_| {
                sink.consumer.pass_slice(at);
                sink.close(true)
            })
        })
    }

    /// Returns the notifications since the last call.
    pub fn notifications(&mut self) -> Result<Vec<Notification>> {
        let Site { views, consumer, .. } = &mut self.site;
        let peers = |view: usize, hosts: &[IpAddr], slices| {
            views[view].settle()?;
            peers_within(&mut views[view].detector, hosts, slices)
        };
        consumer.manager.notifications(peers)
    }

    /// Passes all waiting pairs of opened slices to the detector of a view and returns a snapshot of the detector. The
    /// attachment of the snapshot includes the last position before which all contacts are in the detector.
    pub(crate) fn snapshot(&mut self, at: usize) -> Result<Snapshot> {
        self.site.flush(at)?;
        let Site { views, consumer, exporters, positions, .. } = &mut self.site;
        let SiteView { detector, details, .. } = &views[at];
        // Pairs of later slices still wait.
        let position = positions.reach(detector.slice()).cloned();
        let attachment = Attachment {
            sampling: consumer.sampling(at),
            hosts: details.all_exporters(),
            exporters: exporters.state(),
            keys: consumer.manager.by_view[at].rules().keys(),
            position,
        };
        Ok(detector.snapshot()?.with_attachment(serde_json::to_vec(&attachment)?))
    }

    /// Restores a view from `snapshot` and returns the position in the input that it contains. If the hosts or peers of
    /// the snapshot were formed from other parts of a contact than now, restores nothing and returns false.
    pub(crate) fn restore(
        &mut self,
        at: usize,
        snapshot: &Snapshot,
    ) -> Result<(bool, Option<Position>)> {
        let Attachment { sampling, hosts, exporters, keys, position } =
            serde_json::from_slice(snapshot.attachment())
                .context("cannot restore the checkpoint: it was not written by `srlg run`; use another state folder")?;
        let Site { views, consumer, exporters: table, .. } = &mut self.site;
        if keys != consumer.manager.by_view[at].rules().keys() {
            return Ok((false, None));
        }
        views[at].restore(snapshot)?;
        consumer.restore_sampling(at, sampling);
        views[at].details.resume(hosts);
        table.restore(&exporters);
        Ok((true, position))
    }

    /// Records a data gap in each view whose alerts were restored. The gap lasts until the first slice opens.
    pub(crate) fn miss_contacts(&mut self) {
        for at in 0..self.views() {
            if self.manager().by_view[at].is_restored() {
                self.site.consumer.miss_contacts(at);
            }
        }
    }

    /// Returns the current overview, with the status of `input`. Counts of exporters that `input` no longer lists are
    /// removed, so that they start at 0 if the exporters send again.
    #[must_use]
    pub fn overview(&mut self, input: &InputStatus) -> Overview {
        self.site.collect();
        self.site.collect_views();
        let view = |(view, view_alerts): (&SiteView, &ViewAlerts)| {
            view_alerts.overview(&view.track.filter.counts.hits)
        };
        let views = self.site.views.iter().zip(&self.manager().by_view).map(view).collect();
        let mut overview = self.site.overview(input, views);
        let manager = self.manager();
        manager.label(&mut overview.views);
        Overview {
            now_ms: self.now_ms(),
            is_input_lost: manager.by_view.iter().any(|view_alerts| view_alerts.is_input_lost),
            alerts: manager.open_alerts(),
            silences: manager.silences.all(),
            ..overview
        }
    }
}

#[cfg(test)]
mod replay_tests;

#[cfg(test)]
mod tests {
    use srlg_alerts::status::overview::InputOverview;
    use srlg_alerts::status::problems::ProblemKind;
    use srlg_input::flow::{ExporterStatus, FlowCounts, Losses};
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
            losses: Some(Losses::default()),
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
