//! [`Engine`]: everything that a collector knows, in one thread.
//!
//! Shape: [`Event`]s in, reports, checkpoints and notices out. It decodes, merges, closes slices and waits for the
//! disk, all of which would hold up an asynchronous runtime; so it has a thread of its own, and as
//! nothing else touches its state there is no lock. Time passes only while it waits for messages, and
//! has read all that there are: nobody is late because the collector, or the broker, was.
//!
//! Invariant: a checkpoint is taken between two messages, and notices say no more than the last one has.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use metrics::{counter, histogram};
use srlg_host::state::Checkpoints;
use srlg_host::{SliceReport, SlidingDetector};
use srlg_input::contact::SamplingWindow;
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;
use tracing::{info, warn};

use super::alerts::Follower;
use super::arrival::{self, Rejection, SampledDelta};
use super::checkpoint::{self, Attachment};
use super::lines::Lines;
use super::reader::{Event, Message};
use super::reports::{self, ClosedSlice, named};
use super::rule::{Close, CloseRule, CollectorStep, DeltaArrival, Moment, Verdict};
use super::status::{CollectorStatus, LastReport, ProbeStatus};
use super::stream::{Position, Witness};
use super::tally::Tally;

/// The age at which a status is published again.
const FRESH: Duration = Duration::from_millis(40);

/// The state of a collector.
pub(super) struct Engine {
    pub(super) detector: SlidingDetector,
    pub(super) rule: CloseRule<SampledDelta>,
    pub(super) sampling: SamplingWindow,
    pub(super) checkpoints: Checkpoints,
    pub(super) reports: Lines,
    /// Where alerts are followed.
    pub(super) alerts: Option<Follower>,
    pub(super) names: Vec<String>,
    pub(super) numbers: HashMap<String, usize>,
    pub(super) slice_ms: u64,
    /// Sample peers of a super point in a report, at most.
    pub(super) most_peers: usize,
    /// Closes between two checkpoints.
    pub(super) every: u64,
    /// The last slice, after which to end.
    pub(super) until: Option<u64>,
    /// The witness is ahead of the sequence after a restart, by all that is to be read again.
    pub(super) position: Position,
    pub(super) tally: Tally,
    pub(super) progress: Progress,
    /// Per probe the slice up to which everything of it is in a checkpoint.
    pub(super) durable: watch::Sender<Vec<Option<u64>>>,
    pub(super) status: watch::Sender<CollectorStatus>,
}

/// The progress of an engine.
#[derive(Debug, Default)]
pub(super) struct Progress {
    now: Moment,
    /// Messages are to come that the broker has already, or it is away.
    resting: bool,
    reading: bool,
    unread: u64,
    /// Closes since the last checkpoint.
    closes: u64,
    checkpoint: Option<u64>,
    last_report: Option<LastReport>,
    done: bool,
    /// When the status was published last.
    published: Option<Instant>,
}

impl Progress {
    /// Since a checkpoint with that running slice.
    pub(super) fn since(checkpoint: Option<u64>) -> Self {
        Self { checkpoint, resting: true, ..Self::default() }
    }
}

impl Engine {
    /// Runs until it is told to stop, or the last slice has closed; then there is a checkpoint of
    /// everything.
    /// After an error, everything since the last checkpoint is read from the stream again.
    pub(super) fn run(mut self, mut events: Receiver<Event>) -> Result<()> {
        // The last slice may have closed before the restart.
        self.progress.done = self.rule.running().is_some_and(|running| self.is_past_end(running));
        while !self.progress.done {
            let waiting = Instant::now();
            let Some(event) = events.blocking_recv() else { break };
            self.pass(waiting.elapsed());
            self.take(event)?;
            self.close_what_may()?;
            self.publish_status();
        }
        self.save()?;
        info!("the collector ends; a checkpoint has everything");
        Ok(())
    }

    fn pass(&mut self, waited: Duration) {
        if !self.progress.resting {
            self.progress.now += waited;
        }
    }

