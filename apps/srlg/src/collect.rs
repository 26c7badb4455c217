//! Collector: merges the slices of all probes and closes them.
//!
//! The work is divided among these modules:
//!
//! | Module | Task |
//! |---|---|
//! | `stream`, `reader` | Read all messages of the stream on the broker, in order |
//! | `arrival` | Decode a message, or reject it |
//! | `rule` | Decide when to merge a message and when to close a slice, without I/O |
//! | `engine` | Merge the states of slices and close them in a separate thread, `side_by_side` with others, and save `checkpoint`s |
//! | `busy` | Measure how much of the time the thread works |
//! | `agreement` | Agree with the broker on the network version |
//! | `sites` | Receive the probes' reports about hosts and about themselves |
//! | `durability` | Inform the probes of stored slices, and request lost slices again |
//! | `tally`, `reports` | Count messages, and write a report of each closed slice |
//!
//! Invariant: if every slice of a window is complete when it closes, the result is bit-identical to that of a single
//! node that sees all traffic. Killing the collector any number of times does not change this, because a checkpoint is
//! consistent and merging a state again changes nothing.

mod agreement;
mod arrival;
mod busy;
mod checkpoint;
mod durability;
mod engine;
mod incomplete;
mod options;
mod reader;
mod reports;
mod rule;
mod side_by_side;
#[cfg(test)]
pub(crate) mod simulated;
mod sites;
mod stream;
mod tally;

use std::sync::Arc;

use anyhow::{Context, Result};
use srlg_host::state::Checkpoints;
use srlg_input::contact::SamplingWindow;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::config::{Config, warn_of_views};
use crate::console::{Console, ReadConfig};
use crate::measure::close_budget::CloseBudget;
use crate::measure::detector;
use crate::network::NetworkVersion;
use crate::network::connect::{Access, Link};
use crate::network::options::NetworkOptions;
use crate::network::subjects::COLLECTOR;
use crate::service::{self, Service};
use agreement::Agreement;
pub use agreement::Superseded;
use checkpoint::Attachment;
use engine::{Engine, Progress};
pub use options::Args;
use options::Plan;
use reader::{Event, Reader};
use reports::Reports;
use rule::CloseRule;
use sites::Sites;
use srlg_notify::alert_store::AlertStore;
use srlg_notify::delivery::Delivery;
use stream::Position;
use tally::Tally;

/// Capacity of the queue between the reader and the engine, in events.
const QUEUE: usize = 16;

/// Runs the collector until SIGTERM or Ctrl-C, or until the slice `until_slice` has closed.
pub fn run(args: &Args) -> Result<()> {
    let service = Service::new()?;
    let mut config = Config::read(&args.config)?;
    let options = config.network().context("cannot collect")?.clone();
    warn_of_views(&config);
    config.read_databases()?;
    let state = config.general.state.as_deref();
    let state = state.context("cannot collect: without a state folder, slices would be lost; set state in the configuration")?;
    // Sinks are opened first: if one fails, the network keeps its version.
    let delivery = Delivery::start(AlertStore::open(Some(state))?.strict(), config.active_sinks())?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("cannot start the threads of the collector")?;
    let work = || {
        let mut stop = runtime.block_on(async { Stop::new() })?;
        let Some((link, agreement)) =
            runtime.block_on(begin(&config, &options, delivery.alert_store(), &mut stop))?
        else {
            return Ok(());
        };
        let Agreement { version, last_former } = agreement;
        let plan = Plan::new(config.general.checkpoint, options, version.clone());
        // The web page has its own runtime, which cannot be created within another one.
        let (engine, position) = open(args, config, plan, last_former, delivery, service)?;
        runtime.block_on(serve(engine, position, link, version, stop))
    };
    let done = work();
    // No remaining task has to finish.
    runtime.shutdown_background();
    done
}

/// Connects to the broker and agrees with it on the network version. Returns `None` if a signal arrives first.
async fn begin(
    config: &Config,
    options: &NetworkOptions,
    alert_store: &AlertStore,
    stop: &mut Stop,
) -> Result<Option<(Link, Agreement)>> {
    let access = Access { folder: options.folder.clone(), broker: options.broker.clone() };
    let link = access.connect(COLLECTOR).await?;
    tokio::select! {
        agreement = agreement::agree(&link, alert_store, config) => Ok(Some((link.clone(), agreement?))),
        () = stop.asked() => Ok(None),
    }
}

