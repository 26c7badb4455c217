//! What an engine owes to others after a close: a checkpoint, notices, its status.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use metrics::histogram;
use srlg_host::SliceReport;
use tracing::warn;

use super::Engine;
use crate::collector::alerts::Follower;
use crate::collector::checkpoint::{self, Attachment};
use crate::collector::reports::named;
use crate::collector::rule::Close;
use crate::collector::status::{CollectorStatus, LastReport, ProbeStatus};

/// A status may be so old, for it is work.
const FRESH: Duration = Duration::from_millis(40);

impl Engine {
    pub(super) fn after_close(&mut self, slice: u64) -> Result<()> {
        self.progress.closes += 1;
        self.progress.done = self.is_past_end(slice + 1);
        // At the end there is one anyway.
        if self.progress.closes >= self.every && !self.progress.done {
            self.save()?;
        }
        Ok(())
    }

    /// Says in the log what a close lacked, and keeps what the status says of it.
    pub(super) fn tell_of_close(&mut self, close: &Close, report: &SliceReport) {
        let (late, missing) = (named(&self.names, &close.late), named(&self.names, &close.missing));
        if late.len() + missing.len() > 0 {
            let Close { slice, cause, .. } = close;
            let cause = cause.name();
            warn!(
                "slice {slice} closed incomplete, {cause}: late from {late:?}, nothing from {missing:?}"
            );
        }
        if let Some(overload) = report.health.finder.overload {
            warn!("slice {}: {overload}", close.slice);
        }
        self.progress.last_report = Some(LastReport {
            slice: close.slice,
            closed: close.cause.name(),
            super_points: report.super_points.len(),
            late: late.into_iter().map(str::to_owned).collect(),
            missing: missing.into_iter().map(str::to_owned).collect(),
        });
    }

    /// Whether nothing is left to do once `running` runs.
    pub(super) fn is_past_end(&self, running: u64) -> bool {
        self.until.is_some_and(|until| running > until)
    }

    /// Saves a checkpoint, then says what need not be kept any longer.
    pub(in crate::collector) fn save(&mut self) -> Result<()> {
        let begun = Instant::now();
        let rule = self.rule.state(&self.names);
        let running = rule.running;
        let sampling = self.sampling.slices();
        let attachment = Attachment {
            version: checkpoint::VERSION,
            rule,
            replay_after: self.rule.replay_after(self.position.sequence),
            witness: self.position.witness,
            sampling: sampling.map(|(slice, sampling)| (slice, sampling.to_string())).collect(),
            // Lines first: a checkpoint must not know of more than there is on disk.
            alerts: self.alerts.as_ref().map(Follower::state).transpose()?,
            reports: self.reports.sync()?,
        };
        checkpoint::save(&mut self.checkpoints, &self.detector, &attachment).context(
            "no checkpoint was written: after a restart everything since the last checkpoint is read from the stream again",
        )?;
        histogram!("srlg_checkpoint_seconds").record(begun.elapsed());
        self.progress.closes = 0;
        self.progress.checkpoint = running;
        self.tell_durable();
        Ok(())
    }

    /// Says what the last checkpoint has.
    pub(in crate::collector) fn tell_durable(&mut self) {
        let covered = (0..self.names.len()).map(|probe| self.rule.covered(probe));
        self.durable.send_replace(covered.collect());
    }

    /// Publishes how things are, unless that was done just now.
    pub(super) fn publish_status(&mut self) {
        if self.progress.published.is_some_and(|at| at.elapsed() < FRESH) {
            return;
        }
        self.progress.published = Some(Instant::now());
        let now = self.progress.now;
        let durable = self.durable.borrow().clone();
        let probes = self.names.iter().enumerate().map(|(probe, name)| {
            let (newest, silent) = self.rule.heard(probe, now);
            let counts = self.tally.counts[probe];
            ProbeStatus { name: name.clone(), newest, silent, durable: durable[probe], counts }
        });
        let status = CollectorStatus {
            reading: self.progress.reading,
            device: self.detector.device().to_string(),
            running: self.rule.running(),
            front: self.rule.front(now),
            pending_bytes: self.rule.pending(),
            sequence: self.position.sequence,
            unread: self.progress.unread,
            checkpoint: self.progress.checkpoint,
            alerts: self.alerts.as_ref().map(Follower::active),
            last_report: self.progress.last_report.clone(),
            refused: self.tally.refused.clone(),
            probes: probes.collect(),
        };
        status.to_gauges();
        self.status.send_replace(status);
    }
}
