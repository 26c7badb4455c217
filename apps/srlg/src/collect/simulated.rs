//! A collector without threads and connection, for tests that simulate a network. Tests determine how long it waits.

use std::collections::BTreeMap;
use std::mem;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::HeaderMap;
use srlg_alerts::status::overview::MessageCounts;
use srlg_notify::alert_store::AlertStore;
use srlg_notify::delivery::Delivery;

use super::durability;
use super::engine::Engine;
use super::options::Plan;
use super::reader::{Event, Message};
use super::{Args, open};
use crate::config::Config;
use crate::network::NetworkVersion;
use crate::network::report::Watchlist;
use crate::service::Service;

/// Time between two clock ticks.
const TICK: Duration = Duration::from_millis(50);

pub(crate) struct SimulatedCollector {
    engine: Engine,
    /// Sequence number of the last message that was read.
    position: u64,
}

/// A message in the stream of the broker.
#[derive(Clone, Debug)]
pub(crate) struct StoredMessage {
    pub(crate) subject: String,
    pub(crate) headers: HeaderMap,
    pub(crate) payload: bytes::Bytes,
}

/// Files of a collector.
#[derive(Clone, Debug)]
pub(crate) struct CollectorFiles {
    pub(crate) config: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) reports: PathBuf,
}

impl CollectorFiles {
    pub(crate) fn of(folder: &Path) -> Self {
        let [config, state, reports] =
            ["srlg.toml", "state", "reports.ndjson"].map(|name| folder.join(name));
        Self { config, state, reports }
    }
}

impl SimulatedCollector {
    /// Starts a collector of `version`, which continues after a former one that used the same files.
    pub(crate) fn start(files: &CollectorFiles, version: &NetworkVersion) -> Self {
        let CollectorFiles { config, state, reports } = files.clone();
        let args = Args { config, reports: Some(reports), until_slice: None };
        let config = Config::read(&args.config).unwrap();
        let options = config.network().unwrap().clone();
        let plan = Plan::new(config.general.checkpoint, options, version.clone());
        let alert_store = AlertStore::open(Some(&state)).unwrap().strict();
        let delivery = Delivery::start(alert_store, &[]).unwrap();
        let (engine, position) =
            open(&args, config, plan, 0, delivery, Service::new().unwrap()).unwrap();
        Self { engine, position: position.sequence }
    }

    /// Reads the messages of `stream` that have not been read. The clock does not advance meanwhile.
    pub(crate) fn read(&mut self, stream: &[StoredMessage]) {
        let unread = stream.len() as u64 - self.position;
        self.step(Event::Opened { created: 1, unread, anew: false }, Duration::ZERO);
        let mut batch = Vec::new();
        while let Some(message) = stream.get(self.position as usize) {
            let StoredMessage { subject, headers, payload } = message.clone();
            self.position += 1;
            let (sequence, time) = (self.position, self.position as i64);
            let unread = stream.len() as u64 - sequence;
            let message = Message { subject, headers, payload, sequence, time, unread };
            batch.push(Event::Message(message));
            // Batches of one to five messages.
            if unread == 0 || batch.len() as u64 > sequence % 5 {
                self.engine.step(mem::take(&mut batch), Duration::ZERO).unwrap();
            }
        }
    }

    /// Lets time pass in which no message arrives.
    pub(crate) fn wait(&mut self, time: Duration) {
        let ticks = time.as_millis() / TICK.as_millis();
        (0..ticks).for_each(|_| self.step(Event::Tick, TICK));
    }

    /// Loses the connection to the broker.
    pub(crate) fn lose_broker(&mut self) {
        self.step(Event::Away, Duration::ZERO);
    }

    fn step(&mut self, event: Event, waited: Duration) {
        self.engine.step(vec![event], waited).unwrap();
    }

    pub(crate) fn receive_report(&self, subject: &str, payload: &[u8]) {
        self.engine.sites.receive(subject, payload);
    }

    pub(crate) fn watchlist(&self) -> Option<Watchlist> {
        self.engine.sites.watchlist.borrow().clone()
    }

    /// Returns the durability message for each probe that has durable slices.
    pub(crate) fn durability(&self) -> Vec<Option<String>> {
        let version = self.engine.plan.version;
        let durable = self.engine.durable.borrow();
        durable.iter().map(|slice| Some(durability::message(version, (*slice)?))).collect()
    }

    pub(crate) fn running(&self) -> Option<u64> {
        self.engine.rule.running()
    }

    pub(crate) fn counts(&self, probe: usize) -> MessageCounts {
        self.engine.tally.counts[probe]
    }

    /// Returns the number of rejected messages for each reason.
    pub(crate) fn refused(&self) -> BTreeMap<&'static str, u64> {
        self.engine.tally.refused.clone()
    }

    /// Returns whether the last slice has closed without data from any site.
    pub(crate) fn is_input_lost(&self) -> bool {
        self.engine.manager.by_view.iter().all(|view_alerts| view_alerts.is_input_lost)
    }

    pub(crate) fn alerts(&self) -> usize {
        self.engine.manager.open_alerts().len()
    }

    /// Stops the collector, which saves its state.
    pub(crate) fn stop(self) {
        self.engine.finish().unwrap();
    }

    /// Stops the collector as a kill does: it saves nothing.
    pub(crate) fn kill(self) {}
}
