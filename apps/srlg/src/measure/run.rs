//! `srlg run`: the loop from an input to notifications.
//!
//! The reader threads of a live input count contacts (see `pipeline`), and the main thread closes slices at clock
//! ticks. In a replay, the main thread reads the files and counts their contacts, whose timestamps close slices. Sinks,
//! the web page and the writer of checkpoints have their own threads, so the main thread does not wait for them while
//! it runs.

use std::mem;
use std::time::{Duration, Instant};

use anyhow::Result;
use srlg_input::{Contact, Input, Status as InputStatus};
use tracing::{info, warn};

use crate::config::options::Options;
use crate::config::{Config, warn_of_views};
use crate::console::{Console, ReadConfig, log_input};
use crate::measure::checkpoints::{Continued, ViewCheckpoints};
use crate::measure::drive::{EventConsumer, drive};
use crate::measure::monitor::Monitor;
use crate::measure::pipeline::VIEW_BYTES;
use crate::service::{self, Service};
use srlg_alerts::status::overview::Overview;
use srlg_alerts::witnesses::LOOK;
use srlg_notify::delivery::Delivery;
use srlg_system::now_ms;
use srlg_system::pacing::Every;

/// Runs until the input ends or a signal stops it.
pub fn run(options: &Options) -> Result<()> {
    let service = Service::new()?;
    let mut config = options.config()?;
    config.read_databases()?;
    let Continued { mut monitor, alert_store, checkpoints, ended, position } =
        Continued::open(&config)?;
    let delivery = Delivery::start(alert_store, config.active_sinks())?;
    let mut input = Input::resume_with(&config.source, position, &mut || Ok(monitor.pipeline()?))?;
    input.stop_at_signals()?;
    log_start(&config, &monitor, &input);
    let read = options.config.is_some().then(|| {
        let options = options.clone();
        Box::new(move || options.config()) as ReadConfig
    });
    let mut it = Loop {
        console: Console::open(config, delivery, service, read)?,
        monitor,
        checkpoints,
        shown: Instant::now(),
        now_ms: 0,
        has_closed: false,
        look: Every::new(LOOK),
        input: InputStatus::default(),
        input_ms: None,
    };
    it.console.delivery.deliver(it.monitor.manager(), &ended)?;
    let memory = it.monitor.memory_bytes() as f64 / 1e6;
    let views = it.console.config.views.len();
    service::ready(&format!("{views} views, {memory:.1} MB"));
    let run = it.run(&mut input);
    service::stopping();
    if run.is_ok() && !it.is_live() {
        let (started, open) =
            (it.console.delivery.started(), it.monitor.manager().open_alerts().len());
        info!("alerts raised in this run: {started}; active at the end: {open}");
    }
    log_input(&input.status(), &it.console.config.names.exporters);
    run.and(it.finish())
}

fn log_start(config: &Config, monitor: &Monitor, input: &Input) {
    let memory = monitor.memory_bytes() as f64 / 1e6;
    let names: Vec<&str> = config.views.iter().map(|view| view.name.as_str()).collect();
    info!("allocated {memory:.1} MB for views {}; this memory does not grow", names.join(", "));
    if config.source.is_live() {
        let memory = VIEW_BYTES as f64 / 1e6;
        info!("each reader thread uses up to {memory:.1} MB per view");
    }
    warn_of_views(config);
    if config.general.state.is_some() {
        let copies = monitor.checkpoint_bytes() as f64 / 1e6;
        info!("writing a checkpoint temporarily uses up to {copies:.1} MB more");
    }
    for address in input.addresses() {
        info!("listening for flow exports on {address}");
    }
}

/// Maximum time between two overviews of a live input. Each closed slice also produces an overview, but slices may be
/// hours long.
const LONGEST: Duration = Duration::from_secs(2);

struct Loop {
    console: Console,
    monitor: Monitor,
    checkpoints: ViewCheckpoints,
    shown: Instant,
    /// End of the last closed slice, in milliseconds since the Unix epoch.
    now_ms: u64,
    /// Whether a slice has closed since the last overview.
    has_closed: bool,
    look: Every,
    input: InputStatus,
    /// Time at which `input` was read, in milliseconds since the Unix epoch. `None` in a replay, whose status is read for
    /// each overview.
    input_ms: Option<u64>,
}

