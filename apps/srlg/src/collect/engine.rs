//! The engine of a collector: one thread, which owns the state.
//!
//! The thread receives [`Event`]s, and produces closed slices, checkpoints and durability messages. It decodes and
//! merges states, closes slices and waits for the disk, all of which would block an asynchronous runtime. Further
//! threads decode messages and merge the states of other views, but no other thread uses the state, so it needs no
//! lock. Time advances only while the thread has read all available messages and waits for more. Therefore, a slow
//! collector or broker does not make any probe late.
//!
//! Invariant: a checkpoint is taken between two messages, and durability messages report only slices in the
//! last checkpoint.

mod publishing;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use srlg_host::SlidingDetector;
use srlg_host::state::Checkpoints;
use srlg_input::contact::SamplingWindow;
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;
use tracing::{info, warn};

use super::arrival::{self, Accepted, OpenedMessage, Rejection, SiteSlice};
use super::busy::BusyTime;
use super::checkpoint::{self, Attachment};
use super::incomplete::{Change, IncompleteSlices};
use super::options::Plan;
use super::reader::{Event, Message};
use super::reports::{Reports, named};
use super::rule::{Arrival, Close, CloseRule, CollectorStep, Moment, Verdict};
use super::side_by_side::side_by_side;
use super::sites::Sites;
use super::stream::{Position, Witness};
use super::tally::Tally;
use crate::config::Config;
use crate::console::Console;
use crate::measure::alerting::peers_within;
use crate::measure::close_budget::CloseBudget;
use crate::network::report::{MOST_HOSTS, WINDOWS, WatchedView};
use crate::service;
use srlg_alerts::details::HOSTS;
use srlg_alerts::manager::AlertManager;
use srlg_alerts::manager::view_alerts::ClosedSlice;
use srlg_alerts::{Condition, Witnesses};
use srlg_system::now_ms;

/// Maximum number of events that are handled together.
const BATCH: usize = 16;

/// State of a collector.
pub(super) struct Engine {
    pub(super) plan: Plan,
    pub(super) console: Console,
    /// Detectors, in the order of the views.
    pub(super) detectors: Vec<SlidingDetector>,
    pub(super) budget: CloseBudget,
    pub(super) sites: Arc<Sites>,
    pub(super) rule: CloseRule<SiteSlice>,
    pub(super) sampling: SamplingWindow,
    pub(super) checkpoints: Checkpoints,
    pub(super) reports: Option<Reports>,
    pub(super) manager: AlertManager,
    pub(super) numbers: HashMap<String, usize>,
    /// Number of closed slices between two checkpoints.
    pub(super) every: u64,
    /// The engine stops after this slice was closed or skipped.
    pub(super) until: Option<u64>,
    /// Position in the stream. After a restart, `witness` may be a later message than `sequence`, because the messages
    /// after `sequence` are read again.
    pub(super) position: Position,
    pub(super) tally: Tally,
    pub(super) progress: Progress,
    /// For each probe, the last slice up to which all of its messages are in a checkpoint.
    pub(super) durable: watch::Sender<Vec<Option<u64>>>,
}

#[derive(Debug)]
pub(super) struct Progress {
    busy: BusyTime,
    now: Moment,
    /// Whether the clock is paused because the broker has unread messages or is unreachable.
    resting: bool,
    reading: bool,
    unread: u64,
    /// Number of slices closed since the last checkpoint.
    closes: u64,
    checkpoint: Option<u64>,
    /// Number of closed slices, by cause.
    closed: BTreeMap<&'static str, u64>,
    incomplete: IncompleteSlices,
    last: Option<Close>,
    /// End of the last closed slice that a probe with data delivered, in milliseconds since the Unix epoch.
    newest_input_ms: u64,
    is_stopped: bool,
}

impl Progress {
    pub(super) fn since(checkpoint: Option<u64>) -> Self {
        Self {
            busy: BusyTime::since(Instant::now()),
            now: Moment::default(),
            resting: true,
            reading: false,
            unread: 0,
            closes: 0,
            checkpoint,
            closed: BTreeMap::new(),
            incomplete: IncompleteSlices::default(),
            last: None,
            newest_input_ms: now_ms(),
            is_stopped: false,
        }
    }
}

impl Engine {
    /// Runs until a stop event or until the slice `until` was closed or skipped, and then saves a checkpoint. After an
    /// error, a restarted collector reads the messages since the last checkpoint from the stream again.
    pub(super) fn run(mut self, mut events: Receiver<Event>) -> Result<()> {
        // The last slice may have closed before the restart.
        while !self.is_done() {
            let (waiting, mut ready) = (Instant::now(), Vec::new());
            if events.blocking_recv_many(&mut ready, BATCH) == 0 {
                break;
            }
            self.step(ready, waiting.elapsed())?;
        }
        self.finish()
    }

