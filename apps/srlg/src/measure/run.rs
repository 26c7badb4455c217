//! `srlg run`: the loop from an input to notices.
//!
//! Shape: one thread reads, counts and closes slices; sinks, checkpoints and the page have threads of their own, and hold
//! it up never.

use std::sync::Arc;
use std::time::Duration;

use crate::alerts::{Every, OnChange, Tracker};
use anyhow::Result;
use srlg_input::{Event, Input, LogLevel, LogLine};
use tokio::sync::watch::Sender;
use tracing::{info, warn};

use crate::config::options::Options;
use crate::config::{Config, General};
use crate::measure::monitor::Monitor;
use crate::measure::saved::Saved;
use crate::measure::service::Service;
use crate::notify::notice::Notice;
use crate::notify::sinks::Sinks;
use crate::now_ms;
use crate::show::board::Board;
use crate::show::web::Web;

/// Notices that wait while the database takes none.
const MOST_WAITING: usize = 100_000;

/// How long sinks have at the end.
const LAST: Duration = Duration::from_secs(5);

/// The shortest time between two boards.
const BOARD: Duration = Duration::from_millis(250);

/// How often old notices are forgotten.
const FORGET: Duration = Duration::from_secs(60);

/// Watches until the input ends, or a signal comes.
pub fn run(options: &Options) -> Result<()> {
    let config = options.config()?;
    let (saved, monitor, ended) = Saved::open(&config)?;
    let sinks = Sinks::start(&config.sinks, saved.store())?;
    let mut input = Input::open(&config.source)?;
    input.stop_at_signals()?;
    log_start(&config, &monitor, &input);
    let (boards, latest) = tokio::sync::watch::channel(Arc::default());
    let General { http, http_public, .. } = config.general;
    let web = http.map(|address| Web::start(address, http_public, latest));
    let web = web.transpose()?;
    if let Some(web) = &web {
        info!("the page is at http://{}/", web.address());
    }
    let started_ms = now_ms();
    let mut it = Loop {
        options,
        config,
        saved,
        monitor,
        sinks,
        service: Service::new()?,
        boards,
        waiting: Vec::new(),
        failing: OnChange::default(),
        lost: OnChange::default(),
        full: OnChange::default(),
        now_ms: 0,
        started_ms,
        last_reload_ms: started_ms,
        is_last_reload_good: true,
        publish: Every::new(BOARD),
        forget: Every::from_now(FORGET),
    };
    it.tell(ended)?;
    let memory = it.monitor.memory_bytes() as f64 / 1e6;
    it.service.ready(&format!("{} views, {memory:.1} MB", it.config.views.len()));
    let run = it.run(&mut input);
    it.service.stopping();
    let finish = it.finish();
    let status = input.status();
    status.to_string().lines().for_each(|line| info!("{line}"));
    status.exporters.iter().for_each(|exporter| info!("exporter {exporter}"));
    run.and(finish)
}

fn log_start(config: &Config, monitor: &Monitor, input: &Input) {
    let memory = monitor.memory_bytes() as f64 / 1e6;
    let names: Vec<&str> = config.views.iter().map(|view| view.name.as_str()).collect();
    info!("the detectors of {} take {memory:.1} MB, whatever comes", names.join(", "));
    if config.general.state.is_some() {
        let copies = monitor.checkpoint_bytes() as f64 / 1e6;
        info!("a checkpoint takes some {copies:.1} MB more while it is written");
    }
    for address in input.addresses() {
        info!("exports are received at {address}");
    }
}

struct Loop<'a> {
    options: &'a Options,
    config: Config,
    saved: Saved,
    monitor: Monitor,
    sinks: Sinks,
    service: Service,
    boards: Sender<Arc<Board>>,
    /// What the database did not take.
    waiting: Vec<Notice>,
    failing: OnChange,
    lost: OnChange,
    full: OnChange,
    /// The end of the last slice.
    now_ms: u64,
    started_ms: u64,
    last_reload_ms: u64,
    is_last_reload_good: bool,
    publish: Every,
    forget: Every,
}

