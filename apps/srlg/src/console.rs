//! The console of a process: notifications, the web page, reloads, and the service manager.

use anyhow::Result;
use srlg_input::Status as InputStatus;
use srlg_input::contact::Sampling;
use tracing::{info, warn};

use crate::config::Config;
use crate::config::blind_spots::SamplingNotes;
use crate::service::{self, Service};
use srlg_alerts::exporters::ExporterNames;
use srlg_alerts::manager::AlertManager;
use srlg_alerts::status::overview::Overview;
use srlg_notify::delivery::Delivery;
use srlg_system::now_ms;
use srlg_web::publisher::Publisher;

/// Reads the configuration again.
pub(crate) type ReadConfig = Box<dyn Fn() -> Result<Config> + Send>;

/// The parts of a process through which it reports and is operated.
pub(crate) struct Console {
    pub(crate) config: Config,
    pub(crate) delivery: Delivery,
    service: Service,
    /// Time at which the process started, in milliseconds since the Unix epoch.
    pub(crate) started_ms: u64,
    publisher: Publisher,
    /// Reader of the configuration file, or `None` if there is no file.
    read: Option<ReadConfig>,
    sampling: SamplingNotes,
    last_reload_ms: u64,
    is_last_reload_good: bool,
}

impl Console {
    /// Starts the web page and prepares reloads. The configuration is read again with `read`.
    pub(crate) fn open(
        config: Config,
        delivery: Delivery,
        service: Service,
        read: Option<ReadConfig>,
    ) -> Result<Self> {
        let general = &config.general;
        let publisher =
            Publisher::open(general.http, general.visitors(), general.keep, delivery.store())?;
        let started_ms = now_ms();
        Ok(Self {
            sampling: SamplingNotes::new(config.source.decoding.sampling),
            config,
            delivery,
            service,
            started_ms,
            publisher,
            read,
            last_reload_ms: started_ms,
            is_last_reload_good: true,
        })
    }

    /// Publishes the overview that `make` returns, if an overview is due.
    pub(crate) fn publish(&mut self, make: impl FnOnce() -> Overview) {
        let Self { publisher, delivery, config, .. } = self;
        publisher.publish(|| {
            let overview = Overview {
                started_ms: self.started_ms,
                sinks: delivery.overviews(),
                waiting_notifications: delivery.waiting(),
                last_reload_ms: self.last_reload_ms,
                is_last_reload_good: self.is_last_reload_good,
                is_learning: config.general.learn,
                ..make()
            };
            let is_of_flows = overview.network.is_none() && config.source.is_exports();
            let is_waiting = is_of_flows && overview.lacks_first_flows(now_ms());
            Overview { is_waiting, ..overview }
        });
    }

    /// Executes the orders of users. Returns whether there were any.
    pub(crate) fn take_orders(&mut self, manager: &mut AlertManager, now_ms: u64) -> Result<bool> {
        self.publisher.take_orders(&mut self.delivery, manager, now_ms)
    }

    /// Logs rates in `sampling` that make the rules of the views blind and that were not logged before.
    pub(crate) fn log_sampling(&mut self, sampling: Sampling) {
        self.sampling.log(sampling, &self.config.views);
    }

    /// Notifies the watchdog, and prunes notifications that are too old at `now_ms`.
    pub(crate) fn maintain(&mut self, manager: &mut AlertManager, now_ms: u64) {
        self.service.alive();
        let keep_ms = self.config.general.keep.as_millis() as u64;
        self.delivery.maintain(manager, now_ms.saturating_sub(keep_ms));
    }

    /// If a reload was requested, reads the configuration again and passes it to `apply`, with all changes that need no
    /// restart. If `check` rejects the new configuration, the previous one stays in use.
    pub(crate) fn reload_if_requested(
        &mut self,
        check: impl FnOnce(&Config) -> Result<()>,
        apply: impl FnOnce(&Config),
    ) {
        if !self.service.wants_reload() {
            return;
        }
        let Some(read) = &self.read else {
            warn!("cannot reload: there is no configuration file; start with --config");
            return;
        };
        service::reloading();
        let next = read().and_then(|next| check(&next).map(|()| next));
        let reloaded = self.config.reload(next);
        if reloaded.is_some() {
            apply(&self.config);
            self.last_reload_ms = now_ms();
        }
        self.is_last_reload_good = reloaded == Some(true);
        service::ready("running");
    }
}

/// Logs the counters of `input` and of its exporters, which have the given names.
pub(crate) fn log_input(input: &InputStatus, names: &ExporterNames) {
    input.to_string().lines().for_each(|line| info!("{line}"));
    for exporter in &input.exporters {
        match names.name(exporter.address.ip()) {
            Some(name) => info!("exporter {name}, {exporter}"),
            None => info!("exporter {exporter}"),
        }
    }
}