fn open(
    args: &Args,
    config: Config,
    plan: Plan,
    last_former: u64,
    mut delivery: Delivery,
    service: Service,
) -> Result<(Engine, Position)> {
    let state = config.general.state.clone().unwrap_or_default();
    let folder = checkpoint::folder(&state, plan.version)?;
    let mut checkpoints = Checkpoints::open(folder)?;
    let network = &plan.network;
    let device = config.general.device;
    let detectors = network.views.iter().map(|view| detector(&view.name, view.sizes, device));
    let mut detectors = detectors.collect::<Result<Vec<_>>>()?;
    let kept = checkpoint::restore(&mut checkpoints, &mut detectors)?;
    let (names, limits) = (&plan.options.probes, plan.limits());
    let rule = match &kept {
        Some(Attachment { rule, .. }) => CloseRule::restore(names, limits, rule),
        None => CloseRule::new(names.len(), limits),
    };
    let sampling = match &kept {
        Some(kept) => kept.sampling(network.window()),
        None => SamplingWindow::new(network.window()),
    };
    let start = Position { sequence: last_former, witness: None };
    let position = kept.as_ref().map_or(start, Attachment::position);
    let oldest = plan.oldest_report();
    let sites = Sites::new(plan.version, names, network.seed(), oldest, network.slice_ms);
    kept.iter().for_each(|kept| sites.restore(&kept.sites));
    let mut manager = config.manager();
    let ended = delivery.restore(&mut manager)?;
    delivery.deliver(&manager, &ended)?;
    let path = args.config.clone();
    let read: ReadConfig = Box::new(move || {
        let config = Config::read(&path)?;
        config.network()?;
        Ok(config)
    });
    let console = Console::open(config, delivery, service, Some(read))?;
    let mut engine = Engine {
        progress: Progress::since(rule.running()),
        console,
        detectors,
        budget: CloseBudget::new(plan.network.slice(), plan.network.views.len()),
        sites: Arc::new(sites),
        rule,
        sampling,
        checkpoints,
        reports: args.reports.as_deref().map(Reports::open).transpose()?,
        manager,
        numbers: names.iter().cloned().zip(0..).collect(),
        every: plan.every(),
        until: args.until_slice,
        position,
        tally: Tally::new(names),
        durable: watch::Sender::new(vec![None; names.len()]),
        plan,
    };
    if kept.is_some() {
        engine.announce_durable();
    }
    Ok((engine, position))
}

async fn serve(
    engine: Engine,
    position: Position,
    link: Link,
    version: NetworkVersion,
    mut stop: Stop,
) -> Result<()> {
    let keep = tokio::spawn(agreement::keep(link.clone(), version));
    let (events, queue) = mpsc::channel(QUEUE);
    let stopped = events.clone();
    tokio::spawn(async move {
        stop.asked().await;
        // An engine that has stopped needs no event.
        let _stopped = stopped.send(Event::Stop).await;
    });
    let durable = engine.durable.subscribe();
    let (plan, retention) = (&engine.plan, engine.plan.retention());
    let probes = plan.options.probes.clone();
    let reader = Reader::new(link.clone(), retention, position, events.clone());
    let talk = tokio::spawn(sites::talk(link.clone(), Arc::clone(&engine.sites)));
    let durability = durability::send(link, plan.version, probes, durable, reader.losses());
    let durability = tokio::spawn(durability);
    let reader = tokio::spawn(reader.run());
    let views = engine.detectors.len();
    service::ready(&format!("{views} views, {} sites", plan.options.probes.len()));
    let mut engine = tokio::task::spawn_blocking(move || engine.run(queue));
    let done = tokio::select! {
        biased;
        done = &mut engine => done,
        // Unless the reader has panicked, the engine has stopped.
        read = reader => { read.context("the task that reads the stream panicked (this is a bug)")?; engine.await }
        // The engine stops as if by a signal, so that its state is saved.
        kept = keep => {
            let _stopped = events.send(Event::Stop).await;
            let done = engine.await;
            kept.context("the task that maintains the network description panicked (this is a bug)")??;
            done
        }
        talked = talk => {
            talked.context("the task that receives reports panicked (this is a bug)")??;
            engine.await
        }
    };
    done.context("the thread that merges slices panicked (this is a bug)")??;
    // The engine has stopped, so this task ends after the last messages.
    durability.await.context("the task that sends durability messages panicked (this is a bug)")
}

struct Stop {
    terminated: Signal,
    interrupted: Signal,
}

impl Stop {
    fn new() -> Result<Self> {
        let handle = |kind| signal(kind).context("cannot handle signals");
        Ok(Self {
            terminated: handle(SignalKind::terminate())?,
            interrupted: handle(SignalKind::interrupt())?,
        })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminated.recv() => {}
            _ = self.interrupted.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_opened_end_a_collector_before_it_looks_for_its_broker() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().to_str().unwrap();
        let mut texts = String::new();
        for (key, sink) in [
            ("", "[[sink]]\ntype = 'file'\npath = 'DIR/none/alerts'\n"),
            ("country-file = 'DIR/none'\n", ""),
        ] {
            let config = folder.path().join("srlg.toml");
            let network = "state = 'DIR/state'\n[network]\nprobes = ['a']\nfolder = 'DIR/none'\n";
            std::fs::write(&config, format!("{key}{network}{sink}").replace("DIR", dir)).unwrap();
            let error = run(&Args { config, reports: None, until_slice: None }).unwrap_err();
            texts += &format!("{error}\n").replace(dir, "DIR");
        }
        insta::assert_snapshot!(texts);
    }
}