    /// Handles events that have happened, after the engine has waited for the time `waited`, and closes the slices that
    /// may close then.
    pub(super) fn step(&mut self, events: Vec<Event>, waited: Duration) -> Result<()> {
        self.advance_clock(waited);
        let begun = Instant::now();
        let mut messages = Vec::new();
        for event in events {
            match event {
                Event::Message(message) => messages.push(message),
                other => {
                    self.read(mem::take(&mut messages))?;
                    // A stop must not leave open what the messages before it complete.
                    self.close_what_may()?;
                    self.handle(&other);
                }
            }
        }
        self.read(messages)?;
        self.close_what_may()?;
        let now = Instant::now();
        self.progress.busy.total += now - begun;
        self.progress.busy.log(now);
        self.console.take_orders(&mut self.manager, now_ms())?;
        self.maintain();
        self.publish();
        Ok(())
    }

    /// Saves a checkpoint and stops the sinks.
    pub(super) fn finish(mut self) -> Result<()> {
        service::stopping();
        self.save()?;
        self.console.delivery.finish(&mut self.manager)?;
        info!("the collector has stopped; the last checkpoint contains its complete state");
        Ok(())
    }

    /// Does the periodic work between events. If views, sizes or slices were changed, a reload changes nothing.
    fn maintain(&mut self) {
        let Self { plan, console, manager, .. } = self;
        let check = |next: &Config| {
            ensure!(
                plan.network.is_of(next),
                "settings of the network description were changed, such as views or slices; restart the collector to create a new network version"
            );
            Ok(())
        };
        let apply = |config: &Config| manager.reload(&config.views, config.names.clone());
        console.reload_if_requested(check, apply);
        let now_ms = manager.now_ms();
        console.maintain(manager, now_ms);
    }

    fn advance_clock(&mut self, waited: Duration) {
        if !self.progress.resting {
            self.progress.now += waited;
        }
    }