impl Loop<'_> {
    fn run(&mut self, input: &mut Input) -> Result<()> {
        while let Some(event) = input.next_event()? {
            match event {
                Event::Contact(contact) => self.monitor.take(&contact)?,
                Event::Time(now_ns) => {
                    self.monitor.pass(now_ns)?;
                    self.look_around()?;
                }
                Event::Log(LogLine { level: LogLevel::Warning, text }) => warn!("{text}"),
                Event::Log(LogLine { level: LogLevel::Info, text }) => info!("{text}"),
                _ => {}
            }
            if self.monitor.now_ms() != self.now_ms {
                self.now_ms = self.monitor.now_ms();
                self.slice_ended(input)?;
            }
        }
        if !self.config.source.is_live() {
            self.monitor.finish()?;
        }
        self.slice_ended(input)
    }

    fn slice_ended(&mut self, input: &Input) -> Result<()> {
        let notices = self.monitor.notices()?;
        self.tell(notices)?;
        // Files tell no time of day.
        if !self.config.source.is_live() {
            self.look_around()?;
        }
        if self.publish.is_due() {
            let board = self.board(input);
            self.log_changes(&board);
            self.boards.send_replace(Arc::new(board));
        }
        Ok(())
    }

    /// Logs when the input is lost and comes back, and when hosts are left without an alert.
    fn log_changes(&mut self, board: &Board) {
        match self.lost.change_to(board.is_input_lost) {
            Some(true) => warn!(
                "no contact has come for a minute: until contacts come no alert starts or ends"
            ),
            Some(false) => info!("contacts come again"),
            None => {}
        }
        let left_out: usize = board.views.iter().map(|view| view.left_out).sum();
        match self.full.change_to(left_out > 0) {
            Some(true) => warn!(
                "{left_out} hosts at their threshold have no alert, as {} others of a view have one: give higher thresholds",
                Tracker::MOST_HOSTS
            ),
            Some(false) => info!("all hosts at their threshold have an alert again"),
            None => {}
        }
    }

    fn board(&self, input: &Input) -> Board {
        Board {
            started_ms: self.started_ms,
            is_live: self.config.source.is_live(),
            sinks: self.sinks.boards(),
            last_reload_ms: self.last_reload_ms,
            is_last_reload_good: self.is_last_reload_good,
            ..self.monitor.board(&input.status())
        }
    }

    /// Tells `notices`, when the database has them.
    fn tell(&mut self, notices: Vec<Notice>) -> Result<()> {
        for notice in &notices {
            info!("{} {} {}: {}", notice.status, notice.severity, notice.id, notice.text);
        }
        self.waiting.extend(notices);
        if self.waiting.is_empty() {
            return Ok(());
        }
        match self.saved.keep(&mut self.monitor, &self.waiting) {
            Ok(()) => {
                self.waiting.clear();
                self.sinks.wake();
                if self.failing.change_to(false).is_some() {
                    info!("the database takes notices again");
                }
                Ok(())
            }
            Err(error) if self.waiting.len() > MOST_WAITING => Err(error),
            Err(error) => {
                if self.failing.change_to(true).is_some() {
                    warn!(
                        "the database takes no notices, which wait for the next slice: {error:#}"
                    );
                }
                Ok(())
            }
        }
    }

    /// What is due now and then.
    fn look_around(&mut self) -> Result<()> {
        self.service.alive();
        if self.service.wants_reload() {
            self.reload();
        }
        if self.forget.is_due() {
            // Notices of a replay are as old as its data.
            let now_ms = if self.config.source.is_live() { now_ms() } else { self.now_ms };
            let before = now_ms.saturating_sub(self.config.general.keep.as_millis() as u64);
            if let Err(error) = self.saved.store().forget(before) {
                warn!("old notices are not forgotten: {error:#}");
            }
        }
        self.saved.save_if_due(&mut self.monitor)
    }

    /// Follows the configuration as the file has it now, as far as that can be done without a restart.
    fn reload(&mut self) {
        if self.options.config.is_none() {
            warn!("there is no file of a configuration to reload: start with --config");
            return;
        }
        self.service.reloading();
        self.is_last_reload_good = match self.options.config() {
            Ok(next) => {
                let left = self.config.take_over(next);
                left.iter().for_each(|line| warn!("{line}"));
                self.monitor.reload(&self.config);
                self.last_reload_ms = now_ms();
                info!(
                    "the configuration is reloaded{}",
                    if left.is_empty() { "" } else { " in part" }
                );
                left.is_empty()
            }
            Err(error) => {
                format!("{error:#}").lines().for_each(|line| warn!("{line}"));
                warn!(
                    "the configuration is not reloaded: the one that was read before stays in force"
                );
                false
            }
        };
        self.service.ready("running");
    }

    /// Ends everything, and loses nothing.
    fn finish(mut self) -> Result<()> {
        self.tell(Vec::new())?;
        let left = self.waiting.len();
        let saved = self.saved.finish(&mut self.monitor);
        self.sinks.finish(LAST);
        saved?;
        anyhow::ensure!(left == 0, "{left} notices are lost, as the database took none");
        Ok(())
    }
}
