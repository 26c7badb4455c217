//! The operator of a probe, which publishes its state, reloads its configuration and answers the service manager.
//!
//! It works from the start to the end of the process: also while the probe waits for its network, while counting waits
//! for the spool, and after the end of the input until all slices are sent.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::outbox::Outbox;
use crate::config::Config;
use crate::console::Console;
use crate::network::connect::LinkState;
use crate::network::options::ProbeOptions;
use srlg_alerts::exporters::ExporterNames;
use srlg_alerts::manager::AlertManager;
use srlg_alerts::status::overview::{Overview, ProbeOverview};
use srlg_system::now_ms;

/// Time between two looks at the state of the probe.
const LOOK: Duration = Duration::from_millis(100);

/// The parts of a probe, each of which is set as soon as it exists.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) link: OnceLock<watch::Receiver<LinkState>>,
    pub(super) outbox: OnceLock<Arc<Outbox>>,
}

/// The last overview of the site, and what else the page shows of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    pub(super) overview: Overview,
    /// Size of the slices of this network version, in bytes.
    pub(super) sent_bytes: u64,
}

pub(super) struct Operator {
    console: Console,
    /// Manager without views, because a probe raises no alerts.
    manager: AlertManager,
    options: ProbeOptions,
    parts: Arc<Parts>,
    counted: watch::Receiver<Counted>,
    names: watch::Sender<ExporterNames>,
}

impl Operator {
    pub(super) fn new(
        console: Console,
        options: ProbeOptions,
        parts: Arc<Parts>,
        counted: watch::Receiver<Counted>,
        names: watch::Sender<ExporterNames>,
    ) -> Self {
        Self { manager: console.config.manager(), console, options, parts, counted, names }
    }

    /// Works until the future is dropped.
    pub(super) async fn run(mut self) -> Infallible {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            self.look();
        }
    }

    fn look(&mut self) {
        let Self { console, manager, parts, names, .. } = self;
        let name = |config: &Config| {
            names.send_replace(config.names.exporters.clone());
        };
        console.reload_if_requested(|_| Ok(()), name);
        // A probe that does not count yet has nothing that could hang.
        if parts.outbox.get().is_none_or(|outbox| outbox.is_alive()) {
            console.maintain(manager, now_ms());
        }
        self.publish();
    }

    fn publish(&mut self) {
        let Self { console, options, parts, counted, .. } = self;
        let is_live = console.config.source.is_live();
        console.publish(|| {
            let Counted { overview, sent_bytes } = counted.borrow().clone();
            let probe = ProbeOverview {
                name: options.name.clone(),
                broker: options.broker.clone(),
                is_connected: parts.link.get().is_some_and(|link| link.borrow().up),
                sent_bytes,
                ..parts.outbox.get().map(|outbox| outbox.overview()).unwrap_or_default()
            };
            Overview { is_live, probe: Some(probe), ..overview }
        });
    }
}
