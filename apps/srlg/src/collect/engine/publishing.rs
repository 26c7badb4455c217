//! The overview of a collector, which the web page and the metrics show.

use srlg_alerts::status::overview::{InputOverview, NetworkOverview, Overview, SiteOverview};
use srlg_alerts::status::problems::ProblemKind;

use super::Engine;

impl Engine {
    /// Updates the overview, at most four times per second.
    pub(super) fn publish(&mut self) {
        let Self { console, plan, detectors, manager, progress, .. } = self;
        let network = &plan.network;
        console.publish(|| {
            let views = detectors
                .iter()
                .zip(&manager.by_view)
                .map(|(detector, view_alerts)| view_alerts.overview(&[]).with_detector(detector));
            let mut views: Vec<_> = views.collect();
            manager.label(&mut views);
            let durable = self.durable.borrow();
            let sites = (0..plan.options.probes.len()).map(|probe| {
                let (newest, is_silent) = self.rule.heard(probe, progress.now);
                let last = progress.last.as_ref();
                let is_late = last.is_some_and(|last| !last.delivered.contains(&probe));
                SiteOverview {
                    newest,
                    is_silent,
                    is_late,
                    durable: durable[probe],
                    counts: self.tally.counts[probe],
                    ..self.sites.overview(probe)
                }
            });
            let mut refused = self.tally.refused.clone();
            if self.sites.rejected() > 0 {
                refused.insert("report", self.sites.rejected());
            }
            let mut input = InputOverview::default();
            input.problems.add(ProblemKind::Refused, refused.values().sum());
            Overview {
                now_ms: manager.now_ms(),
                slice_ms: network.slice_ms,
                deadline_ms: plan.options.deadline.as_millis() as u64,
                is_live: true,
                is_input_lost: manager.by_view.iter().any(|view_alerts| view_alerts.is_input_lost),
                memory_bytes: detectors.iter().map(|it| it.memory_bytes() as u64).sum(),
                alerts: manager.open_alerts(),
                silences: manager.silences.all(),
                views,
                input,
                network: Some(NetworkOverview {
                    is_reading: progress.reading,
                    running: self.rule.running(),
                    front: self.rule.front(progress.now),
                    pending_bytes: self.rule.pending(),
                    sequence: self.position.sequence,
                    unread: progress.unread,
                    checkpoint: progress.checkpoint,
                    closed: progress.closed.clone(),
                    refused,
                    sites: sites.collect(),
                }),
                ..Overview::default()
            }
        });
    }
}
