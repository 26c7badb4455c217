//! `srlg-monitor run`: the loop from an input to notices.
//!
//! Shape: one thread reads, counts and closes slices; sinks, checkpoints and the page have threads of their own, and hold
//! it up never.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use srlg_alert::Tracker;
use srlg_input::{Event, Input, LogLevel, LogLine};
use tokio::sync::watch::Sender;
use tracing::{info, warn};

use crate::board::Board;
use crate::config::Config;
use crate::monitor::Monitor;
use crate::notice::Notice;
use crate::options::Options;
use crate::saved::Saved;
use crate::service::Service;
use crate::sinks::Sinks;
use crate::web::Web;

/// Notices that wait while the database takes none.
const MOST_WAITING: usize = 100_000;

/// How long sinks have at the end.
const LAST: Duration = Duration::from_secs(5);

/// The shortest time between two boards.
const BOARD: Duration = Duration::from_millis(250);

/// How often old notices are forgotten.
const FORGET: Duration = Duration::from_secs(60);

/// Watches until the input ends, or a signal comes.
///
/// # Errors
/// What is wrong with the configuration, the input, the state or the sinks.
pub fn run(options: &Options) -> Result<()> {
    let config = options.config()?;
    let (saved, monitor, ended) = Saved::open(&config)?;
    let sinks = Sinks::start(&config.sinks, saved.store())?;
    let mut input = Input::open(&config.source)?;
    input.stop_at_signals()?;
    let memory = monitor.memory_bytes() as f64 / 1e6;
    let names: Vec<&str> = config.views.iter().map(|view| view.name.as_str()).collect();
    info!("the detectors of {} take {memory:.1} MB, whatever comes", names.join(", "));
    if config.state.is_some() {
        let copies = monitor.checkpoint_bytes() as f64 / 1e6;
        info!("a checkpoint takes some {copies:.1} MB more while it is written");
    }
    for address in input.addresses() {
        info!("exports are received at {address}");
    }
    let (boards, latest) = tokio::sync::watch::channel(Arc::default());
    let web = config.http.map(|address| Web::start(address, config.http_public, latest));
    let web = web.transpose()?;
    if let Some(web) = &web {
        info!("the page is at http://{}/", web.address());
    }
    let mut it = Loop::new(options, config, saved, monitor, sinks, boards)?;
    it.tell(ended)?;
    it.service.ready(&format!("{} views, {memory:.1} MB", it.config.views.len()));
    let run = it.run(&mut input);
    it.service.stopping();
    let finish = it.finish();
    let status = input.status();
    status.to_string().lines().for_each(|line| info!("{line}"));
    status.exporters.iter().for_each(|exporter| info!("exporter {exporter}"));
    run.and(finish)
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
    is_failing: bool,
    is_lost: bool,
    is_full: bool,
    told_ms: u64,
    started_ms: u64,
    /// When the configuration was read, and whether the last attempt went well.
    reload: (u64, bool),
    published: Option<Instant>,
    forgot: Instant,
}

impl<'a> Loop<'a> {
    fn new(
        options: &'a Options,
        config: Config,
        saved: Saved,
        monitor: Monitor,
        sinks: Sinks,
        boards: Sender<Arc<Board>>,
    ) -> Result<Self> {
        let started_ms = now_ms();
        Ok(Self {
            options,
            config,
            saved,
            monitor,
            sinks,
            service: Service::new()?,
            boards,
            waiting: Vec::new(),
            is_failing: false,
            is_lost: false,
            is_full: false,
            told_ms: 0,
            started_ms,
            reload: (started_ms, true),
            published: None,
            forgot: Instant::now(),
        })
    }

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
            if self.monitor.now_ms() != self.told_ms {
                self.told_ms = self.monitor.now_ms();
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
        if self.published.is_none_or(|published| published.elapsed() >= BOARD) {
            self.published = Some(Instant::now());
            let board = self.board(input);
            if board.is_input_lost != self.is_lost {
                self.is_lost = board.is_input_lost;
                if self.is_lost {
                    warn!(
                        "no contact has come for a minute: until contacts come no alert starts or ends"
                    );
                } else {
                    info!("contacts come again");
                }
            }
            self.tell_full(board.views.iter().map(|view| view.left_out).sum());
            self.boards.send_replace(Arc::new(board));
        }
        Ok(())
    }

    /// Says that `left_out` hosts have no alert, when that begins and ends.
    fn tell_full(&mut self, left_out: usize) {
        if self.is_full == (left_out > 0) {
            return;
        }
        self.is_full = left_out > 0;
        if self.is_full {
            warn!(
                "{left_out} hosts at their threshold have no alert, as {} others of a view have one: give higher thresholds",
                Tracker::MOST_HOSTS
            );
        } else {
            info!("all hosts at their threshold have an alert again");
        }
    }

    fn board(&self, input: &Input) -> Board {
        Board {
            started_ms: self.started_ms,
            is_live: self.config.source.is_live(),
            sinks: self.sinks.boards(),
            last_reload_ms: self.reload.0,
            is_last_reload_good: self.reload.1,
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
                if std::mem::take(&mut self.is_failing) {
                    info!("the database takes notices again");
                }
                Ok(())
            }
            Err(error) if self.waiting.len() > MOST_WAITING => Err(error),
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
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
        if self.forgot.elapsed() >= FORGET {
            self.forgot = Instant::now();
            // Notices of a replay are as old as its data.
            let now_ms = if self.config.source.is_live() { now_ms() } else { self.told_ms };
            let before = now_ms.saturating_sub(self.config.keep.as_millis() as u64);
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
        self.reload.1 = match self.options.config() {
            Ok(next) => {
                let left = self.config.take_over(next);
                left.iter().for_each(|line| warn!("{line}"));
                self.monitor.reload(&self.config);
                self.reload.0 = now_ms();
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

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
