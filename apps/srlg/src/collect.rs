//! The collector: merges the deltas of all probes, closes slices, and reports.
//!
//! Shape, along the way of a message:
//!
//! - `stream`, `reader`: from the broker, in order and without a gap.
//! - `arrival`: what it says, or why it is refused.
//! - `rule`: what becomes of it, and which slice may close; no input or output.
//! - `engine`: does as the rule says, in a thread of its own, with `reports`, `alerts` and `checkpoint`s; `lines` are the
//!   files of the first two.
//! - `notices`, `status`, `tally`: what others are told.
//!
//! Invariant: as long as no deadline passes, the reports are those of one node that saw everything, bit
//! for bit, however often this one is killed. A checkpoint is of one moment, and merging again what it
//! has changes nothing.

mod alerts;
mod arrival;
mod checkpoint;
mod engine;
mod lines;
mod notices;
mod options;
mod reader;
mod reports;
mod rule;
mod status;
mod stream;
mod tally;

use std::time::Duration;

use anyhow::{Context, Result};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use srlg_host::SlidingDetector;
use srlg_host::state::Checkpoints;
use srlg_input::contact::SamplingWindow;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tracing::info;

use crate::network::Network;
use crate::network::subjects::COLLECTOR;
pub use alerts::AlertOptions;
use checkpoint::Attachment;
use engine::{Engine, Progress};
use lines::Lines;
pub use options::Args;
use reader::{Event, Reader};
use rule::CloseRule;
use status::{CollectorStatus, HttpState};
use stream::Position;
use tally::Tally;

/// Messages between the broker and the engine.
const QUEUE: usize = 16;

/// Between two sums of what was measured.
const UPKEEP: Duration = Duration::from_secs(5);

/// Runs until it is told to stop, by SIGTERM or Ctrl-C, or the last slice has closed.
pub fn run(args: &Args) -> Result<()> {
    let network = args.access.network()?;
    args.check(&network)?;
    let (engine, position) = open(args, &network)?;
    let recorder = PrometheusBuilder::new().build_recorder();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("cannot start the threads of the collector")?;
    let done = runtime.block_on(serve(args, &network, engine, position, recorder));
    // Nothing that is left has to end well.
    runtime.shutdown_background();
    done
}

/// Everything that is on this machine's disk.
fn open(args: &Args, network: &Network) -> Result<(Engine, Position)> {
    let mut checkpoints = Checkpoints::open(&args.state)?;
    let mut detector = SlidingDetector::new(network.config, args.device)?;
    let kept = checkpoint::restore(&mut checkpoints, &mut detector)?;
    let known = kept.as_ref();
    let known_reports = known.and_then(|kept| kept.reports.as_ref());
    let known_alerts = known.and_then(|kept| kept.alerts.as_ref());
    let reports = Lines::open("report", &args.reports, known_reports)?;
    let alerts = args.alerting.follower(network, &reports, known_alerts)?;
    let are_known = known.is_some()
        && reports.are_known_by(known_reports)
        && alerts.as_ref().is_none_or(|alerts| alerts.is_known_by(known_alerts));
    let (names, limits) = (network.probes.clone(), args.limits(network));
    let rule = match &kept {
        Some(Attachment { rule, .. }) => CloseRule::restore(&names, limits, rule),
        None => CloseRule::new(names.len(), limits),
    };
    let position = known.map(Attachment::position).unwrap_or_default();
    let window = network.config.window;
    let sampling = match &kept {
        Some(kept) => kept.sampling(window)?,
        None => SamplingWindow::new(window),
    };
    let mut engine = Engine {
        progress: Progress::since(rule.running()),
        detector,
        rule,
        sampling,
        checkpoints,
        reports,
        alerts,
        numbers: names.iter().cloned().zip(0..).collect(),
        slice_ms: network.slice_ms,
        most_peers: args.peers,
        every: args.checkpoint_every,
        until: args.until_slice,
        position,
        tally: Tally::new(&names),
        durable: watch::Sender::new(vec![None; names.len()]),
        status: watch::Sender::new(CollectorStatus::default()),
        names,
    };
    if are_known {
        engine.tell_durable();
    } else {
        // So that whatever comes next, the lengths of the files are known.
        engine.save()?;
    }
    Ok((engine, position))
}

async fn serve(
    args: &Args,
    network: &Network,
    engine: Engine,
    position: Position,
    recorder: PrometheusRecorder,
) -> Result<()> {
    let (events, queue) = mpsc::channel(QUEUE);
    stop_on_signals(events.clone())?;
    let (status, durable) = (engine.status.subscribe(), engine.durable.subscribe());
    tokio::spawn(keep_up(recorder.handle()));
    listen(args, recorder.handle(), status).await?;
    let link = args.access.connect(COLLECTOR).await?;
    let reader = Reader::new(link.clone(), args.retention(network), position, events);
    let notices = notices::send(link, network.probes.clone(), durable, reader.losses());
    let notices = tokio::spawn(notices);
    let reader = tokio::spawn(reader.run());
    let mut engine = tokio::task::spawn_blocking(move || {
        metrics::with_local_recorder(&recorder, || engine.run(queue))
    });
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

/// Samples of histograms wait until somebody asks for them, which nobody may ever do: they are summed up now and then.
async fn keep_up(metrics: PrometheusHandle) {
    loop {
        tokio::time::sleep(UPKEEP).await;
        metrics.run_upkeep();
    }
}

async fn listen(
    args: &Args,
    metrics: PrometheusHandle,
    latest: watch::Receiver<CollectorStatus>,
) -> Result<()> {
    let Some(address) = args.http else { return Ok(()) };
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("cannot listen at {address}"))?;
    info!("/status and /metrics at http://{}", listener.local_addr()?);
    let router = status::router(HttpState { metrics, status: latest });
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(())
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
