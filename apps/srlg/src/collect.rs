//! The collector: merges the deltas of all probes and closes slices.
//!
//! Shape, along the way of a message:
//!
//! - `stream`, `reader`: from the broker, in order and without a gap.
//! - `arrival`: what it says, or why it is refused.
//! - `rule`: what becomes of it, and which slice may close; no input or output.
//! - `engine`: does as the rule says, in a thread of its own, with `checkpoint`s; closed slices go the way of all closed
//!   slices.
//! - `notices`, `tally`, `reports`: what others are told.
//!
//! Invariant: as long as no deadline passes, closed slices are those of one node that saw everything, bit
//! for bit, however often this one is killed. A checkpoint is of one moment, and merging again what it
//! has changes nothing.

mod arrival;
mod checkpoint;
mod engine;
mod notices;
mod options;
mod reader;
mod reports;
mod rule;
mod stream;
mod tally;

use std::fs;

use anyhow::{Context, Result};
use srlg_host::SlidingDetector;
use srlg_host::state::Checkpoints;
use srlg_input::contact::SamplingWindow;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::alerts::desk::Desk;
use crate::config::Config;
use crate::network::subjects::COLLECTOR;
use crate::notify::delivery::Delivery;
use crate::notify::ledger::Ledger;
use crate::service::Service;
use crate::show::board::Screen;
use checkpoint::Attachment;
use engine::{Engine, Progress};
pub use options::Args;
use options::Plan;
use reader::{Event, Reader};
use reports::Reports;
use rule::CloseRule;
use stream::Position;
use tally::Tally;

/// Messages between the broker and the engine.
const QUEUE: usize = 16;

/// Runs until it is told to stop, by SIGTERM or Ctrl-C, or the last slice has closed.
pub fn run(args: &Args) -> Result<()> {
    let (engine, position) = open(args)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("cannot start the threads of the collector")?;
    let done = runtime.block_on(serve(engine, position));
    // Nothing that is left has to end well.
    runtime.shutdown_background();
    done
}

/// Everything that is on this machine's disk.
fn open(args: &Args) -> Result<(Engine, Position)> {
    let plan = args.plan()?;
    let state = plan.state()?;
    let folder = state.join("network");
    fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut ledger = Ledger::open(Some(state))?;
    let mut checkpoints = Checkpoints::open(folder)?;
    let Plan { config, network, .. } = &plan;
    let device = config.general.device;
    let detectors = network.views.iter().map(|view| {
        let detector = SlidingDetector::new(view.sizes, device);
        detector.with_context(|| format!("no detector for the view {}", view.name))
    });
    let mut detectors = detectors.collect::<Result<Vec<_>>>()?;
    let kept = checkpoint::restore(&mut checkpoints, &mut detectors)?;
    let (names, limits) = (&network.probes, plan.limits());
    let rule = match &kept {
        Some(Attachment { rule, .. }) => CloseRule::restore(names, limits, rule),
        None => CloseRule::new(names.len(), limits),
    };
    let sampling = match &kept {
        Some(kept) => kept.sampling(network.window()),
        None => SamplingWindow::new(network.window()),
    };
    let position = kept.as_ref().map(Attachment::position).unwrap_or_default();
    let mut desk = Desk::new(config);
    let ended = ledger.restore(&mut desk)?;
    let mut delivery = Delivery::start(ledger, &config.sinks)?;
    delivery.tell(&desk, ended)?;
    let path = args.config.clone();
    let mut engine = Engine {
        progress: Progress::since(rule.running()),
        reload: Box::new(move || Config::read(&path)),
        detectors,
        rule,
        sampling,
        checkpoints,
        reports: args.reports.as_deref().map(Reports::open).transpose()?,
        desk,
        delivery,
        screen: Screen::open(&config.general)?,
        service: Service::new()?,
        numbers: names.iter().cloned().zip(0..).collect(),
        every: plan.every(),
        until: args.until_slice,
        position,
        tally: Tally::new(names),
        durable: watch::Sender::new(vec![None; names.len()]),
        plan,
    };
    if kept.is_some() {
        engine.tell_durable();
    }
    Ok((engine, position))
}

async fn serve(engine: Engine, position: Position) -> Result<()> {
    let (events, queue) = mpsc::channel(QUEUE);
    stop_on_signals(events.clone())?;
    let durable = engine.durable.subscribe();
    let (plan, retention) = (&engine.plan, engine.plan.retention());
    let probes = plan.network.probes.clone();
    let link = plan.access().connect(COLLECTOR).await?;
    let reader = Reader::new(link.clone(), retention, position, events);
    let notices = notices::send(link, probes, durable, reader.losses());
    let notices = tokio::spawn(notices);
    let reader = tokio::spawn(reader.run());
    let views = engine.detectors.len();
    engine.service.ready(&format!("{views} views of {} sites", engine.plan.network.probes.len()));
    let mut engine = tokio::task::spawn_blocking(move || engine.run(queue));
    let done = tokio::select! {
        biased;
        done = &mut engine => done,
        // Where it has not died, it has nobody left to read for.
        read = reader => { read.context("the task that reads the stream has panicked")?; engine.await }
    };
    done.context("the thread that merges deltas has panicked")??;
    // The engine is gone, and its notices end with the last ones.
    notices.await.context("the task that sends notices to probes has panicked")
}

fn stop_on_signals(events: mpsc::Sender<Event>) -> Result<()> {
    let mut terminated = signal(SignalKind::terminate()).context("cannot handle signals")?;
    let mut interrupted = signal(SignalKind::interrupt()).context("cannot handle signals")?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
        // An engine that has ended need not be told.
        let _told = events.send(Event::Stop).await;
    });
    Ok(())
}