    /// Handles an event other than a message.
    fn handle(&mut self, event: &Event) {
        match *event {
            Event::Opened { created, unread, anew } => self.begin_stream(created, unread, anew),
            Event::Message(_) | Event::Tick => {}
            Event::Away => (self.progress.resting, self.progress.reading) = (true, false),
            Event::Stop => self.progress.is_stopped = true,
        }
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

    /// Opens messages, and decodes as many of them together as fit into the memory for states.
    fn read(&mut self, messages: Vec<Message>) -> Result<()> {
        if messages.is_empty() {
            return Ok(());
        }
        let accepted = self.accepted();
        let (mut opened, mut bytes) = (Vec::new(), 0);
        for message in messages {
            let Some(message) = self.open(&message, &accepted) else { continue };
            if bytes + message.most_bytes > accepted.most_bytes {
                self.decode(mem::take(&mut opened), &accepted)?;
                // Slices that hold too much are closed before there is more.
                self.close_what_may()?;
                bytes = 0;
            }
            bytes += message.most_bytes;
            opened.push(message);
        }
        self.decode(opened, &accepted)
    }

    /// Returns the properties of messages that are accepted now.
    fn accepted(&self) -> Accepted {
        let Self { plan, detectors, .. } = self;
        Accepted {
            version: plan.version,
            params: detectors.iter().map(|detector| *detector.params()).collect(),
            most_pairs: plan.network.most_pairs,
            most_bytes: plan.limits().max_pending as u64,
            latest: arrival::latest(SystemTime::now(), plan.network.slice_ms),
        }
    }

    /// Opens a message, and counts it if it is rejected.
    fn open(&mut self, message: &Message, accepted: &Accepted) -> Option<OpenedMessage> {
        self.position.sequence = message.sequence;
        if let Some(witness) = &mut self.position.witness {
            (witness.sequence, witness.time) = (message.sequence, message.time);
        }
        self.rest_for(message.unread);
        let probe = match arrival::sender(message, &self.numbers) {
            Ok(probe) => probe,
            Err(rejection) => {
                self.tally.rejected(None, &rejection);
                return None;
            }
        };
        let judge = |slice, part| self.rule.judge(self.progress.now, probe, slice, part);
        let opened = arrival::open(message, probe, accepted, judge);
        opened.map_err(|rejection| self.tally.rejected(Some(probe), &rejection)).ok()
    }

    /// Decodes messages side by side, and merges what belongs to the running slice or an earlier one.
    fn decode(&mut self, messages: Vec<OpenedMessage>, accepted: &Accepted) -> Result<()> {
        let decode = |message: OpenedMessage| (message.probe, message.decode(accepted));
        let decoded = side_by_side(messages, decode);
        let mut due = Vec::new();
        for (probe, arrival) in decoded {
            match arrival {
                Ok(arrival) => due.extend(self.deliver(arrival)),
                Err(rejection) => self.tally.rejected(Some(probe), &rejection),
            }
        }
        self.merge(&due)
    }

    /// Passes `arrival` to the rule, and returns its content if it must be merged now.
    fn deliver(&mut self, arrival: Arrival<SiteSlice>) -> Option<SiteSlice> {
        let probe = arrival.probe;
        match self.rule.deliver(self.progress.now, arrival) {
            Verdict::Merge { content, late } => {
                let counts = &mut self.tally.counts[probe];
                *if late > 0 { &mut counts.late } else { &mut counts.in_time } += 1;
                return Some(content);
            }
            // Messages that arrived before the first slice was known are delivered again later.
            Verdict::Held if self.rule.running().is_none() => {}
            Verdict::Held => self.tally.counts[probe].in_time += 1,
            Verdict::Repeated => self.tally.counts[probe].repeated += 1,
            Verdict::Refused(refusal) => {
                self.tally.rejected(Some(probe), &Rejection::Refused(refusal));
            }
        }
        None
    }

    /// Merges slices into the detectors of all views, side by side.
    fn merge(&mut self, slices: &[SiteSlice]) -> Result<()> {
        if slices.is_empty() {
            return Ok(());
        }
        for SiteSlice { slice, sampling, .. } in slices {
            self.sampling.merge(*slice, *sampling);
            self.console.log_sampling(*sampling);
        }
        let views = self.detectors.iter_mut().enumerate().collect();
        let merged = side_by_side(views, |(view, detector): (usize, &mut SlidingDetector)| {
            let states = slices.iter().flat_map(|slice| &slice.states);
            let mut states = states.filter(|(of, _)| *of == view);
            states.try_for_each(|(_, state)| state.merge_into(detector))
        });
        merged.into_iter().collect::<Result<(), _>>().context("cannot merge the slice of a probe")
    }

    fn skip_to(&mut self, slice: u64) -> Result<()> {
        self.manager.by_view.iter_mut().for_each(|view_alerts| view_alerts.be_at_least_at(slice));
        Ok(self.detectors.iter_mut().try_for_each(|detector| detector.skip_to(slice))?)
    }

    fn close_what_may(&mut self) -> Result<()> {
        while let (false, Some(step)) = (self.is_done(), self.rule.step(self.progress.now)) {
            match step {
                CollectorStep::Begin { slice, waiting } => self.begin(slice, waiting)?,
                CollectorStep::Skip { slice, merge } => {
                    warn!(
                        "no probe sent a slice for a whole window: continuing with slice {slice}"
                    );
                    self.skip_to(slice)?;
                    self.merge(&merge)?;
                }
                CollectorStep::Close { close, merge } => {
                    self.close(&close)?;
                    self.merge(&merge)?;
                    self.after_close()?;
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, slice: u64, waiting: Vec<Arrival<SiteSlice>>) -> Result<()> {
        info!("starting with slice {slice}");
        self.skip_to(slice)?;
        let due: Vec<_> = waiting.into_iter().filter_map(|arrival| self.deliver(arrival)).collect();
        self.merge(&due)
    }

    fn close(&mut self, close: &Close) -> Result<()> {
        let begun = Instant::now();
        let Self {
            plan, console, detectors, budget, manager, reports, progress, sites, rule, ..
        } = self;
        let network = &plan.network;
        let delivered = close.delivered.iter().copied();
        // Late probes may have data, too.
        let of_inputs = sites.condition(delivered.clone().chain(close.late.clone()), close.slice);
        let condition = Condition {
            is_input_lost: of_inputs.is_input_lost || close.delivered.is_empty(),
            whole_slices: close.whole_slices.min(of_inputs.whole_slices),
        };
        if !sites.condition(delivered, close.slice).is_input_lost {
            progress.newest_input_ms =
                close.slice.saturating_add(1).saturating_mul(network.slice_ms);
        }
        let sampling = self.sampling.at(close.slice);
        let missing = close.late.iter().chain(&close.missing).copied().collect::<Vec<_>>();
        let missing = named(&plan.options.probes, &missing);
        let mut silent = Witnesses::default();
        for (probe, name) in plan.options.probes.iter().enumerate() {
            if let (newest, true) = rule.heard(probe, progress.now) {
                let end_ms = |slice: u64| slice.saturating_add(1).saturating_mul(network.slice_ms);
                let since_ms = newest.map_or(console.started_ms, end_ms);
                silent.merge(Witnesses::silent(format!("site {name}"), since_ms));
            }
        }
        let mut watched = Vec::new();
        let most = HOSTS.min(MOST_HOSTS / network.views.len());
        for (view, detector) in detectors.iter_mut().enumerate() {
            budget.apply(detector);
            let mut closing = detector.begin_close()?;
            let sightings = manager.by_view[view].sightings(&mut closing)?;
            let report = closing.end()?;
            let is_limiting = budget.record(view, &network.views[view].name, detector, &report);
            let slice = ClosedSlice {
                report,
                sightings,
                condition,
                sampling,
                newest_input_ms: progress.newest_input_ms,
                missing_sites: missing.iter().map(|&name| name.to_owned()).collect(),
            };
            if let Some(reports) = reports {
                reports.write(plan, view, close, &slice)?;
            }
            let overload = slice.report.health.finder.overload.filter(|_| !is_limiting);
            if let Some(overload) = overload {
                warn!("slice {} of view {}: {overload}", close.slice, network.views[view].name);
            }
            let view_alerts = &mut manager.by_view[view];
            let evidence = |host, window| sites.evidence(view as u8, host, window, close.slice);
            view_alerts.close(&slice, evidence, |alerted| {
                let mut witnesses = sites.witnesses(view as u8, alerted, close.slice);
                witnesses.merge(silent.clone());
                witnesses
            });
            view_alerts.follow_rates(|host| sites.rates(view as u8, host, close.slice));
            let hosts = view_alerts.hosts_with_alerts(&slice.report).into_iter().take(most);
            let mut windows = view_alerts.rules().windows();
            windows.truncate(WINDOWS);
            watched.push(WatchedView { windows, hosts: hosts.collect() });
        }
        let notifications = manager.notifications(|view, hosts, slices| {
            peers_within(&mut detectors[view], hosts, slices)
        })?;
        self.console.delivery.deliver(manager, &notifications)?;
        sites.ask(watched, self.console.config.general.url.clone());
        self.record_close(close);
        self.progress.busy.closing += begun.elapsed();
        Ok(())
    }

    fn after_close(&mut self) -> Result<()> {
        self.progress.closes += 1;
        // A checkpoint is saved at the end anyway.
        if self.progress.closes >= self.every && !self.is_done() {
            self.save()?;
        }
        Ok(())
    }

    /// Logs which probes do not deliver whole slices if this changes, and stores `close` for the overview.
    fn record_close(&mut self, close: &Close) {
        let names = &self.plan.options.probes;
        let Close { slice, cause, .. } = close;
        let cause = cause.name();
        let states = [("late", &close.late), ("silent", &close.missing)];
        let states = states.into_iter().filter(|(_, probes)| !probes.is_empty());
        let states = states.map(|(state, of)| format!("{state}: {}", named(names, of).join(", ")));
        let probes = states.collect::<Vec<_>>().join("; ");
        match self.progress.incomplete.close(close, self.plan.network.slice_ms) {
            Some(Change::Starts) => {
                warn!(
                    "slices close without the data of all probes since slice {slice} ({cause}); {probes}"
                );
            }
            Some(Change::Spreads) => {
                warn!("more probes are late or silent since slice {slice} ({cause}); {probes}");
            }
            Some(Change::Shrinks(back)) => {
                let back = named(names, &back).join(", ");
                let others = if probes.is_empty() { probes } else { format!("; {probes}") };
                info!("slices have the data of these probes again: {back}{others}");
            }
            Some(Change::Ends { slices }) => {
                info!("slices have the data of all probes again; incomplete slices: {slices}");
            }
            None => {}
        }
        *self.progress.closed.entry(cause).or_default() += 1;
        self.progress.last = Some(close.clone());
    }

    /// Returns whether a stop was requested or the slice `until` was closed or skipped.
    fn is_done(&self) -> bool {
        self.progress.is_stopped
            || self.until.is_some_and(|until| self.rule.running() > Some(until))
    }

    /// Saves a checkpoint, then reports the durable slices to the probes.
    pub(super) fn save(&mut self) -> Result<()> {
        // Alerts are saved first, because slices after the checkpoint are merged again.
        self.console.delivery.save(&self.manager)?;
        let rule = self.rule.state(&self.plan.options.probes);
        let running = rule.running;
        let attachment = Attachment {
            version: checkpoint::VERSION,
            rule,
            replay_after: self.rule.replay_after(self.position.sequence),
            witness: self.position.witness,
            sampling: self.sampling.slices().collect(),
            sites: self.sites.kept(),
        };
        checkpoint::save(&mut self.checkpoints, &self.detectors, &attachment).context(
            "cannot save a checkpoint; after a restart, everything since the last checkpoint is read from the stream again",
        )?;
        self.progress.closes = 0;
        self.progress.checkpoint = running;
        self.announce_durable();
        Ok(())
    }

    /// Reports to each probe up to which slice all of its slices are durable.
    pub(super) fn announce_durable(&mut self) {
        let covered = (0..self.plan.options.probes.len()).map(|probe| self.rule.covered(probe));
        self.durable.send_replace(covered.collect());
    }
}