    fn take(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Opened { created, unread, anew } => self.begin_stream(created, unread, anew),
            Event::Message(message) => return self.read(&message),
            Event::Tick => {}
            Event::Away => (self.progress.resting, self.progress.reading) = (true, false),
            Event::Stop => self.progress.done = true,
        }
        Ok(())
    }

    fn begin_stream(&mut self, created: i64, unread: u64, anew: bool) {
        if anew {
            self.rule.renumber();
            self.position = Position::default();
        }
        self.position.witness.get_or_insert(Witness { created, sequence: 0, time: 0 });
        self.progress.reading = true;
        self.rest_for(unread);
    }

    fn rest_for(&mut self, unread: u64) {
        (self.progress.unread, self.progress.resting) = (unread, unread > 0);
    }

    fn read(&mut self, message: &Message) -> Result<()> {
        self.position.sequence = message.sequence;
        if let Some(witness) = &mut self.position.witness {
            (witness.sequence, witness.time) = (message.sequence, message.time);
        }
        self.rest_for(message.unread);
        counter!("srlg_messages_total").increment(1);
        let probe = match arrival::sender(message, &self.numbers) {
            Ok(probe) => probe,
            Err(rejection) => {
                self.tally.rejected(None, &rejection);
                return Ok(());
            }
        };
        let latest = arrival::latest(SystemTime::now(), self.slice_ms);
        match arrival::read(message, probe, self.detector.params(), latest) {
            Ok(arrival) => self.deliver(arrival),
            Err(rejection) => {
                self.tally.rejected(Some(probe), &rejection);
                Ok(())
            }
        }
    }

    fn deliver(&mut self, arrival: DeltaArrival<SampledDelta>) -> Result<()> {
        let probe = arrival.probe;
        match self.rule.deliver(self.progress.now, arrival) {
            Verdict::Merge { delta, late } => {
                if late > 0 {
                    self.tally.late(probe);
                } else {
                    self.tally.in_time(probe);
                }
                self.merge(&delta)?;
            }
            // What waits for the first slice comes here once more when that is known.
            Verdict::Held if self.rule.running().is_none() => {}
            Verdict::Held => self.tally.in_time(probe),
            Verdict::Repeated => self.tally.repeated(probe),
            Verdict::Refused(refusal) => {
                self.tally.rejected(Some(probe), &Rejection::Refused(refusal));
            }
        }
        Ok(())
    }

    fn merge(&mut self, measured: &SampledDelta) -> Result<()> {
        let begun = Instant::now();
        self.sampling.merge(measured.delta.slice(), measured.sampling);
        self.detector.merge_delta(&measured.delta).context("cannot merge a delta")?;
        histogram!("srlg_merge_seconds").record(begun.elapsed());
        Ok(())
    }

    fn close_what_may(&mut self) -> Result<()> {
        while let (false, Some(step)) = (self.progress.done, self.rule.step(self.progress.now)) {
            match step {
                CollectorStep::Begin { slice, waiting } => self.begin(slice, waiting)?,
                CollectorStep::Skip { slice, merge } => {
                    warn!("no probe sent a delta for a whole window: slice {slice} is next");
                    self.detector.skip_to(slice)?;
                    merge.iter().try_for_each(|delta| self.merge(delta))?;
                }
                CollectorStep::Close { close, merge } => {
                    self.close(&close)?;
                    merge.iter().try_for_each(|delta| self.merge(delta))?;
                    self.after_close(close.slice)?;
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, slice: u64, waiting: Vec<DeltaArrival<SampledDelta>>) -> Result<()> {
        info!("slice {slice} is the first one");
        self.detector.skip_to(slice)?;
        waiting.into_iter().try_for_each(|arrival| self.deliver(arrival))
    }

    fn close(&mut self, close: &Close) -> Result<()> {
        let begun = Instant::now();
        let report = self.detector.close_slice()?;
        histogram!("srlg_close_seconds").record(begun.elapsed());
        counter!("srlg_slices_closed_total", "cause" => close.cause.name()).increment(1);
        let closed = ClosedSlice {
            names: &self.names,
            slice_ms: self.slice_ms,
            close,
            report: &report,
            sampling: self.sampling.at(close.slice),
        };
        self.reports.write(close.slice, &reports::line(&closed, self.most_peers))?;
        if let Some(alerts) = &mut self.alerts {
            alerts.follow(&closed)?;
        }
        self.tell_of_close(close, &report);
        Ok(())
    }

    fn after_close(&mut self, slice: u64) -> Result<()> {
        self.progress.closes += 1;
        self.progress.done = self.is_past_end(slice + 1);
        // At the end there is one anyway.
        if self.progress.closes >= self.every && !self.progress.done {
            self.save()?;
        }
        Ok(())
    }

    /// Says in the log what a close lacked, and keeps what the status says of it.
    fn tell_of_close(&mut self, close: &Close, report: &SliceReport) {
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
    fn is_past_end(&self, running: u64) -> bool {
        self.until.is_some_and(|until| running > until)
    }

    /// Saves a checkpoint, then says what need not be kept any longer.
    pub(super) fn save(&mut self) -> Result<()> {
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
    pub(super) fn tell_durable(&mut self) {
        let covered = (0..self.names.len()).map(|probe| self.rule.covered(probe));
        self.durable.send_replace(covered.collect());
    }

    /// Publishes how things are, unless that was done just now.
    fn publish_status(&mut self) {
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