impl EventConsumer for Loop {
    fn ingest(&mut self, contacts: &[Contact]) -> Result<()> {
        for contact in contacts {
            self.monitor.ingest(contact)?;
            self.end_slice()?;
        }
        Ok(())
    }

    fn advance(&mut self, now_ns: u64, input: &Input) -> Result<()> {
        if self.look.is_due() {
            (self.input, self.input_ms) = (input.status(), Some(now_ns / 1_000_000));
            self.monitor.observe_input(&self.input, now_ns);
        }
        if let Some(position) = input.position().filter(|_| self.checkpoints.are_kept()) {
            self.monitor.record_position(position);
        }
        self.monitor.advance(now_ns)?;
        self.maintain()?;
        if self.shown.elapsed() >= LONGEST {
            self.publish(input);
        }
        Ok(())
    }

    fn set_forward(&mut self, step: Duration, now_ns: u64) -> Result<()> {
        self.monitor.set_forward(step, now_ns);
        let step = humantime::format_duration(Duration::from_secs(step.as_secs()));
        warn!(
            "the system clock was set forward by {step}: a window that includes the skipped time cannot end an alert"
        );
        Ok(())
    }

    fn after_event(&mut self, input: &Input) -> Result<()> {
        self.end_slice()?;
        if mem::take(&mut self.has_closed) {
            self.publish(input);
        }
        // The notifications of the slice must be stored before a user closes an alert.
        let now_ms = self.clock_ms();
        if self.console.take_orders(self.monitor.manager_mut(), now_ms)? {
            self.publish(input);
        }
        Ok(())
    }
}

impl Loop {
    fn run(&mut self, input: &mut Input) -> Result<()> {
        drive(input, self)?;
        if !self.is_live() {
            self.monitor.finish()?;
            for (view, near_miss) in self.monitor.near_misses() {
                info!("no alert in view {view}: {near_miss}");
            }
        }
        self.deliver_notifications()?;
        self.publish(input);
        Ok(())
    }

    /// If a slice has closed since the last call, sends the new notifications.
    fn end_slice(&mut self) -> Result<()> {
        let now_ms = self.monitor.now_ms();
        if now_ms != self.now_ms {
            (self.now_ms, self.has_closed) = (now_ms, true);
            self.deliver_notifications()?;
        }
        Ok(())
    }

    fn deliver_notifications(&mut self) -> Result<()> {
        let notifications = self.monitor.notifications()?;
        self.console.delivery.deliver(self.monitor.manager(), &notifications)?;
        // Files have no clock ticks.
        if !self.is_live() {
            self.maintain()?;
        }
        Ok(())
    }

    fn publish(&mut self, input: &Input) {
        self.shown = Instant::now();
        let is_live = self.is_live();
        let is_checkpoint_failing = self.checkpoints.is_failing();
        self.console.publish(|| {
            // A replay does not update the status regularly.
            if !is_live {
                self.input = input.status();
            }
            Overview {
                is_live,
                is_checkpoint_failing,
                exporters_read_ms: self.input_ms,
                ..self.monitor.overview(&self.input)
            }
        });
    }

    /// Does periodic work: reloads the configuration on request, notes new sampling rates and saves checkpoints.
    fn maintain(&mut self) -> Result<()> {
        let now_ms = self.clock_ms();
        self.console.reload_if_requested(|_| Ok(()), |config| self.monitor.reload(config));
        self.console.maintain(self.monitor.manager_mut(), now_ms);
        self.console.log_sampling(self.monitor.sampling());
        self.checkpoints.save_if_due(&mut self.monitor)
    }

    fn is_live(&self) -> bool {
        self.console.config.source.is_live()
    }

    /// Returns the current time, in milliseconds since the Unix epoch. In a replay, this is the end of the last closed
    /// slice.
    fn clock_ms(&self) -> u64 {
        if self.is_live() { now_ms() } else { self.now_ms }
    }

    fn finish(mut self) -> Result<()> {
        let delivered = self.console.delivery.finish(self.monitor.manager_mut());
        let saved = self.checkpoints.finish(&mut self.monitor);
        delivered.and(saved)
    }
}
